//! 1 / (1 + exp(-z)), the logistic function.

use crate::vectors::vectorized;
use super::Function;
use crate::step::exp::logistic;

pub(super) struct Sigmoid;
pub(super) const PIECE: Sigmoid = Sigmoid;

impl Function for Sigmoid {
    fn name(&self) -> &'static str {
        "sigmoid"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/activation/sigmoid.wgsl")
    }

    fn keeps_z(&self) -> bool {
        false
    }

    fn value(&self, z: &mut [f32]) {
        vectorized(|| {
            z.iter_mut().for_each(|z| *z = logistic(*z));
        });
    }

    fn gradient(&self, dy: &mut [f32], y: &[f32]) {
        vectorized(|| {
            for (d, y) in dy.iter_mut().zip(y) {
                *d *= y * (1.0 - y);
            }
        });
    }

    fn flop(&self) -> [usize; 2] {
        [4, 3]
    }
}
