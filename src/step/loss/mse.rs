//! Mean squared error: the mean over the outputs of (z - t)^2.

use super::{Function, LossRows, mean_of};

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

    fn rows(&self, rows: LossRows<'_>) {
        mean_of(rows, |d| d * d, |d| 2.0 * d);
    }

    fn flop(&self) -> usize {
        5
    }
}
