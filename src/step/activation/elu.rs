//! z for z > 0, else exp(z) - 1 (D.-A. Clevert and others, "Fast and accurate deep network learning by exponential linear
//! units", 2016), with alpha 1.

use crate::vectors::vectorized_loops;
use super::{Function, stored};
use crate::step::exp::exp_m1;

pub(super) const PIECE: Function = Function {
    name: "elu",
    shader: include_str!("../../../shaders/activation/elu.wgsl"),
    keeps_z: false,
    value,
    gradient,
    flop: [3, 3],
};

fn value(z: &mut [f32]) {
    vectorized_loops!({
        z.iter_mut().for_each(|z| *z = stored(if *z > 0.0 { *z } else { exp_m1(*z) }));
    });
}

fn gradient(dy: &mut [f32], y: &[f32]) {
    vectorized_loops!({
        for (d, y) in dy.iter_mut().zip(y) {
            // exp(z) = y + 1.
            *d = stored(if *y > 0.0 { *d } else { *d * (*y + 1.0) });
        }
    });
}
