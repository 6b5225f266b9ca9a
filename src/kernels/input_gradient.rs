//! Host half of `shaders/input_gradient.wgsl`.

use bytemuck::{Pod, Zeroable};

use super::{Kernel, Shader, Tuning, word};
use crate::gpu::Access;

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
    source: include_str!("../../shaders/input_gradient.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Write],
    per_batch: true,
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

    fn workgroups(&self, tuning: &Tuning) -> [usize; 2] {
        tuning.product_grid(self.rows, self.inputs)
    }

    fn pieces(&self, tuning: &Tuning) -> Vec<(&'static str, &'static str)> {
        tuning.product_pieces()
    }

    fn constants(&self, tuning: &Tuning) -> Vec<(&'static str, f64)> {
        let mut constants = tuning.product_constants();
        constants.push(("MASK", f64::from(u8::from(self.mask))));
        constants
    }

    fn shape(&self) -> String {
        format!("{} x {} x {}", self.rows, self.outputs, self.inputs)
    }
}
