//! Mean absolute error: the mean over the outputs of |z - t|. The derivative at 0 is 0.

use super::{Function, LossRows, mean_of};

pub(super) const PIECE: Function = Function {
    name: "mae",
    shader: include_str!("../../../shaders/loss/mae.wgsl"),
    of_classes: false,
    rows,
    flop: 5,
};

fn rows(rows: LossRows<'_>) {
    mean_of(rows, |z, t, _| term(z, t), |z, t, _| sign(z - t));
}

pub(super) fn term(z: f64, t: f64) -> f64 {
    (z - t).abs()
}

/// Returns 1, -1, or d itself if it is 0 or NaN.
fn sign(d: f32) -> f32 {
    if d > 0.0 {
        1.0
    } else if d < 0.0 {
        -1.0
    } else {
        d
    }
}
