//! Host half of `shaders/sum_squares.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{Cost, Kernel, Shader, StepRecord, ThreadLayout, Tuning, uniform, vec4s, word, words};

static SHADER: Shader = Shader {
    name: "sum_squares",
    source: include_str!("../../../shaders/sum_squares.wgsl"),
    bindings: &[Access::Read, Access::Write],
    records: 0,
};

/// Sums of squares of G, one per workgroup, as many as [`Tuning::row_groups`] counts for its length.
/// Buffers: G, `length` vec4s; `squares [groups]`.
#[derive(Debug, Clone, Copy)]
pub struct SumSquares {
    /// Length of G in vec4s.
    pub length: usize,
}

impl Kernel for SumSquares {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        uniform(&[word(self.length), 0, 0, 0])
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Rows(self.length)
    }

    fn extents(&self, tuning: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        Ok(vec![vec4s(&[&[self.length]]), words(&[&[tuning.row_groups(self.length)]])])
    }

    fn shape(&self) -> String {
        format!("{}", 4 * self.length)
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let groups = tuning.row_groups(self.length);
        Cost::dispatch(4 * self.length, groups, 8 * self.length).trees(
            groups,
            1,
            tuning.lanes * tuning.rows,
            1,
        )
    }
}
