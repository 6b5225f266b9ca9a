//! Host half of `shaders/scan_add.wgsl`.

use bytemuck::{Pod, Zeroable};

use crate::gpu::Access;
use crate::kernels::{Cost, Kernel, Piece, Shader, ThreadLayout, Tuning, blocks, item_piece, word};

/// The shader's uniform.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    length: u32,
    block: u32,
    unused: [u32; 2],
}

static SHADER: Shader = Shader {
    name: "scan_add",
    source: include_str!("../../../shaders/scan_add.wgsl"),
    bindings: &[Access::Read, Access::Write],
    reads_record: false,
};

/// Adds to every block what comes before it. Buffers: offsets of the blocks, `Y [length]`.
#[derive(Debug, Clone, Copy)]
pub struct ScanAdd {
    /// Elements.
    pub length: usize,
    /// Elements of a block, a multiple of four.
    pub block: usize,
    /// The elements are u32, or else f32.
    pub integers: bool,
}

impl ScanAdd {
    /// vec4s behind the first block.
    fn vec4s(&self) -> usize {
        blocks(self.length).saturating_sub(self.block / 4)
    }
}

impl Kernel for ScanAdd {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        bytemuck::bytes_of(&Params { length: word(self.length), block: word(self.block), unused: [0; 2] })
            .to_vec()
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Elements(self.vec4s())
    }

    fn pieces(&self) -> Vec<(&'static str, Piece)> {
        vec![item_piece(self.integers)]
    }

    fn shape(&self) -> String {
        format!("{} in blocks of {}", self.length, self.block)
    }

    fn cost(&self, _: &Tuning) -> Cost {
        Cost::dispatch(5 * self.vec4s(), 4 * self.vec4s(), self.length.saturating_sub(self.block))
    }
}
