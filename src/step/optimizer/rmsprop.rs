//! RMSprop (T. Tieleman, G. Hinton, lecture 6.5 of "Neural networks for machine learning", 2012; PyTorch's form): with g for
//! g + decay p, v becomes beta2 v + (1 - beta2) g^2, b becomes beta1 b + g / (sqrt(v) + epsilon), and p becomes p - rate b.
//! The default rate is Keras's; PyTorch's 0.01 moves every weight by 0.1 in the first step.

use super::formula::{Coefficients, Formula, Number};
use super::{Function, Optimizer, OptimizerKind};

pub(super) struct RmsProp;

pub(super) const PIECE: Function = Function {
    name: "rmsprop",
    shader: include_str!("../../../shaders/optimizer/rmsprop.wgsl"),
    states: RmsProp::STATES,
    uses_momentum: true,
    betas: 1,
    decays_biases: true,
    defaults: (Optimizer { kind: OptimizerKind::RmsProp, beta1: 0.0, beta2: 0.99, epsilon: 1e-8, weight_decay: 0.0 }, 0.001),
    flop: 13,
};

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
