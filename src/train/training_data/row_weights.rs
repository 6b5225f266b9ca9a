//! How much the rows of training data count, in the loss and in scores.

use std::path::PathBuf;

use super::TrainingData;
use crate::data::Scaling;
use crate::error::{Error, Result};
use crate::train::ClassWeights;

impl TrainingData {
    /// Whether rows have weights of their own, and not only those of their classes.
    pub fn has_row_weights(&self) -> bool {
        self.has_row_weights
    }

    /// The files of rows that do not train which lack the column of weights: their rows count alike.
    pub fn files_without_weights(&self) -> &[PathBuf] {
        &self.files_without_weights
    }

    /// The weight of each row so far in scores; 1 for rows without weights.
    pub(in crate::train) fn counts(&self) -> Vec<f64> {
        let rows = self.view();
        if self.has_row_weights { rows.counts() } else { vec![1.0; rows.len()] }
    }

    /// Multiplies the weights of the rows by those of their classes, once, when all labels are here.
    ///
    /// # Errors
    /// [`Error::Setting`] if there are not as many weights as classes.
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
                // Of each class, what its rows count together.
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
