//! Host half of `shaders/softmax.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Compute, Cost, Description, Kernel, Matrix, Seal, Shader, StepRecord, Tensor, Tuning, blocks, live_rows,
    matrix, not_empty, of_logits,
};

static SHADER: Shader = Shader::of_step("softmax", &[Read, Write]);

/// P = softmax(Z) by rows, or its logarithm. Buffers: Z, P [rows, classes].
#[derive(Debug, Clone, Copy)]
pub struct Softmax {
    /// Most rows of a batch.
    pub rows: usize,
    /// Number of classes.
    pub classes: usize,
    /// Whether to return the logarithm of the probabilities.
    pub log: bool,
}

impl Kernel for Softmax {
    fn describe(&self, _: Seal) -> Description {
        Description { flags: vec![("LOG", self.log)], ..of_logits(&SHADER, self.rows, self.classes) }
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        Ok(vec![matrix(live_rows(record, &SHADER, self.rows)?, self.classes); 2])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let (elements, stored) = (self.rows * self.classes, self.rows * 4 * blocks(self.classes));
        tuning.row_trees(Cost::dispatch(3 * elements, stored, 6 * elements), self.rows, 2)
    }
}

/// Computes softmax of every row: `P[c] = exp(Z[c] - max Z) / sum exp(Z - max Z)`. A row that contains NaN or
/// +infinity gives NaN.
///
/// ```
/// use ndarray::array;
/// use tinytrain::kernels::{Compute, softmax};
/// let compute = Compute::best()?;
/// let z = compute.matrix(&array![[1e4, 1e4, -1e4]])?;
/// assert_eq!(softmax(&compute, &z)?.read(&compute)?, array![[0.5, 0.5, 0.0]]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for a matrix of no elements; see also [`Compute::run`].
pub fn softmax(compute: &Compute, z: &Matrix) -> Result<Matrix> {
    run(compute, z, false)
}

/// Computes log softmax of every row: `Z[c] - max Z - log sum exp(Z - max Z)`, which is finite when softmax
/// underflows to 0.
///
/// ```
/// use ndarray::array;
/// use tinytrain::kernels::{Compute, log_softmax};
/// let compute = Compute::best()?;
/// let z = compute.matrix(&array![[1e4, -1e4]])?;
/// assert_eq!(log_softmax(&compute, &z)?.read(&compute)?, array![[0.0, -2e4]]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// See [`softmax()`].
pub fn log_softmax(compute: &Compute, z: &Matrix) -> Result<Matrix> {
    run(compute, z, true)
}

fn run(compute: &Compute, z: &Matrix, log: bool) -> Result<Matrix> {
    not_empty(&SHADER, z)?;
    let kernel = Softmax { rows: z.rows(), classes: z.columns(), log };
    compute.run_into(z.output_like(compute)?, &kernel, &[z.buffer()], StepRecord::all(z.rows()))
}
