//! Host half of `shaders/relu.wgsl`.

use bytemuck::{Pod, Zeroable};

use super::{Kernel, Layout, Shader, blocks, word};
use crate::gpu::Access;

/// The shader's uniform.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    columns: u32,
    unused: [u32; 3],
}

static SHADER: Shader = Shader {
    name: "relu",
    source: include_str!("../../shaders/relu.wgsl"),
    bindings: &[Access::Read, Access::Write],
    per_batch: true,
};

/// Y = max(0, Z). Buffers: Z, Y [rows, columns].
#[derive(Debug, Clone, Copy)]
pub struct Relu {
    /// Most rows of a batch.
    pub rows: usize,
    /// Columns of the matrices.
    pub columns: usize,
}

impl Kernel for Relu {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        bytemuck::bytes_of(&Params { columns: word(self.columns), unused: [0; 3] }).to_vec()
    }

    fn layout(&self) -> Layout {
        Layout::Elements(self.rows * blocks(self.columns))
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.columns)
    }
}
