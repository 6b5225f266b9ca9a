//! Division of training time between kernels, gaps between them, the host, and reading.
//!
//! A profile runs the same steps several times, from the same weights and in the same order, so that all runs
//! do the same work: to warm up; without profiling, to measure its cost; as in training, with a time stamp
//! before and after each submission; and with a pass and a pair of time stamps for each stage, which is a
//! dispatch or several without a fence between them. The last run gives the kernels' own time. Gaps are the
//! time of the submissions minus the kernels' own time, plus the time in which neither device nor host was
//! active: stamps inside a pass would count a barrier as part of the next kernel. If noise makes the two runs
//! contradictory (kernels take longer than the submissions that consist of them, or submissions take longer
//! than with separate passes), both are repeated; if this fails, only the last run is used.
//!
//! If a device writes no time stamps, and for the CPU engine, the time of one run is divided by the host's
//! clock. The same applies to a whole training run, which is not run twice.

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

/// Attempts at the pair of stamped runs before a single run is used.
const PAIRS: usize = 3;

/// Largest ratio of the time of submissions with one pass to the time with a pass for each stage. It should
/// be below 1; a larger ratio is noise.
const SLOWER: f64 = 1.05;

/// The device's clock is not used if more than one time stamp in this number is impossible.
const REFUSED: usize = 20;

/// A profile: its report, and the run in its trace.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The report.
    pub report: Report,
    pub(crate) log: Log,
    pub(crate) ran: Vec<StageRun>,
}

impl Profile {
    /// Returns the run with separately timed stages, as a file for Perfetto or chrome://tracing.
    pub fn trace(&self) -> String {
        let title = format!("{}, {} steps", self.report.device, self.report.steps);
        trace::trace(&title, &self.log, &self.ran)
    }

    /// Creates the profile of a finished training run from the data of `recorder`: its epochs, without the
    /// tests between them.
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

/// Profiles the first `steps` steps of a training run. `open` opens its training data; it is called for each
/// run. A [timed](crate::data::ReadOptions::timed) reader is included in the trace.
///
/// # Errors
/// Errors of the settings, the data and the device.
pub fn profile(
    config: &Config,
    device: &Device,
    steps: usize,
    open: &mut dyn FnMut() -> Result<Reader>,
) -> Result<Profile> {
    let mut run = RepeatedSteps::new(config, device, open)?;
    // Compiles kernels, which some drivers compile further when they first run.
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

/// A recorded run.
struct Recorded {
    log: Log,
    ran: Vec<StageRun>,
}

impl Recorded {
    fn new(log: Log) -> Self {
        Self { ran: timeline(&log), log }
    }

    /// Returns the number of stages with impossible stamps.
    fn refused(&self) -> usize {
        self.ran.iter().filter(|ran| ran.length.is_none()).count()
    }

    /// Returns the kernels' own time, in nanoseconds.
    fn own(&self) -> u64 {
        self.ran.iter().filter_map(|ran| ran.length).sum()
    }

    /// Returns the time from the first to the last stage of each submission, in nanoseconds.
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

/// Data of a report other than times.
struct ReportContext {
    steps: usize,
    engine: EngineKind,
    device: String,
    schedule: Option<String>,
    ceilings: Ceilings,
    cost: Option<ProfilingCost>,
}

impl ReportContext {
    /// Divides the time of `whole`, using the kernels' times in `stages`.
    fn pair(self, whole: &Recorded, stages: Recorded) -> Profile {
        let (wall, time) = (whole.wall(), whole.partition());
        let gaps_from = "the time of whole submissions, less the kernels' own in a second run of the same steps, with a \
                         pass for each; and time in which neither device nor host did anything";
        self.profile(stages, wall, time, gaps_from)
    }

    /// Divides the time of one run in which all stages were timed.
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
