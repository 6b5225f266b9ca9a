//! A whole step in numbers, for the kernels that process many layers: the uniform declared in
//! `shaders/common/network.wgsl`.

use crate::kernels::{LossTargets, Nonlinearity, Piece, Tuning, activations, blocks, word};
use crate::model::{Network, ParameterLayout};
use crate::step::{Activation, UpdateRule};

use super::LayerUpdate;

/// Most layers of these kernels, limited by the uniform.
pub const MOST_LAYERS: usize = 64;

/// Layers of the largest network that gets a specialised program.
const MOST_KNOWN: usize = 4;

/// Words of the uniform of a network without its layers (`shaders/common/network_fields.wgsl`).
const NETWORK_WORDS: usize = 16;

/// Words of the uniform of one layer.
const LAYER_WORDS: usize = 12;

/// A layer and its locations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LayerPlace {
    pub inputs: usize,
    pub outputs: usize,
    /// Start of the layer's parameters, in vec4s.
    pub offset: usize,
    /// Start of the layer's outputs in the activations, in vec4s.
    pub place: usize,
    /// Operations after its products.
    pub nonlinearity: Nonlinearity,
    /// Update of its parameters.
    pub update: LayerUpdate,
}

/// A training step of a network: its batches, its targets, and the split of the first layer's inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct StepShape {
    pub(crate) layers: Vec<LayerPlace>,
    pub(crate) layout: ParameterLayout,
    pub(crate) rows: usize,
    pub(crate) targets: LossTargets,
    /// Blocks of inputs per part: whole tiles.
    pub(crate) part: usize,
    pub(crate) parts: usize,
}

impl StepShape {
    /// Creates the two-dispatch step of batches of at most `rows` rows, whose rows have weights in the loss
    /// if `weighted`. Returns `None` if the network has more layers than the kernels support.
    pub fn new(
        network: &Network,
        rule: &UpdateRule,
        weighted: bool,
        rows: usize,
        tuning: &Tuning,
    ) -> Option<Self> {
        let layout = ParameterLayout::new(network);
        let first = *layout.layers().first().filter(|_| layout.layers().len() <= MOST_LAYERS)?;
        let [down, across] = tuning.column.tile();
        let tiles = blocks(first.inputs + 1).div_ceil(down);
        let wanted = tuning.owners.div_ceil(blocks(first.outputs).div_ceil(across));
        let part = tiles.div_ceil(wanted.clamp(1, tiles));
        let parts = tiles.div_ceil(part);
        let layout = layout.with_partials(parts * rows * blocks(first.outputs));
        let layout = layout.with_states(rule.optimizer.kind.states());
        let mut place = 0;
        let layers = layout.layers().iter().enumerate().map(|(number, at)| {
            let start = place;
            place += rows * blocks(at.outputs);
            LayerPlace {
                inputs: at.inputs,
                outputs: at.outputs,
                offset: at.offset,
                place: start,
                nonlinearity: Nonlinearity::for_layer(network, number, true),
                update: LayerUpdate::for_layer(rule, &layout, number),
            }
        });
        let layers = layers.collect();
        let targets = LossTargets { loss: network.loss(), smoothing: rule.label_smoothing, weighted };
        Some(Self { layers, layout, rows, targets, part: part * down, parts })
    }

    /// Returns the outputs of the last layer.
    pub(crate) fn outputs(&self) -> usize {
        self.layers[self.layers.len() - 1].outputs
    }

    /// Returns the most rows of a batch.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of parts of the first layer's inputs.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Returns the layout of the parameters, followed by the partial sums and the optimizer's state.
    pub fn layout(&self) -> &ParameterLayout {
        &self.layout
    }

    /// Returns the vec4s of the outputs of all layers. Their deltas follow, of the same size.
    pub fn activations(&self) -> usize {
        self.layers.iter().map(|layer| self.rows * blocks(layer.outputs)).sum()
    }

    /// Returns the start of the outputs of a layer (from 1), in vec4s.
    pub fn place(&self, layer: usize) -> usize {
        self.layers[layer - 1].place
    }

    /// Returns whether a layer has dropout.
    pub(crate) fn has_dropout(&self) -> bool {
        self.layers.iter().any(|layer| layer.nonlinearity.dropout.is_some())
    }

    /// Returns the activations of the hidden layers, each once; ReLU if there are none.
    pub(crate) fn activations_used(&self) -> Vec<Activation> {
        let hidden = &self.layers[..self.layers.len() - 1];
        let mut used: Vec<Activation> = hidden.iter().map(|layer| layer.nonlinearity.activation).collect();
        used.sort_unstable();
        used.dedup();
        if used.is_empty() { vec![Activation::Relu] } else { used }
    }

    /// Returns readable names of the operations fused into kernels that work along the rows.
    pub(crate) fn fused_into_rows(&self) -> Vec<String> {
        let used = if self.layers.len() > 1 { self.activations_used() } else { Vec::new() };
        let dropout = self.has_dropout().then(|| "dropout".to_owned());
        let loss = self.targets.loss.to_string();
        used.iter().map(|activation| activation.to_string()).chain(dropout).chain([loss]).collect()
    }

    /// Returns the piece of these activations.
    pub(crate) fn activation_piece(&self) -> (&'static str, Piece) {
        ("activation", activations(&self.activations_used()))
    }

    /// Returns the blocks of inputs in each part of the next batch's sums; the bias has none.
    pub(crate) fn part_blocks(&self) -> impl Iterator<Item = usize> + '_ {
        let inputs = blocks(self.layers[0].inputs);
        (0..self.parts).map(move |part| inputs.min((part + 1) * self.part).saturating_sub(part * self.part))
    }

    /// Returns the network's sizes as text.
    pub(crate) fn describe(&self) -> String {
        let sizes = self.layers.iter().map(|layer| layer.outputs.to_string());
        let sizes: Vec<String> = [self.layers[0].inputs.to_string()].into_iter().chain(sizes).collect();
        format!("{} x {}", self.rows, sizes.join("-"))
    }

    /// Returns the uniform for a kernel with tiles of these numbers of blocks, down and across, over a data
    /// set of `samples` rows.
    pub(crate) fn params(&self, tile: [usize; 2], samples: usize) -> Vec<u32> {
        let mut words = self.network_words(tile, samples).to_vec();
        words.extend(self.layer_words());
        words.resize(NETWORK_WORDS + LAYER_WORDS * MOST_LAYERS, 0);
        words
    }

    /// Returns whether the network gets a specialised program.
    pub(super) fn is_known(&self) -> bool {
        self.layers.len() <= MOST_KNOWN
    }

    /// Returns the override constants of `shaders/common/known_network.wgsl`.
    pub(super) fn known(&self) -> Vec<(&'static str, u32)> {
        const NAMES: [&str; 9] =
            ["LAYERS", "INPUTS", "PARTS", "PARTIALS", "CAPACITY", "UNITS_0", "UNITS_1", "UNITS_2", "UNITS_3"];
        let known = self.is_known();
        let units = |layer: usize| self.layers.get(layer).map_or(0, |layer| layer.outputs);
        let sizes = [self.layers.len(), self.layers[0].inputs, self.parts, self.layout.partials(), self.rows];
        let all = sizes.into_iter().chain((0..MOST_KNOWN).map(units));
        NAMES.into_iter().zip(all.map(|size| if known { word(size) } else { 0 })).collect()
    }

    /// Returns the words of the network without its layers.
    fn network_words(&self, [down, across]: [usize; 2], samples: usize) -> [u32; NETWORK_WORDS] {
        let [own, other] = self.targets.probabilities(self.outputs()).map(f32::to_bits);
        let [state, region, .., bias_decay] = LayerUpdate::params(Some(self.layers[0].update));
        let [layers, partials] = [self.layers.len(), self.layout.partials()].map(word);
        let [rows, deltas, samples] = [self.rows, self.activations(), samples].map(word);
        let [parts, part, down, across] = [self.parts, self.part, down, across].map(word);
        [
            layers, rows, partials, deltas, parts, part, down, across, samples, state, region, bias_decay,
            own, other, 0, 0,
        ]
    }

    /// Returns the words of the layers.
    fn layer_words(&self) -> Vec<u32> {
        let used = self.activations_used();
        let words = |layer: &LayerPlace| {
            let kind = used.iter().position(|used| *used == layer.nonlinearity.activation);
            let sizes = [layer.inputs, layer.outputs, layer.offset, layer.place, kind.unwrap_or(0)];
            let [_, threshold, scale] = layer.nonlinearity.params();
            let [_, _, weights, bias, _] = LayerUpdate::params(Some(layer.update));
            let [inputs, outputs, offset, place, kind] = sizes.map(word);
            [inputs, outputs, offset, place, kind, threshold, scale, weights, bias, 0, 0, 0]
        };
        self.layers.iter().flat_map(words).collect()
    }
}
