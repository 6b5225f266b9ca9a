//! The reference: every kernel and every gradient again, naive, in f64. The oracle of the tests and of
//! nothing else: it is never optimised and never an engine.

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
