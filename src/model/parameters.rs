//! Weights and biases on the host.

use ndarray::{Array1, Array2};

use super::Network;
use crate::random::{Purpose, normal};
use crate::reference::ReferenceNetwork;

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

    /// He-normal weights, w ~ N(0, 2 / inputs), and zero biases (K. He, X. Zhang, S. Ren, J. Sun, "Delving deep into
    /// rectifiers", 2015). A seed gives the same weights on every machine.
    pub fn he_normal(network: &Network, seed: u64) -> Self {
        let mut parameters = Self::zeros(network);
        for (layer, place) in parameters.layers.iter_mut().zip(0..) {
            let deviation = (2.0 / layer.inputs as f64).sqrt();
            for (weight, index) in layer.weights.iter_mut().zip(0..) {
                *weight = (normal(seed, Purpose::Weights, [index, place]) * deviation) as f32;
            }
        }
        parameters
    }

    /// Whether no number is NaN or infinite.
    pub fn is_finite(&self) -> bool {
        let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        self.layers.iter().all(|layer| finite(&layer.weights) && finite(&layer.bias))
    }

    /// The same reference for the reference, in f64.
    pub fn to_reference(&self) -> ReferenceNetwork {
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
        ReferenceNetwork::relu(weights, biases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn he_normal_has_the_right_spread_and_depends_on_the_seed() {
        let network = Network::classifier(&[500, 200, 10]).unwrap();
        let parameters = Parameters::he_normal(&network, 1);
        for layer in &parameters.layers {
            let n = layer.weights.len() as f64;
            let variance = layer.weights.iter().map(|w| f64::from(*w).powi(2)).sum::<f64>() / n;
            let want = 2.0 / layer.inputs as f64;
            assert!((variance / want - 1.0).abs() < 4.0 * (2.0 / n).sqrt(), "{variance} against {want}");
            assert!(layer.bias.iter().all(|b| *b == 0.0));
        }
        assert_eq!(parameters, Parameters::he_normal(&network, 1));
        assert_ne!(parameters, Parameters::he_normal(&network, 2));
        assert_ne!(parameters.layers[0].weights[..10], parameters.layers[1].weights[..10]);
    }
}
