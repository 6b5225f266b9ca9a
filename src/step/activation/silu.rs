//! z / (1 + exp(-z)) (S. Elfwing and others, "Sigmoid-weighted linear units for neural network function approximation",
//! 2018); also called swish.

use crate::vectors::vectorized_loops;
use super::Function;
use crate::step::exp::{clamped, exp, logistic};

pub(super) const PIECE: Function = Function {
    name: "silu",
    shader: include_str!("../../../shaders/activation/silu.wgsl"),
    keeps_z: true,
    value,
    gradient,
    flop: [5, 12],
};

fn value(z: &mut [f32]) {
    vectorized_loops!({
        z.iter_mut().for_each(|z| {
            // -infinity times 0 would be NaN.
            let low = if *z < -100.0 { -100.0 } else { *z };
            *z = low * logistic(low);
        });
    });
}

fn gradient(dy: &mut [f32], z: &[f32]) {
    vectorized_loops!({
        for (d, z) in dy.iter_mut().zip(z) {
            let z = clamped(*z);
            let e = exp(-z.abs());
            let s = (if z < 0.0 { e } else { 1.0 }) / (1.0 + e);
            // s + z s (1 - s).
            *d *= s + z * (e / ((1.0 + e) * (1.0 + e)));
        }
    });
}
