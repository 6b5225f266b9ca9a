//! scale z for z > 0, else scale alpha (exp(z) - 1) (G. Klambauer and others, "Self-normalizing neural networks", 2017).

use crate::vectors::vectorized;
use super::Function;
use crate::step::exp::exp_m1;

pub(super) struct Selu;
pub(super) const PIECE: Selu = Selu;

const SCALE: f32 = 1.050_701;
/// The product with alpha = 1.6732632.
const SCALE_ALPHA: f32 = 1.758_099_3;

impl Function for Selu {
    fn name(&self) -> &'static str {
        "selu"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/activation/selu.wgsl")
    }

    fn keeps_z(&self) -> bool {
        false
    }

    fn value(&self, z: &mut [f32]) {
        vectorized(|| {
            z.iter_mut().for_each(|z| {
                let below = SCALE_ALPHA * exp_m1(*z);
                *z = if *z > 0.0 { SCALE * *z } else { below };
            });
        });
    }

    fn gradient(&self, dy: &mut [f32], y: &[f32]) {
        vectorized(|| {
            for (d, y) in dy.iter_mut().zip(y) {
                // scale alpha exp(z) = y + scale alpha.
                *d = if *y > 0.0 { *d * SCALE } else { *d * (*y + SCALE_ALPHA) };
            }
        });
    }

    fn flop(&self) -> [usize; 2] {
        [4, 3]
    }
}
