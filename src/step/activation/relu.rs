//! max(0, z).

use crate::vectors::vectorized_loops;
use super::{Function, stored};

pub(super) const PIECE: Function = Function {
    name: "relu",
    shader: include_str!("../../../shaders/activation/relu.wgsl"),
    keeps_z: false,
    value,
    gradient,
    flop: [1, 1],
};

fn value(z: &mut [f32]) {
    vectorized_loops!({
        // Not max(0, z), since NaN must stay NaN to be visible in the loss.
        z.iter_mut().for_each(|z| *z = stored(if *z < 0.0 { 0.0 } else { *z }));
    });
}

fn gradient(dy: &mut [f32], y: &[f32]) {
    vectorized_loops!({
        for (d, y) in dy.iter_mut().zip(y) {
            *d = stored(if *y > 0.0 { *d } else { 0.0 });
        }
    });
}
