//! The layout of parameters and related data in a buffer: the only place that computes offsets and sizes.
//!
//! Matrices on a device are row-major f32 with rows padded to whole vec4s ([`blocks`]); the padding is 0. The
//! parameters of a layer form one matrix of `inputs + 1` rows: the weights, followed by the bias. One buffer holds
//! three regions:
//!
//! | region | vec4s |
//! |---|---|
//! | weights and biases, layer by layer, followed by the parameters of the input layer and its scale | [`ParameterLayout::weights`] |
//! | partial sums of the first layer, or activations, for schedules that keep them | [`ParameterLayout::partials`] |
//! | optimizer state: 0, 1 or 2 copies of the first region | [`ParameterLayout::states`] times the first region |
//!
//! With several models, each has its own three regions, model after model.

use super::input_layer::{InputLayer, InputParameters};
use super::network::Network;
use super::padding::{blocks, pad_rows, unpad_rows};
use super::parameters::{Layer, Parameters};

/// The layout of a layer's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerLayout {
    /// Numbers per input row.
    pub inputs: usize,
    /// Numbers per output row.
    pub outputs: usize,
    /// The offset of the weights in a region, in vec4s.
    pub offset: usize,
}

impl LayerLayout {
    /// The length of weights and bias, in vec4s.
    pub fn length(&self) -> usize {
        (self.inputs + 1) * blocks(self.outputs)
    }
}

/// The layout of an input layer's parameters, in vec4s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputLayout {
    /// The offset of the weights in a region.
    pub offset: usize,
    /// The length of the weights.
    pub weights: usize,
    /// The number of input factors, which follow the weights.
    pub scales: usize,
}

impl InputLayout {
    /// The offset of the input factors.
    pub fn scale(&self) -> usize {
        self.offset + self.weights
    }

    /// The length of weights and factors.
    pub fn length(&self) -> usize {
        self.weights + blocks(self.scales)
    }
}

/// The layout of all parameters of a network, its optimizer state and scratch space. Lengths and offsets are in vec4s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterLayout {
    layers: Vec<LayerLayout>,
    input: Option<InputLayout>,
    partials: usize,
    states: usize,
    models: usize,
}

impl ParameterLayout {
    /// The layout of only the parameters of one network of these sizes (inputs, hidden layers, outputs).
    pub fn of_sizes(sizes: &[usize]) -> Self {
        let mut offset = 0;
        let layers = sizes.windows(2).map(|pair| {
            let layer = LayerLayout { inputs: pair[0], outputs: pair[1], offset };
            offset += layer.length();
            layer
        });
        Self { layers: layers.collect(), input: None, partials: 0, states: 0, models: 1 }
    }

    /// The layout of only the parameters of one network.
    pub fn new(network: &Network) -> Self {
        let dense = Self::of_sizes(&network.sizes());
        let place = |layer: &InputLayer| InputLayout {
            offset: dense.weights(),
            weights: layer.weights(),
            scales: layer.scales(),
        };
        Self { input: network.input_layer().map(place), ..dense }
    }

    /// Adds `partials` vec4s of partial sums, or of other scratch space of a schedule.
    #[must_use]
    pub fn with_partials(self, partials: usize) -> Self {
        Self { partials, ..self }
    }

    /// Adds `states` numbers of optimizer state per parameter.
    #[must_use]
    pub fn with_states(self, states: usize) -> Self {
        Self { states, ..self }
    }

    /// Repeats the layout for `models` models, one after the other.
    #[must_use]
    pub fn with_models(self, models: usize) -> Self {
        Self { models, ..self }
    }

    /// The layers, from first to last.
    pub fn layers(&self) -> &[LayerLayout] {
        &self.layers
    }

    /// The input layer, if there is one.
    pub fn input(&self) -> Option<InputLayout> {
        self.input
    }

    /// The length of all parameters, and of each copy of the state.
    pub fn weights(&self) -> usize {
        let dense: usize = self.layers.iter().map(LayerLayout::length).sum();
        dense + self.input.map_or(0, |input| input.length())
    }

    /// The offset of the partial sums.
    pub fn partials(&self) -> usize {
        self.weights()
    }

    /// Numbers of optimizer state per parameter.
    pub fn states(&self) -> usize {
        self.states
    }

    /// The distance from a parameter to its first number of state; further numbers follow at distances of
    /// [`ParameterLayout::weights`].
    pub fn state_distance(&self) -> usize {
        self.weights() + self.partials
    }

    /// The offset of each copy of the state.
    pub fn state_places(&self) -> impl Iterator<Item = usize> + use<> {
        let (first, length) = (self.state_distance(), self.weights());
        (0..self.states).map(move |number| first + number * length)
    }

    /// The length of the regions of one model.
    pub fn model(&self) -> usize {
        self.state_distance() + self.states * self.weights()
    }

    /// Bytes of all models.
    pub fn bytes(&self) -> u64 {
        (16 * self.models as u64).saturating_mul(self.model() as u64)
    }

    /// Bytes of the weights and biases of one model.
    pub fn weight_bytes(&self) -> u64 {
        16 * self.weights() as u64
    }

    /// Packs all parameters in the form of a region.
    pub fn pack(&self, parameters: &Parameters) -> Vec<f32> {
        let layer = |layer: &Layer| {
            [pad_rows(&layer.weights, layer.outputs), pad_rows(&layer.bias, layer.outputs)].concat()
        };
        let mut region: Vec<f32> = parameters.layers.iter().flat_map(layer).collect();
        if let Some(input) = &parameters.input {
            region.extend_from_slice(&input.weights);
            region.extend(pad_rows(&input.scale, input.scale.len()));
        }
        region
    }

    /// The inverse of [`ParameterLayout::pack`].
    pub fn unpack(&self, region: &[f32]) -> Parameters {
        let layer = |layer: &LayerLayout| {
            let LayerLayout { inputs, outputs, offset } = *layer;
            let mut weights = unpad_rows(&region[4 * offset..4 * (offset + layer.length())], outputs);
            let bias = weights.split_off(inputs * outputs);
            Layer { inputs, outputs, weights, bias }
        };
        let input = self.input.map(|input| InputParameters {
            weights: region[4 * input.offset..4 * input.scale()].to_vec(),
            scale: region[4 * input.scale()..][..input.scales].to_vec(),
        });
        Parameters { layers: self.layers.iter().map(layer).collect(), input }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::InputColumn;

    #[test]
    fn regions_stand_one_behind_the_other() {
        let layout = ParameterLayout::of_sizes(&[5, 3, 6]);
        let offsets: Vec<usize> = layout.layers().iter().map(|layer| layer.offset).collect();
        assert_eq!((offsets, layout.weights()), (vec![0, 6], 6 + 4 * 2));
        assert_eq!((layout.state_distance(), layout.model(), layout.bytes()), (14, 14, 16 * 14));
        let full = layout.with_partials(10).with_states(2).with_models(3);
        assert_eq!((full.partials(), full.state_distance(), full.model()), (14, 24, 24 + 28));
        assert_eq!((full.bytes(), full.weight_bytes()), (16 * 3 * 52, 16 * 14));
        assert_eq!(Vec::from_iter(full.state_places()), [24, 38]);
    }

    #[test]
    fn what_is_packed_unpacks() {
        let network = Network::classifier(&[5, 3, 6]).unwrap();
        let parameters = Parameters::he_normal(&network, 3);
        let layout = ParameterLayout::new(&network);
        let packed = layout.pack(&parameters);
        assert_eq!(packed.len(), 4 * layout.weights());
        assert_eq!(layout.unpack(&packed), parameters);
    }

    #[test]
    fn the_input_layer_stands_behind_the_others() {
        let columns = vec![InputColumn::Periodic, InputColumn::Embedding { categories: 3, size: 5 }];
        for (scaled, scales) in [(true, 9), (false, 0)] {
            let input = InputLayer::new(columns.clone(), scaled).unwrap();
            let network = Network::classifier(&[9, 3]).unwrap().with_input_layer(input).unwrap();
            let layout = ParameterLayout::new(&network);
            let want = InputLayout { offset: 10, weights: 21 + 6, scales };
            assert_eq!(layout.input(), Some(want));
            assert_eq!(layout.weights(), 10 + 27 + blocks(scales));
            let parameters = Parameters::he_normal(&network, 3);
            let packed = layout.pack(&parameters);
            assert_eq!(packed.len(), 4 * layout.weights());
            assert_eq!(layout.unpack(&packed), parameters);
        }
    }
}
