//! Nesterov's momentum (PyTorch's form, after I. Sutskever and others, "On the importance of initialization and momentum in
//! deep learning", 2013): with g for g + decay p, b becomes beta1 b + g, and p becomes p - rate (g + beta1 b).

use super::formula::{Coefficients, Formula, Number};
use super::{Function, Optimizer, OptimizerKind};

pub(super) struct Nesterov;

pub(super) const PIECE: Function = Function {
    name: "nesterov",
    shader: include_str!("../../../shaders/optimizer/nesterov.wgsl"),
    states: Nesterov::STATES,
    uses_momentum: true,
    betas: 0,
    decays_biases: true,
    defaults: (Optimizer { kind: OptimizerKind::Nesterov, beta1: 0.9, beta2: 0.0, epsilon: 0.0, weight_decay: 0.0 }, 0.1),
    flop: 8,
};

impl Formula for Nesterov {
    const STATES: usize = 1;

    #[inline(always)]
    fn update<N: Number>(c: &Coefficients<N>, p: &mut N, g: N, [buffer, _]: &mut [N; 2]) {
        let g = g + c.decay * *p;
        *buffer = c.beta1 * *buffer + g;
        *p = *p - c.rate * (g + c.beta1 * *buffer);
    }
}
