//! Mean squared error: the mean over the outputs of (z - t)^2.

use super::{Function, Target, mean_of};

pub(super) struct Mse;
pub(super) const PIECE: Mse = Mse;

impl Function for Mse {
    fn name(&self) -> &'static str {
        "mse"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/loss/mse.wgsl")
    }

    fn of_classes(&self) -> bool {
        false
    }

    fn row(&self, z: &[f32], target: Target<'_>, scale: f32, gradient: &mut [f32]) -> f64 {
        mean_of(z, target, scale, gradient, |d| d * d, |d| 2.0 * d)
    }

    fn flop(&self) -> usize {
        5
    }
}
