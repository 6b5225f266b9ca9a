//! Nesterov's momentum (PyTorch's form, after I. Sutskever and others, "On the importance of initialization and momentum in
//! deep learning", 2013): with g for g + decay p, b becomes beta1 b + g, and p becomes p - rate (g + beta1 b).

use crate::vectors::vectorized;
use super::{Function, Optimizer, OptimizerKind, StepRecord, Tile};

pub(super) struct Nesterov;
pub(super) const PIECE: Nesterov = Nesterov;

impl Function for Nesterov {
    fn name(&self) -> &'static str {
        "nesterov"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/optimizer/nesterov.wgsl")
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
        let kind = OptimizerKind::Nesterov;
        (Optimizer { kind, beta1: 0.9, beta2: 0.0, epsilon: 0.0, weight_decay: 0.0 }, 0.1)
    }

    fn apply(&self, record: &StepRecord, tile: Tile<'_>) {
        vectorized(|| {
            let Tile { parameters, gradients, states: [buffers, _], rate, decay } = tile;
            for ((p, g), buffer) in parameters.iter_mut().zip(gradients).zip(buffers) {
                let g = g + decay * *p;
                *buffer = record.beta1 * *buffer + g;
                *p -= rate * (g + record.beta1 * *buffer);
            }
        });
    }

    fn flop(&self) -> usize {
        8
    }
}
