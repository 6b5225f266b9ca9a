//! AdamW (I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", 2019): p becomes p - rate decay
//! p first, then as for [`Adam`](super::OptimizerKind::Adam) without weight decay. Biases do not decay.

use super::adam;
use super::{Function, Optimizer, OptimizerKind};

pub(super) const PIECE: Function = Function {
    name: "adamw",
    shader: include_str!("../../../shaders/optimizer/adamw.wgsl"),
    decays_biases: false,
    defaults: (
        Optimizer { kind: OptimizerKind::AdamW, weight_decay: 0.01, ..adam::PIECE.defaults.0 },
        adam::PIECE.defaults.1,
    ),
    ..adam::PIECE
};
