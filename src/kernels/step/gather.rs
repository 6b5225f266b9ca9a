//! Host half of `shaders/gather.wgsl`.

use bytemuck::{Pod, Zeroable};

use crate::gpu::Access;
use crate::kernels::{Cost, Kernel, Shader, ThreadLayout, Tuning, blocks, word};

/// The shader's uniform.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    inputs: u32,
    unused: [u32; 3],
}

static SHADER: Shader = Shader {
    name: "gather",
    source: include_str!("../../../shaders/gather.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Write, Access::Write],
    reads_record: true,
};

/// How feature values stand on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureFormat {
    /// One byte each, scaled by 1/255 as they are read; rows padded to whole words.
    Bytes,
    /// f32 each, taken as they are; rows padded to whole vec4s.
    Floats,
}

impl FeatureFormat {
    /// The shader piece that reads them.
    pub(crate) fn piece(self) -> &'static str {
        match self {
            FeatureFormat::Bytes => "features_bytes",
            FeatureFormat::Floats => "features_floats",
        }
    }

    /// Elements to load for four values.
    pub(crate) fn words(self) -> usize {
        match self {
            FeatureFormat::Bytes => 1,
            FeatureFormat::Floats => 4,
        }
    }

    /// The shader pieces that read a layer's inputs: as they are stored, by way of the order, or else a matrix of
    /// activations.
    pub(crate) fn inputs(stored: Option<Self>) -> Vec<(&'static str, &'static str)> {
        let samples = if stored.is_some() { "samples_order" } else { "samples_batch" };
        vec![("features", stored.unwrap_or(FeatureFormat::Floats).piece()), ("samples", samples)]
    }

    /// Elements that a product loads of its operand A, the inputs of a layer, each time that it loads all of them; and
    /// of the order.
    pub(crate) fn input_reads(stored: Option<Self>, [rows, inputs]: [usize; 2], places: usize) -> [usize; 2] {
        let words = stored.unwrap_or(FeatureFormat::Floats).words();
        [rows * blocks(inputs) * words, if stored.is_some() { places } else { 0 }]
    }
}

/// `X[r] = features[order[first + r]]`, `targets[r] = labels[order[first + r]]`.
/// Buffers: features, labels, order, X [rows, inputs], `targets [rows]`.
#[derive(Debug, Clone, Copy)]
pub struct Gather {
    /// Most rows of a batch.
    pub rows: usize,
    /// Inputs of the network.
    pub inputs: usize,
    /// How the data set is stored.
    pub stored: FeatureFormat,
}

impl Kernel for Gather {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        bytemuck::bytes_of(&Params { inputs: word(self.inputs), unused: [0; 3] }).to_vec()
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Elements(self.rows * blocks(self.inputs))
    }

    fn pieces(&self) -> Vec<(&'static str, &'static str)> {
        vec![("features", self.stored.piece())]
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.inputs)
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let width = blocks(self.inputs);
        let words = self.stored.words();
        let flop = if self.stored == FeatureFormat::Bytes { 4 } else { 0 };
        // Of each vec4 its row number and its values; of each row its label.
        let reads = self.rows * (width * (1 + words) + 1);
        Cost::dispatch(reads, self.rows * (4 * width + 1), self.rows * width * flop)
    }
}
