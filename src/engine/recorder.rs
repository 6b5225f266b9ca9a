//! What a run records of its time for an observer. Without one no clock is read.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::Instant;
use crate::timing::Span;

/// What the host does in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Waiting for the reader's next block.
    Reading,
    /// Uploading rows and their order.
    Upload,
    /// Recording commands.
    Recording,
    /// Submitting commands; some drivers, GL among them, run them meanwhile.
    Submitting,
    /// A thread beside it ends an encoder, where wgpu does most of the work of recording.
    Finishing,
    /// Waiting for the device, or for the other threads of the CPU engine.
    Waiting,
}

/// How closely a GPU engine looks at its device. The CPU engine has one way only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Submissions as in training, with a time stamp before the first dispatch and one behind the last.
    Submissions,
    /// A pass for each stage, with time stamps round it.
    Stages,
    /// A submission for each stage, timed by the host's clock until it is done: where a device has no time stamps, this
    /// is what becomes of the other two.
    Host,
}

/// Whose clock timed the stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The device's: time stamps.
    Timestamps,
    /// The host's.
    Host,
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Clock::Timestamps => "timestamps",
            Clock::Host => "host",
        })
    }
}

/// One kernel of a stage, or a phase of the CPU engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The kernel's name.
    pub kernel: String,
    /// What is fused into it.
    pub fused: Vec<String>,
    /// Its shapes, for people.
    pub shape: String,
    /// Workgroups of a dispatch, or threads of the CPU engine.
    pub workgroups: u64,
    /// Bytes that it reads and writes, all rows live.
    pub bytes: u64,
    /// Its arithmetic, all rows live.
    pub flop: u64,
}

/// What is timed as one: a dispatch, or some between which there is no fence. With [`Detail::Submissions`] all
/// dispatches of a submission, without their names.
pub type Stage = Vec<Member>;

/// What the device did of some commands, from their submission until they were seen to have ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// Before they were submitted, in nanoseconds since the recorder began, on the host's clock.
    pub submitted: u64,
    /// When they were seen to have ended, likewise.
    pub seen: u64,
    /// The stages in their order: which of [`Log::stages`], and its time on the clock of [`Log::clock`]; none if the
    /// device's stamps cannot be true.
    pub stages: Vec<(usize, Option<Span>)>,
}

/// All that was recorded. Times of the host are nanoseconds since the recorder began.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// What the host did, in the order in which it ended.
    pub host: Vec<(Work, Span)>,
    /// What the device did, in the order of the submissions.
    pub submissions: Vec<Submission>,
    /// What was timed.
    pub stages: Vec<Stage>,
    /// Whose clock timed it; nothing if nothing was.
    pub clock: Option<Clock>,
    /// What each thread of the CPU engine did of which stage.
    pub parts: Vec<(usize, usize, Span)>,
    /// When the reader's threads parsed their blocks, if recorded.
    pub reader: Vec<Span>,
    /// When the run trained: from the begin of an epoch to its end.
    pub windows: Vec<Span>,
    /// Steps of each submission.
    pub sizes: Vec<usize>,
}

/// Records what a run does and when.
#[derive(Debug)]
pub struct Recorder {
    start: Instant,
    detail: Detail,
    log: Mutex<Log>,
    /// Sizes that submissions shall have, as long as there are any.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "the CPU engine has no submissions"))]
    sizes: Mutex<VecDeque<usize>>,
}

/// Who observes, if anybody.
pub type Observer = Option<Arc<Recorder>>;

impl Recorder {
    /// Begins now.
    pub fn new(detail: Detail) -> Self {
        Self::with_sizes(detail, Vec::new())
    }

    /// Begins now; submissions shall have as many steps as those of another run, so that the work is the same.
    pub fn with_sizes(detail: Detail, sizes: Vec<usize>) -> Self {
        Self { start: Instant::now(), detail, log: Mutex::default(), sizes: Mutex::new(sizes.into()) }
    }

    /// How closely to look at the device.
    pub fn detail(&self) -> Detail {
        self.detail
    }

    /// Nanoseconds since it began.
    pub fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    /// A moment in nanoseconds since it began; 0 for those before.
    pub fn at(&self, moment: Instant) -> u64 {
        moment.saturating_duration_since(self.start).as_nanos() as u64
    }

    /// All that was recorded so far; it begins anew with nothing.
    pub fn take(&self) -> Log {
        std::mem::take(&mut *self.log())
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stage that will be timed; gives its place in [`Log::stages`].
    pub(crate) fn stage(&self, stage: Stage) -> usize {
        let mut log = self.log();
        log.stages.iter().position(|known| *known == stage).unwrap_or_else(|| {
            log.stages.push(stage);
            log.stages.len() - 1
        })
    }

    /// How many steps the next submission shall have, if that is given.
    #[cfg(feature = "gpu")]
    pub(crate) fn next_size(&self) -> Option<usize> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// The host begins this work; it ends when what comes back is dropped.
pub(crate) fn begin(observer: &Observer, work: Work) -> Option<StartedSpan> {
    observer.as_ref().map(|recorder| {
        let recorder = Arc::clone(recorder);
        StartedSpan { begin: recorder.now(), recorder, work }
    })
}

/// See [`begin`].
pub(crate) struct StartedSpan {
    recorder: Arc<Recorder>,
    work: Work,
    begin: u64,
}

impl Drop for StartedSpan {
    fn drop(&mut self) {
        let span = Span { begin: self.begin, end: self.recorder.now() };
        self.recorder.log().host.push((self.work, span));
    }
}
