//! Losses of a row's outputs with respect to its target.

mod rows;

pub use rows::{LossRows, Targets};

use super::variants::variants;

/// Implementation of a loss. The loss of a batch is the mean over its rows of weight times loss.
struct Function {
    /// Name of the option.
    name: &'static str,

    /// With t the target's value or probability for an output z, and for losses of classes the row's maximum
    /// and the sum of exp(z - maximum):
    /// `const NEEDS_SOFTMAX: bool`, whether maximum and sum are used;
    /// `const PER_OUTPUT: bool`, whether the loss of a row is the mean over its outputs, else the sum;
    /// `loss_term(z: f32, t: f32, maximum: f32, sum: f32) -> f32`, the term of the output in the row's loss;
    /// `loss_slope(z: f32, t: f32, maximum: f32, sum: f32) -> f32`, the derivative of the row's loss with
    /// respect to z, both without the division by the number of outputs.
    shader: &'static str,

    /// Whether targets are classes; otherwise values.
    of_classes: bool,

    /// Computes the losses of some rows from their outputs, and the gradients with respect to these.
    rows: fn(LossRows<'_>),

    /// FLOP per output of loss and gradient, counted as in the cost models.
    flop: usize,
}

variants! {
    /// The losses.
    Loss: Function {
        /// -log of the softmax of the true class; label smoothing applies to the gradient, not to the loss
        CrossEntropy = cross_entropy,
        /// The mean over the outputs of (z - t)^2
        Mse = mse,
        /// The mean over the outputs of |z - t|
        Mae = mae,
        /// The mean over the outputs of (z - t)^2 / 2 if |z - t| <= 1, else |z - t| - 1/2
        Huber = huber,
        /// The mean over the outputs of -t log p - (1 - t) log(1 - p) with p = 1 / (1 + exp(-z)), for targets of 0 or 1
        BinaryCrossEntropy = binary_cross_entropy,
    }
}

/// Computes the mean over the outputs of `term(z, t)`, and its gradient from the derivative `slope(z, t)` of the
/// term with respect to z.
fn mean_of(rows: LossRows<'_>, term: impl Fn(f64, f64) -> f64, slope: impl Fn(f32, f32) -> f32) {
    let LossRows { z, width, outputs, targets, scales, gradient, losses, predictions, .. } = rows;
    let Targets::Values(values) = targets else { return losses.fill(f64::NAN) };
    let each = z.chunks_exact(width).zip(gradient.chunks_exact_mut(width)).zip(values.chunks_exact(outputs));
    for (row, ((z, gradient), values)) in each.enumerate() {
        let z = &z[..outputs];
        let share = scales[row] / outputs as f32;
        let mut sum = 0.0;
        for ((g, z), t) in gradient.iter_mut().zip(z).zip(values) {
            sum += term(f64::from(*z), f64::from(*t));
            *g = slope(*z, *t) * share;
        }
        losses[row] = sum / outputs as f64;
        predictions[row] = rows::largest(z);
    }
}

impl Loss {
    /// Returns whether targets are classes; otherwise they are values.
    pub fn of_classes(self) -> bool {
        self.piece().of_classes
    }

    /// Returns whether targets are labels of 0 or 1, one for each output, and outputs the logits of their
    /// probabilities.
    pub fn of_labels(self) -> bool {
        self == Self::BinaryCrossEntropy
    }

    /// Returns whether predictions are classes or labels, which have an accuracy; otherwise they are values.
    pub fn classifies(self) -> bool {
        self.of_classes() || self.of_labels()
    }

    /// Computes the losses of some rows from their outputs, and the gradients with respect to these. Rows are
    /// independent of each other.
    pub fn rows(self, rows: LossRows<'_>) {
        (self.piece().rows)(rows);
    }

    /// Computes the loss of a row from its outputs z, and its gradient with respect to these, times `scale`.
    pub fn row(self, z: &[f32], targets: Targets<'_>, scale: f32, gradient: &mut [f32]) -> f64 {
        let mut loss = f64::NAN;
        self.rows(LossRows {
            z,
            width: z.len(),
            outputs: z.len(),
            targets,
            scales: &[scale],
            gradient,
            losses: std::slice::from_mut(&mut loss),
            predictions: &mut [0],
            scratch: &mut Vec::new(),
        });
        loss
    }

    /// Returns the FLOP per output of loss and gradient.
    pub fn flop(self) -> usize {
        self.piece().flop
    }
}
