//! Host half of `shaders/softmax.wgsl`.

use bytemuck::{Pod, Zeroable};

use super::{Kernel, Layout, Shader, word};
use crate::gpu::Access;

/// The shader's uniform.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    classes: u32,
    unused: [u32; 3],
}

static SHADER: Shader = Shader {
    name: "softmax",
    source: include_str!("../../shaders/softmax.wgsl"),
    bindings: &[Access::Read, Access::Write],
    per_batch: true,
};

/// P = softmax(Z) by rows. Buffers: Z, P [rows, classes].
#[derive(Debug, Clone, Copy)]
pub struct Softmax {
    /// Most rows of a batch.
    pub rows: usize,
    /// Number of classes.
    pub classes: usize,
}

impl Kernel for Softmax {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        bytemuck::bytes_of(&Params { classes: word(self.classes), unused: [0; 3] }).to_vec()
    }

    fn layout(&self) -> Layout {
        Layout::Rows(self.rows)
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.classes)
    }
}
