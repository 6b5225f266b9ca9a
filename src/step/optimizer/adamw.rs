//! AdamW (I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", 2019): p becomes p - rate decay p first, then as
//! with [`Adam`](super::OptimizerKind::Adam) without weight decay. Biases do not decay.

use super::formula::{Coefficients, Formula, Number};
use super::{Function, Optimizer, OptimizerKind};
use super::adam::change;

pub(super) struct AdamW;
pub(super) const PIECE: AdamW = AdamW;

impl Function for AdamW {
    fn name(&self) -> &'static str {
        "adamw"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/optimizer/adamw.wgsl")
    }

    fn states(&self) -> usize {
        Self::STATES
    }

    fn uses_momentum(&self) -> bool {
        false
    }

    fn betas(&self) -> usize {
        2
    }

    fn decays_biases(&self) -> bool {
        false
    }

    fn defaults(&self) -> (Optimizer, f32) {
        let kind = OptimizerKind::AdamW;
        (Optimizer { kind, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.01 }, 0.001)
    }

    fn flop(&self) -> usize {
        15
    }
}

impl Formula for AdamW {
    const STATES: usize = 2;

    #[inline(always)]
    fn update<N: Number>(c: &Coefficients<N>, p: &mut N, g: N, states: &mut [N; 2]) {
        *p = *p - c.rate * c.decay * *p;
        *p = *p - c.rate * change(c, g, states);
    }
}
