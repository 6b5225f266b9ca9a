//! How many steps a submission has, by how long those before it took.

use std::time::Duration;

use super::bound::MOST_STEPS;
use crate::clock::Instant;
use crate::threads::steps_of_piece;

/// How long a submission should take: short enough that the progress bar moves and no watchdog bites, long enough
/// that its own cost does not count.
const SUBMISSION_TIME: Duration = Duration::from_millis(50);

/// The first submission of an idle device has this share of the steps that fit, and each behind it twice as many as the one before: a
/// fast device would wait for an epoch's commands to be recorded.
const FIRST_SHARE: usize = 16;

/// The size of the next submission.
pub struct SubmissionSizing {
    /// Steps that fit.
    steps: usize,
    /// Steps that the last one was given.
    given: usize,
    /// When it was known that the last one had ended.
    last_ready: Option<Instant>,
}

impl SubmissionSizing {
    /// Begins with one step, so that something is known soon.
    pub fn new() -> Self {
        Self { steps: 1, given: 0, last_ready: None }
    }

    /// Steps that the next one should have, where nothing else is on its way or something is.
    pub fn steps(&mut self, is_idle: bool) -> usize {
        let share = if is_idle { self.steps.div_ceil(FIRST_SHARE) } else { 2 * self.given };
        self.given = share.clamp(1, self.steps);
        steps_of_piece(self.given)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_device_begins_with_few_steps() {
        let mut sizing = SubmissionSizing { steps: 1000, given: 0, last_ready: None };
        let given =
            [true, false, false, false, false, false, false, true, false].map(|idle| sizing.steps(idle));
        assert_eq!(given, [63, 126, 252, 504, 1000, 1000, 1000, 63, 126]);
        let mut sizing = SubmissionSizing::new();
        assert_eq!([false, true, false].map(|idle| sizing.steps(idle)), [1, 1, 1]);
    }
}
