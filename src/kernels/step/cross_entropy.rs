//! Host half of `shaders/cross_entropy.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Compute, Cost, Description, Kernel, Matrix, Seal, Shader, StepRecord, Tensor, Tuning, Vector, live_rows,
    matrix, metrics_bytes, not_empty, of_logits, shape_error, sum_metrics, words,
};

static SHADER: Shader = Shader::of_step("cross_entropy", &[Read, Read, Write, Write]);

/// Loss and prediction of every row, from the logits. Buffers: Z [rows, classes], `targets [rows]`,
/// `predictions [samples]`, metrics [slots, groups] with the groups of
/// [`Tuning::row_groups`](crate::kernels::Tuning::row_groups).
#[derive(Debug, Clone, Copy)]
pub struct CrossEntropy {
    /// Most rows of a batch.
    pub rows: usize,
    /// Number of classes.
    pub classes: usize,
}

impl Kernel for CrossEntropy {
    fn describe(&self, _: Seal) -> Description {
        of_logits(&SHADER, self.rows, self.classes)
    }

    fn extents(&self, tuning: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let (rows, output) = (live_rows(record, &SHADER, self.rows)?, record.output as usize);
        let metrics = metrics_bytes(record, tuning.row_groups(self.rows));
        Ok(vec![matrix(rows, self.classes), words(&[&[rows]]), words(&[&[output], &[rows]]), metrics])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let elements = self.rows * self.classes;
        let writes = self.rows + 2 * tuning.row_groups(self.rows);
        let cost = Cost::dispatch(3 * elements + 2 * self.rows, writes, 5 * elements + 3 * self.rows);
        tuning.metrics_trees(tuning.row_trees(cost, self.rows, 3), self.rows)
    }
}

/// Cross-entropy of some rows.
#[derive(Debug, Clone)]
pub struct Losses {
    /// Sum of the rows' losses.
    pub total: f64,
    /// Number of rows whose prediction is their target.
    pub correct: u64,
    /// First class with the largest logit of each row.
    pub predictions: Vector<u32>,
}

/// Computes the cross-entropy of every row of the logits with its target class, `log sum exp Z - Z[target]`,
/// and the predictions. A target that is not a class has probability 0: its loss is infinite.
///
/// ```
/// use ndarray::array;
/// use tinytrain::kernels::{Compute, cross_entropy};
/// let compute = Compute::best()?;
/// let z = compute.matrix(&array![[0.0, 0.0], [-1.0, 50.0]])?;
/// let losses = cross_entropy(&compute, &z, &compute.vector(&[1u32, 1])?)?;
/// assert!((losses.total - 2f64.ln()).abs() < 1e-6);
/// assert_eq!((losses.correct, losses.predictions.read(&compute)?), (1, vec![0, 1]));
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) unless there is one target per row and at least one element; see
/// also [`Compute::run`].
pub fn cross_entropy(compute: &Compute, z: &Matrix, targets: &Vector<u32>) -> Result<Losses> {
    not_empty(&SHADER, z)?;
    if targets.len() != z.rows() {
        return Err(shape_error(&SHADER, format!("{} targets", z.rows()), targets.len().to_string()));
    }
    let predictions = targets.output_like(compute)?;
    let metrics = Vector::<f32>::output(compute, 1, 2 * compute.tuning.row_groups(z.rows()))?;
    let kernel = CrossEntropy { rows: z.rows(), classes: z.columns() };
    let buffers = [z.buffer(), targets.buffer(), predictions.buffer(), metrics.buffer()];
    compute.run(&kernel, &buffers, StepRecord::all(z.rows()))?;
    let (total, correct) = sum_metrics(&metrics.read(compute)?);
    Ok(Losses { total, correct, predictions })
}
