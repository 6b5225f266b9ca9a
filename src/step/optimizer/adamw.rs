//! AdamW (I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", 2019): p becomes p - rate decay p first, then as
//! with [`Adam`](super::OptimizerKind::Adam) without weight decay. Biases do not decay.

use crate::vectors::vectorized;
use super::{Function, Optimizer, OptimizerKind, StepRecord, Tile};
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
        2
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

    fn apply(&self, record: &StepRecord, tile: Tile<'_>) {
        vectorized(|| {
            let Tile { parameters, gradients, states: [means, squares], rate, decay } = tile;
            for (((p, g), m), v) in parameters.iter_mut().zip(gradients).zip(means).zip(squares) {
                *p -= rate * decay * *p;
                *p -= rate * change(record, *g, m, v);
            }
        });
    }

    fn flop(&self) -> usize {
        15
    }
}
