//! The network as numbers: its shape, its parameters, its file. Knows neither GPU nor training.

mod metadata;
mod parameters;
mod repeated;
mod safetensors;
mod spec;

pub use metadata::Meaning;
pub use parameters::{Layer, Parameters};
pub use safetensors::{Model, Origin};
pub use spec::Spec;
