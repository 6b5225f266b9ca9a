//! The structure of a network, without its parameters.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::InputLayer;
use crate::error::{Error, Result};
use crate::step::{Activation, Dropout, Levels, Loss};

/// A dense layer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dense {
    /// Numbers per output row.
    pub units: usize,
    /// The activation of the products.
    pub activation: Activation,
    /// Share of the outputs that a training step drops at random, at least 0 and below 1.
    pub dropout: f32,
}

impl Dense {
    /// A layer without dropout.
    pub fn new(units: usize, activation: Activation) -> Self {
        Self { units, activation, dropout: 0.0 }
    }
}

/// A multi-layer perceptron: a sequence of dense layers, and the loss for training. The last layer has no activation
/// and no dropout: its outputs are the logits, or the predicted values. An input layer may precede the first dense
/// layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Network {
    input_layer: Option<InputLayer>,
    inputs: usize,
    layers: Vec<Dense>,
    loss: Loss,
}

/// A network as stored in a model file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    input_layer: Option<InputLayer>,
    inputs: usize,
    layers: Vec<Dense>,
    loss: Loss,
}

impl TryFrom<Unchecked> for Network {
    type Error = Error;

    fn try_from(Unchecked { input_layer, inputs, layers, loss }: Unchecked) -> Result<Self> {
        let network = Self::new(inputs, layers, loss)?;
        match input_layer {
            Some(layer) => network.with_input_layer(layer),
            None => Ok(network),
        }
    }
}

impl Network {
    /// A network with these layers, hidden ones first.
    ///
    /// # Errors
    /// [`Error::Config`] without inputs or layers, for a layer of 0 units, or for a last layer with an activation or
    /// dropout; [`Error::Setting`] for a share of dropout that is not at least 0 and below 1.
    pub fn new(inputs: usize, layers: Vec<Dense>, loss: Loss) -> Result<Self> {
        let network = Self { input_layer: None, inputs, layers, loss };
        let sizes = network.sizes();
        if sizes.len() < 2 || sizes.contains(&0) {
            return Err(Error::Config(format!(
                "a network needs inputs and outputs, and every layer at least one unit; these sizes are {sizes:?}"
            )));
        }
        let last = network.layers[network.layers.len() - 1];
        if last.activation != Activation::Identity || last.dropout != 0.0 {
            return Err(Error::Config("the last layer has no activation and no dropout".to_owned()));
        }
        if let Some(layer) = network.layers.iter().find(|layer| !(0.0..1.0).contains(&layer.dropout)) {
            return Err(Error::setting("dropout", "a number from 0 to below 1", layer.dropout.to_string()));
        }
        Ok(network)
    }

    /// The number of quantiles that it predicts of a value; 0 for other losses.
    pub fn quantiles(&self) -> usize {
        self.loss.levels().map_or(0, Levels::count)
    }

    /// A classifier of these sizes (inputs, hidden layers, classes) with ReLU after its hidden layers.
    ///
    /// # Errors
    /// As [`Network::new`].
    pub fn classifier(sizes: &[usize]) -> Result<Self> {
        let (inputs, units) = sizes.split_first().unwrap_or((&0, &[]));
        let mut layers: Vec<Dense> = units.iter().map(|units| Dense::new(*units, Activation::Relu)).collect();
        if let Some(last) = layers.last_mut() {
            last.activation = Activation::Identity;
        }
        Self::new(*inputs, layers, Loss::CrossEntropy)
    }

    /// Adds an input layer to this network.
    ///
    /// # Errors
    /// [`Error::Config`] if the input layer does not make the inputs of the first dense layer.
    pub fn with_input_layer(self, input_layer: InputLayer) -> Result<Self> {
        let (made, inputs) = (input_layer.inputs(), self.inputs);
        if made != inputs {
            return Err(Error::Config(format!("an input layer of {made} inputs before a layer of {inputs}")));
        }
        Ok(Self { input_layer: Some(input_layer), ..self })
    }

    /// This network without dropout, as used for predictions.
    #[must_use]
    pub fn without_dropout(&self) -> Self {
        let layers = self.layers.iter().map(|layer| Dense { dropout: 0.0, ..*layer });
        Self { layers: layers.collect(), ..self.clone() }
    }

    /// The input layer before the first dense layer, if any.
    pub fn input_layer(&self) -> Option<&InputLayer> {
        self.input_layer.as_ref()
    }

    /// Numbers per input row.
    pub fn columns(&self) -> usize {
        self.input_layer.as_ref().map_or(self.inputs, |layer| layer.columns().len())
    }

    /// Inputs of the first dense layer: the numbers of an input row, unless an input layer makes them.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Numbers per output row: classes, or values to predict.
    pub fn outputs(&self) -> usize {
        self.layers[self.layers.len() - 1].units
    }

    /// The layers, hidden ones first.
    pub fn dense(&self) -> &[Dense] {
        &self.layers
    }

    /// The loss for training.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// All sizes: inputs, hidden layers, outputs.
    pub fn sizes(&self) -> Vec<usize> {
        [self.inputs].into_iter().chain(self.layers.iter().map(|layer| layer.units)).collect()
    }

    /// (inputs, outputs) of each layer.
    pub fn layers(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + '_ {
        self.layers.iter().enumerate().map(|(index, layer)| {
            let inputs = if index == 0 { self.inputs } else { self.layers[index - 1].units };
            (inputs, layer.units)
        })
    }

    /// The number of weights, biases and learnt parameters of an input layer; saturates at the maximum.
    pub fn parameter_count(&self) -> usize {
        let counts = self.layers().map(|(inputs, outputs)| inputs.saturating_add(1).saturating_mul(outputs));
        let before = self.input_layer.as_ref().map_or(0, InputLayer::parameter_count);
        counts.fold(before, usize::saturating_add)
    }

    /// The dropout after a layer, counted from 0, if any.
    pub fn dropout(&self, layer: usize) -> Option<Dropout> {
        Dropout::new(self.layers[layer].dropout, layer)
    }

    /// Whether the layer's pre-activations are kept from the forward to the backward pass.
    pub fn keeps_z(&self, layer: usize) -> bool {
        self.layers[layer].activation.keeps_z()
    }
}

impl fmt::Display for Network {
    /// Sizes with hyphens: 784-300-100-10.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.sizes().iter().map(usize::to_string).collect();
        f.write_str(&sizes.join("-"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_weights_and_biases() {
        let network = Network::classifier(&[784, 300, 100, 10]).unwrap();
        assert_eq!(network.parameter_count(), 266_610);
        assert_eq!(network.to_string(), "784-300-100-10");
        assert_eq!(network.layers().collect::<Vec<_>>(), [(784, 300), (300, 100), (100, 10)]);
        let activations: Vec<_> = network.dense().iter().map(|layer| layer.activation).collect();
        assert_eq!(activations, [Activation::Relu, Activation::Relu, Activation::Identity]);
        let huge = Network::classifier(&[784, usize::MAX, usize::MAX, 10]).unwrap();
        assert_eq!(huge.parameter_count(), usize::MAX);
    }

    #[test]
    fn refuses_what_cannot_be() {
        for sizes in [&[][..], &[3], &[3, 0, 2]] {
            assert_eq!(Network::classifier(sizes).unwrap_err().exit_code(), 2);
        }
        let layer = |activation, dropout| Dense { units: 2, activation, dropout };
        let hidden = |dropout| vec![layer(Activation::Relu, dropout), layer(Activation::Identity, 0.0)];
        assert!(Network::new(3, hidden(0.5), Loss::CrossEntropy).is_ok());
        for layers in [
            vec![layer(Activation::Relu, 0.0)],
            vec![layer(Activation::Identity, 0.5)],
            hidden(1.0),
            hidden(-0.1),
            hidden(f32::NAN),
        ] {
            assert_eq!(Network::new(3, layers, Loss::CrossEntropy).unwrap_err().exit_code(), 2);
        }
    }
}
