//! The reference: a second, naive implementation of every kernel and every gradient in f64. It serves only as the
//! oracle of the tests: it is never optimised and never an engine.

pub mod bounds;
mod input_layer;
mod network;
pub mod ops;
mod run;
mod targets;

pub use input_layer::ReferenceInput;
pub use network::{Hidden, ReferenceNetwork, ReferencePass};
pub use run::ReferenceRun;
pub use targets::ReferenceTargets;
