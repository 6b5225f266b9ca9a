//! Host half of `shaders/activate.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Compute, Cost, Description, Kernel, Nonlinearity, Seal, Shader, StepRecord, Tensor, Tuning, blocks,
    live_rows, matrix,
};
use crate::step::Activation;

static SHADER: Shader = Shader::of_step("activate", &[Read, Write]);

/// Y = f(Z), with optional dropout. Buffers: Z, Y [rows, columns].
#[derive(Debug, Clone, Copy)]
pub struct Activate {
    /// Most rows of a batch.
    pub rows: usize,
    /// Columns of the matrices.
    pub columns: usize,
    /// f, and dropout.
    pub nonlinearity: Nonlinearity,
}

impl Kernel for Activate {
    fn describe(&self, _: Seal) -> Description {
        let dropout = self.nonlinearity.dropout.is_some();
        let alone = self.nonlinearity.describe(&SHADER, self.rows, self.columns);
        Description { flags: vec![("DROPOUT", dropout)], ..alone }
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        Ok(vec![matrix(live_rows(record, &SHADER, self.rows)?, self.columns); 2])
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let elements = self.rows * 4 * blocks(self.columns);
        Cost::dispatch(elements, elements, elements * self.nonlinearity.activation.flop()[0])
    }
}

/// Computes f(z), element by element, of a vector or a matrix. NaN stays NaN.
///
/// ```
/// use tinytrain::kernels::{Compute, activate};
/// use tinytrain::step::Activation;
/// let compute = Compute::best()?;
/// let z = compute.vector(&[-1.0f32, 0.0, 2.0])?;
/// assert_eq!(activate(&compute, Activation::Relu, &z)?.read(&compute)?, [0.0, 0.0, 2.0]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// See [`Compute::run`].
pub fn activate<T: Tensor<Element = f32>>(compute: &Compute, activation: Activation, z: &T) -> Result<T> {
    let nonlinearity = Nonlinearity { activation, dropout: None };
    let kernel = Activate { rows: z.rows(), columns: z.columns(), nonlinearity };
    compute.run_into(z.output_like(compute)?, &kernel, &[z.buffer()], StepRecord::all(z.rows()))
}
