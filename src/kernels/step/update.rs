//! Host half of `shaders/update.wgsl`.

use bytemuck::{Pod, Zeroable};

use crate::gpu::Access;
use crate::kernels::{Cost, Kernel, Shader, ThreadLayout, Tuning, word};

/// The shader's uniform.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    length: u32,
    rate: f32,
    unused: [u32; 2],
}

static SHADER: Shader = Shader {
    name: "update",
    source: include_str!("../../../shaders/update.wgsl"),
    bindings: &[Access::Read, Access::Write],
    reads_record: false,
};

/// P = P - rate G. Buffers: G, P, `length` vec4s each.
#[derive(Debug, Clone, Copy)]
pub struct Update {
    /// Length of the buffers in vec4s.
    pub length: usize,
    /// The learning rate.
    pub rate: f32,
}

impl Kernel for Update {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        bytemuck::bytes_of(&Params { length: word(self.length), rate: self.rate, unused: [0; 2] }).to_vec()
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Elements(self.length)
    }

    fn shape(&self) -> String {
        format!("{}", 4 * self.length)
    }

    fn cost(&self, _: &Tuning) -> Cost {
        Cost::dispatch(8 * self.length, 4 * self.length, 8 * self.length)
    }
}
