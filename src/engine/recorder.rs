//! Timing records of a run, for an observer. Without an observer no clock is read.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::Instant;
use crate::timing::Span;

/// Work of the host in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Waiting for the reader's next block.
    Reading,
    /// Uploading rows and their order.
    Upload,
    /// Distorting images, on the CPU engine.
    Distorting,
    /// Recording commands.
    Recording,
    /// Submitting commands; some drivers, such as GL, run them at the same time.
    Submitting,
    /// Finishing an encoder on another thread, where wgpu does most of the work of recording.
    Finishing,
    /// Waiting for the device, or for the other threads of the CPU engine.
    Waiting,
}

/// Level of detail at which a GPU engine times its device. The CPU engine has only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Submissions as in training, with a time stamp before the first dispatch and one after the last.
    Submissions,
    /// A pass for each stage, with time stamps before and after.
    Stages,
    /// A submission for each stage, timed by the host's clock until it is done: replaces the other two levels
    /// if a device has no time stamps.
    Host,
}

/// Clock that timed the stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The device's clock: time stamps.
    Timestamps,
    /// The host's clock.
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
    /// Operations fused into the kernel.
    pub fused: Vec<String>,
    /// Readable shapes.
    pub shape: String,
    /// Workgroups of a dispatch, or threads of the CPU engine.
    pub workgroups: u64,
    /// Bytes read and written, with all rows live.
    pub bytes: u64,
    /// Arithmetic operations, with all rows live.
    pub flop: u64,
}

/// Unit of timing: a dispatch, or several without a fence between them. With [`Detail::Submissions`] all
/// dispatches of a submission, without their names.
pub type Stage = Vec<Member>;

/// Execution of some commands by the device, from their submission until they were seen to have ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// Time before submission, in nanoseconds since the recorder began, on the host's clock.
    pub submitted: u64,
    /// Time when the commands were seen to have ended, in the same unit.
    pub seen: u64,
    /// Stages in order: the index in [`Log::stages`], and the time on the clock of [`Log::clock`]; `None` if
    /// the device's stamps cannot be correct.
    pub stages: Vec<(usize, Option<Span>)>,
}

/// All recorded data. Times of the host are nanoseconds since the recorder began.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// Work of the host, in the order in which it ended.
    pub host: Vec<(Work, Span)>,
    /// Work of the device, in the order of the submissions.
    pub submissions: Vec<Submission>,
    /// Timed stages.
    pub stages: Vec<Stage>,
    /// Clock that timed the stages; `None` if none was timed.
    pub clock: Option<Clock>,
    /// Thread, stage and time of each part on the CPU engine.
    pub parts: Vec<(usize, usize, Span)>,
    /// Times in which the reader's threads parsed their blocks, if recorded.
    pub reader: Vec<Span>,
    /// Times of training: from the start of an epoch to its end.
    pub windows: Vec<Span>,
    /// Steps of each submission.
    pub sizes: Vec<usize>,
}

/// Records the work of a run with its times.
#[derive(Debug)]
pub struct Recorder {
    start: Instant,
    detail: Detail,
    log: Mutex<Log>,
    /// Requested sizes of the next submissions, if any are left.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "the CPU engine has no submissions"))]
    sizes: Mutex<VecDeque<usize>>,
}

/// The observer, if any.
pub type Observer = Option<Arc<Recorder>>;

impl Recorder {
    /// Starts recording now.
    pub fn new(detail: Detail) -> Self {
        Self::with_sizes(detail, Vec::new())
    }

    /// Starts recording now; submissions shall have the numbers of steps of another run, so that the work is
    /// the same.
    pub fn with_sizes(detail: Detail, sizes: Vec<usize>) -> Self {
        Self { start: Instant::now(), detail, log: Mutex::default(), sizes: Mutex::new(sizes.into()) }
    }

    /// Returns the level of detail.
    pub fn detail(&self) -> Detail {
        self.detail
    }

    /// Returns the nanoseconds since the recorder began.
    pub fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    /// Converts a moment to nanoseconds since the recorder began; 0 for earlier moments.
    pub fn at(&self, moment: Instant) -> u64 {
        moment.saturating_duration_since(self.start).as_nanos() as u64
    }

    /// Returns everything recorded so far and starts again with an empty log.
    pub fn take(&self) -> Log {
        std::mem::take(&mut *self.log())
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a stage and returns its index in [`Log::stages`].
    pub(crate) fn stage(&self, stage: Stage) -> usize {
        let mut log = self.log();
        log.stages.iter().position(|known| *known == stage).unwrap_or_else(|| {
            log.stages.push(stage);
            log.stages.len() - 1
        })
    }

    /// Returns the requested number of steps of the next submission, if any.
    #[cfg(feature = "gpu")]
    pub(crate) fn next_size(&self) -> Option<usize> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// Starts a span of this work by the host; it ends when the returned value is dropped.
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
