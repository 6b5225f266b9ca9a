//! RMSprop (T. Tieleman, G. Hinton, lecture 6.5 of "Neural networks for machine learning", 2012; PyTorch's form): with g for
//! g + decay p, v becomes beta2 v + (1 - beta2) g^2, b becomes beta1 b + g / (sqrt(v) + epsilon), and p becomes p - rate b.
//! The default rate is Keras's; PyTorch's 0.01 moves every weight by 0.1 in the first step.

use crate::vectors::vectorized;
use super::{Function, Optimizer, OptimizerKind, StepRecord, Tile};

pub(super) struct RmsProp;
pub(super) const PIECE: RmsProp = RmsProp;

impl Function for RmsProp {
    fn name(&self) -> &'static str {
        "rmsprop"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/optimizer/rmsprop.wgsl")
    }

    fn states(&self) -> usize {
        2
    }

    fn uses_momentum(&self) -> bool {
        true
    }

    fn betas(&self) -> usize {
        1
    }

    fn decays_biases(&self) -> bool {
        true
    }

    fn defaults(&self) -> (Optimizer, f32) {
        let kind = OptimizerKind::RmsProp;
        (Optimizer { kind, beta1: 0.0, beta2: 0.99, epsilon: 1e-8, weight_decay: 0.0 }, 0.001)
    }

    fn apply(&self, record: &StepRecord, tile: Tile<'_>) {
        vectorized(|| {
            let Tile { parameters, gradients, states: [buffers, squares], rate, decay } = tile;
            for (((p, g), buffer), v) in parameters.iter_mut().zip(gradients).zip(buffers).zip(squares) {
                let g = g + decay * *p;
                *v = record.beta2 * *v + (1.0 - record.beta2) * g * g;
                *buffer = record.beta1 * *buffer + g / (v.sqrt() + record.epsilon);
                *p -= rate * *buffer;
            }
        });
    }

    fn flop(&self) -> usize {
        13
    }
}
