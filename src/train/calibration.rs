//! Calibration of the probabilities of predicted classes.

/// Rows whose predicted class has a probability between two bounds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CalibrationBin {
    /// Number of rows, weighted.
    pub rows: f64,
    /// Number of correct predictions, weighted.
    pub correct: f64,
    /// Mean probability of the predicted classes; 0 without rows.
    pub probability: f64,
}

impl CalibrationBin {
    /// Returns the share of correct predictions; `None` without rows.
    pub fn accuracy(&self) -> Option<f64> {
        (self.rows > 0.0).then(|| self.correct / self.rows)
    }
}

/// Calibration of probabilities (Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks",
/// 2017).
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Bins of equal width: bin i of n has the rows whose predicted class has a probability above i / n, up
    /// to (i + 1) / n.
    pub bins: Vec<CalibrationBin>,
    /// Expected calibration error: the mean over the rows of |accuracy - mean probability| of their bin. With
    /// the weight w(b) of the rows of bin b, and w of all rows, the error is the sum over the bins of w(b) /
    /// w * |accuracy(b) - mean probability(b)|, both weighted means.
    pub error: f64,
}

/// Computes the calibration of rows with these labels and predicted classes, weighted by `counts`, from the
/// probabilities of all classes, [rows, classes], in `bins` bins.
pub fn calibration(
    probabilities: &[f64],
    labels: &[u32],
    predictions: &[u32],
    counts: &[f64],
    bins: usize,
) -> Calibration {
    let mut found = vec![CalibrationBin::default(); bins];
    let classes = probabilities.len() / labels.len().max(1);
    let rows = probabilities.chunks_exact(classes.max(1));
    let rows = rows.zip(labels).zip(predictions).zip(counts);
    for (((row, label), prediction), count) in rows.filter(|(_, count)| **count > 0.0) {
        let probability = row[*prediction as usize];
        let bin = &mut found[((probability * bins as f64).ceil() as usize).clamp(1, bins) - 1];
        bin.rows += count;
        bin.correct += if label == prediction { *count } else { 0.0 };
        // A sum, divided after all rows.
        bin.probability += count * probability;
    }
    let distance = |bin: &CalibrationBin| (bin.correct - bin.probability).abs();
    let error = found.iter().map(distance).sum::<f64>() / counts.iter().sum::<f64>();
    found.iter_mut().filter(|bin| bin.rows > 0.0).for_each(|bin| bin.probability /= bin.rows);
    Calibration { bins: found, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_the_mean_distance_of_the_bins() {
        let probabilities = [0.9, 0.1, 0.8, 0.2, 0.25, 0.75, 1.0, 0.0, 0.5, 0.5];
        let of = |counts: &[f64]| calibration(&probabilities, &[0, 1, 1, 0, 1], &[0, 0, 1, 0, 0], counts, 4);
        let Calibration { bins, error } = of(&[1.0; 5]);
        assert_eq!(bins[0], CalibrationBin::default());
        assert_eq!(bins[0].accuracy(), None);
        // Bins include their upper bounds.
        assert_eq!(
            [bins[1], bins[2]].map(|bin| (bin.rows, bin.correct, bin.probability)),
            [(1.0, 0.0, 0.5), (1.0, 1.0, 0.75)]
        );
        assert_eq!((bins[3].rows, bins[3].correct, bins[3].accuracy()), (3.0, 2.0, Some(2.0 / 3.0)));
        assert!((bins[3].probability - 0.9).abs() < 1e-12);
        // |0 - 0.5| + |1 - 0.75| + |2 - 2.7|, of five rows
        assert!((error - 1.45 / 5.0).abs() < 1e-12, "{error}");
        // |0 - 0.5| + |3 - 3 * 0.75| + |2 * 1 + 0.5 * 0 - (2 * 0.9 + 0.5 * 0.8)|, of a total weight of 6.5
        let Calibration { bins, error } = of(&[2.0, 0.5, 3.0, 0.0, 1.0]);
        assert_eq!((bins[3].rows, bins[3].accuracy()), (2.5, Some(0.8)));
        assert!((bins[3].probability - 2.2 / 2.5).abs() < 1e-12);
        assert!((error - 1.45 / 6.5).abs() < 1e-12, "{error}");
    }
}
