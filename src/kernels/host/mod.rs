//! What puts kernels together and runs them: shader text, tile shapes, tensors, cost.

mod candidates;
mod compute;
mod cost;
mod invocation;
mod kernel;
mod source;
mod tensor;
mod tuning;
mod tuning_text;

pub use candidates::TileParameter;
pub use compute::Compute;
pub use cost::Cost;
pub use invocation::Invocation;
pub use kernel::*;
pub use source::{Piece, compose};
pub use tensor::{Element, Matrix, Tensor, Vector};
pub use tuning::{MatmulTile, SegmentShape, Tuning};
