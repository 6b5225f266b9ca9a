//! How many steps a submission has, by how long those before it took.

use std::time::Duration;

use super::bound::MOST_STEPS;
use crate::clock::Instant;
use crate::threads::steps_of_piece;

/// How long a submission should take: short enough that the progress bar moves and no watchdog bites, long enough
/// that its own cost does not count.
const SUBMISSION_TIME: Duration = Duration::from_millis(50);

/// The size of the next submission.
pub struct SubmissionSizing {
    steps: usize,
    /// When it was known that the last one had ended.
    last_ready: Option<Instant>,
}

impl SubmissionSizing {
    /// Begins with one step, so that something is known soon.
    pub fn new() -> Self {
        Self { steps: 1, last_ready: None }
    }

    /// Steps that the next one should have.
    pub fn steps(&self) -> usize {
        steps_of_piece(self.steps)
    }

    /// Sizes the next submissions by how long one of so many steps took that has ended now. If nobody `waited` for it, it may
    /// have ended long ago and the host was late: that is no reason for smaller ones.
    pub fn adapt(&mut self, submitted: Instant, steps: usize, waited: bool) {
        let now = Instant::now();
        let started = self.last_ready.map_or(submitted, |ready| ready.max(submitted));
        self.last_ready = Some(now);
        let fitting = fitting_steps(now - started, steps, self.steps);
        self.steps = if waited { fitting } else { fitting.max(self.steps) };
    }
}

/// How many steps fit into [`SUBMISSION_TIME`] if `steps` of them took so long; not more than twice as many as
/// `before`, since one measurement may be a fluke.
pub fn fitting_steps(time: Duration, steps: usize, before: usize) -> usize {
    let step = time.as_secs_f64().max(1e-9) / steps as f64;
    let fitting = (SUBMISSION_TIME.as_secs_f64() / step) as usize;
    fitting.clamp(1, (2 * before).min(MOST_STEPS))
}
