//! Labelled rows in memory, and the scaling of their values to network inputs.

mod features;

pub use features::{Features, FeaturesRef, Scaling};
pub(crate) use features::{floats, is_byte, reserve, rows};

use std::ops::Range;

use crate::data::encoding::targets::{Targets, TargetsRef};
use crate::error::{Error, Result};
use crate::random::{Purpose, words};

/// Rows of the first epoch are shuffled within blocks of this many rows; training starts after the first block has been
/// read. The same for every format and engine.
pub const BLOCK_ROWS: usize = 4096;

/// Labelled rows ready for a network.
///
/// `Features::Bytes` are scaled by 1/255 when read, `Features::Floats` are used unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Values per row.
    pub inputs: usize,
    /// The values in row-major order.
    pub features: Features,
    /// The targets of the rows.
    pub targets: Targets,
    /// The weight of each row in the loss and in scores; if empty, all weights are 1.
    pub weights: Vec<f32>,
}

/// Borrowed labelled rows: rows of a [`Dataset`], or the rows of a file read so far.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Values per row.
    pub inputs: usize,
    /// The stored values in row-major order, before scaling.
    pub features: &'a Features,
    /// The targets of the rows.
    pub targets: TargetsRef<'a>,
    /// The weight of each row in the loss; if empty, all weights are 1.
    pub weights: &'a [f32],
    /// The scaling of the values to network inputs.
    pub scaling: Scaling,
    /// The final number of rows of the data set, if known.
    pub total: Option<usize>,
}

impl<'a> Rows<'a> {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.features.len() / self.inputs
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.features.is_empty()
    }

    /// Whether these are all rows of the data set.
    pub fn are_all(&self) -> bool {
        self.total == Some(self.len())
    }

    /// The classes of the rows; empty if targets are values.
    pub fn labels(&self) -> &'a [u32] {
        self.targets.labels()
    }

    /// The weight of a row in the loss.
    pub fn weight(&self, row: usize) -> f32 {
        self.weights.get(row).copied().unwrap_or(1.0)
    }

    /// The weight of each row in scores.
    pub fn counts(&self) -> Vec<f64> {
        (0..self.len()).map(|row| self.weight(row).into()).collect()
    }

    /// Copies the rows with these indices, in this order.
    pub(crate) fn taken(&self, numbers: &[u32]) -> Dataset {
        Dataset {
            inputs: self.inputs,
            features: self.features.rows(self.inputs, numbers),
            targets: match self.targets {
                TargetsRef::Classes(classes) => rows(classes, 1, numbers).into(),
                TargetsRef::Values { columns, values } => {
                    Targets::Values { columns, values: rows(values, columns, numbers) }
                }
            },
            weights: rows(self.weights, 1, numbers),
        }
    }

    /// Copies a random sample of `rows` rows by the seed, in the original order; all rows if there are fewer.
    pub fn sample(&self, rows: usize, seed: u64) -> Dataset {
        let key =
            |row: u32| u64::from(words(seed, Purpose::Sample, [row, 0])[0]) << u32::BITS | u64::from(row);
        let mut keyed: Vec<u64> = (0..self.len() as u32).map(key).collect();
        if rows < keyed.len() {
            keyed.select_nth_unstable(rows);
        }
        let mut chosen: Vec<u32> = keyed.iter().take(rows).map(|keyed| *keyed as u32).collect();
        chosen.sort_unstable();
        self.taken(&chosen)
    }

    /// The rows `range` as network inputs.
    pub fn scaled(&self, range: Range<usize>) -> FeaturesRef<'a> {
        self.features.scaled(range.start * self.inputs..range.end * self.inputs, self.scaling)
    }
}

/// Whether there are weights and none of them is positive.
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

    /// Checks that at least one row has a positive weight, if the rows have weights.
    ///
    /// # Errors
    /// [`Error::Config`] if all weights are 0.
    pub fn check_weights(&self) -> Result<()> {
        if !are_all_zero(&self.weights) {
            return Ok(());
        }
        let rows = self.weights.len();
        Err(Error::Config(format!(
            "expected rows that count in scores, found only weights of 0, of {rows} rows"
        )))
    }

    /// A random sample of `rows` rows by the seed, in the original order; all rows if there are fewer.
    #[must_use]
    pub fn sample(self, rows: usize, seed: u64) -> Self {
        if rows >= self.rows() { self } else { self.view().sample(rows, seed) }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.features.len() / self.inputs
    }

    /// The classes of the rows; empty if targets are values.
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

    /// One row as network inputs, with bytes scaled.
    pub fn row(&self, index: usize) -> Vec<f32> {
        match self.block(index..index + 1) {
            FeaturesRef::Bytes(bytes) => bytes.iter().map(|byte| f32::from(*byte) / 255.0).collect(),
            FeaturesRef::Floats(floats) => floats.into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_chosen_with_all_that_is_theirs() {
        for (rows, wanted) in [(257, 63), (65, 1), (17, 17), (3, 5)] {
            let features = Features::Floats((0..3 * rows).map(|value| value as f32).collect());
            let targets = (0..rows as u32).collect::<Vec<u32>>().into();
            let weights = (0..rows).map(|row| row as f32).collect();
            let all = Dataset { inputs: 3, features, targets, weights };
            let chosen = all.clone().sample(wanted, 7);
            assert_eq!(chosen.rows(), wanted.min(rows));
            assert!(chosen.labels().is_sorted_by(|a, b| a < b));
            let Features::Floats(values) = &chosen.features else { panic!("they were floats") };
            for (place, row) in chosen.labels().iter().map(|row| *row as f32).enumerate() {
                assert_eq!(values[3 * place..][..3], [3.0 * row, 3.0 * row + 1.0, 3.0 * row + 2.0]);
                assert_eq!(chosen.weights[place], row);
            }
            assert_eq!(all.clone().sample(wanted, 7), chosen);
            assert!(wanted != 63 || all.sample(wanted, 8) != chosen);
        }
    }
}
