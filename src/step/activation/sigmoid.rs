//! 1 / (1 + exp(-z)), the logistic function.

use crate::vectors::vectorized_loops;
use super::Function;
use crate::step::exp::logistic;

pub(super) const PIECE: Function = Function {
    name: "sigmoid",
    shader: include_str!("../../../shaders/activation/sigmoid.wgsl"),
    keeps_z: false,
    value,
    gradient,
    flop: [4, 3],
};

fn value(z: &mut [f32]) {
    vectorized_loops!({
        z.iter_mut().for_each(|z| *z = logistic(*z));
    });
}

fn gradient(dy: &mut [f32], y: &[f32]) {
    vectorized_loops!({
        for (d, y) in dy.iter_mut().zip(y) {
            *d *= y * (1.0 - y);
        }
    });
}
