//! The network as data: its structure, its parameters, its file. Independent of GPUs and training.

mod checks;
mod duplicate_keys;
mod ensemble;
mod input_layer;
mod layout;
mod metadata;
mod network;
mod padding;
mod parameters;
mod safetensors;
mod tensors;

pub use ensemble::{Ensemble, EnsembleMember};
pub use input_layer::{
    FREQUENCIES, InputColumn, InputLayer, InputParameters, MIXED, PERIODIC_BLOCKS, PlacedColumn,
};
pub use layout::{InputLayout, LayerLayout, ParameterLayout};
pub use metadata::{DataSchema, Origin};
pub use network::{Dense, Network};
pub use padding::{blocks, pad_rows, unpad_rows};
pub use parameters::{Init, Layer, Parameters, Variance};
pub(crate) use safetensors::Contents;
pub use safetensors::Model;
#[cfg(feature = "gpu")]
pub(crate) use {safetensors::tensor_file, tensors::Tensor};
