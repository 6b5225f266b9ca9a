//! Host half of `shaders/cross_entropy_probabilities.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Compute, Cost, Description, Kernel, Matrix, Seal, Shader, StepRecord, Tensor, Tuning, Vector, live_rows,
    matrix, not_empty, of_logits, same_shape, words,
};

static SHADER: Shader = Shader::of_step("cross_entropy_probabilities", &[Read, Read, Write]);

/// `loss[r] = sum over c of Q[r, c] (log sum exp Z[r] - Z[r, c])`. Buffers: Z, Q [rows, classes], `loss [rows]`.
#[derive(Debug, Clone, Copy)]
pub struct CrossEntropyProbabilities {
    /// Most rows of a batch.
    pub rows: usize,
    /// Number of classes.
    pub classes: usize,
}

impl Kernel for CrossEntropyProbabilities {
    fn describe(&self, _: Seal) -> Description {
        of_logits(&SHADER, self.rows, self.classes)
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let rows = live_rows(record, &SHADER, self.rows)?;
        let z = matrix(rows, self.classes);
        Ok(vec![z, z, words(&[&[rows]])])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let elements = self.rows * self.classes;
        let cost = Cost::dispatch(4 * elements, self.rows, 7 * elements + 2 * self.rows);
        tuning.row_trees(cost, self.rows, 3)
    }
}

/// Cross-entropy of every row of the logits Z with target probabilities Q: `sum over c of Q[c] (log sum exp Z - Z[c])`.
/// Rows of Q need not add up to 1.
///
/// ```
/// use ndarray::array;
/// use tinytrain::kernels::{Compute, cross_entropy_probabilities};
/// let compute = Compute::best()?;
/// let (z, q) = (compute.matrix(&array![[0.0, 0.0]])?, compute.matrix(&array![[0.25, 0.75]])?);
/// let loss = cross_entropy_probabilities(&compute, &z, &q)?.read(&compute)?;
/// assert!((loss[0] - 2f32.ln()).abs() < 1e-6);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when the shapes differ or there are no elements; as [`Compute::run`].
pub fn cross_entropy_probabilities(compute: &Compute, z: &Matrix, q: &Matrix) -> Result<Vector> {
    same_shape(&SHADER, z, q)?;
    not_empty(&SHADER, z)?;
    let loss = Vector::output(compute, 1, z.rows())?;
    let kernel = CrossEntropyProbabilities { rows: z.rows(), classes: z.columns() };
    compute.run_into(loss, &kernel, &[z.buffer(), q.buffer()], StepRecord::all(z.rows()))
}
