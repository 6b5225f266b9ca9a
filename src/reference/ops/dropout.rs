//! The units dropped in a step.

use ndarray::Array2;

use crate::random::philox;
use crate::step::StepRecord;

/// M [rows, units] of hidden layer `layer`, from 0, in the record's step: 0 for the share of units dropped, 1 / (1 -
/// share) for the rest. Unit j of row i has word j mod 4 of counter (i, floor(j / 4), step, 4 + 256 layer).
pub fn dropout_mask(share: f64, layer: usize, dim: (usize, usize), record: &StepRecord) -> Array2<f64> {
    Array2::from_shape_fn(dim, |(i, j)| {
        let counter = [i as u32, (j / 4) as u32, record.step, 4 + 256 * layer as u32];
        let word = philox(counter, record.seed)[j % 4];
        if f64::from(word) < (share * 2f64.powi(32)).round() { 0.0 } else { 1.0 / (1.0 - share) }
    })
}
