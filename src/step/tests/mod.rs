//! Every piece, in Rust and in WGSL, against the reference.

mod activation;
mod dropout;
mod loss;
mod network;
mod optimizer;
mod rate;
mod rule;
#[cfg(feature = "gpu")]
mod shaders;
