//! Decision thresholds of classifiers of two classes.

use super::evaluation::{Evaluated, Predictions};
use super::probabilities::softmax;
use crate::error::{Error, Result};

/// The probability of the second class from which on a row is predicted to be of this class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// The threshold with the largest balanced accuracy on the evaluated rows.
    Best,
    /// This probability.
    At(f64),
}

impl Threshold {
    /// Predicts the classes of rows with these labels, weighted by `counts`, again, by this threshold. Returns its
    /// probability.
    ///
    /// # Errors
    /// [`Error::Setting`] if the model does not predict two classes.
    pub fn apply(self, evaluated: &mut Evaluated, labels: &[u32], counts: &[f64]) -> Result<f64> {
        check_two_classes(&evaluated.predictions, evaluated.outputs.len())?;
        let mut probabilities = vec![0.0; evaluated.outputs.len()];
        softmax(&evaluated.outputs, 2, &mut probabilities, &mut evaluated.predictions);
        let threshold = match self {
            Self::At(threshold) => threshold,
            Self::Best => best_threshold(&of_second(&probabilities), labels, counts),
        };
        evaluated.predictions = classes(&probabilities, threshold);
        Ok(threshold)
    }
}

/// Predicts the classes again, by a threshold.
///
/// # Errors
/// As [`Threshold::apply`].
pub fn apply_threshold(predictions: &mut Predictions, threshold: f64) -> Result<()> {
    check_two_classes(&predictions.classes, predictions.probabilities.len())?;
    predictions.classes = classes(&predictions.probabilities, threshold);
    Ok(())
}

/// Returns the probabilities of the second class, of [rows, 2].
fn of_second(probabilities: &[f64]) -> Vec<f64> {
    probabilities.iter().skip(1).step_by(2).copied().collect()
}

/// Returns the classes of rows with these probabilities, [rows, 2].
fn classes(probabilities: &[f64], threshold: f64) -> Vec<u32> {
    of_second(probabilities).iter().map(|probability| u32::from(*probability >= threshold)).collect()
}

/// Checks that predictions with this number of outputs are of two classes.
fn check_two_classes(predictions: &[u32], outputs: usize) -> Result<()> {
    let found = match predictions.len() {
        0 => "one of values",
        rows if outputs == 2 * rows => return Ok(()),
        labels if outputs == labels => "one of labels, or of one class",
        _ => "one of more",
    };
    Err(Error::setting("threshold", "a model of two classes", found))
}

/// Returns the threshold with the largest balanced accuracy, half-way between the probabilities of two rows; 0.5 for rows
/// of one class.
fn best_threshold(probabilities: &[f64], labels: &[u32], counts: &[f64]) -> f64 {
    let mut rows: Vec<usize> = (0..labels.len()).collect();
    rows.sort_unstable_by(|a, b| probabilities[*b].total_cmp(&probabilities[*a]));
    let mut totals = [0.0; 2];
    labels.iter().zip(counts).for_each(|(label, count)| totals[*label as usize] += count);
    if totals.contains(&0.0) {
        return 0.5;
    }
    // Rows above the threshold, from the most probable ones on: recall of the second class minus the share of the first.
    let (mut gain, mut best, mut threshold) = (0.0, f64::NEG_INFINITY, 0.5);
    for (position, row) in rows.iter().enumerate() {
        let share = counts[*row] / totals[labels[*row] as usize];
        gain += if labels[*row] == 1 { share } else { -share };
        let (own, next) =
            (probabilities[*row], rows.get(position + 1).map_or(0.0, |row| probabilities[*row]));
        if next < own && gain > best {
            (best, threshold) = (gain, (own + next) / 2.0);
        }
    }
    threshold
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_threshold_divides_where_the_balanced_accuracy_is_largest() {
        let probabilities = [0.1, 0.2, 0.3, 0.35, 0.6, 0.05];
        let labels = [0, 0, 1, 0, 1, 0];
        // Above 0.25: both of class 1 and one of four of class 0, 0.875; above 0.475: 0.75.
        let threshold = best_threshold(&probabilities, &labels, &[1.0; 6]);
        assert!((threshold - 0.25).abs() < 1e-12, "{threshold}");
        // A heavy row of class 0 between them moves it.
        let threshold = best_threshold(&probabilities, &labels, &[1.0, 1.0, 1.0, 9.0, 1.0, 1.0]);
        assert!((threshold - 0.475).abs() < 1e-12, "{threshold}");
        assert_eq!(best_threshold(&[0.2, 0.7], &[1, 1], &[1.0; 2]), 0.5);
        // Rows of equal probability stay together.
        assert_eq!(best_threshold(&[0.4, 0.4, 0.8], &[0, 1, 1], &[1.0; 3]), 0.6000000000000001);
    }
}
