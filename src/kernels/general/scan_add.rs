//! Host half of `shaders/scan_add.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, Kernel, Seal, Shader, StepRecord, ThreadLayout, Tuning, blocks, item_piece, matrix,
    shape_error, word, words,
};

static SHADER: Shader = Shader::new("scan_add", &[Read, Write]);

/// Adds to every block the sum of the blocks before it. Buffers: offsets of the blocks, `Y [length]`.
#[derive(Debug, Clone, Copy)]
pub struct ScanAdd {
    /// Number of elements.
    pub length: usize,
    /// Elements of a block, a multiple of four.
    pub block: usize,
    /// u32 elements, otherwise f32.
    pub integers: bool,
}

impl ScanAdd {
    /// Returns the number of vec4s after the first block.
    fn vec4s(&self) -> usize {
        blocks(self.length).saturating_sub(self.block / 4)
    }
}

impl Kernel for ScanAdd {
    fn describe(&self, _: Seal) -> Description {
        let Self { length, block, integers } = *self;
        let (words, layout) = ([length, block, 0, 0].map(word), ThreadLayout::Elements(self.vec4s()));
        let alone = Description::new(&SHADER, &words, layout, format!("{length} in blocks of {block}"));
        Description { pieces: vec![item_piece(integers)], ..alone }
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        if self.block == 0 || !self.block.is_multiple_of(4) {
            let expected = "blocks of a multiple of 4".to_owned();
            return Err(shape_error(&SHADER, expected, self.block.to_string()));
        }
        Ok(vec![words(&[&[self.length.div_ceil(self.block)]]), matrix(1, self.length)])
    }

    fn cost(&self, _: &Tuning) -> Cost {
        Cost::dispatch(5 * self.vec4s(), 4 * self.vec4s(), self.length.saturating_sub(self.block))
    }
}
