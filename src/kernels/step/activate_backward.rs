//! Host half of `shaders/activate_backward.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Cost, Kernel, Nonlinearity, Piece, Shader, StepRecord, ThreadLayout, Tuning, blocks, matrix, uniform,
    word,
};

static SHADER: Shader = Shader {
    name: "activate_backward",
    source: include_str!("../../../shaders/activate_backward.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write],
    records: 1,
};

/// dZ = dY f'(Z), where dropout kept Y. Buffers: Z or Y, as [`Nonlinearity::keeps_z`] says, dY, dZ [rows, columns].
#[derive(Debug, Clone, Copy)]
pub struct ActivateBackward {
    /// Most rows of a batch.
    pub rows: usize,
    /// Columns of the matrices.
    pub columns: usize,
    /// f, and dropout.
    pub nonlinearity: Nonlinearity,
}

impl Kernel for ActivateBackward {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        let [layer, threshold, scale] = self.nonlinearity.params();
        uniform(&[word(self.columns), layer, threshold, scale])
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Elements(self.rows * blocks(self.columns))
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        self.nonlinearity.flags().to_vec()
    }

    fn pieces(&self) -> Vec<(&'static str, Piece)> {
        vec![self.nonlinearity.piece()]
    }

    fn fused(&self) -> Vec<String> {
        self.nonlinearity.fused()
    }

    fn most_rows(&self) -> Option<usize> {
        Some(self.rows)
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        Ok(vec![matrix(record.live(), self.columns); 3])
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.columns)
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let elements = self.rows * 4 * blocks(self.columns);
        Cost::dispatch(2 * elements, elements, elements * self.nonlinearity.activation.flop()[1])
    }
}
