//! Metrics of labels of 0 or 1, several for each row: each label is a problem of two classes, and metrics are means over
//! the labels.

use super::classified::{Classified, weighted_sum};
use super::events::{ClassScores, Score};
use super::metric::Metric;

/// The metrics of [`Classified::measures`], in their order.
const METRICS: [Metric; 6] = [
    Metric::Accuracy,
    Metric::BalancedAccuracy,
    Metric::F1,
    Metric::LogLoss,
    Metric::Auc,
    Metric::AveragePrecision,
];

/// The probabilities of labels, from the outputs of a network.
pub fn label_probabilities(outputs: &[f32]) -> Vec<f64> {
    outputs.iter().map(|z| 1.0 / (1.0 + (-f64::from(*z)).exp())).collect()
}

/// The more probable labels, 0 or 1, from the outputs of a network: 1 above a probability of a half.
pub fn probable_labels(outputs: &[f32]) -> Vec<u32> {
    outputs.iter().map(|z| u32::from(*z > 0.0)).collect()
}

/// Rows with labels, by label: the network's outputs, 0 and z, for the two classes; the predicted labels; the true ones.
pub(super) struct LabelledRows(Vec<(Vec<f32>, Vec<u32>, Vec<u32>)>);

impl LabelledRows {
    /// Divides outputs and labels, [rows, columns], by column.
    pub(super) fn new(outputs: &[f32], labels: &[f32], columns: usize) -> Self {
        let of = |column: usize| {
            let own: Vec<f32> = outputs.iter().skip(column).step_by(columns).copied().collect();
            let truth = labels.iter().skip(column).step_by(columns).map(|label| u32::from(*label > 0.5));
            (own.iter().flat_map(|z| [0.0, *z]).collect(), probable_labels(&own), truth.collect())
        };
        Self((0..columns).map(of).collect())
    }

    /// Prepares the rows of each label for metrics.
    pub(super) fn classified(&self) -> Vec<Classified<'_>> {
        self.0
            .iter()
            .map(|(outputs, predictions, labels)| Classified::of_label(outputs, predictions, labels))
            .collect()
    }

    /// The share of the rows, weighted by `counts`, of which all labels are predicted.
    pub(super) fn exact_match(&self, counts: &[f64]) -> f64 {
        let is_right = |row: usize| self.0.iter().all(|(_, predicted, labels)| predicted[row] == labels[row]);
        let right = (0..counts.len()).map(|row| f64::from(is_right(row)));
        weighted_sum(right, counts) / counts.iter().sum::<f64>()
    }
}

/// The mean over the labels of each metric, of the labels for which it is defined.
pub(super) fn means(of_labels: &[[f64; 6]]) -> [f64; 6] {
    std::array::from_fn(|metric| {
        let defined = of_labels.iter().map(|of| of[metric]).filter(|value| !value.is_nan());
        let (count, sum) = defined.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
        sum / count
    })
}

/// Returns the score of labels from network outputs, both [rows, columns], with the metric that selects the model.
pub(super) fn label_score(
    outputs: &[f32],
    labels: &[f32],
    columns: usize,
    counts: &[f64],
    metric: Option<Metric>,
) -> Score {
    let rows = LabelledRows::new(outputs, labels, columns);
    let of_labels: Vec<[f64; 6]> = rows.classified().iter().map(|rows| rows.measures(counts)).collect();
    let found = means(&of_labels);
    let [accuracy, balanced_accuracy, _, log_loss, auc, _] = found;
    let auc = Some(auc).filter(|auc| auc.is_finite());
    let chosen = METRICS.iter().zip(found).find(|(own, _)| Some(**own) == metric);
    Score {
        loss: log_loss,
        accuracy,
        classes: Some(ClassScores { balanced_accuracy, log_loss, auc }),
        chosen: chosen.and_then(|(metric, value)| metric.with(value)),
        values: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TargetsRef;
    use crate::step::Loss;
    use crate::train::measures;

    /// Values of scikit-learn's log_loss, f1_score, roc_auc_score, average_precision_score (average="macro"), and
    /// accuracy_score.
    #[test]
    fn measures_of_labels_are_those_of_scikit_learn() {
        let outputs = [2.0, -1.0, -0.5, 0.25, 1.0, 3.0, -2.0, -0.75, 0.5, 1.5];
        let labels = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0];
        let predictions = probable_labels(&outputs);
        let targets = TargetsRef::Values { columns: 2, values: &labels };
        let found = measures(Loss::BinaryCrossEntropy, &outputs, &predictions, targets, &[1.0; 5]);
        let expected = [
            ("accuracy", 0.7),
            ("balanced_accuracy", 0.708_333_333),
            ("macro_f1", 0.733_333_333),
            ("log_loss", 0.604_134_442),
            ("auc", 0.75),
            ("average_precision", 0.819_444_444),
            ("exact_match", 0.4),
        ];
        assert_eq!(found.len(), 3 * expected.len() - 2);
        for (name, want) in expected {
            let got = found.iter().find(|it| it.name == name && it.target.is_none()).unwrap();
            assert!((got.value - want).abs() < 1e-7, "{name}: {}, not {want}", got.value);
            assert!(got.interval[0] <= want && want <= got.interval[1], "{got:?}");
        }
        let score = label_score(&outputs, &labels, 2, &[1.0; 5], Some(Metric::F1));
        let value = |name: &str| found.iter().find(|it| it.name == name).unwrap().value;
        assert_eq!([score.accuracy, score.loss], ["accuracy", "log_loss"].map(value));
        assert_eq!(score.chosen, Metric::F1.with(value("macro_f1")));
        assert_eq!(score.classes.unwrap().auc, Some(value("auc")));
        // Weights are equivalent to repetitions.
        let twice = [&outputs[..], &outputs[..2]].concat();
        let labels_twice = [&labels[..], &labels[..2]].concat();
        let weighted = label_score(&outputs, &labels, 2, &[2.0, 1.0, 1.0, 1.0, 1.0], None);
        let repeated = label_score(&twice, &labels_twice, 2, &[1.0; 6], None);
        assert!((weighted.loss - repeated.loss).abs() < 1e-12 && weighted.accuracy == repeated.accuracy);
    }

    #[test]
    fn labels_without_rows_of_both_kinds_have_no_auc() {
        let score = label_score(&[1.0, -1e30, 1.0, 1e30], &[1.0, 0.0, 0.0, 0.0], 2, &[1.0; 2], None);
        assert_eq!((score.accuracy, score.classes.unwrap().auc), (0.5, Some(0.5)));
        assert!(score.loss > 1e29);
        let score = label_score(&[1.0, 2.0], &[1.0, 1.0], 1, &[1.0; 2], Some(Metric::Auc));
        assert_eq!((score.classes.unwrap().auc, score.chosen), (None, None));
        assert_eq!(label_probabilities(&[0.0, 1e30, -1e30]), [0.5, 1.0, 0.0]);
    }
}
