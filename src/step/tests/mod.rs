//! Every piece against the reference, in Rust; and every piece of WGSL for its form.

mod activation;
mod loss;
mod optimizer;
mod rate;
mod rule;
