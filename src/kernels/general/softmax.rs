//! Host half of `shaders/softmax.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Compute, Cost, Kernel, Matrix, Shader, StepRecord, Tensor, ThreadLayout, Tuning, blocks, logits_params,
    matrix, not_empty,
};

static SHADER: Shader = Shader {
    name: "softmax",
    source: include_str!("../../../shaders/softmax.wgsl"),
    bindings: &[Access::Read, Access::Write],
    records: 1,
};

/// P = softmax(Z) by rows, or its logarithm. Buffers: Z, P [rows, classes].
#[derive(Debug, Clone, Copy)]
pub struct Softmax {
    /// Most rows of a batch.
    pub rows: usize,
    /// Number of classes.
    pub classes: usize,
    /// The logarithm of the probabilities.
    pub log: bool,
}

impl Kernel for Softmax {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        logits_params(self.classes)
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Rows(self.rows)
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        vec![("LOG", self.log)]
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        Ok(vec![matrix(record.live(), self.classes); 2])
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.classes)
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let (elements, stored) = (self.rows * self.classes, self.rows * 4 * blocks(self.classes));
        tuning.row_trees(Cost::dispatch(3 * elements, stored, 6 * elements), self.rows, 2)
    }
}

/// softmax of every row: `P[c] = exp(Z[c] - max Z) / sum exp(Z - max Z)`. A row with NaN or +infinity in it gives NaN.
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
/// [`Error::Shape`](crate::Error::Shape) for a matrix of no elements; as [`Compute::run`].
pub fn softmax(compute: &Compute, z: &Matrix) -> Result<Matrix> {
    run(compute, z, false)
}

/// log softmax of every row: `Z[c] - max Z - log sum exp(Z - max Z)`, which is finite where softmax underflows to 0.
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
/// As [`softmax()`].
pub fn log_softmax(compute: &Compute, z: &Matrix) -> Result<Matrix> {
    run(compute, z, true)
}

fn run(compute: &Compute, z: &Matrix, log: bool) -> Result<Matrix> {
    not_empty(&SHADER, z)?;
    let p = z.output_like(compute)?;
    let kernel = Softmax { rows: z.rows(), classes: z.columns(), log };
    compute.run(&kernel, &[z.buffer(), p.buffer()], StepRecord::all(z.rows()))?;
    Ok(p)
}
