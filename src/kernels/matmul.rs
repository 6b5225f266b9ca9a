//! Host half of `shaders/matmul.wgsl`.

use bytemuck::{Pod, Zeroable};

use super::{Kernel, Layout, Shader, word};
use crate::gpu::Access;

/// The shader's uniform.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    m: u32,
    n: u32,
    k: u32,
    unused: u32,
}

static SHADER: Shader = Shader {
    name: "matmul",
    source: include_str!("../../shaders/matmul.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write],
    per_batch: false,
};

/// C = A B. Buffers: A [m, k], B [k, n], C [m, n].
#[derive(Debug, Clone, Copy)]
pub struct Matmul {
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// The inner dimension.
    pub k: usize,
    /// A is stored transposed, [k, m].
    pub transpose_a: bool,
    /// B is stored transposed, [n, k].
    pub transpose_b: bool,
}

impl Kernel for Matmul {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        bytemuck::bytes_of(&Params { m: word(self.m), n: word(self.n), k: word(self.k), unused: 0 }).to_vec()
    }

    fn layout(&self) -> Layout {
        Layout::Product { rows: self.m, columns: self.n }
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        vec![("TRANSPOSE_A", self.transpose_a), ("TRANSPOSE_B", self.transpose_b)]
    }

    fn shape(&self) -> String {
        format!("{} x {} x {}", self.m, self.k, self.n)
    }
}
