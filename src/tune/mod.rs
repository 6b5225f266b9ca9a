//! Measures tile shapes on a device for a network: one choice at a time, by real steps of training.

mod bench;

use std::time::Duration;

use crate::clock::Instant;
use crate::error::Result;
use crate::kernels::{TileParameter, Tuning};
use crate::schedule::{DeviceLimits, ScheduleKind, SelectedPlan, TrainingStep, estimates};
use bench::Bench;
pub use bench::{TrialOutcome, TuningTarget};

/// What is better by less may as well be chance.
const MARGIN: f64 = 0.98;

/// One trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// How a step was divided.
    pub schedule: ScheduleKind,
    /// What was varied; nothing in the shapes from which the search starts.
    pub varied: Option<TileParameter>,
    /// The tile shapes.
    pub tuning: Tuning,
    /// What came of them.
    pub verdict: TrialOutcome,
}

impl Attempt {
    /// What makes this trial another than those before: the choice that was varied, as it was.
    pub fn name(&self) -> String {
        let Tuning { product, wide, row, column, owners, .. } = self.tuning;
        match self.varied {
            None => "built-in".to_owned(),
            Some(TileParameter::Product) => format!("product {product}"),
            Some(TileParameter::Wide) => format!("wide {wide}"),
            Some(TileParameter::Row) => format!("row {row}"),
            Some(TileParameter::Column) => format!("column {column}"),
            Some(TileParameter::Owners) => format!("owners {owners}"),
        }
    }
}

/// What was found for one schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct TunedSchedule {
    /// The schedule.
    pub schedule: ScheduleKind,
    /// The best tile shapes.
    pub tuning: Tuning,
    /// What a step takes with them; measured in turn with the built-in ones, where they are others.
    pub step: Duration,
    /// What a step takes with the built-in ones.
    pub built_in: Duration,
}

/// What tuning came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tuned {
    /// The schedules that were asked for.
    pub schedules: Vec<TunedSchedule>,
    /// All trials, in their order.
    pub trials: Vec<Attempt>,
    /// Candidates for which there was no time.
    pub left_out: usize,
}

impl Tuned {
    /// The fastest schedule.
    pub fn best(&self) -> Option<&TunedSchedule> {
        self.schedules.iter().min_by_key(|tuned| tuned.step)
    }
}

/// Takes the number of candidates that are done with, and of all, while tuning goes on.
pub type OnProgress<'a> = dyn FnMut(usize, usize) + 'a;

/// Finds the fastest tile shapes under the requested schedule, or, without one, under each that may be the
/// fastest. Trains, and throws the result away. Takes about `limit`, longer where a few steps alone do.
///
/// The search begins with the built-in shapes and varies one choice at a time, keeping the best: all combinations would
/// be thousands. Only [`Tuning::variants`] are tried, and only what comes to the same result as the built-in shapes may
/// win.
///
/// # Errors
/// Those of the device with the built-in shapes; [`Error::NonFiniteLoss`](crate::error::Error::NonFiniteLoss) if training does not go well with them.
pub fn tune(subject: &TuningTarget<'_>, limit: Duration, report: &mut OnProgress<'_>) -> Result<Tuned> {
    let bench = Bench::new(subject)?;
    let context = &bench.compute.context;
    let built_in = Tuning::for_device(context);
    let rule = subject.config.engine_options(subject.batch).rule;
    let step = TrainingStep::new(subject.network, &rule, subject.batch);
    let limits = DeviceLimits::from_context(context, &built_in);
    let kinds = match subject.config.schedule {
        Some(asked) => vec![SelectedPlan::choose(Some(asked), &step, &limits).kind],
        None => promising(&estimates(&step, &limits)),
    };
    let choices = kinds.iter().flat_map(|kind| tunable_parameters(*kind));
    let of = choices.map(|of| built_in.variants(*of, context).len()).sum();
    let mut search = Search { bench, built_in, tuned: Tuned::default(), report, done: 0, of };
    let begun = Instant::now();
    for (index, kind) in kinds.iter().enumerate() {
        // Time that one schedule leaves is the next one's.
        let share = limit.mul_f64((index + 1) as f64 / kinds.len() as f64);
        search.schedule(*kind, begun + share)?;
    }
    Ok(search.tuned)
}

/// The schedules that may be the fastest by the latency model.
fn promising(estimates: &[(ScheduleKind, f64)]) -> Vec<ScheduleKind> {
    /// The tolerated error of the model, as a factor.
    const DOUBT: f64 = 5.0;
    let least = estimates.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
    estimates.iter().filter(|(_, time)| *time <= DOUBT * least).map(|(kind, _)| *kind).collect()
}

/// The choices that matter to a schedule, what matters most first.
fn tunable_parameters(kind: ScheduleKind) -> &'static [TileParameter] {
    match kind {
        ScheduleKind::Plain | ScheduleKind::Fused => &[TileParameter::Product, TileParameter::Wide],
        ScheduleKind::TwoDispatch => &[TileParameter::Row, TileParameter::Column, TileParameter::Owners],
        ScheduleKind::Resident => &[TileParameter::Row],
    }
}

/// A search that goes on.
struct Search<'a, 'r> {
    bench: Bench<'a>,
    built_in: Tuning,
    tuned: Tuned,
    report: &'a mut OnProgress<'r>,
    done: usize,
    of: usize,
}

impl Search<'_, '_> {
    fn schedule(&mut self, schedule: ScheduleKind, deadline: Instant) -> Result<()> {
        let start = self.built_in;
        let (want, mut built_in) = self.bench.baseline(schedule, start, deadline)?;
        let timed = TrialOutcome::Timed(built_in);
        self.tuned.trials.push(Attempt { schedule, varied: None, tuning: start, verdict: timed });
        let (mut tuning, mut step) = (start, built_in);
        let (now, choices) = (Instant::now(), tunable_parameters(schedule));
        for (index, varied) in choices.iter().enumerate() {
            let share = (index + 1) as f64 / choices.len() as f64;
            let deadline = now + deadline.saturating_duration_since(now).mul_f64(share);
            let start = tuning;
            let mut tried = vec![self.bench.shows(schedule, &start)];
            for candidate in start.variants(*varied, &self.bench.compute.context) {
                self.done += 1;
                (self.report)(self.done, self.of);
                // Another choice may come to the same step.
                let shows = self.bench.shows(schedule, &candidate);
                if *varied != TileParameter::Row && tried.contains(&shows) {
                    continue;
                }
                tried.push(shows);
                if Instant::now() >= deadline {
                    self.tuned.left_out += 1;
                    continue;
                }
                let verdict = self.bench.judge(schedule, candidate, &want, step, deadline);
                if let TrialOutcome::Timed(took) = verdict
                    && took < step
                {
                    (tuning, step) = (candidate, took);
                }
                self.bench.recover()?;
                self.tuned.trials.push(Attempt {
                    schedule,
                    varied: Some(*varied),
                    tuning: candidate,
                    verdict,
                });
            }
        }
        if tuning != start {
            // Minutes may lie between the two: in turn they have the same chances.
            [built_in, step] = self.bench.in_turn(schedule, [start, tuning])?;
            if step.as_secs_f64() > MARGIN * built_in.as_secs_f64() {
                (tuning, step) = (start, built_in);
            }
        }
        self.tuned.schedules.push(TunedSchedule { schedule, tuning, step, built_in });
        Ok(())
    }
}
