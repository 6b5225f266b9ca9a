//! Stochastic gradient descent with momentum (PyTorch's form): b becomes beta1 b + g + decay p, and p becomes p - rate b.

use super::formula::{Coefficients, Formula, Number};
use super::{Function, Optimizer, OptimizerKind};

pub(super) struct Momentum;

pub(super) const PIECE: Function = Function {
    name: "momentum",
    shader: include_str!("../../../shaders/optimizer/momentum.wgsl"),
    states: Momentum::STATES,
    uses_momentum: true,
    betas: 0,
    decays_biases: true,
    defaults: (Optimizer { kind: OptimizerKind::Momentum, beta1: 0.9, beta2: 0.0, epsilon: 0.0, weight_decay: 0.0 }, 0.1),
    flop: 6,
};

impl Formula for Momentum {
    const STATES: usize = 1;

    #[inline(always)]
    fn update<N: Number>(c: &Coefficients<N>, p: &mut N, g: N, [buffer, _]: &mut [N; 2]) {
        *buffer = c.beta1 * *buffer + (g + c.decay * *p);
        *p = *p - c.rate * *buffer;
    }
}
