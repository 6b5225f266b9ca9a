//! A whole network out of the reference operations.

use ndarray::{Array1, Array2, ArrayView2};

use super::ops;

/// A multi-layer perceptron with ReLU between its layers and softmax cross-entropy behind the last.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceNetwork {
    /// Weights [inputs, outputs] of each layer.
    pub weights: Vec<Array2<f64>>,
    /// Bias `[outputs]` of each layer.
    pub biases: Vec<Array1<f64>>,
}

impl ReferenceNetwork {
    /// What each layer reads, and last the logits: X, H1, H2, ..., Z.
    pub fn activations(&self, x: ArrayView2<f64>) -> Vec<Array2<f64>> {
        let mut activations = vec![x.to_owned()];
        for (layer, (w, b)) in self.weights.iter().zip(&self.biases).enumerate() {
            let z = ops::forward(activations[layer].view(), w.view(), b.view());
            let last = layer + 1 == self.weights.len();
            activations.push(if last { z } else { ops::relu(z.view()) });
        }
        activations
    }

    /// The logits [rows, classes].
    pub fn logits(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.activations(x).swap_remove(self.weights.len())
    }

    /// Mean loss over the batch.
    pub fn loss(&self, x: ArrayView2<f64>, targets: &[usize]) -> f64 {
        ops::cross_entropy(self.logits(x).view(), targets).sum() / targets.len() as f64
    }

    /// Gradient of the mean loss by each pre-activation: D1, D2, ..., D of the logits.
    pub fn deltas(&self, x: ArrayView2<f64>, targets: &[usize]) -> Vec<Array2<f64>> {
        let activations = self.activations(x);
        let layers = self.weights.len();
        let mut deltas = vec![ops::softmax_cross_entropy(activations[layers].view(), targets)];
        for layer in (1..layers).rev() {
            let dh = ops::input_gradient(deltas[0].view(), self.weights[layer].view());
            deltas.insert(0, ops::relu_backward(activations[layer].view(), dh.view()));
        }
        deltas
    }

    /// Gradient of the mean loss by every weight and bias, as a network of the same shape.
    pub fn gradients(&self, x: ArrayView2<f64>, targets: &[usize]) -> ReferenceNetwork {
        let activations = self.activations(x);
        let (weights, biases) = self
            .deltas(x, targets)
            .iter()
            .zip(&activations)
            .map(|(delta, input)| ops::weight_gradient(input.view(), delta.view()))
            .unzip();
        ReferenceNetwork { weights, biases }
    }

    /// One step of stochastic gradient descent: every parameter p becomes p - rate dp.
    pub fn step(&mut self, x: ArrayView2<f64>, targets: &[usize], rate: f64) {
        let gradients = self.gradients(x, targets);
        for (w, dw) in self.weights.iter_mut().zip(&gradients.weights) {
            *w = ops::update(w.view(), dw.view(), rate);
        }
        for (b, db) in self.biases.iter_mut().zip(&gradients.biases) {
            *b = &*b - &(db * rate);
        }
    }
}
