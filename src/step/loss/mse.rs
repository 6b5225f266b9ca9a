//! Mean squared error: the mean over the outputs of (z - t)^2.

use super::{Function, LossRows, mean_of};

pub(super) const PIECE: Function = Function {
    name: "mse",
    shader: include_str!("../../../shaders/loss/mse.wgsl"),
    of_classes: false,
    rows,
    flop: 5,
};

fn rows(rows: LossRows<'_>) {
    mean_of(rows, |z, t, _| term(z, t), |z, t, _| 2.0 * (z - t));
}

pub(super) fn term(z: f64, t: f64) -> f64 {
    (z - t) * (z - t)
}
