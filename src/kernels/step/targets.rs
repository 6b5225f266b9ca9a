//! Targets in the form used by the loss kernels.

use crate::kernels::Piece;
use crate::step::Loss;

/// The loss, and the format of a row's targets on the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossTargets {
    /// The loss.
    pub loss: Loss,
    /// Label smoothing.
    pub smoothing: f32,
    /// Whether each row's targets are followed by a weight.
    pub weighted: bool,
}

impl LossTargets {
    /// Softmax cross-entropy with classes, without smoothing and weights.
    pub const CLASSES: Self = Self { loss: Loss::CrossEntropy, smoothing: 0.0, weighted: false };

    /// Returns the words of the targets of a row with `outputs` outputs.
    pub fn words(&self, outputs: usize) -> usize {
        usize::from(self.weighted) + if self.loss.of_classes() { 1 } else { outputs }
    }

    /// Returns the pieces that read targets and compute the loss.
    pub(crate) fn pieces(&self) -> Vec<(&'static str, Piece)> {
        let targets = if self.loss.of_classes() { "targets_classes" } else { "targets_values" };
        vec![("loss", Piece::Text(self.loss.shader())), ("targets", Piece::Named(targets))]
    }

    /// Returns the target probabilities of the labelled class and of every other of `classes`.
    pub(crate) fn probabilities(&self, classes: usize) -> [f32; 2] {
        let other = self.smoothing / classes as f32;
        [1.0 - self.smoothing + other, other]
    }
}
