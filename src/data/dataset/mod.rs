//! Labelled rows in memory, and the rule by which values become a network's inputs.

mod features;
mod sample;

pub use features::{Features, FeaturesRef, Scaling};
pub(crate) use features::{floats, is_byte, reserve};

use std::ops::Range;

use crate::data::encoding::targets::{Targets, TargetsRef};
use crate::error::{Error, Result};

/// Rows of the first epoch are shuffled within blocks of this many rows; training starts when the first
/// block is in. The same for every format and engine.
pub const BLOCK_ROWS: usize = 4096;

/// Labelled rows ready for a network.
///
/// `Features::Bytes` are scaled by 1/255 where they are read, `Features::Floats` are taken as they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Values of a row.
    pub inputs: usize,
    /// The values, row after row.
    pub features: Features,
    /// What the rows should give.
    pub targets: Targets,
    /// How much each row counts in the loss, and in scores; none is 1 for all.
    pub weights: Vec<f32>,
}

/// Borrowed labelled rows: those of a [`Dataset`], or those of a file that have been read so far.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Values of a row.
    pub inputs: usize,
    /// The values as they stand in memory, row after row.
    pub features: &'a Features,
    /// What the rows should give.
    pub targets: TargetsRef<'a>,
    /// How much each row counts in the loss; none is 1 for all.
    pub weights: &'a [f32],
    /// How the values become the network's inputs.
    pub scaling: Scaling,
    /// How many rows the data set has in the end, where that is known.
    pub total: Option<usize>,
}

impl<'a> Rows<'a> {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.features.len() / self.inputs
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.features.is_empty()
    }

    /// Whether these are all rows of the data set: none is still to be read.
    pub fn are_all(&self) -> bool {
        self.total == Some(self.len())
    }

    /// The classes of the rows; nothing where targets are values.
    pub fn labels(&self) -> &'a [u32] {
        self.targets.labels()
    }

    /// How much a row counts in the loss.
    pub fn weight(&self, row: usize) -> f32 {
        self.weights.get(row).copied().unwrap_or(1.0)
    }

    /// How much each row counts in scores.
    pub fn counts(&self) -> Vec<f64> {
        (0..self.len()).map(|row| self.weight(row).into()).collect()
    }

    /// The rows `range` as network inputs.
    pub fn scaled(&self, range: Range<usize>) -> FeaturesRef<'a> {
        self.features.scaled(range.start * self.inputs..range.end * self.inputs, self.scaling)
    }
}

/// Whether there are weights and none of them counts.
pub(crate) fn are_all_zero(weights: &[f32]) -> bool {
    !weights.is_empty() && weights.iter().all(|weight| *weight <= 0.0)
}

impl Dataset {
    /// All rows.
    pub fn view(&self) -> Rows<'_> {
        let scaling = match self.features {
            Features::Bytes(_) => Scaling::Bytes,
            Features::Floats(_) => Scaling::AsIs,
        };
        let (total, targets) = (Some(self.rows()), self.targets.view());
        Rows {
            inputs: self.inputs,
            features: &self.features,
            targets,
            weights: &self.weights,
            scaling,
            total,
        }
    }

    /// Checks that a row counts, if the rows have weights.
    ///
    /// # Errors
    /// [`Error::Config`] when all weights are 0.
    pub fn check_weights(&self) -> Result<()> {
        if !are_all_zero(&self.weights) {
            return Ok(());
        }
        let rows = self.weights.len();
        Err(Error::Config(format!(
            "expected rows that count in scores, found only weights of 0, of {rows} rows"
        )))
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.features.len() / self.inputs
    }

    /// The classes of the rows; nothing where targets are values.
    pub fn labels(&self) -> &[u32] {
        self.targets.view().labels()
    }

    /// The greatest label + 1.
    pub fn classes(&self) -> usize {
        self.labels().iter().max().map_or(0, |greatest| *greatest as usize + 1)
    }

    /// The features of the rows `range`.
    pub fn block(&self, range: Range<usize>) -> FeaturesRef<'_> {
        self.view().scaled(range)
    }

    /// One row as a network sees it, bytes scaled.
    pub fn row(&self, index: usize) -> Vec<f32> {
        match self.block(index..index + 1) {
            FeaturesRef::Bytes(bytes) => bytes.iter().map(|byte| f32::from(*byte) / 255.0).collect(),
            FeaturesRef::Floats(floats) => floats.into_owned(),
        }
    }
}
