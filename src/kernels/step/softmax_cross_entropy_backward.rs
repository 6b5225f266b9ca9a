//! Host half of `shaders/softmax_cross_entropy_backward.wgsl`.

use bytemuck::{Pod, Zeroable};

use crate::gpu::Access;
use crate::kernels::{Cost, Kernel, Shader, ThreadLayout, Tuning, blocks, word};

/// The shader's uniform.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    classes: u32,
    unused: [u32; 3],
}

static SHADER: Shader = Shader {
    name: "softmax_cross_entropy_backward",
    source: include_str!("../../../shaders/softmax_cross_entropy_backward.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write],
    reads_record: true,
};

/// D = (P - onehot(target)) / rows. Buffers: P [rows, classes], `targets [rows]`, D [rows, classes].
#[derive(Debug, Clone, Copy)]
pub struct SoftmaxCrossEntropyBackward {
    /// Most rows of a batch.
    pub rows: usize,
    /// Number of classes.
    pub classes: usize,
}

impl Kernel for SoftmaxCrossEntropyBackward {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        bytemuck::bytes_of(&Params { classes: word(self.classes), unused: [0; 3] }).to_vec()
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Elements(self.rows * blocks(self.classes))
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.classes)
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let elements = self.rows * 4 * blocks(self.classes);
        Cost::dispatch(elements + elements / 4, elements, 2 * elements)
    }
}
