//! Where the time of training goes: kernels, gaps between them, the host, reading.
//!
//! A profile of some steps runs them several times, from the same weights and in the same order, so that all runs do the
//! same work: to warm up; without profiling, for what that costs; as they are trained, with a time stamp before and one
//! behind each submission; and with a pass, and a pair of time stamps, for each stage, i.e. each dispatch, or some that are
//! not fenced from one another. The kernels' own time is that of the last run. Gaps are the time of the submissions less
//! the kernels' own, and time in which neither device nor host did anything: stamps inside a pass would charge a barrier
//! to the kernel behind it. Where noise makes the two runs contradict one another (kernels that take longer than the
//! submissions that consist of them, or submissions that take longer than with passes between their kernels), both are
//! repeated, and in the end the last one alone is divided.
//!
//! Where a device writes no stamps, and for the CPU engine, one run is divided by the host's clock. So is a whole
//! training run, which is not run twice.

mod compare;
mod report;
mod spans;
mod timeline;
mod trace;

use std::sync::Arc;
use std::time::Duration;

pub use compare::{BATCH_SIZES, Comparison, Gain, Variant, compare};
#[cfg(feature = "cli")]
pub(crate) use report::names;
pub use report::{KernelReport, ProfilingCost, Report, Sums};
pub use spans::{Partition, Spans};
pub use timeline::{StageRun, partition, timeline};

use crate::data::Reader;
use crate::engine::{Clock, Detail, Device, EngineKind, Log, Recorder, Submission};
use crate::error::{Error, Result};
use crate::timing::{Ceilings, Span};
use crate::train::{Config, RepeatedSteps, Summary};
use report::{kernels, microseconds};

/// How often the pair of stamped runs is made before one run alone must do.
const PAIRS: usize = 3;

/// Submissions with one pass may take this many times as long as those with a pass for each stage. They should take less:
/// what is beyond is noise.
const SLOWER: f64 = 1.05;

/// If more than one time stamp in this many is impossible, the device's clock is not used.
const REFUSED: usize = 20;

/// A profile: what it says, and the run that its trace shows.
#[derive(Debug, Clone)]
pub struct Profile {
    /// What it says.
    pub report: Report,
    pub(crate) log: Log,
    pub(crate) ran: Vec<StageRun>,
}

impl Profile {
    /// The run with every stage timed by itself, as a file for Perfetto or chrome://tracing.
    pub fn trace(&self) -> String {
        let title = format!("{}, {} steps", self.report.device, self.report.steps);
        trace::trace(&title, &self.log, &self.ran)
    }

    /// A training run that has ended, by what `recorder` holds of it: its epochs, without the tests between them.
    ///
    /// # Errors
    /// [`Error::Config`] when nothing was recorded.
    pub fn of_training(recorder: &Recorder, summary: &Summary) -> Result<Self> {
        let ceilings =
            summary.ceilings.ok_or_else(|| Error::Config("this training run was not timed".to_owned()))?;
        let schedule = summary.engine.origin().schedule;
        let about = ReportContext {
            steps: summary.steps as usize,
            engine: summary.engine.engine,
            device: summary.engine.device.clone(),
            schedule,
            ceilings,
            cost: None,
        };
        Ok(about.single(Recorded::new(recorder.take())))
    }
}

/// Profiles the first `steps` steps of a training run. `open` opens its training data; it is called for each run, and a
/// reader that is [timed](crate::data::ReadOptions::timed) shows in the trace.
///
/// # Errors
/// Those of the settings, the data and the device.
pub fn profile(
    config: &Config,
    device: &Device,
    steps: usize,
    open: &mut dyn FnMut() -> Result<Reader>,
) -> Result<Profile> {
    let mut run = RepeatedSteps::new(config, device, open)?;
    // Kernels are compiled, and compiled further by some drivers when they first run.
    run.run(steps, &None)?;
    let off = run.run(steps, &None)?;
    let mut about = ReportContext {
        steps,
        engine: run.description().engine,
        device: run.description().device,
        schedule: run.description().origin().schedule,
        ceilings: run.ceilings()?,
        cost: None,
    };
    let mut last = None;
    for _ in 0..PAIRS {
        let (whole, on) = recorded(&mut run, steps, Recorder::new(Detail::Submissions))?;
        about.cost = Some(cost(off, on, None));
        if whole.log.clock != Some(Clock::Timestamps) {
            return Ok(about.single(whole));
        }
        let again = Recorder::with_sizes(Detail::Stages, whole.log.sizes.clone());
        let (stages, closely) = recorded(&mut run, steps, again)?;
        if REFUSED * whole.refused() > whole.ran.len() || REFUSED * stages.refused() > stages.ran.len() {
            let (host, on) = recorded(&mut run, steps, Recorder::new(Detail::Host))?;
            about.cost = Some(cost(off, on, None));
            return Ok(about.single(host));
        }
        let busy = whole.partition().busy;
        if stages.own() <= busy && busy as f64 <= SLOWER * stages.extent() as f64 {
            about.cost = Some(cost(off, on, Some(closely)));
            return Ok(about.pair(&whole, stages));
        }
        about.cost = Some(cost(off, closely, None));
        last = Some(stages);
    }
    let last = last.ok_or_else(|| Error::Config("nothing was run".to_owned()))?;
    Ok(about.single(last))
}

fn recorded(run: &mut RepeatedSteps<'_>, steps: usize, recorder: Recorder) -> Result<(Recorded, Duration)> {
    let recorder = Arc::new(recorder);
    let took = run.run(steps, &Some(Arc::clone(&recorder)))?;
    Ok((Recorded::new(recorder.take()), took))
}

fn cost(off: Duration, on: Duration, stages: Option<Duration>) -> ProfilingCost {
    let microseconds = |time: Duration| microseconds(time.as_nanos() as u64);
    ProfilingCost { off_us: microseconds(off), on_us: microseconds(on), stages_us: stages.map(microseconds) }
}

/// A run that was recorded.
struct Recorded {
    log: Log,
    ran: Vec<StageRun>,
}

impl Recorded {
    fn new(log: Log) -> Self {
        Self { ran: timeline(&log), log }
    }

    /// Stages whose stamps cannot be true.
    fn refused(&self) -> usize {
        self.ran.iter().filter(|ran| ran.length.is_none()).count()
    }

    /// The kernels' own time, in nanoseconds.
    fn own(&self) -> u64 {
        self.ran.iter().filter_map(|ran| ran.length).sum()
    }

    /// From the first to the last of each submission's stages, in nanoseconds.
    fn extent(&self) -> u64 {
        let spans = |submission: &Submission| {
            let mut spans = submission.stages.iter().filter_map(|(_, span)| *span);
            let first = spans.next()?;
            Some(Span { begin: first.begin, end: spans.next_back().unwrap_or(first).end })
        };
        self.log.submissions.iter().filter_map(spans).map(Span::length).sum()
    }

    fn partition(&self) -> Partition {
        partition(&self.log, &self.ran)
    }

    fn wall(&self) -> u64 {
        self.log.windows.iter().map(|window| window.length()).sum()
    }
}

/// What a report says beside the times.
struct ReportContext {
    steps: usize,
    engine: EngineKind,
    device: String,
    schedule: Option<String>,
    ceilings: Ceilings,
    cost: Option<ProfilingCost>,
}

impl ReportContext {
    /// The time of `whole`, in which the kernels have the time that they had in `stages`.
    fn pair(self, whole: &Recorded, stages: Recorded) -> Profile {
        let (wall, time) = (whole.wall(), whole.partition());
        let gaps_from = "the time of whole submissions, less the kernels' own in a second run of the same steps, with a \
                         pass for each; and time in which neither device nor host did anything";
        self.profile(stages, wall, time, gaps_from)
    }

    /// The time of one run in which all stages were timed.
    fn single(self, run: Recorded) -> Profile {
        let (wall, time) = (run.wall(), run.partition());
        let gaps_from = match (self.engine, run.log.clock) {
            (EngineKind::Cpu, _) => {
                "one run: time in which no thread worked and the leading one did not wait for the others"
            }
            (_, Some(Clock::Timestamps)) => {
                "one run with a pass for each kernel: time in which neither device nor host did anything"
            }
            _ => {
                "one run with a submission for each kernel, timed by the host from the submission to its end: time in \
                 which neither device nor host did anything"
            }
        };
        self.profile(run, wall, time, gaps_from)
    }

    fn profile(self, stages: Recorded, wall: u64, time: Partition, gaps_from: &'static str) -> Profile {
        let Self { steps, engine, device, schedule, ceilings, cost } = self;
        let kernels = kernels(&stages.log.stages, &stages.ran, &ceilings);
        let report = Report {
            wall_us: microseconds(wall),
            steps,
            engine: engine.to_string(),
            device,
            schedule,
            clock: stages.log.clock.unwrap_or(Clock::Host),
            sums: Sums {
                compute_us: kernels.iter().map(|kernel| kernel.total_us).sum(),
                gaps_us: microseconds((time.busy + time.idle).saturating_sub(stages.own())),
                recording_us: microseconds(time.recording),
                loading_us: microseconds(time.loading),
                waiting_us: microseconds(time.waiting),
            },
            kernels,
            gaps_from,
            ceilings,
            cost_of_profiling: cost,
            refused_stamps: stages.refused(),
        };
        Profile { report, log: stages.log, ran: stages.ran }
    }
}
