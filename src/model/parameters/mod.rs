//! Weights and biases on the host.

mod initial;

pub use initial::{Init, Variance};

use super::{InputParameters, Network};
use crate::vectors::vectorized_loops;

/// Weights `[inputs, outputs]`, row-major, and bias `[outputs]` of one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Numbers per input row.
    pub inputs: usize,
    /// Numbers per output row.
    pub outputs: usize,
    /// weights[i * outputs + j] connects input i to output j.
    pub weights: Vec<f32>,
    /// One per output.
    pub bias: Vec<f32>,
}

/// All layers of a network; gradients have the same form.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// The layers, from first to last.
    pub layers: Vec<Layer>,
    /// The parameters of the input layer, if any.
    pub input: Option<InputParameters>,
}

impl Parameters {
    /// Parameters that are all 0.
    pub fn zeros(network: &Network) -> Self {
        let layers = network
            .layers()
            .map(|(inputs, outputs)| Layer {
                inputs,
                outputs,
                weights: vec![0.0; inputs * outputs],
                bias: vec![0.0; outputs],
            })
            .collect();
        Self { layers, input: network.input_layer().map(InputParameters::zeros) }
    }

    /// Whether the parameters have the tensor sizes of this network.
    pub fn fits(&self, network: &Network) -> bool {
        let lengths = |parameters: &Self| parameters.tensors().map(<[f32]>::len).collect::<Vec<usize>>();
        lengths(self) == lengths(&Self::zeros(network))
    }

    /// Whether all numbers are finite.
    pub fn is_finite(&self) -> bool {
        // Scans the whole tensor: a loop that may end early is not vectorized.
        let finite = |values: &[f32]| {
            let mut all = true;
            vectorized_loops!(values.iter().for_each(|value| all &= value.is_finite()));
            all
        };
        self.tensors().all(finite)
    }

    /// All tensors: weights and bias of each layer, and weights and scale of the input layer.
    pub fn tensors(&self) -> impl Iterator<Item = &[f32]> {
        let dense = self.layers.iter().flat_map(|layer| [&layer.weights[..], &layer.bias]);
        dense.chain(self.input.iter().flat_map(|input| [&input.weights[..], &input.scale]))
    }

    /// All numbers, tensor by tensor.
    pub fn numbers(&self) -> impl Iterator<Item = f32> {
        self.tensors().flatten().copied()
    }
}
