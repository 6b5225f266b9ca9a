//! Host half of `shaders/forward.wgsl`.

use bytemuck::{Pod, Zeroable};

use crate::gpu::Access;
use crate::kernels::{Cost, FeatureFormat, Kernel, Shader, ThreadLayout, Tuning, blocks, word};

/// The shader's uniform.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    inputs: u32,
    outputs: u32,
    offset: u32,
    unused: u32,
}

static SHADER: Shader = Shader {
    name: "forward",
    source: include_str!("../../../shaders/forward.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write],
    reads_record: true,
};

/// The same for a layer whose inputs are the data set's.
static FIRST: Shader =
    Shader { bindings: &[Access::Read, Access::Read, Access::Read, Access::Write], ..SHADER };

/// Y = X W + b, with or without max(0, .). Buffers: X [rows, inputs], parameters, Y [rows, outputs]; with `stored`:
/// features, parameters, order, Y.
#[derive(Debug, Clone, Copy)]
pub struct Forward {
    /// Most rows of a batch.
    pub rows: usize,
    /// Inputs of the layer.
    pub inputs: usize,
    /// Outputs of the layer.
    pub outputs: usize,
    /// Where the layer's parameters begin, in vec4s.
    pub offset: usize,
    /// Fuse Y = max(0, .).
    pub relu: bool,
    /// How the data set is stored whose rows X is made of, by way of the order; nothing where X is a matrix.
    pub stored: Option<FeatureFormat>,
}

impl Kernel for Forward {
    fn shader(&self) -> &'static Shader {
        if self.stored.is_some() { &FIRST } else { &SHADER }
    }

    fn params(&self) -> Vec<u8> {
        bytemuck::bytes_of(&Params {
            inputs: word(self.inputs),
            outputs: word(self.outputs),
            offset: word(self.offset),
            unused: 0,
        })
        .to_vec()
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Product { rows: self.rows, columns: self.outputs, matrices: 1 }
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        vec![("RELU", self.relu)]
    }

    fn pieces(&self) -> Vec<(&'static str, &'static str)> {
        FeatureFormat::inputs(self.stored)
    }

    fn shape(&self) -> String {
        format!("{} x {} x {}", self.rows, self.inputs, self.outputs)
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let outputs = 4 * blocks(self.outputs);
        let product = [self.rows, self.outputs, self.inputs];
        let shape = tuning.product_for(self.rows);
        let places = shape.places(product, false);
        let [x, order] = FeatureFormat::input_reads(self.stored, [self.rows, self.inputs], places);
        let stored = self.rows * outputs;
        let flop = self.rows * self.outputs * if self.relu { 2 } else { 1 };
        shape.cost(product, x, self.inputs * outputs).with(stored + order, stored, flop)
    }
}
