//! Train tiny neural networks on any GPU.
#![warn(missing_docs)]

pub mod data;
pub mod error;
pub mod gpu;
pub mod kernels;
pub mod memory;
pub mod model;
pub mod output;
pub mod random;
pub mod reference;
pub mod trainer;

pub use error::{Error, Result};
