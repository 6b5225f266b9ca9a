//! Stochastic gradient descent: p becomes p - rate (g + decay p).

use super::formula::{Coefficients, Formula, Number};
use super::{Function, Optimizer, OptimizerKind};

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
        Self::STATES
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

    fn flop(&self) -> usize {
        4
    }
}

impl Formula for Sgd {
    const STATES: usize = 0;

    #[inline(always)]
    fn update<N: Number>(c: &Coefficients<N>, p: &mut N, g: N, _: &mut [N; 2]) {
        *p = *p - c.rate * (g + c.decay * *p);
    }
}
