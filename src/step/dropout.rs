//! Dropout: units that are left out of a step at random (N. Srivastava and others, "Dropout: a simple way to prevent neural
//! networks from overfitting", JMLR 2014), inverted: what is kept is divided by the share that is kept.

use crate::random::{Purpose, philox};

use super::StepRecord;

/// Dropout behind one layer. Which units are left out depends on seed, step, layer, row of the batch and unit alone, so
/// nothing is stored, and every engine leaves out the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dropout {
    /// The layer, from 0.
    layer: u32,
    /// Words below this leave a unit out: the share times 2^32.
    threshold: u32,
    /// 1 / (1 - share).
    scale: f32,
}

impl Dropout {
    /// Leaves out this share, from 0 to below 1, of the outputs of `layer`, from 0; nothing for a share of 0.
    pub fn new(share: f32, layer: usize) -> Option<Self> {
        let threshold = (f64::from(share) * 4_294_967_296.0).round() as u32;
        (share > 0.0).then(|| Self { layer: layer as u32, threshold, scale: 1.0 / (1.0 - share) })
    }

    /// The layer, from 0.
    pub fn layer(&self) -> usize {
        self.layer as usize
    }

    /// Words below this leave a unit out.
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    /// What kept values are multiplied by: 1 / (1 - share).
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// Four words decide on the units 4 `block` to 4 `block` + 3 of a row of the batch.
    fn words(&self, record: &StepRecord, row: u32, block: u32) -> [u32; 4] {
        philox([row, block, record.step, Purpose::Dropout as u32 + 256 * self.layer], record.seed)
    }

    /// Leaves out and scales, in place: `values` are the columns from `first` on (a multiple of 4) of row `row` of the
    /// batch. The same for outputs and for their gradients.
    pub fn apply(&self, record: &StepRecord, row: usize, first: usize, values: &mut [f32]) {
        for (block, four) in (first / 4..).zip(values.chunks_mut(4)) {
            let words = self.words(record, row as u32, block as u32);
            for (value, word) in four.iter_mut().zip(words) {
                *value = if word < self.threshold { 0.0 } else { *value * self.scale };
            }
        }
    }
}
