//! Binary cross-entropy: the mean over the outputs of -t log p - (1 - t) log(1 - p) with p = 1 / (1 + exp(-z)),
//! computed as max(z, 0) - z t + log(1 + exp(-|z|)).

use super::{Function, LossRows, mean_of};
use crate::step::exp::logistic;

pub(super) const PIECE: Function = Function {
    name: "binary-cross-entropy",
    shader: include_str!("../../../shaders/loss/binary_cross_entropy.wgsl"),
    of_classes: false,
    rows,
    flop: 10,
};

fn rows(rows: LossRows<'_>) {
    mean_of(rows, |z, t, _| term(z, t), |z, t, _| logistic(z) - t);
}

pub(super) fn term(z: f64, t: f64) -> f64 {
    z.max(0.0) - z * t + (-z.abs()).exp().ln_1p()
}
