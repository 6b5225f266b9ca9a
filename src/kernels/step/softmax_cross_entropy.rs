//! Host half of `shaders/softmax_cross_entropy.wgsl`.

use crate::gpu::Access;
use crate::kernels::{Cost, Kernel, Shader, ThreadLayout, Tuning, blocks, logits_params};

static SHADER: Shader = Shader {
    name: "softmax_cross_entropy",
    source: include_str!("../../../shaders/softmax_cross_entropy.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Write, Access::Write],
    reads_record: true,
};

/// D = (softmax(Z) - onehot(target)) / rows, with the loss.
/// Buffers: Z [rows, classes], labels, order, D [rows, classes],
/// metrics [slots, groups] as [`Tuning::row_groups`](super::Tuning::row_groups) counts them.
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
        logits_params(self.classes)
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Rows(self.rows)
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.classes)
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let (elements, stored) = (self.rows * self.classes, self.rows * 4 * blocks(self.classes));
        let writes = stored + 2 * tuning.row_groups(self.rows);
        // Every lane reads the row's number and label; one of them its target's logit.
        let row = 2 * tuning.lanes + 1;
        let cost = Cost::dispatch(4 * elements + row * self.rows, writes, 10 * elements + 3 * self.rows);
        tuning.metrics_trees(tuning.row_trees(cost, self.rows, 3), self.rows)
    }
}
