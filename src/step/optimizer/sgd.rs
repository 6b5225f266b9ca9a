//! Stochastic gradient descent: p becomes p - rate (g + decay p).

use crate::vectors::vectorized;
use super::{Function, Optimizer, OptimizerKind, StepRecord, Tile};

pub(super) struct Sgd;
pub(super) const PIECE: Sgd = Sgd;

impl Function for Sgd {
    fn name(&self) -> &'static str {
        "sgd"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/optimizer/sgd.wgsl")
    }

    fn states(&self) -> usize {
        0
    }

    fn uses_momentum(&self) -> bool {
        false
    }

    fn betas(&self) -> usize {
        0
    }

    fn decays_biases(&self) -> bool {
        true
    }

    fn defaults(&self) -> (Optimizer, f32) {
        let kind = OptimizerKind::Sgd;
        (Optimizer { kind, beta1: 0.0, beta2: 0.0, epsilon: 0.0, weight_decay: 0.0 }, 0.1)
    }

    fn apply(&self, _: &StepRecord, tile: Tile<'_>) {
        vectorized(|| {
            let Tile { parameters, gradients, rate, decay, .. } = tile;
            for (p, g) in parameters.iter_mut().zip(gradients) {
                *p -= rate * (g + decay * *p);
            }
        });
    }

    fn flop(&self) -> usize {
        4
    }
}
