//! z Phi(z) with the normal distribution Phi (D. Hendrycks, K. Gimpel, "Gaussian error linear units", 2016): PyTorch's default.

use super::Function;
use crate::step::exp::{clamped, exp};
use crate::vectors::vectorized_loops;

/// Phi(-q) exp(q^2 / 2) for q >= 0 is t times this polynomial in t = 1 / (1 + 0.4 q), lowest power first, within a relative error
/// of 1.5e-8: a minimax fit for q up to 13.5, where exp(-q^2 / 2) leaves f32.
const TAIL: [f32; 10] = [
    0.159_576_65,
    0.159_611_87,
    0.133_274_51,
    0.090_691_62,
    -0.024_957_808,
    0.115_963_99,
    -0.369_789_57,
    0.379_125_15,
    -0.175_461_83,
    0.031_965_453,
];

/// 1 / sqrt(2 pi).
const DENSITY: f32 = 0.398_942_3;

/// exp(-z^2 / 2) and Phi(z).
#[inline(always)]
fn normal(z: f32) -> (f32, f32) {
    let t = 1.0 / (1.0 + 0.4 * z.abs());
    let sum = TAIL.iter().rev().fold(0.0, |sum, coefficient| sum * t + coefficient);
    let e = exp(-0.5 * z * z);
    let tail = t * sum * e;
    (e, if z < 0.0 { tail } else { 1.0 - tail })
}

pub(super) const PIECE: Function = Function {
    name: "gelu",
    shader: include_str!("../../../shaders/activation/gelu.wgsl"),
    keeps_z: true,
    value,
    gradient,
    flop: [30, 33],
};

fn value(z: &mut [f32]) {
    vectorized_loops!({
        z.iter_mut().for_each(|z| {
            let low = if *z < -100.0 { -100.0 } else { *z };
            *z = low * normal(clamped(*z)).1;
        });
    });
}

fn gradient(dy: &mut [f32], z: &[f32]) {
    vectorized_loops!({
        for (d, z) in dy.iter_mut().zip(z) {
            let z = clamped(*z);
            let (e, phi) = normal(z);
            *d *= phi + z * DENSITY * e;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A relative error of 4 eps (1 + z^2 / 2), also in the tail: exp turns the rounding error of z^2 / 2
    /// into a relative error of that size. 0 if exp(-z^2 / 2) is less than the smallest normal number.
    #[test]
    fn the_normal_distribution_is_right_to_some_roundings() {
        for i in -1_310_000..=1_310_000 {
            let z = i as f32 * 1e-5;
            let wide = f64::from(z);
            let want = 0.5 * libm::erfc(-wide / std::f64::consts::SQRT_2);
            let bound = 4.0 * f64::from(f32::EPSILON) * (1.0 + 0.5 * wide * wide);
            let got = f64::from(normal(z).1);
            assert!((got - want).abs() <= bound * want, "{z}: {got}, not {want}");
        }
        assert_eq!([normal(-13.3).1, normal(13.3).1, normal(0.0).1], [0.0, 1.0, 0.5]);
    }
}
