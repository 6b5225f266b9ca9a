//! Precision, recall and F1 by class, and the confusion matrix.

/// Counts of the rows of one class, weighted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClassFigures {
    /// Rows of this class.
    pub samples: f64,
    /// Rows predicted as this class.
    pub predicted: f64,
    /// Rows of this class predicted as such (true positives).
    pub correct: f64,
}

impl ClassFigures {
    /// Returns the precision: true positives / predicted; `None` if the class is never predicted.
    pub fn precision(&self) -> Option<f64> {
        share(self.correct, self.predicted)
    }

    /// Returns the recall: true positives / rows of the class; `None` if the class has no rows.
    pub fn recall(&self) -> Option<f64> {
        share(self.correct, self.samples)
    }

    /// Returns the harmonic mean of precision and recall; 0 if the class is predicted but has no rows, `None`
    /// if it does not occur.
    pub fn f1(&self) -> Option<f64> {
        share(2.0 * self.correct, self.samples + self.predicted)
    }

    /// Returns whether the class is among the labels or the predictions.
    pub fn occurs(&self) -> bool {
        self.samples + self.predicted > 0.0
    }
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Returns the class of these labels, if all are equal.
pub fn only_class(labels: &[u32]) -> Option<u32> {
    labels.first().copied().filter(|first| labels.iter().all(|label| label == first))
}

/// Counts the rows of all `classes`, weighted by `counts`.
pub fn class_figures(
    labels: &[u32],
    predictions: &[u32],
    counts: &[f64],
    classes: usize,
) -> Vec<ClassFigures> {
    let mut figures = vec![ClassFigures::default(); classes];
    for ((label, prediction), count) in labels.iter().zip(predictions).zip(counts) {
        figures[*label as usize].samples += count;
        figures[*prediction as usize].predicted += count;
        figures[*label as usize].correct += if label == prediction { *count } else { 0.0 };
    }
    figures
}

/// Returns the mean over the classes for which `of` is defined.
pub(super) fn mean_of(figures: &[ClassFigures], of: impl Fn(&ClassFigures) -> Option<f64>) -> f64 {
    let said: Vec<f64> = figures.iter().filter_map(of).collect();
    said.iter().sum::<f64>() / said.len() as f64
}

/// Whether the outputs of a classifier are divided by its temperature, the number that minimises the loss on
/// the validation rows, if there are any.
pub fn confusion(labels: &[u32], predictions: &[u32], counts: &[f64], classes: usize) -> Vec<Vec<f64>> {
    let mut matrix = vec![vec![0.0; classes]; classes];
    for ((label, prediction), count) in labels.iter().zip(predictions).zip(counts) {
        matrix[*label as usize][*prediction as usize] += count;
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_one_class_are_found() {
        assert_eq!([only_class(&[2, 2, 2]), only_class(&[2, 2, 0]), only_class(&[])], [Some(2), None, None]);
    }

    #[test]
    fn figures_and_matrix_agree() {
        let (labels, predictions) = ([0, 0, 1, 1, 1], [0, 1, 1, 1, 0]);
        let figures = class_figures(&labels, &predictions, &[1.0; 5], 3);
        assert_eq!(figures[1], ClassFigures { samples: 3.0, predicted: 3.0, correct: 2.0 });
        assert_eq!([figures[0].precision(), figures[0].recall(), figures[0].f1()], [Some(0.5); 3]);
        assert_eq!([figures[2].precision(), figures[2].recall(), figures[2].f1()], [None; 3]);
        assert!(!figures[2].occurs());
        assert_eq!(mean_of(&figures, ClassFigures::recall), (0.5 + 2.0 / 3.0) / 2.0);
        // A class that is only predicted has an F1 of 0 and no recall; an absent class has neither.
        let figures = class_figures(&[0, 0, 1, 1], &[0, 2, 1, 1], &[1.0; 4], 4);
        assert_eq!(mean_of(&figures, ClassFigures::f1), (2.0 / 3.0 + 1.0 + 0.0) / 3.0);
        assert_eq!(mean_of(&figures, ClassFigures::recall), 0.75);
        // Weights are equivalent to repetitions.
        let rows = |values: [u32; 5]| [[values[0]; 3].as_slice(), &values[2..]].concat();
        let repeated = class_figures(&rows(labels), &rows(predictions), &[1.0; 6], 3);
        assert_eq!(class_figures(&labels, &predictions, &[3.0, 0.0, 1.0, 1.0, 1.0], 3), repeated);
        // Values of scikit-learn's confusion_matrix, with sample_weight.
        let matrix = |counts: [f64; 5]| confusion(&labels, &predictions, &counts, 3);
        assert_eq!(matrix([1.0; 5]), [[1.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0; 3]]);
        assert_eq!(matrix([3.0, 0.0, 0.5, 1.0, 0.25]), [[3.0, 0.0, 0.0], [0.25, 1.5, 0.0], [0.0; 3]]);
    }
}
