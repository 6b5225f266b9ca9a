//! Adam (D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", 2015): with g for g + decay p,
//! m becomes beta1 m + (1 - beta1) g and v becomes beta2 v + (1 - beta2) g^2, and p becomes
//! p - rate m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon).

use super::formula::{Coefficients, Formula, Number};
use super::{Function, Optimizer, OptimizerKind};

/// Adam, or AdamW if weight decay is decoupled from the gradient.
pub(super) struct Adam<const DECOUPLED: bool>;

pub(super) const PIECE: Function = Function {
    name: "adam",
    shader: include_str!("../../../shaders/optimizer/adam.wgsl"),
    states: Adam::<false>::STATES,
    uses_momentum: false,
    betas: 2,
    decays_biases: true,
    defaults: (
        Optimizer { kind: OptimizerKind::Adam, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.0 },
        0.001,
    ),
    flop: 15,
};

impl<const DECOUPLED: bool> Formula for Adam<DECOUPLED> {
    const STATES: usize = 2;

    #[inline(always)]
    fn update<N: Number>(c: &Coefficients<N>, p: &mut N, g: N, states: &mut [N; 2]) {
        let mut g = g;
        if DECOUPLED {
            *p = *p - c.rate * c.decay * *p;
        } else {
            g = g + c.decay * *p;
        }
        *p = *p - c.rate * change(c, g, states);
    }
}

/// Updates both means with a gradient, and returns the factor of the rate.
#[inline(always)]
fn change<N: Number>(c: &Coefficients<N>, g: N, [m, v]: &mut [N; 2]) -> N {
    *m = c.beta1 * *m + c.rest1 * g;
    *v = c.beta2 * *v + c.rest2 * g * g;
    c.correction1 * *m / (v.sqrt() * c.correction2 + c.epsilon)
}
