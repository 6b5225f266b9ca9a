//! Mean absolute error: the mean over the outputs of |z - t|. The slope at 0 is 0.

use super::{Function, LossRows, mean_of};

pub(super) struct Mae;
pub(super) const PIECE: Mae = Mae;

impl Function for Mae {
    fn name(&self) -> &'static str {
        "mae"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/loss/mae.wgsl")
    }

    fn of_classes(&self) -> bool {
        false
    }

    fn rows(&self, rows: LossRows<'_>) {
        mean_of(rows, f64::abs, sign);
    }

    fn flop(&self) -> usize {
        5
    }
}

/// 1, -1, or d itself where that is 0 or NaN.
fn sign(d: f32) -> f32 {
    if d > 0.0 {
        1.0
    } else if d < 0.0 {
        -1.0
    } else {
        d
    }
}
