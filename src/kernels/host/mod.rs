//! Composition and execution of kernels: shader text, tile shapes, tensors, cost.

mod compute;
mod cost;
mod extents;
mod kernel;
mod matmul_tile;
#[cfg(feature = "mutations")]
mod mutation;
mod source;
mod tuning;

pub use compute::{Compute, Element, Invocation, Matrix, Tensor, Vector};
pub use cost::Cost;
pub(crate) use extents::{check_extents, layer, live_rows, matrix, metrics_bytes, order_bytes, vec4s, words};
pub use kernel::*;
pub use matmul_tile::MatmulTile;
pub(crate) use source::shader_text;
pub use source::{Piece, compose};
pub use tuning::{SegmentShape, Tuning};
