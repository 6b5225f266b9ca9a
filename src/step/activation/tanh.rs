//! tanh(z) = (1 - exp(-2 z)) / (1 + exp(-2 z)).

use crate::vectors::vectorized_loops;
use super::Function;
use crate::step::exp::exp_m1;

pub(super) const PIECE: Function = Function {
    name: "tanh",
    shader: include_str!("../../../shaders/activation/tanh.wgsl"),
    keeps_z: false,
    value,
    gradient,
    flop: [6, 4],
};

fn value(z: &mut [f32]) {
    vectorized_loops!({
        z.iter_mut().for_each(|z| {
            let e = exp_m1(-2.0 * z.abs());
            *z = (-e / (2.0 + e)).copysign(*z);
        });
    });
}

fn gradient(dy: &mut [f32], y: &[f32]) {
    vectorized_loops!({
        for (d, y) in dy.iter_mut().zip(y) {
            *d *= (1.0 - y) * (1.0 + y);
        }
    });
}
