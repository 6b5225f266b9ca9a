//! Settings of a run.

use std::fmt;
use std::str::FromStr;

use super::measured::Measurements;
use crate::error::{Error, Result};
use crate::memory::check_memory;
use crate::model::Spec;

/// How the work of a step is divided into dispatches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleKind {
    /// One kernel an operation: the readable one, and the one that keeps gradients.
    Plain,
    /// Forward+ReLU, softmax+loss+delta, input gradient+ReLU mask, weight gradient+update in one kernel each.
    Fused,
    /// One kernel along the rows of the batch, through all layers and back; one along the units, which updates all
    /// weights and begins the next batch.
    TwoDispatch,
}

impl ScheduleKind {
    /// All of them.
    pub const ALL: [ScheduleKind; 3] = [ScheduleKind::Plain, ScheduleKind::Fused, ScheduleKind::TwoDispatch];
}

impl fmt::Display for ScheduleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ScheduleKind::Plain => "plain",
            ScheduleKind::Fused => "fused",
            ScheduleKind::TwoDispatch => "two-dispatch",
        })
    }
}

impl FromStr for ScheduleKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "plain" => Ok(ScheduleKind::Plain),
            "fused" => Ok(ScheduleKind::Fused),
            "two-dispatch" => Ok(ScheduleKind::TwoDispatch),
            _ => Err(Error::Setting {
                setting: "schedule",
                expected: "plain, fused or two-dispatch".to_owned(),
                found: format!("{text:?}"),
            }),
        }
    }
}

/// Everything that decides what a run computes.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Sizes of the hidden layers, first to last; none is softmax regression.
    pub hidden: Vec<usize>,
    /// Passes over the training set.
    pub epochs: usize,
    /// Rows of a batch; the last of an epoch may have fewer.
    pub batch_size: usize,
    /// Step size of stochastic gradient descent.
    pub learning_rate: f32,
    /// Decides the initial weights and the order of the rows.
    pub seed: u64,
    /// How a GPU divides a step into dispatches; nothing leaves it the choice.
    pub schedule: Option<ScheduleKind>,
    /// Tile shapes that were measured; those for the network and the device are taken, where there are any.
    pub measured: Measurements,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            hidden: vec![300, 100],
            epochs: 10,
            batch_size: 64,
            learning_rate: 0.1,
            seed: 1,
            schedule: None,
            measured: Measurements::default(),
        }
    }
}

impl Config {
    /// Looks whether all settings are in range.
    ///
    /// # Errors
    /// [`Error::Setting`] for the first that is not.
    pub fn validate(&self) -> Result<()> {
        let bad = |setting, expected: &str, found: &dyn fmt::Display| {
            Err(Error::Setting { setting, expected: expected.to_owned(), found: found.to_string() })
        };
        if self.epochs == 0 {
            return bad("epochs", "1 or more", &self.epochs);
        }
        if self.batch_size == 0 {
            return bad("batch size", "1 or more", &self.batch_size);
        }
        if !(self.learning_rate.is_finite() && self.learning_rate > 0.0) {
            return bad("learning rate", "a finite number above 0", &self.learning_rate);
        }
        if self.hidden.contains(&0) {
            return bad("hidden layers", "layer sizes of 1 or more", &0);
        }
        Ok(())
    }

    /// The network for data of this shape, whose batches of `batch` rows fit in memory.
    ///
    /// # Errors
    /// [`Error::Config`] for what memory cannot hold; nothing has been allocated then.
    pub fn spec(&self, inputs: usize, classes: usize, batch: usize) -> Result<Spec> {
        let mut sizes = vec![inputs];
        sizes.extend(&self.hidden);
        sizes.push(classes);
        let spec = Spec::new(sizes)?;
        let widths: u128 = spec.sizes().iter().map(|size| *size as u128).sum();
        // Activations and their gradients, f32.
        let bytes = widths.saturating_mul(batch as u128).saturating_mul(2 * size_of::<f32>() as u128);
        check_memory(bytes, &format!("a batch of {batch} rows of a {spec} network"))?;
        Ok(spec)
    }
}
