//! Losses: how far the outputs of a row are from its target.

use super::variants::{parse_by_name, variants};

/// What a row should give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target<'a> {
    /// A class, with probability 1 - smoothing + smoothing / classes; every other has smoothing / classes.
    Class {
        /// Which class.
        class: usize,
        /// Label smoothing, from 0 to below 1.
        smoothing: f32,
    },
    /// A number for each output.
    Values(&'a [f32]),
}

/// What a loss computes. The loss of a batch is the mean over its rows of weight times loss.
trait Function: Sync {
    /// The name of the option.
    fn name(&self) -> &'static str;

    /// With t the target's value or probability for an output z, and for losses of classes the row's maximum and the sum
    /// of exp(z - maximum):
    /// `const NEEDS_SOFTMAX: bool`, whether maximum and sum are looked at;
    /// `const PER_OUTPUT: bool`, whether the loss of a row is the mean over its outputs, else the sum;
    /// `loss_term(z: f32, t: f32, maximum: f32, sum: f32) -> f32`, what the output adds to the row's loss;
    /// `loss_slope(z: f32, t: f32, maximum: f32, sum: f32) -> f32`, the derivative of the row's loss by z, both without
    /// the division by the number of outputs.
    fn shader(&self) -> &'static str;

    /// Whether targets are classes; else they are values.
    fn of_classes(&self) -> bool;

    /// The loss of a row from its outputs z; and its gradient by them, times `scale`.
    fn row(&self, z: &[f32], target: Target<'_>, scale: f32, gradient: &mut [f32]) -> f64;

    /// FLOP per output of loss and gradient, counted as the cost models count.
    fn flop(&self) -> usize;
}

variants! {
    /// The losses.
    Loss: Function {
        /// -log of the softmax of the true class; with label smoothing, the mean over the target's probabilities
        CrossEntropy = cross_entropy,
        /// The mean over the outputs of (z - t)^2
        Mse = mse,
        /// The mean over the outputs of |z - t|
        Mae = mae,
        /// The mean over the outputs of (z - t)^2 / 2 where |z - t| <= 1, else |z - t| - 1/2
        Huber = huber,
    }
}

parse_by_name!(Loss, "loss");

/// The mean over the outputs of `term` of the differences d = z - t, and its gradient times `scale` from the derivative
/// `slope` of the term. NaN for targets that are classes.
fn mean_of(
    z: &[f32],
    target: Target<'_>,
    scale: f32,
    gradient: &mut [f32],
    term: impl Fn(f64) -> f64,
    slope: impl Fn(f32) -> f32,
) -> f64 {
    let Target::Values(t) = target else { return f64::NAN };
    let share = scale / z.len() as f32;
    let mut sum = 0.0;
    for ((g, z), t) in gradient.iter_mut().zip(z).zip(t) {
        sum += term(f64::from(*z) - f64::from(*t));
        *g = slope(z - t) * share;
    }
    sum / z.len() as f64
}

impl Loss {
    /// Whether targets are classes; else they are values.
    pub fn of_classes(self) -> bool {
        self.piece().of_classes()
    }

    /// The loss of a row from its outputs z; and its gradient by them, times `scale`.
    pub fn row(self, z: &[f32], target: Target<'_>, scale: f32, gradient: &mut [f32]) -> f64 {
        self.piece().row(z, target, scale, gradient)
    }

    /// FLOP per output of loss and gradient.
    pub fn flop(self) -> usize {
        self.piece().flop()
    }
}
