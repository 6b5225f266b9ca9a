//! RMSprop (T. Tieleman, G. Hinton, lecture 6.5 of "Neural networks for machine learning", 2012; PyTorch's form): with g for
//! g + decay p, v becomes beta2 v + (1 - beta2) g^2, b becomes beta1 b + g / (sqrt(v) + epsilon), and p becomes p - rate b.
//! The default rate is Keras's; PyTorch's 0.01 moves every weight by 0.1 in the first step.

use super::formula::{Coefficients, Formula, Number};
use super::{Function, Optimizer, OptimizerKind};

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
        Self::STATES
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

    fn flop(&self) -> usize {
        13
    }
}

impl Formula for RmsProp {
    const STATES: usize = 2;

    #[inline(always)]
    fn update<N: Number>(c: &Coefficients<N>, p: &mut N, g: N, [buffer, v]: &mut [N; 2]) {
        let g = g + c.decay * *p;
        *v = c.beta2 * *v + c.rest2 * g * g;
        *buffer = c.beta1 * *buffer + g / (v.sqrt() + c.epsilon);
        *p = *p - c.rate * *buffer;
    }
}
