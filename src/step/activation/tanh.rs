//! tanh(z) = (1 - exp(-2 z)) / (1 + exp(-2 z)).

use crate::vectors::vectorized;
use super::Function;
use crate::step::exp::exp_m1;

pub(super) struct Tanh;
pub(super) const PIECE: Tanh = Tanh;

impl Function for Tanh {
    fn name(&self) -> &'static str {
        "tanh"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/activation/tanh.wgsl")
    }

    fn keeps_z(&self) -> bool {
        false
    }

    fn value(&self, z: &mut [f32]) {
        vectorized(|| {
            z.iter_mut().for_each(|z| {
                let e = exp_m1(-2.0 * z.abs());
                *z = (-e / (2.0 + e)).copysign(*z);
            });
        });
    }

    fn gradient(&self, dy: &mut [f32], y: &[f32]) {
        vectorized(|| {
            for (d, y) in dy.iter_mut().zip(y) {
                *d *= (1.0 - y) * (1.0 + y);
            }
        });
    }

    fn flop(&self) -> [usize; 2] {
        [6, 4]
    }
}
