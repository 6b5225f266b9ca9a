//! z tanh(log(1 + exp(z))) (D. Misra, "Mish: a self regularized non-monotonic activation function", 2019).
//!
//! With n = exp(z), the tanh is (n^2 + 2 n) / (n^2 + 2 n + 2); for z > 0 both are divided by n^2, so that nothing overflows.

use crate::vectors::vectorized_loops;
use super::Function;
use crate::step::exp::{clamped, exp};

/// Numerator and denominator of tanh(log(1 + exp(z))), from e = exp(-|z|).
#[inline(always)]
fn fraction(z: f32, e: f32) -> [f32; 2] {
    if z < 0.0 { [e * e + 2.0 * e, e * e + 2.0 * e + 2.0] } else { [1.0 + 2.0 * e, 1.0 + 2.0 * e + 2.0 * e * e] }
}

pub(super) const PIECE: Function = Function {
    name: "mish",
    shader: include_str!("../../../shaders/activation/mish.wgsl"),
    keeps_z: true,
    value,
    gradient,
    flop: [9, 18],
};

fn value(z: &mut [f32]) {
    vectorized_loops!({
        z.iter_mut().for_each(|z| {
            // -infinity times 0 would be NaN.
            let low = if *z < -100.0 { -100.0 } else { *z };
            let e = exp(-z.abs());
            let [numerator, denominator] = fraction(*z, e);
            *z = low * (numerator / denominator);
        });
    });
}

fn gradient(dy: &mut [f32], z: &[f32]) {
    vectorized_loops!({
        for (d, z) in dy.iter_mut().zip(z) {
            let z = clamped(*z);
            let e = exp(-z.abs());
            let [numerator, denominator] = fraction(z, e);
            // (1 - tanh^2) / (1 + exp(-z)), the derivative of the tanh.
            let inner = (if z < 0.0 { e } else { e * e }) * 4.0 * (1.0 + e) / (denominator * denominator);
            *d *= numerator / denominator + z * inner;
        }
    });
}
