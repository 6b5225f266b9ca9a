//! The times at which a run writes checkpoints.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::clock::Instant;
use crate::error::{Error, Result};
use crate::printable::time_text;
use crate::settings::values::duration;

/// The interval between checkpoints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CheckpointInterval {
    /// Every this many epochs.
    Epochs(u64),
    /// Every this many steps.
    Steps(u64),
    /// Whenever this time has passed.
    Time(Duration),
}

impl Default for CheckpointInterval {
    fn default() -> Self {
        Self::Time(Duration::from_secs(60))
    }
}

impl fmt::Display for CheckpointInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckpointInterval::Epochs(count) => write!(f, "{count}epochs"),
            CheckpointInterval::Steps(count) => write!(f, "{count}steps"),
            CheckpointInterval::Time(time) => time_text(*time).fmt(f),
        }
    }
}

impl FromStr for CheckpointInterval {
    type Err = Error;

    /// Parses `1epoch`, `100steps` or `5min`.
    fn from_str(text: &str) -> Result<Self> {
        let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let count = number.parse::<u64>().ok().filter(|count| *count > 0);
        match (count, unit.trim()) {
            (Some(count), "epoch" | "epochs") => Ok(CheckpointInterval::Epochs(count)),
            (Some(count), "step" | "steps") => Ok(CheckpointInterval::Steps(count)),
            _ => duration(text).map(CheckpointInterval::Time).map_err(|_| {
                Error::Config("expected epochs, steps or a time, such as 1epoch, 100steps or 5min".to_owned())
            }),
        }
    }
}

/// The time of the last checkpoint, and the progress of the run at that time.
pub struct CheckpointClock {
    every: CheckpointInterval,
    time: Instant,
    steps: u64,
    epochs: usize,
}

impl CheckpointClock {
    /// Starts counting with a run of this progress.
    pub fn new(every: CheckpointInterval, steps: u64, epochs: usize) -> Self {
        Self { every, time: Instant::now(), steps, epochs }
    }

    /// Whether a run of this progress is due for the next checkpoint; if so, restarts counting here.
    pub fn is_due(&mut self, steps: u64, epochs: usize) -> bool {
        let is_due = match self.every {
            CheckpointInterval::Epochs(count) => (epochs - self.epochs) as u64 >= count,
            CheckpointInterval::Steps(count) => steps - self.steps >= count,
            CheckpointInterval::Time(time) => self.time.elapsed() >= time,
        };
        if is_due {
            *self = Self::new(self.every, steps, epochs);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_a_unit_and_times_are_read_as_elsewhere() {
        assert_eq!("1epoch".parse::<CheckpointInterval>().unwrap(), CheckpointInterval::Epochs(1));
        assert_eq!("20 epochs".parse::<CheckpointInterval>().unwrap(), CheckpointInterval::Epochs(20));
        assert_eq!("100steps".parse::<CheckpointInterval>().unwrap(), CheckpointInterval::Steps(100));
        assert_eq!(
            "5min".parse::<CheckpointInterval>().unwrap(),
            CheckpointInterval::Time(Duration::from_secs(300))
        );
        assert_eq!(
            "90".parse::<CheckpointInterval>().unwrap(),
            CheckpointInterval::Time(Duration::from_secs(90))
        );
        for text in ["", "0steps", "epoch", "-1epoch", "1.5steps", "3 weeks of"] {
            assert!(text.parse::<CheckpointInterval>().is_err(), "{text}");
        }
    }

    #[test]
    fn steps_count_from_the_last_checkpoint() {
        let mut clock = CheckpointClock::new(CheckpointInterval::Steps(10), 5, 0);
        assert_eq!(
            [14, 15, 20, 24, 25].map(|steps| clock.is_due(steps, 0)),
            [false, true, false, false, true]
        );
    }
}
