//! z for z > 0, else 0.01 z (A. L. Maas and others, "Rectifier nonlinearities improve neural network acoustic
//! models", 2013). The slope at 0 is 0.01.

use crate::vectors::vectorized_loops;
use super::{Function, stored};

/// The slope for negative z.
const SLOPE: f32 = 0.01;

pub(super) const PIECE: Function = Function {
    name: "leaky-relu",
    shader: include_str!("../../../shaders/activation/leaky_relu.wgsl"),
    keeps_z: false,
    value,
    gradient,
    flop: [2, 2],
};

fn value(z: &mut [f32]) {
    vectorized_loops!({
        z.iter_mut().for_each(|z| *z = stored(if *z > 0.0 { *z } else { SLOPE * *z }));
    });
}

fn gradient(dy: &mut [f32], y: &[f32]) {
    vectorized_loops!({
        for (d, y) in dy.iter_mut().zip(y) {
            *d = stored(if *y > 0.0 { *d } else { SLOPE * *d });
        }
    });
}
