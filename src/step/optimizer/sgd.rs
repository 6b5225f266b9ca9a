//! Stochastic gradient descent: p becomes p - rate (g + decay p).

use super::formula::{Coefficients, Formula, Number};
use super::{Function, Optimizer, OptimizerKind};

pub(super) struct Sgd;

pub(super) const PIECE: Function = Function {
    name: "sgd",
    shader: include_str!("../../../shaders/optimizer/sgd.wgsl"),
    states: Sgd::STATES,
    uses_momentum: false,
    betas: 0,
    decays_biases: true,
    defaults: (Optimizer { kind: OptimizerKind::Sgd, beta1: 0.0, beta2: 0.0, epsilon: 0.0, weight_decay: 0.0 }, 0.1),
    flop: 4,
};

impl Formula for Sgd {
    const STATES: usize = 0;

    #[inline(always)]
    fn update<N: Number>(c: &Coefficients<N>, p: &mut N, g: N, _: &mut [N; 2]) {
        *p = *p - c.rate * (g + c.decay * *p);
    }
}
