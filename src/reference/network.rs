//! A whole network composed of the reference operations.

use ndarray::{Array1, Array2, ArrayView2};

use super::{ReferenceInput, ReferenceTargets, ops};
use crate::model::{Network, Parameters};
use crate::step::{Activation, Loss, RateFactors, StepRecord};

/// The operations after the products of a hidden layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hidden {
    /// The activation.
    pub activation: Activation,
    /// Share of the outputs that training drops, at least 0 and below 1.
    pub dropout: f32,
}

/// A multi-layer perceptron. Gradients have the same form.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceNetwork {
    /// The input layer, if any.
    pub input: Option<ReferenceInput>,
    /// Weights [inputs, outputs] of each layer.
    pub weights: Vec<Array2<f64>>,
    /// Bias `[outputs]` of each layer.
    pub biases: Vec<Array1<f64>>,
    /// The operations after each layer except the last.
    pub hidden: Vec<Hidden>,
    /// The loss of the last layer's outputs.
    pub loss: Loss,
}

/// The results of a forward pass, layer by layer.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferencePass {
    /// The input rows, and E of the input layer, if there is one.
    pub embedded: Option<(Array2<f64>, Array2<f64>)>,
    /// The inputs of each layer, followed by the outputs of the network: X, H1, H2, ..., Z.
    pub activations: Vec<Array2<f64>>,
    /// Z = X W + b of each layer.
    pub pre_activations: Vec<Array2<f64>>,
    /// The factors of the outputs of each hidden layer: ones without dropout.
    pub masks: Vec<Array2<f64>>,
}

impl ReferenceNetwork {
    /// A network with these parameters, in f64.
    pub fn new(network: &Network, parameters: &Parameters) -> Self {
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<f64>>();
        let (weights, biases) = parameters
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
        let input = network.input_layer().zip(parameters.input.as_ref());
        let input = input.map(|(layer, parameters)| ReferenceInput::new(layer, parameters));
        Self { input, weights, biases, hidden: hidden.collect(), loss: network.loss() }
    }

    /// A network with ReLU between its layers and softmax cross-entropy as its loss.
    pub fn relu(weights: Vec<Array2<f64>>, biases: Vec<Array1<f64>>) -> Self {
        let hidden =
            vec![Hidden { activation: Activation::Relu, dropout: 0.0 }; weights.len().saturating_sub(1)];
        Self { input: None, weights, biases, hidden, loss: Loss::CrossEntropy }
    }

    /// A forward pass: with the dropout of a record's step, or without dropout.
    pub fn pass(&self, x: ArrayView2<f64>, record: Option<&StepRecord>) -> ReferencePass {
        let embedded = self.input.as_ref().map(|input| (x.to_owned(), input.embedded(x)));
        let x = match (&self.input, &embedded) {
            (Some(input), Some((_, embedded))) => input.scaled(embedded),
            _ => x.to_owned(),
        };
        let (pre_activations, masks) = (Vec::new(), Vec::new());
        let mut pass = ReferencePass { embedded, activations: vec![x], pre_activations, masks };
        for (layer, (w, b)) in self.weights.iter().zip(&self.biases).enumerate() {
            let z = ops::forward(pass.activations[layer].view(), w.view(), b.view());
            if let Some(hidden) = self.hidden.get(layer) {
                let share = f64::from(hidden.dropout);
                let ones = || Array2::ones(z.dim());
                let mask =
                    record.map_or_else(ones, |record| ops::dropout_mask(share, layer, z.dim(), record));
                let y = z.mapv(|z| ops::activation(hidden.activation, z));
                pass.activations.push(y * &mask);
                pass.masks.push(mask);
            } else {
                pass.activations.push(z.clone());
            }
            pass.pre_activations.push(z);
        }
        pass
    }

    /// The inputs of each layer without dropout, followed by the logits: X, H1, H2, ..., Z.
    pub fn activations(&self, x: ArrayView2<f64>) -> Vec<Array2<f64>> {
        self.pass(x, None).activations
    }

    /// The logits [rows, classes].
    pub fn logits(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.activations(x).swap_remove(self.weights.len())
    }

    /// The mean loss over the batch, weighted by row, without dropout.
    pub fn loss<'a>(&self, x: ArrayView2<f64>, targets: impl Into<ReferenceTargets<'a>>) -> f64 {
        ops::batch_loss(self.loss, self.logits(x).view(), &targets.into())
    }

    /// Gradient of the mean loss by each pre-activation of a forward pass: D1, D2, ..., D of the logits.
    pub fn deltas_of(&self, pass: &ReferencePass, targets: &ReferenceTargets<'_>) -> Vec<Array2<f64>> {
        let layers = self.weights.len();
        let mut deltas = vec![ops::loss_gradient(self.loss, pass.activations[layers].view(), targets)];
        for layer in (1..layers).rev() {
            let dh = ops::input_gradient(deltas[0].view(), self.weights[layer].view());
            let f = self.hidden[layer - 1].activation;
            let slope = pass.pre_activations[layer - 1].mapv(|z| ops::activation_slope(f, z));
            deltas.insert(0, dh * &pass.masks[layer - 1] * slope);
        }
        deltas
    }

    /// Gradient of the mean loss by every weight and bias, without dropout, as a network of the same shape.
    pub fn gradients<'a>(
        &self,
        x: ArrayView2<f64>,
        targets: impl Into<ReferenceTargets<'a>>,
    ) -> ReferenceNetwork {
        self.gradients_of(&self.pass(x, None), &targets.into())
    }

    /// The gradients from a forward pass.
    pub fn gradients_of(&self, pass: &ReferencePass, targets: &ReferenceTargets<'_>) -> ReferenceNetwork {
        let deltas = self.deltas_of(pass, targets);
        let (weights, biases) = deltas
            .iter()
            .zip(&pass.activations)
            .map(|(delta, input)| ops::weight_gradient(input.view(), delta.view()))
            .unzip();
        let input = self.input.as_ref().zip(pass.embedded.as_ref()).map(|(input, (rows, embedded))| {
            let dx = ops::input_gradient(deltas[0].view(), self.weights[0].view());
            input.gradients(rows.view(), embedded, &dx)
        });
        ReferenceNetwork { input, ..self.holding(weights, biases) }
    }

    /// Every number: weights and bias of each layer in turn, then the weights and factors of an input layer.
    pub fn numbers(&self) -> impl Iterator<Item = f64> {
        let dense = self.weights.iter().zip(&self.biases).flat_map(|(w, b)| w.iter().chain(b));
        let input = self.input.iter().flat_map(|input| input.weights.iter().chain(&input.scale));
        dense.chain(input).copied()
    }

    /// All numbers, mutably.
    pub fn numbers_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        let dense = self.weights.iter_mut().zip(&mut self.biases).flat_map(|(w, b)| w.iter_mut().chain(b));
        let input = self.input.iter_mut();
        dense.chain(input.flat_map(|input| input.weights.iter_mut().chain(&mut input.scale)))
    }

    /// For each of these numbers the factor of its learning rate, and whether it counts as a bias, as input factors do.
    pub fn places(&self, factors: &RateFactors) -> Vec<(f64, bool)> {
        let both = self.weights.iter().zip(&self.biases).enumerate();
        let dense = both.flat_map(|(layer, (w, b))| {
            let of = |factors: &[f32]| f64::from(*factors.get(layer).unwrap_or(&1.0));
            let (of_layer, of_weights) = (of(&factors.layers), of(&factors.layer_weights));
            let of_weights = of_layer * of_weights * f64::from(factors.weights);
            let of_biases = of_layer * f64::from(factors.biases);
            [vec![(of_weights, false); w.len()], vec![(of_biases, true); b.len()]].concat()
        });
        let [embeddings, scale] = [factors.embeddings, factors.scale].map(f64::from);
        let input = self.input.iter().flat_map(|input| {
            [vec![(embeddings, false); input.weights.len()], vec![(scale, true); input.scale.len()]].concat()
        });
        dense.chain(input).collect()
    }

    /// The square root of the sum of the squares of all numbers.
    pub fn norm(&self) -> f64 {
        self.numbers().map(|number| number * number).sum::<f64>().sqrt()
    }

    /// A network of the same form with other numbers, and zeros in the input layer.
    pub fn holding(&self, weights: Vec<Array2<f64>>, biases: Vec<Array1<f64>>) -> ReferenceNetwork {
        let input = self.input.as_ref().map(ReferenceInput::zeros);
        Self { input, weights, biases, hidden: self.hidden.clone(), loss: self.loss }
    }

    /// One step of plain stochastic gradient descent without dropout: every parameter p becomes p - rate dp.
    pub fn step<'a>(&mut self, x: ArrayView2<f64>, targets: impl Into<ReferenceTargets<'a>>, rate: f64) {
        let gradients = self.gradients(x, targets);
        self.numbers_mut().zip(gradients.numbers()).for_each(|(p, g)| *p -= rate * g);
    }
}
