//! Adam (D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", 2015): with g for g + decay p,
//! m becomes beta1 m + (1 - beta1) g and v becomes beta2 v + (1 - beta2) g^2, and p becomes
//! p - rate m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon).

use crate::vectors::vectorized;
use super::{Function, Optimizer, OptimizerKind, StepRecord, Tile};

pub(super) struct Adam;
pub(super) const PIECE: Adam = Adam;

impl Function for Adam {
    fn name(&self) -> &'static str {
        "adam"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/optimizer/adam.wgsl")
    }

    fn states(&self) -> usize {
        2
    }

    fn uses_momentum(&self) -> bool {
        false
    }

    fn betas(&self) -> usize {
        2
    }

    fn decays_biases(&self) -> bool {
        true
    }

    fn defaults(&self) -> (Optimizer, f32) {
        let kind = OptimizerKind::Adam;
        (Optimizer { kind, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.0 }, 0.001)
    }

    fn apply(&self, record: &StepRecord, tile: Tile<'_>) {
        vectorized(|| {
            let Tile { parameters, gradients, states: [means, squares], rate, decay } = tile;
            for (((p, g), m), v) in parameters.iter_mut().zip(gradients).zip(means).zip(squares) {
                *p -= rate * change(record, g + decay * *p, m, v);
            }
        });
    }

    fn flop(&self) -> usize {
        15
    }
}

/// Takes a gradient into both means, and gives what the rate is multiplied by.
#[inline(always)]
pub(super) fn change(record: &StepRecord, g: f32, m: &mut f32, v: &mut f32) -> f32 {
    *m = record.beta1 * *m + (1.0 - record.beta1) * g;
    *v = record.beta2 * *v + (1.0 - record.beta2) * g * g;
    record.correction1 * *m / (v.sqrt() * record.correction2 + record.epsilon)
}
