//! Number of steps per submission, from the durations of earlier ones.

use std::time::Duration;

use super::bound::MOST_STEPS;
use crate::clock::Instant;
use crate::threads::steps_of_piece;

/// Target duration of a submission: short enough for a moving progress bar and no watchdog, long enough that
/// its overhead does not matter.
const SUBMISSION_TIME: Duration = Duration::from_millis(50);

/// The first submission of an idle device has this share of the steps that fit, and each following one twice
/// the steps of the previous: a fast device would otherwise wait for an epoch's commands to be recorded.
const FIRST_SHARE: usize = 16;

/// Sizes of submissions.
pub struct SubmissionSizing {
    /// Steps that fit.
    steps: usize,
    /// Steps of the last submission.
    given: usize,
    /// Time when the last submission was known to have ended.
    last_ready: Option<Instant>,
}

impl SubmissionSizing {
    /// Starts with one step, for an early measurement.
    pub fn new() -> Self {
        Self { steps: 1, given: 0, last_ready: None }
    }

    /// Returns the number of steps of the next submission; `is_idle` is whether nothing is in flight.
    pub fn steps(&mut self, is_idle: bool) -> usize {
        let share = if is_idle { self.steps.div_ceil(FIRST_SHARE) } else { 2 * self.given };
        self.given = share.clamp(1, self.steps);
        steps_of_piece(self.given)
    }

    /// Sizes later submissions by the duration of one of `steps` steps that has ended now. If the host had
    /// not `waited` for it, it may have ended long ago, so the size does not shrink.
    pub fn adapt(&mut self, submitted: Instant, steps: usize, waited: bool) {
        let now = Instant::now();
        let started = self.last_ready.map_or(submitted, |ready| ready.max(submitted));
        self.last_ready = Some(now);
        let fitting = fitting_steps(now - started, steps, self.steps);
        self.steps = if waited { fitting } else { fitting.max(self.steps) };
    }
}

/// Returns the number of steps that fit into [`SUBMISSION_TIME`] if `steps` of them took `time`; at most
/// twice `before`, since one measurement may be an outlier.
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
