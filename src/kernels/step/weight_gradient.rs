//! Host half of `shaders/weight_gradient.wgsl`.

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
    rate: f32,
}

static SHADER: Shader = Shader {
    name: "weight_gradient",
    source: include_str!("../../../shaders/weight_gradient.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write],
    reads_record: true,
};

/// The same for a layer whose inputs are the data set's.
static FIRST: Shader =
    Shader { bindings: &[Access::Read, Access::Read, Access::Read, Access::Write], ..SHADER };

/// dW = X' dY and db = column sums of dY, or the SGD update with them in place.
/// Buffers: X [rows, inputs], dY [rows, outputs], gradients (with `update`: parameters); with `stored`: features, dY,
/// order, gradients.
#[derive(Debug, Clone, Copy)]
pub struct WeightGradient {
    /// Most rows of a batch.
    pub rows: usize,
    /// Inputs of the layer.
    pub inputs: usize,
    /// Outputs of the layer.
    pub outputs: usize,
    /// Where the layer's parameters begin, in vec4s.
    pub offset: usize,
    /// The learning rate, to update the parameters at once instead of storing the gradient.
    pub update: Option<f32>,
    /// How the data set is stored whose rows X is made of, by way of the order; nothing where X is a matrix.
    pub stored: Option<FeatureFormat>,
}

impl Kernel for WeightGradient {
    fn shader(&self) -> &'static Shader {
        if self.stored.is_some() { &FIRST } else { &SHADER }
    }

    fn params(&self) -> Vec<u8> {
        bytemuck::bytes_of(&Params {
            inputs: word(self.inputs),
            outputs: word(self.outputs),
            offset: word(self.offset),
            rate: self.update.unwrap_or(0.0),
        })
        .to_vec()
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Product { rows: self.inputs + 1, columns: self.outputs, matrices: 1 }
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        vec![("UPDATE", self.update.is_some())]
    }

    fn pieces(&self) -> Vec<(&'static str, &'static str)> {
        FeatureFormat::inputs(self.stored)
    }

    fn shape(&self) -> String {
        format!("{} x {} x {}", self.inputs + 1, self.rows, self.outputs)
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let outputs = 4 * blocks(self.outputs);
        let product = [self.inputs + 1, self.outputs, self.rows];
        let shape = tuning.product_for(self.inputs + 1);
        let places = shape.places(product, true);
        let [x, order] = FeatureFormat::input_reads(self.stored, [self.rows, self.inputs], places);
        let stored = (self.inputs + 1) * outputs;
        let (reads, flop) = if self.update.is_some() { (stored, 2 * stored) } else { (0, 0) };
        shape.cost(product, x, self.rows * outputs).with(reads + order, stored, flop)
    }
}
