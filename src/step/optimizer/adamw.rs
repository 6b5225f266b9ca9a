//! AdamW (I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", 2019): p becomes p - rate decay p first, then as
//! with [`Adam`](super::OptimizerKind::Adam) without weight decay. Biases do not decay.

use super::adam::Adam;

pub(super) const PIECE: Adam<true> = Adam;
