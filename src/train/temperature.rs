//! The temperature of a classifier: the number by which its outputs are divided, so that the probability of a
//! class is the share of rows for which the class is right (C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On
//! calibration of modern neural networks", 2017). Long training makes a network too certain, label smoothing
//! too uncertain.

use super::classified::evaluation;
use super::probabilities::best;

/// Maximum temperature; its reciprocal is the minimum.
const GREATEST: f64 = 64.0;

/// Returns the log loss of rows with these labels at the best temperature for them, from outputs [rows,
/// classes], weighted by `counts`.
pub(super) fn calibrated_loss(outputs: &[f32], labels: &[u32], counts: &[f64]) -> f64 {
    let factor = factor(outputs, labels, counts) as f32;
    let outputs: Vec<f32> = outputs.iter().map(|output| output * factor).collect();
    evaluation(&outputs, labels, counts).loss
}

/// Returns the reciprocal of the temperature that minimises the log loss over rows with these labels,
/// weighted by `counts`, and over one more row whose classes are equally likely, so that probabilities do not
/// become 1 if all rows are right. Uses Newton's method on a convex function, with bisection bounds.
pub(super) fn factor(outputs: &[f32], labels: &[u32], counts: &[f64]) -> f64 {
    let classes = (outputs.len() / labels.len().max(1)).max(1);
    let counted = || outputs.chunks_exact(classes).zip(labels).zip(counts).filter(|(_, count)| **count > 0.0);
    let share = 1.0 / (counted().count() + 1) as f64;
    let (mut low, mut high, mut factor) = (1.0 / GREATEST, GREATEST, 1.0f64);
    for _ in 0..100 {
        let (mut slope, mut curvature) = (0.0, 0.0);
        for ((row, label), count) in counted() {
            let greatest = f64::from(row[best(row)]);
            let (mut sum, mut first, mut second, mut plain) = (0.0, 0.0, 0.0, 0.0);
            for output in row.iter().map(|output| f64::from(*output) - greatest) {
                let power = (factor * output).exp();
                (sum, plain) = (sum + power, plain + output);
                (first, second) = (first + power * output, second + power * output * output);
            }
            let mean = first / sum;
            let right = f64::from(row[*label as usize]) - greatest;
            slope += count * (mean - (1.0 - share) * right - share * plain / classes as f64);
            curvature += count * (second / sum - mean * mean);
        }
        *(if slope < 0.0 { &mut low } else { &mut high }) = factor;
        let newton = factor - slope / curvature;
        let next = if newton > low && newton < high { newton } else { (low * high).sqrt() };
        let is_found = (next / factor - 1.0).abs() < 1e-12;
        factor = next;
        if is_found {
            break;
        }
    }
    factor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_temperature_makes_probabilities_as_great_as_accuracies() {
        let (outputs, rows) = ([1.0, 0.0].repeat(10), [1.0; 10]);
        // Nine of ten rows are right, and half of the additional row.
        let labels: Vec<u32> = (0..10).map(|row| u32::from(row == 0)).collect();
        let odds = |right: f64| f64::ln(right / (1.0 - right));
        assert!((factor(&outputs, &labels, &rows) - odds(9.5 / 11.0)).abs() < 1e-9);
        // All rows are right, or the wrong rows have no weight.
        assert!((factor(&outputs, &[0; 10], &rows) - odds(10.5 / 11.0)).abs() < 1e-9);
        let counts: Vec<f64> = (0..10).map(|row| if row == 0 { 0.0 } else { 3.0 }).collect();
        assert!((factor(&outputs, &labels, &counts) - odds(9.5 / 10.0)).abs() < 1e-9);
        // Constant outputs stay within bounds, and so do outputs that are always wrong.
        let same = factor(&[2.0; 20], &labels, &rows);
        assert!((1.0 / GREATEST..=GREATEST).contains(&same));
        assert!(factor(&outputs, &[1; 10], &rows) < 1.001 / GREATEST);
    }
}
