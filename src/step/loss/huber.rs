//! Huber loss with delta 1 (P. J. Huber, "Robust estimation of a location parameter", 1964): the mean over
//! the outputs of d^2 / 2 if |d| = |z - t| <= 1, else |d| - 1 / 2.

use super::{Function, LossRows, mean_of};

pub(super) const PIECE: Function = Function {
    name: "huber",
    shader: include_str!("../../../shaders/loss/huber.wgsl"),
    of_classes: false,
    rows,
    flop: 7,
};

fn rows(rows: LossRows<'_>) {
    mean_of(rows, |z, t, _| term(z, t), |z, t, _| (z - t).clamp(-1.0, 1.0));
}

pub(super) fn term(z: f64, t: f64) -> f64 {
    let d = z - t;
    if d.abs() <= 1.0 { 0.5 * d * d } else { d.abs() - 0.5 }
}
