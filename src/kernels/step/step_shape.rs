//! What the two kernels of the two-dispatch step share: the network, and where everything of a batch stands
//! (`shaders/common/network.wgsl`).

use bytemuck::{Pod, Zeroable};

use crate::kernels::{MatmulTile, Tuning, blocks, word};

/// Most layers that the uniform has room for.
pub const MOST_LAYERS: usize = 64;

/// One layer in the uniform.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct LayerParams {
    inputs: u32,
    outputs: u32,
    offset: u32,
    place: u32,
}

/// The uniform of both.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    layers: u32,
    capacity: u32,
    partials: u32,
    deltas: u32,
    parts: u32,
    part: u32,
    down: u32,
    across: u32,
    rate: f32,
    unused: [u32; 3],
    network: [LayerParams; MOST_LAYERS],
}

/// A layer and its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LayerPlace {
    pub inputs: usize,
    pub outputs: usize,
    /// Where its parameters begin, in vec4s.
    pub offset: usize,
    /// Where its outputs begin in the activations, in vec4s.
    pub place: usize,
}

/// A network, its batches, and how the first layer's inputs are split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepShape {
    pub(crate) layers: Vec<LayerPlace>,
    pub(crate) rows: usize,
    /// Blocks of inputs of a part: whole tiles.
    pub(crate) part: usize,
    pub(crate) parts: usize,
}

impl StepShape {
    /// A network of these sizes (inputs, hidden layers, classes) and batches of at most `rows` rows. Nothing where the
    /// kernels have no room for so many layers.
    pub fn new(sizes: &[usize], rows: usize, tuning: &Tuning) -> Option<Self> {
        let (mut offset, mut place) = (0, 0);
        let mut layers = Vec::new();
        for pair in sizes.windows(2) {
            let (inputs, outputs) = (pair[0], pair[1]);
            layers.push(LayerPlace { inputs, outputs, offset, place });
            offset += (inputs + 1) * blocks(outputs);
            place += rows * blocks(outputs);
        }
        let first = layers.first().filter(|_| layers.len() <= MOST_LAYERS)?;
        let [down, across] = tuning.column.tile();
        let tiles = blocks(first.inputs + 1).div_ceil(down);
        let wanted = tuning.owners.div_ceil(blocks(first.outputs).div_ceil(across));
        let part = tiles.div_ceil(wanted.clamp(1, tiles));
        Some(Self { rows, part: part * down, parts: tiles.div_ceil(part), layers })
    }

    /// Most rows of a batch.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Parts into which the first layer's inputs are split.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// vec4s of all parameters.
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(|layer| (layer.inputs + 1) * blocks(layer.outputs)).sum()
    }

    /// vec4s of the partial sums, which stand behind the parameters.
    pub fn partials(&self) -> usize {
        self.parts * self.rows * blocks(self.layers[0].outputs)
    }

    /// vec4s of the outputs of all layers. As many of their deltas stand behind them.
    pub fn activations(&self) -> usize {
        self.layers.iter().map(|layer| self.rows * blocks(layer.outputs)).sum()
    }

    /// Where the outputs of a layer (from 1) stand, in vec4s.
    pub fn place(&self, layer: usize) -> usize {
        self.layers[layer - 1].place
    }

    /// Blocks of inputs in each part that the next batch's sums are made of; the bias has none.
    pub(crate) fn part_blocks(&self) -> impl Iterator<Item = usize> + '_ {
        let inputs = blocks(self.layers[0].inputs);
        (0..self.parts).map(move |part| inputs.min((part + 1) * self.part).saturating_sub(part * self.part))
    }

    /// Sizes of the network in words.
    pub(crate) fn describe(&self) -> String {
        let sizes = self.layers.iter().map(|layer| layer.outputs.to_string());
        let sizes: Vec<String> = [self.layers[0].inputs.to_string()].into_iter().chain(sizes).collect();
        format!("{} x {}", self.rows, sizes.join("-"))
    }

    /// The uniform for a kernel with such tiles.
    pub(crate) fn params(&self, tile: MatmulTile, rate: f32) -> Vec<u8> {
        let [down, across] = tile.tile();
        let mut network = [LayerParams::zeroed(); MOST_LAYERS];
        for (to, from) in network.iter_mut().zip(&self.layers) {
            *to = LayerParams {
                inputs: word(from.inputs),
                outputs: word(from.outputs),
                offset: word(from.offset),
                place: word(from.place),
            };
        }
        bytemuck::bytes_of(&Params {
            layers: word(self.layers.len()),
            capacity: word(self.rows),
            partials: word(self.parameters()),
            deltas: word(self.activations()),
            parts: word(self.parts),
            part: word(self.part),
            down: word(down),
            across: word(across),
            rate,
            unused: [0; 3],
            network,
        })
        .to_vec()
    }
}
