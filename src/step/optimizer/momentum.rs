//! Stochastic gradient descent with momentum (PyTorch's form): b becomes beta1 b + g + decay p, and p becomes p - rate b.

use super::formula::{Coefficients, Formula, Number};
use super::{Function, Optimizer, OptimizerKind};

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
        Self::STATES
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

    fn flop(&self) -> usize {
        6
    }
}

impl Formula for Momentum {
    const STATES: usize = 1;

    #[inline(always)]
    fn update<N: Number>(c: &Coefficients<N>, p: &mut N, g: N, [buffer, _]: &mut [N; 2]) {
        *buffer = c.beta1 * *buffer + (g + c.decay * *p);
        *p = *p - c.rate * *buffer;
    }
}
