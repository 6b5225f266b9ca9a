//! Dropout: units that are left out of a step at random (N. Srivastava and others, "Dropout: a simple way to
//! prevent neural networks from overfitting", JMLR 2014), inverted: kept values are divided by the share of
//! kept units.

use crate::random::{Purpose, philox};

use super::StepRecord;

/// Dropout after one layer. The dropped units depend only on seed, step, layer, row of the batch and unit, so
/// nothing is stored, and every engine drops the same units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dropout {
    /// The layer, from 0.
    layer: u32,
    /// Units with words below this are dropped: the share times 2^32.
    threshold: u32,
    /// 1 / (1 - share).
    scale: f32,
}

impl Dropout {
    /// Creates dropout of this share, from 0 to below 1, of the outputs of `layer`, from 0; `None` for a
    /// share of 0.
    pub fn new(share: f32, layer: usize) -> Option<Self> {
        let threshold = (f64::from(share) * 4_294_967_296.0).round() as u32;
        (share > 0.0).then(|| Self { layer: layer as u32, threshold, scale: 1.0 / (1.0 - share) })
    }

    /// Returns the layer, from 0.
    pub fn layer(&self) -> usize {
        self.layer as usize
    }

    /// Returns the threshold: units with words below it are dropped.
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    /// Returns the factor of kept values: 1 / (1 - share).
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// Returns the four random words for the units 4 `block` to 4 `block` + 3 of a row of the batch.
    fn words(&self, record: &StepRecord, row: u32, block: u32) -> [u32; 4] {
        philox([row, block, record.step, Purpose::Dropout as u32 + 256 * self.layer], record.seed)
    }

    /// Drops and scales in place: `values` are the columns from `first` on (a multiple of 4) of row `row` of
    /// the batch. Applies to outputs and to their gradients alike.
    pub fn apply(&self, record: &StepRecord, row: usize, first: usize, values: &mut [f32]) {
        for (block, four) in (first / 4..).zip(values.chunks_mut(4)) {
            let words = self.words(record, row as u32, block as u32);
            for (value, word) in four.iter_mut().zip(words) {
                *value = if word < self.threshold { 0.0 } else { *value * self.scale };
            }
        }
    }
}
