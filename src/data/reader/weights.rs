//! The weights of a reader's rows.

use super::Reader;
use crate::data::dataset::are_all_zero;
use crate::data::reading::table::Table;
use crate::error::{Error, Place, Result};

impl Reader {
    /// Whether rows have weights in the loss.
    pub fn is_weighted(&self) -> bool {
        !self.table.weights.is_empty()
    }

    /// Divides the row weights by their mean, which must not be 0: the loss then has the same scale as without weights.
    pub(crate) fn normalise_weights(&mut self) {
        let weights = &mut self.table.weights;
        let mean = weights.iter().copied().map(f64::from).sum::<f64>() / weights.len() as f64;
        weights.iter_mut().for_each(|weight| *weight = (f64::from(*weight) / mean) as f32);
    }

    /// Multiplies the weights of the rows so far by the weights of their classes.
    pub fn weigh(&mut self, classes: &[f32]) {
        let Table { labels, weights, .. } = &mut self.table;
        weights.resize(labels.len(), 1.0);
        for (weight, label) in weights.iter_mut().zip(labels) {
            *weight *= classes[*label as usize];
        }
    }

    /// Checks that at least one row has a positive weight, if the rows so far have weights.
    ///
    /// # Errors
    /// [`Error::Data`] if all weights are 0.
    pub fn check_weights(&self) -> Result<()> {
        let weights = &self.table.weights;
        if !are_all_zero(weights) {
            return Ok(());
        }
        let expected = "a row that counts in the loss";
        let found = format!("only weights of 0, of {} rows", weights.len());
        Err(Error::data(self.name(), Place::default(), expected, found))
    }
}
