//! Host half of `shaders/sum_squares.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, Kernel, Seal, Shader, StepRecord, ThreadLayout, Tuning, vec4s, word, words,
};

static SHADER: Shader = Shader::new("sum_squares", &[Read, Write]);

/// Sums of squares of G, one for each of [`Tuning::row_groups`] workgroups for its length. Buffers: G,
/// `length` vec4s; `squares [groups]`.
#[derive(Debug, Clone, Copy)]
pub struct SumSquares {
    /// Length of G in vec4s.
    pub length: usize,
}

impl Kernel for SumSquares {
    fn describe(&self, _: Seal) -> Description {
        let (length, layout) = (self.length, ThreadLayout::Rows(self.length));
        Description::new(&SHADER, &[word(length), 0, 0, 0], layout, format!("{}", length.saturating_mul(4)))
    }

    fn extents(&self, tuning: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        Ok(vec![vec4s(&[&[self.length]]), words(&[&[tuning.row_groups(self.length)]])])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let (groups, threads) = (tuning.row_groups(self.length), tuning.lanes * tuning.rows);
        Cost::dispatch(4 * self.length, groups, 8 * self.length).trees(groups, 1, threads, 1)
    }
}
