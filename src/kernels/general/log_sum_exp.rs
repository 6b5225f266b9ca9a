//! Host half of `shaders/log_sum_exp.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Compute, Cost, Description, Kernel, Matrix, Seal, Shader, StepRecord, Tensor, Tuning, Vector, live_rows,
    matrix, not_empty, of_logits, words,
};

static SHADER: Shader = Shader::of_step("log_sum_exp", &[Read, Write]);

/// `Y[r] = log sum exp Z[r]`. Buffers: Z [rows, classes], `Y [rows]`.
#[derive(Debug, Clone, Copy)]
pub struct LogSumExp {
    /// Most rows of a batch.
    pub rows: usize,
    /// Number of classes.
    pub classes: usize,
}

impl Kernel for LogSumExp {
    fn describe(&self, _: Seal) -> Description {
        of_logits(&SHADER, self.rows, self.classes)
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let rows = live_rows(record, &SHADER, self.rows)?;
        Ok(vec![matrix(rows, self.classes), words(&[&[rows]])])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let elements = self.rows * self.classes;
        let cost = Cost::dispatch(2 * elements, self.rows, 4 * elements + 2 * self.rows);
        tuning.row_trees(cost, self.rows, 2)
    }
}

/// log sum exp of every row, without overflow. A row with NaN or +infinity in it gives NaN.
///
/// ```
/// use ndarray::array;
/// use tinytrain::kernels::{Compute, log_sum_exp};
/// let compute = Compute::best()?;
/// let z = compute.matrix(&array![[1e4, -1e4], [0.0, 0.0]])?;
/// let sums = log_sum_exp(&compute, &z)?.read(&compute)?;
/// assert_eq!(sums[0], 1e4);
/// assert!((sums[1] - 2f32.ln()).abs() < 1e-6);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for a matrix of no elements; as [`Compute::run`].
pub fn log_sum_exp(compute: &Compute, z: &Matrix) -> Result<Vector> {
    not_empty(&SHADER, z)?;
    let y = Vector::output(compute, 1, z.rows())?;
    let kernel = LogSumExp { rows: z.rows(), classes: z.columns() };
    compute.run_into(y, &kernel, &[z.buffer()], StepRecord::all(z.rows()))
}
