//! Host half of `shaders/softmax_cross_entropy.wgsl`.

use bytemuck::{Pod, Zeroable};

use super::{Kernel, Shader, Tuning, word};
use crate::gpu::Access;

/// The shader's uniform.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    classes: u32,
    unused: [u32; 3],
}

static SHADER: Shader = Shader {
    name: "softmax_cross_entropy",
    source: include_str!("../../shaders/softmax_cross_entropy.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write, Access::Write],
    per_batch: true,
};

/// D = (softmax(Z) - onehot(target)) / rows, with the loss.
/// Buffers: Z [rows, classes], targets [rows], D [rows, classes], metrics [slots, [`SoftmaxCrossEntropy::groups`]].
#[derive(Debug, Clone, Copy)]
pub struct SoftmaxCrossEntropy {
    /// Most rows of a batch.
    pub rows: usize,
    /// Number of classes.
    pub classes: usize,
}

impl Kernel for SoftmaxCrossEntropy {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        bytemuck::bytes_of(&Params { classes: word(self.classes), unused: [0; 3] }).to_vec()
    }

    fn workgroups(&self, tuning: &Tuning) -> [usize; 2] {
        [tuning.row_groups(self.rows), 1]
    }

    fn constants(&self, tuning: &Tuning) -> Vec<(&'static str, f64)> {
        tuning.row_constants()
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.classes)
    }
}

impl SoftmaxCrossEntropy {
    /// Workgroups, each of which sums the metrics of its rows into one (loss, number correct) a step.
    pub fn groups(&self, tuning: &Tuning) -> usize {
        tuning.row_groups(self.rows)
    }
}
