//! z Phi(z) with the tanh approximation of the normal distribution, z (1 + tanh u) / 2 with u = sqrt(2 / pi)
//! (z + 0.044715 z^3) (D. Hendrycks, K. Gimpel, "Gaussian error linear units", 2016): JAX's default and
//! PyTorch's `approximate="tanh"`. Computed as z / (1 + exp(-2 u)), which is equal.

use crate::vectors::vectorized_loops;
use super::Function;
use crate::step::exp::{clamped, exp, logistic};

/// 2 sqrt(2 / pi).
const TWICE_ROOT: f32 = 1.595_769_2;
const CUBE: f32 = 0.044_715;

/// 2 u.
#[inline(always)]
fn twice_u(z: f32) -> f32 {
    TWICE_ROOT * z * (1.0 + CUBE * z * z)
}

pub(super) const PIECE: Function = Function {
    name: "gelu-tanh",
    shader: include_str!("../../../shaders/activation/gelu_tanh.wgsl"),
    keeps_z: true,
    value,
    gradient,
    flop: [9, 20],
};

fn value(z: &mut [f32]) {
    vectorized_loops!({
        z.iter_mut().for_each(|z| {
            let low = if *z < -100.0 { -100.0 } else { *z };
            *z = low * logistic(twice_u(clamped(*z)));
        });
    });
}

fn gradient(dy: &mut [f32], z: &[f32]) {
    vectorized_loops!({
        for (d, z) in dy.iter_mut().zip(z) {
            let z = clamped(*z);
            let (u, squared) = (twice_u(z), z * z);
            let e = exp(-u.abs());
            let s = (if u < 0.0 { e } else { 1.0 }) / (1.0 + e);
            let du = TWICE_ROOT + 3.0 * TWICE_ROOT * CUBE * squared;
            // The derivative of the logistic function is s (1 - s) = e / (1 + e)^2.
            *d *= s + z * du * (e / ((1.0 + e) * (1.0 + e)));
        }
    });
}
