//! Weights of training rows in the loss and in scores.

use std::path::PathBuf;

use super::TrainingData;
use crate::data::Scaling;
use crate::error::{Error, Result};
use crate::train::ClassWeights;

impl TrainingData {
    /// Returns whether rows have individual weights, and not only class weights.
    pub fn has_row_weights(&self) -> bool {
        self.has_row_weights
    }

    /// Returns the validation and test files without the column of weights: their rows have equal weights.
    pub fn files_without_weights(&self) -> &[PathBuf] {
        &self.files_without_weights
    }

    /// Returns the weight of each row so far in scores; 1 for rows without weights.
    pub(in crate::train) fn counts(&self) -> Vec<f64> {
        let rows = self.view();
        if self.has_row_weights { rows.counts() } else { vec![1.0; rows.len()] }
    }

    /// Multiplies the weights of the rows by their class weights, once, when all labels have been read.
    ///
    /// # Errors
    /// [`Error::Setting`] if the number of weights is not the number of classes.
    pub fn weigh_classes(&mut self, weights: &ClassWeights) -> Result<()> {
        let classes = self.reader.classes().len();
        let weights = match weights {
            _ if self.is_weighed => return Ok(()),
            ClassWeights::None => return Ok(()),
            ClassWeights::Given(weights) if weights.len() != classes => {
                return Err(Error::setting(
                    "class-weights",
                    format!("{classes} numbers, one for each class ({})", self.reader.classes().some_names()),
                    weights.len().to_string(),
                ));
            }
            ClassWeights::Given(weights) => weights.clone(),
            ClassWeights::Balanced => {
                // Total weight of the rows of each class.
                let mut sums = vec![0.0; classes];
                let rows = self.reader.view(Scaling::AsIs);
                for (row, label) in rows.labels().iter().enumerate() {
                    sums[*label as usize] += f64::from(rows.weight(row));
                }
                let all: f64 = sums.iter().sum();
                let weight = |sum: &f64| if *sum > 0.0 { all / (classes as f64 * sum) } else { 1.0 };
                sums.iter().map(|sum| weight(sum) as f32).collect()
            }
        };
        self.reader.weigh(&weights);
        self.is_weighed = true;
        self.reader.check_weights()
    }
}
