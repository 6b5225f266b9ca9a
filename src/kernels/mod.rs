//! Kernels: each consists of a shader in `shaders/NAME.wgsl`, its host half `NAME.rs` here, a function of
//! that name in [`crate::reference::ops`] and a case in [`crate::check`].
//!
//! Matrices on the device are row-major f32 with rows padded to whole vec4s ([`blocks`]); the padding is 0.
//! The parameters of a layer are one matrix of `inputs + 1` rows: the weights, followed by the bias.

pub(crate) mod general;
mod host;
mod step;

pub use general::*;
pub use host::*;
pub use step::*;

pub use crate::model::{blocks, pad_rows, unpad_rows};
pub use crate::step::StepRecord;
