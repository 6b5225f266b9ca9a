//! Weights and biases on the host.

use ndarray::{Array1, Array2};

use super::Network;
use crate::reference::{Hidden, ReferenceNetwork};

/// Weights `[inputs, outputs]`, row-major, and bias `[outputs]` of one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Numbers of a row that goes in.
    pub inputs: usize,
    /// Numbers of a row that comes out.
    pub outputs: usize,
    /// weights[i * outputs + j] leads from input i to output j.
    pub weights: Vec<f32>,
    /// One a output.
    pub bias: Vec<f32>,
}

/// All layers of a reference; gradients have the same form.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// First layer first.
    pub layers: Vec<Layer>,
}

impl Parameters {
    /// All zeros.
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
        Self { layers }
    }

    /// Whether no number is NaN or infinite.
    pub fn is_finite(&self) -> bool {
        let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        self.layers.iter().all(|layer| finite(&layer.weights) && finite(&layer.bias))
    }

    /// The network with these parameters for the reference, in f64.
    pub fn to_reference(&self, network: &Network) -> ReferenceNetwork {
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<f64>>();
        let (weights, biases) = self
            .layers
            .iter()
            .map(|layer| {
                let weights = Array2::from_shape_vec((layer.inputs, layer.outputs), wide(&layer.weights))
                    .expect("a layer holds inputs x outputs weights");
                (weights, Array1::from(wide(&layer.bias)))
            })
            .unzip();
        let dense = network.dense();
        let hidden = dense[..dense.len() - 1].iter();
        let hidden = hidden.map(|layer| Hidden { activation: layer.activation, dropout: layer.dropout });
        ReferenceNetwork { weights, biases, hidden: hidden.collect(), loss: network.loss() }
    }
}
