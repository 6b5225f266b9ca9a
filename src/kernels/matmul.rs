//! Host half of `shaders/matmul.wgsl`.

use bytemuck::{Pod, Zeroable};

use super::{Kernel, Shader, Tuning, word};
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

    fn workgroups(&self, tuning: &Tuning) -> [usize; 2] {
        tuning.product_grid(self.m, self.n)
    }

    fn pieces(&self, tuning: &Tuning) -> Vec<(&'static str, &'static str)> {
        tuning.product_pieces()
    }

    fn constants(&self, tuning: &Tuning) -> Vec<(&'static str, f64)> {
        let mut constants = tuning.product_constants();
        constants.push(("TRANSPOSE_A", f64::from(u8::from(self.transpose_a))));
        constants.push(("TRANSPOSE_B", f64::from(u8::from(self.transpose_b))));
        constants
    }

    fn shape(&self) -> String {
        format!("{} x {} x {}", self.m, self.k, self.n)
    }
}
