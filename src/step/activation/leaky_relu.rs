//! z for z > 0, else 0.01 z (A. L. Maas and others, "Rectifier nonlinearities improve neural network acoustic
//! models", 2013). The slope at 0 is 0.01.

use crate::vectors::vectorized;
use super::Function;

pub(super) struct LeakyRelu;
pub(super) const PIECE: LeakyRelu = LeakyRelu;

/// The slope for negative z.
const SLOPE: f32 = 0.01;

impl Function for LeakyRelu {
    fn name(&self) -> &'static str {
        "leaky-relu"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/activation/leaky_relu.wgsl")
    }

    fn keeps_z(&self) -> bool {
        false
    }

    fn value(&self, z: &mut [f32]) {
        vectorized(|| {
            z.iter_mut().for_each(|z| *z = if *z > 0.0 { *z } else { SLOPE * *z });
        });
    }

    fn gradient(&self, dy: &mut [f32], y: &[f32]) {
        vectorized(|| {
            for (d, y) in dy.iter_mut().zip(y) {
                *d = if *y > 0.0 { *d } else { SLOPE * *d };
            }
        });
    }

    fn flop(&self) -> [usize; 2] {
        [2, 2]
    }
}
