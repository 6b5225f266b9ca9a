//! Host half of `shaders/cross_entropy_probabilities.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Compute, Cost, Kernel, Matrix, Shader, StepRecord, Tensor, ThreadLayout, Tuning, Vector, logits_params,
    matrix, not_empty, same_shape, words,
};

static SHADER: Shader = Shader {
    name: "cross_entropy_probabilities",
    source: include_str!("../../../shaders/cross_entropy_probabilities.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write],
    records: 1,
};

/// `loss[r] = sum over c of Q[r, c] (log sum exp Z[r] - Z[r, c])`. Buffers: Z, Q [rows, classes], `loss [rows]`.
#[derive(Debug, Clone, Copy)]
pub struct CrossEntropyProbabilities {
    /// Most rows of a batch.
    pub rows: usize,
    /// Number of classes.
    pub classes: usize,
}

impl Kernel for CrossEntropyProbabilities {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        logits_params(self.classes)
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Rows(self.rows)
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let z = matrix(record.live(), self.classes);
        Ok(vec![z, z, words(&[&[record.live()]])])
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.classes)
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
    compute.run(&kernel, &[z.buffer(), q.buffer(), loss.buffer()], StepRecord::all(z.rows()))?;
    Ok(loss)
}
