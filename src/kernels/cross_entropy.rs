//! Host half of `shaders/cross_entropy.wgsl`.

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
    name: "cross_entropy",
    source: include_str!("../../shaders/cross_entropy.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write, Access::Write],
    per_batch: true,
};

/// Loss and prediction of every row, from the logits.
/// Buffers: Z [rows, classes], targets [rows], predictions [samples],
/// metrics [slots, groups] as [`Tuning::row_groups`](super::Tuning::row_groups) counts them.
#[derive(Debug, Clone, Copy)]
pub struct CrossEntropy {
    /// Most rows of a batch.
    pub rows: usize,
    /// Number of classes.
    pub classes: usize,
}

impl Kernel for CrossEntropy {
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
