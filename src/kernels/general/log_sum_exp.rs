//! Host half of `shaders/log_sum_exp.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Compute, Cost, Kernel, Matrix, Shader, StepRecord, Tensor, ThreadLayout, Tuning, Vector, logits_params,
    matrix, not_empty, words,
};

static SHADER: Shader = Shader {
    name: "log_sum_exp",
    source: include_str!("../../../shaders/log_sum_exp.wgsl"),
    bindings: &[Access::Read, Access::Write],
    records: 1,
};

/// `Y[r] = log sum exp Z[r]`. Buffers: Z [rows, classes], `Y [rows]`.
#[derive(Debug, Clone, Copy)]
pub struct LogSumExp {
    /// Most rows of a batch.
    pub rows: usize,
    /// Number of classes.
    pub classes: usize,
}

impl Kernel for LogSumExp {
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
        Ok(vec![matrix(record.live(), self.classes), words(&[&[record.live()]])])
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.classes)
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
    compute.run(&kernel, &[z.buffer(), y.buffer()], StepRecord::all(z.rows()))?;
    Ok(y)
}
