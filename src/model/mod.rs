//! The network as numbers: its shape, its parameters, its file. Knows neither GPU nor training.

mod metadata;
mod network;
mod parameters;
mod repeated;
mod safetensors;

pub use metadata::Meaning;
pub use network::Network;
pub use parameters::{Layer, Parameters};
pub use safetensors::{Model, Origin};
