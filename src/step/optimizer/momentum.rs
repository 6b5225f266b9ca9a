//! Stochastic gradient descent with momentum (PyTorch's form): b becomes beta1 b + g + decay p, and p becomes p - rate b.

use crate::vectors::vectorized;
use super::{Function, Optimizer, OptimizerKind, StepRecord, Tile};

pub(super) struct Momentum;
pub(super) const PIECE: Momentum = Momentum;

impl Function for Momentum {
    fn name(&self) -> &'static str {
        "momentum"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/optimizer/momentum.wgsl")
    }

    fn states(&self) -> usize {
        1
    }

    fn uses_momentum(&self) -> bool {
        true
    }

    fn betas(&self) -> usize {
        0
    }

    fn decays_biases(&self) -> bool {
        true
    }

    fn defaults(&self) -> (Optimizer, f32) {
        let kind = OptimizerKind::Momentum;
        (Optimizer { kind, beta1: 0.9, beta2: 0.0, epsilon: 0.0, weight_decay: 0.0 }, 0.1)
    }

    fn apply(&self, record: &StepRecord, tile: Tile<'_>) {
        vectorized(|| {
            let Tile { parameters, gradients, states: [buffers, _], rate, decay } = tile;
            for ((p, g), buffer) in parameters.iter_mut().zip(gradients).zip(buffers) {
                *buffer = record.beta1 * *buffer + (g + decay * *p);
                *p -= rate * *buffer;
            }
        });
    }

    fn flop(&self) -> usize {
        6
    }
}
