//! Metrics by which models are chosen and columns are ranked.

use super::classified::{Classified, accuracy, evaluation};
use super::temperature::calibrated_loss;
use super::value_errors::ValueErrors;
use crate::named::named;

/// A metric of predictions over some rows; all but errors of values are defined in [`measures`](super::measures).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Share of the rows classified correctly.
    Accuracy,
    /// Mean recall of the classes.
    BalancedAccuracy,
    /// Mean F1 of the classes.
    F1,
    /// Mean of -log of the probability of the right class.
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
    /// Whether it is a metric of predicted classes, not of values.
    pub fn of_classes(self) -> bool {
        !matches!(self, Self::R2 | Self::Rmse | Self::Mae)
    }

    /// Whether smaller values are better.
    pub fn is_error(self) -> bool {
        matches!(self, Self::LogLoss | Self::Rmse | Self::Mae)
    }

    /// The metrics of predicted classes, or of values, for messages.
    pub fn names(of_classes: bool) -> String {
        crate::named::one_of(Self::ALL.iter().filter(|it| it.of_classes() == of_classes).map(|it| it.name()))
    }

    /// The metric of rows of these classes from the outputs of a network, [rows, classes], weighted by `counts`; NaN if the rows have
    /// none, such as the AUC of rows of one class.
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

    /// The metric of predicted values.
    pub(super) fn of_errors(self, errors: &ValueErrors) -> f64 {
        match self {
            Self::Rmse => errors.rmse,
            Self::Mae => errors.mae,
            _ => errors.r2,
        }
    }

    /// A number that is greater for a better value, `None` if the rows have no such metric.
    pub(super) fn quality(self, value: f64) -> Option<f64> {
        Some(if self.is_error() { -value } else { value }).filter(|quality| quality.is_finite())
    }

    /// [`Metric::quality`] of the outputs of a model that is divided by its temperature in the end, if `is_calibrated`: the log loss is
    /// then computed with the best temperature for these rows (E. Berta, D. Holzmüller, M. Jordan, F. Bach, "Rethinking early stopping:
    /// refine, then calibrate", 2025). The other metrics do not depend on the temperature, or hardly.
    pub(super) fn quality_of_outputs(
        self,
        outputs: &[f32],
        labels: &[u32],
        counts: &[f64],
        is_calibrated: bool,
    ) -> Option<f64> {
        self.quality(match self {
            Self::LogLoss if is_calibrated => calibrated_loss(outputs, labels, counts),
            _ => self.of_outputs(outputs, labels, counts),
        })
    }
}
