//! Nesterov's momentum (PyTorch's form, after I. Sutskever and others, "On the importance of initialization and momentum in
//! deep learning", 2013): with g for g + decay p, b becomes beta1 b + g, and p becomes p - rate (g + beta1 b).

use super::formula::{Coefficients, Formula, Number};
use super::{Function, Optimizer, OptimizerKind};

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
        let kind = OptimizerKind::Nesterov;
        (Optimizer { kind, beta1: 0.9, beta2: 0.0, epsilon: 0.0, weight_decay: 0.0 }, 0.1)
    }

    fn flop(&self) -> usize {
        8
    }
}

impl Formula for Nesterov {
    const STATES: usize = 1;

    #[inline(always)]
    fn update<N: Number>(c: &Coefficients<N>, p: &mut N, g: N, [buffer, _]: &mut [N; 2]) {
        let g = g + c.decay * *p;
        *buffer = c.beta1 * *buffer + g;
        *p = *p - c.rate * (g + c.beta1 * *buffer);
    }
}
