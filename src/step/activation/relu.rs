//! max(0, z).

use crate::vectors::vectorized;
use super::Function;

pub(super) struct Relu;
pub(super) const PIECE: Relu = Relu;

impl Function for Relu {
    fn name(&self) -> &'static str {
        "relu"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/activation/relu.wgsl")
    }

    fn keeps_z(&self) -> bool {
        false
    }

    fn value(&self, z: &mut [f32]) {
        vectorized(|| {
            // Not max(0, z): NaN must stay NaN, so that the loss shows it.
            z.iter_mut().for_each(|z| *z = if *z < 0.0 { 0.0 } else { *z });
        });
    }

    fn gradient(&self, dy: &mut [f32], y: &[f32]) {
        vectorized(|| {
            for (d, y) in dy.iter_mut().zip(y) {
                *d = if *y > 0.0 { *d } else { 0.0 };
            }
        });
    }

    fn flop(&self) -> [usize; 2] {
        [1, 1]
    }
}
