//! Host half of `shaders/activate_backward.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, Kernel, Nonlinearity, Seal, Shader, StepRecord, Tuning, blocks, live_rows, matrix,
};

static SHADER: Shader = Shader::of_step("activate_backward", &[Read, Read, Write]);

/// dZ = dY f'(Z), if dropout kept Y. Buffers: Z or Y, depending on [`Nonlinearity::keeps_z`], dY, dZ [rows,
/// columns].
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
    fn describe(&self, _: Seal) -> Description {
        self.nonlinearity.describe(&SHADER, self.rows, self.columns)
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        Ok(vec![matrix(live_rows(record, &SHADER, self.rows)?, self.columns); 3])
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let elements = self.rows * 4 * blocks(self.columns);
        Cost::dispatch(2 * elements, elements, elements * self.nonlinearity.activation.flop()[1])
    }
}
