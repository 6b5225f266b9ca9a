//! Host half of `shaders/forward.wgsl`.

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
    name: "forward",
    source: include_str!("../../shaders/forward.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write],
    per_batch: true,
};

/// Y = X W + b, with or without max(0, .). Buffers: X [rows, inputs], parameters, Y [rows, outputs].
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
}

impl Kernel for Forward {
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
        tuning.product_grid(self.rows, self.outputs)
    }

    fn pieces(&self, tuning: &Tuning) -> Vec<(&'static str, &'static str)> {
        tuning.product_pieces()
    }

    fn constants(&self, tuning: &Tuning) -> Vec<(&'static str, f64)> {
        let mut constants = tuning.product_constants();
        constants.push(("RELU", f64::from(u8::from(self.relu))));
        constants
    }

    fn shape(&self) -> String {
        format!("{} x {} x {}", self.rows, self.inputs, self.outputs)
    }
}
