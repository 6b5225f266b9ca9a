//! When a run writes a checkpoint.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::settings::values::duration;

/// How often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Every {
    /// After so many epochs.
    Epochs(u64),
    /// After so many steps.
    Steps(u64),
    /// After so much time.
    Time(Duration),
}

impl Default for Every {
    fn default() -> Self {
        Self::Time(Duration::from_secs(60))
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Every::Epochs(count) => write!(f, "{count}epochs"),
            Every::Steps(count) => write!(f, "{count}steps"),
            Every::Time(time) => humantime::format_duration(*time).fmt(f),
        }
    }
}

impl FromStr for Every {
    type Err = Error;

    /// Reads `1epoch`, `100steps` or `5min`.
    fn from_str(text: &str) -> Result<Self> {
        let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let count = number.parse::<u64>().ok().filter(|count| *count > 0);
        match (count, unit.trim()) {
            (Some(count), "epoch" | "epochs") => Ok(Every::Epochs(count)),
            (Some(count), "step" | "steps") => Ok(Every::Steps(count)),
            _ => duration(text).map(Every::Time).map_err(|_| {
                Error::Config("expected epochs, steps or a time, such as 1epoch, 100steps or 5min".to_owned())
            }),
        }
    }
}

/// When the last one was written, and how far the run was then.
pub struct Clock {
    every: Every,
    time: Instant,
    steps: u64,
    epochs: usize,
}

impl Clock {
    /// Begins to count with a run that has come so far.
    pub fn new(every: Every, steps: u64, epochs: usize) -> Self {
        Self { every, time: Instant::now(), steps, epochs }
    }

    /// Whether it is time for the next one of a run that has come so far; if so, counts from here on.
    pub fn is_due(&mut self, steps: u64, epochs: usize) -> bool {
        let is_due = match self.every {
            Every::Epochs(count) => (epochs - self.epochs) as u64 >= count,
            Every::Steps(count) => steps - self.steps >= count,
            Every::Time(time) => self.time.elapsed() >= time,
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
        assert_eq!("1epoch".parse::<Every>().unwrap(), Every::Epochs(1));
        assert_eq!("20 epochs".parse::<Every>().unwrap(), Every::Epochs(20));
        assert_eq!("100steps".parse::<Every>().unwrap(), Every::Steps(100));
        assert_eq!("5min".parse::<Every>().unwrap(), Every::Time(Duration::from_secs(300)));
        assert_eq!("90".parse::<Every>().unwrap(), Every::Time(Duration::from_secs(90)));
        for text in ["", "0steps", "epoch", "-1epoch", "1.5steps", "3 weeks of"] {
            assert!(text.parse::<Every>().is_err(), "{text}");
        }
    }

    #[test]
    fn steps_count_from_the_last_checkpoint() {
        let mut clock = Clock::new(Every::Steps(10), 5, 0);
        assert_eq!(
            [14, 15, 20, 24, 25].map(|steps| clock.is_due(steps, 0)),
            [false, true, false, false, true]
        );
    }
}
