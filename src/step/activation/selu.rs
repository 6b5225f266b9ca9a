//! scale z for z > 0, else scale alpha (exp(z) - 1) (G. Klambauer and others, "Self-normalizing neural networks", 2017).

use crate::vectors::vectorized_loops;
use super::Function;
use crate::step::exp::exp_m1;

const SCALE: f32 = 1.050_701;
/// The product with alpha = 1.6732632.
const SCALE_ALPHA: f32 = 1.758_099_3;

pub(super) const PIECE: Function = Function {
    name: "selu",
    shader: include_str!("../../../shaders/activation/selu.wgsl"),
    keeps_z: false,
    value,
    gradient,
    flop: [4, 3],
};

fn value(z: &mut [f32]) {
    vectorized_loops!({
        z.iter_mut().for_each(|z| {
            let below = SCALE_ALPHA * exp_m1(*z);
            *z = if *z > 0.0 { SCALE * *z } else { below };
        });
    });
}

fn gradient(dy: &mut [f32], y: &[f32]) {
    vectorized_loops!({
        for (d, y) in dy.iter_mut().zip(y) {
            // scale alpha exp(z) = y + scale alpha.
            *d = if *y > 0.0 { *d * SCALE } else { *d * (*y + SCALE_ALPHA) };
        }
    });
}
