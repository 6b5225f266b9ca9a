//! What puts kernels together and runs them: shader text, tile shapes, tensors, cost.

mod candidates;
mod compute;
mod cost;
mod extents;
mod invocation;
mod kernel;
mod latency;
mod matmul_tile;
#[cfg(feature = "mutations")]
mod mutation;
mod source;
mod tensor;
mod tuning;
mod tuning_text;

pub use candidates::TileParameter;
pub use compute::Compute;
pub use cost::Cost;
pub(crate) use extents::{check_extents, layer, matrix, vec4s, words};
pub use invocation::Invocation;
pub use kernel::*;
pub(crate) use latency::EPILOGUE;
pub use latency::{Latency, Machine};
pub use matmul_tile::MatmulTile;
pub(crate) use source::shader_text;
pub use source::{Piece, compose};
pub use tensor::{Element, Matrix, Tensor, Vector};
pub use tuning::{SegmentShape, Tuning};
