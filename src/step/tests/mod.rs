//! Every variant, in Rust and in WGSL, compared with the reference.

mod activation;
mod augment;
mod dropout;
mod loss;
mod network;
mod optimizer;
mod rate;
mod rule;
#[cfg(feature = "gpu")]
mod shaders;
