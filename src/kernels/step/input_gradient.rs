//! Host half of `shaders/input_gradient.wgsl`.

use bytemuck::{Pod, Zeroable};

use crate::gpu::Access;
use crate::kernels::{Cost, Kernel, Shader, ThreadLayout, Tuning, blocks, word};

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
    name: "input_gradient",
    source: include_str!("../../../shaders/input_gradient.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Write],
    reads_record: true,
};

/// dX = dY W', with or without the mask of the ReLU before the layer.
/// Buffers: dY [rows, outputs], parameters, H [rows, inputs] (read with `mask` only), dX [rows, inputs].
#[derive(Debug, Clone, Copy)]
pub struct InputGradient {
    /// Most rows of a batch.
    pub rows: usize,
    /// Inputs of the layer.
    pub inputs: usize,
    /// Outputs of the layer.
    pub outputs: usize,
    /// Where the layer's parameters begin, in vec4s.
    pub offset: usize,
    /// Keep dX where H > 0, else 0.
    pub mask: bool,
}

impl Kernel for InputGradient {
    fn shader(&self) -> &'static Shader {
        &SHADER
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
        ThreadLayout::Product { rows: self.rows, columns: self.inputs, matrices: 1 }
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        vec![("MASK", self.mask)]
    }

    fn shape(&self) -> String {
        format!("{} x {} x {}", self.rows, self.outputs, self.inputs)
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let (inputs, outputs) = (4 * blocks(self.inputs), 4 * blocks(self.outputs));
        let product = [self.rows, self.inputs, self.outputs];
        let stored = self.rows * inputs;
        let (reads, flop) = if self.mask { (stored, self.rows * self.inputs) } else { (0, 0) };
        tuning
            .product_for(self.rows)
            .cost(product, self.rows * outputs, self.inputs * outputs)
            .with(reads, stored, flop)
    }
}
