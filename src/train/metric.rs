//! Metrics that select models and rank columns.

use super::classified::{Classified, accuracy, evaluation};
use super::temperature::calibrated_loss;
use super::value_errors::ValueErrors;
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

    /// Computes the metric of rows with these labels from network outputs, [rows, classes], weighted by
    /// `counts`; NaN if undefined, such as the AUC of rows of one class.
    pub(super) fn of_outputs(self, outputs: &[f32], labels: &[u32], counts: &[f64]) -> f64 {
        match self {
            Self::LogLoss => evaluation(outputs, labels, counts).loss,
            Self::Accuracy => accuracy(labels, &evaluation(outputs, labels, counts).predictions, counts),
            _ => {
                let [_, balanced_accuracy, f1, _, auc, precision] =
                    Classified::new(outputs, labels).measures(counts);
                match self {
                    Self::BalancedAccuracy => balanced_accuracy,
                    Self::F1 => f1,
                    Self::Auc => auc,
                    _ => precision,
                }
            }
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
    pub(super) fn of_calibrated(self, outputs: &[f32], labels: &[u32], counts: &[f64]) -> f64 {
        match self {
            Self::LogLoss => calibrated_loss(outputs, labels, counts),
            _ => self.of_outputs(outputs, labels, counts),
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

    /// Returns outputs for two classes, with 0 for the first, and labels: all rows except one are classified
    /// correctly.
    fn outputs() -> (Vec<f32>, [u32; 6]) {
        (
            [-3.0f32, -1.0, -2.0, 2.0, 1.0, -0.5].iter().flat_map(|output| [0.0, *output]).collect(),
            [0, 0, 0, 1, 1, 1],
        )
    }

    #[test]
    fn metrics_weigh_rows_as_scikit_learn_does() {
        let labels = [0, 0, 1, 1, 2, 2, 2, 1];
        #[rustfmt::skip]
        let logits = [
            2.0, 0.5, 0.0,
            0.0, 1.0, 0.0,
            0.2, 1.5, 0.1,
            1.0, 0.0, 0.0,
            0.0, 0.0, 3.0,
            0.0, 0.5, 0.5,
            -1.0, 0.0, 1.0,
            0.0, 2.0, -1.0,
        ];
        let counts = [1.0, 2.0, 0.0, 1.0, 1.0, 0.5, 3.0, 1.0];
        let found = Metric::AveragePrecision.of_outputs(&logits, &labels, &counts);
        assert!((found - 0.803_703_704).abs() < 1e-8, "{found}");
        let (logits, labels) = outputs();
        for (metric, expected) in [
            (Metric::Accuracy, 5.0 / 6.0),
            (Metric::BalancedAccuracy, 5.0 / 6.0),
            (Metric::Auc, 1.0),
            (Metric::AveragePrecision, 1.0),
        ] {
            for of in [Metric::of_outputs, Metric::of_calibrated] {
                assert!((of(metric, &logits, &labels, &[1.0; 6]) - expected).abs() < 1e-12, "{metric}");
            }
        }
        // Rows of one class have no AUC.
        assert_eq!(Metric::Auc.with(Metric::Auc.of_outputs(&logits[..4], &[0, 0], &[1.0; 2])), None);
    }

    #[test]
    fn a_temperature_changes_the_log_loss_until_it_is_the_best() {
        let (logits, labels) = outputs();
        let losses = |factor: f32| {
            let logits: Vec<f32> = logits.iter().map(|output| output * factor).collect();
            [Metric::of_outputs, Metric::of_calibrated]
                .map(|of| of(Metric::LogLoss, &logits, &labels, &[1.0; 6]))
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
