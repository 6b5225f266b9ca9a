//! Host half of `shaders/relu_backward.wgsl`.

use bytemuck::{Pod, Zeroable};

use crate::gpu::Access;
use crate::kernels::{Cost, Kernel, Shader, ThreadLayout, Tuning, blocks, word};

/// The shader's uniform.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    columns: u32,
    unused: [u32; 3],
}

static SHADER: Shader = Shader {
    name: "relu_backward",
    source: include_str!("../../../shaders/relu_backward.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write],
    reads_record: true,
};

/// dZ = dY where Y > 0, else 0. Buffers: Y, dY, dZ [rows, columns].
#[derive(Debug, Clone, Copy)]
pub struct ReluBackward {
    /// Most rows of a batch.
    pub rows: usize,
    /// Columns of the matrices.
    pub columns: usize,
}

impl Kernel for ReluBackward {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        bytemuck::bytes_of(&Params { columns: word(self.columns), unused: [0; 3] }).to_vec()
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Elements(self.rows * blocks(self.columns))
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.columns)
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let elements = self.rows * 4 * blocks(self.columns);
        Cost::dispatch(2 * elements, elements, elements)
    }
}
