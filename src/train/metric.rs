//! Metrics that select models and rank columns.

use super::class_figures::{ClassFigures, class_figures, mean_of};
use super::classified::{Classified, accuracy, balanced_accuracy};
use super::temperature::calibrated_loss;
use super::value_errors::ValueErrors;
use crate::engine::Evaluation;
use crate::named::{named, one_of};
use serde::{Deserialize, Serialize};

/// A metric of predictions over some rows; all except the errors of values are defined in
/// [`measures`](super::measures).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Share of correctly classified rows.
    Accuracy,
    /// Mean recall of the classes.
    BalancedAccuracy,
    /// Mean F1 of the classes.
    F1,
    /// Mean of -log of the probability of the true class.
    LogLoss,
    /// Mean over the classes of the area under the ROC curve.
    Auc,
    /// Mean over the classes of the average precision.
    AveragePrecision,
    /// Mean over the targets of the coefficient of determination.
    R2,
    /// Root of the mean squared error.
    Rmse,
    /// Mean absolute error.
    Mae,
}

named!(Metric {
    Accuracy = "accuracy",
    BalancedAccuracy = "balanced-accuracy",
    F1 = "f1",
    LogLoss = "log-loss",
    Auc = "auc",
    AveragePrecision = "average-precision",
    R2 = "r2",
    Rmse = "rmse",
    Mae = "mae",
});

impl Metric {
    /// Returns whether this is a metric of predicted classes, not of values.
    pub fn of_classes(self) -> bool {
        !matches!(self, Self::R2 | Self::Rmse | Self::Mae)
    }

    /// Returns whether smaller values are better.
    pub fn is_error(self) -> bool {
        matches!(self, Self::LogLoss | Self::Rmse | Self::Mae)
    }

    /// Returns the names of the metrics of predicted classes, or of values, for messages.
    pub fn names(of_classes: bool) -> String {
        one_of(Self::ALL.iter().filter(|it| it.of_classes() == of_classes).map(|it| it.name()))
    }

    /// Computes the metric of rows with these labels from network outputs, [rows, classes], and their
    /// evaluation, weighted by `counts`; NaN if undefined, such as the AUC of rows of one class.
    pub(super) fn of_outputs(
        self,
        outputs: &[f32],
        Evaluation { loss, predictions }: &Evaluation,
        labels: &[u32],
        counts: &[f64],
    ) -> f64 {
        let classes = outputs.len() / labels.len().max(1);
        match self {
            Self::LogLoss => *loss,
            Self::Accuracy => accuracy(labels, predictions, counts),
            Self::BalancedAccuracy => balanced_accuracy(labels, predictions, counts, classes),
            Self::F1 => mean_of(&class_figures(labels, predictions, counts, classes), ClassFigures::f1),
            Self::Auc => Classified::new(outputs, predictions, labels).auc(counts),
            _ => Classified::new(outputs, predictions, labels).average_precision(counts),
        }
    }

    /// Returns the metric of predicted values.
    pub(super) fn of_errors(self, errors: &ValueErrors) -> f64 {
        match self {
            Self::Rmse => errors.rmse,
            Self::Mae => errors.mae,
            _ => errors.r2,
        }
    }

    /// Computes [`Metric::of_outputs`] for a model whose outputs will be divided by its temperature: the log
    /// loss with the best temperature for these rows (E. Berta, D. Holzmüller, M. Jordan, F. Bach,
    /// "Rethinking early stopping: refine, then calibrate", 2025). The other metrics depend little, or not at
    /// all, on the temperature.
    pub(super) fn of_calibrated(
        self,
        outputs: &[f32],
        evaluation: &Evaluation,
        labels: &[u32],
        counts: &[f64],
    ) -> f64 {
        match self {
            Self::LogLoss => calibrated_loss(outputs, labels, counts),
            _ => self.of_outputs(outputs, evaluation, labels, counts),
        }
    }

    /// Combines the metric with its value; `None` if the value is not finite.
    pub(super) fn with(self, value: f64) -> Option<MetricValue> {
        value.is_finite().then_some(MetricValue { metric: self, value })
    }
}

/// The value of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MetricValue {
    /// The metric.
    pub metric: Metric,
    /// Finite value of the metric.
    pub value: f64,
}

impl MetricValue {
    /// Returns a number that is greater for a better value.
    pub fn quality(&self) -> f64 {
        if self.metric.is_error() { -self.value } else { self.value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::classified::evaluation;

    /// Returns outputs for two classes, with 0 for the first, and labels: all rows except one are classified
    /// correctly.
    fn outputs() -> (Vec<f32>, [u32; 6]) {
        (
            [-3.0f32, -1.0, -2.0, 2.0, 1.0, -0.5].iter().flat_map(|output| [0.0, *output]).collect(),
            [0, 0, 0, 1, 1, 1],
        )
    }

    /// Computes a metric of rows of equal weights, without and with calibration.
    fn both(metric: Metric, outputs: &[f32], labels: &[u32]) -> [f64; 2] {
        let counts = vec![1.0; labels.len()];
        let found = evaluation(outputs, labels, &counts);
        [Metric::of_outputs, Metric::of_calibrated].map(|of| of(metric, outputs, &found, labels, &counts))
    }

    #[test]
    fn metrics_of_rows_that_are_ordered_well_and_classified_nearly_so() {
        let (logits, labels) = outputs();
        for (metric, expected) in [
            (Metric::Accuracy, 5.0 / 6.0),
            (Metric::BalancedAccuracy, 5.0 / 6.0),
            // 6 / 7 and 4 / 5.
            (Metric::F1, 29.0 / 35.0),
            (Metric::Auc, 1.0),
            (Metric::AveragePrecision, 1.0),
        ] {
            for found in both(metric, &logits, &labels) {
                assert!((found - expected).abs() < 1e-12, "{metric}");
            }
        }
        // Rows of one class have no AUC.
        assert_eq!(Metric::Auc.with(both(Metric::Auc, &logits[..4], &[0, 0])[0]), None);
    }

    #[test]
    fn a_temperature_changes_the_log_loss_until_it_is_the_best() {
        let (logits, labels) = outputs();
        let losses = |factor: f32| {
            let logits: Vec<f32> = logits.iter().map(|output| output * factor).collect();
            both(Metric::LogLoss, &logits, &labels)
        };
        let [plain, calibrated] = losses(1.0);
        assert!(calibrated < plain);
        for factor in [0.1, 3.0, 20.0] {
            let [other, same] = losses(factor);
            assert!(other > calibrated && (same - calibrated).abs() < 1e-6, "{factor}: {other} {same}");
        }
    }

    #[test]
    fn greater_qualities_are_better() {
        let score =
            |metric: Metric, value| crate::train::Score { chosen: metric.with(value), ..Default::default() };
        for metric in Metric::ALL {
            let [small, great] = [0.25, 0.5].map(|value| score(metric, value));
            let is_error = matches!(metric, Metric::LogLoss | Metric::Rmse | Metric::Mae);
            assert_eq!((great.is_better_than(&small), small.is_better_than(&great)), (!is_error, is_error));
            // Ties are decided by the accuracy, then by the loss.
            let accurate = crate::train::Score { accuracy: 0.5, ..small.clone() };
            assert!(accurate.is_better_than(&small) && !small.is_better_than(&accurate), "{metric}");
        }
    }
}
