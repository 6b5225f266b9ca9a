//! Train tiny neural networks on any GPU.
#![warn(missing_docs)]

pub mod data;
pub mod error;
pub mod memory;

pub use error::{Error, Result};
