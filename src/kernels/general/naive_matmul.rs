//! Host half of `shaders/naive_matmul.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Compute, Cost, Description, Grid, Kernel, Matrix, Seal, Shader, StepRecord, Tensor, Tuning, blocks,
    dimensions, matrix, shape_error, word,
};

static SHADER: Shader = Shader::new("naive_matmul", &[Read, Read, Write]);

/// C = A B, one thread per element. Buffers: A [m, k], B [k, n], C [m, n].
#[derive(Debug, Clone, Copy)]
pub struct NaiveMatmul {
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// Inner dimension.
    pub k: usize,
    /// Arrangement of the threads.
    pub grid: Grid,
}

impl Kernel for NaiveMatmul {
    fn describe(&self, _: Seal) -> Description {
        let Self { m, n, k, grid } = *self;
        let layout = grid.layout(m, blocks(n).saturating_mul(4));
        let alone = Description::new(&SHADER, &[m, n, k, 0].map(word), layout, format!("{m} x {k} x {n}"));
        Description { pieces: vec![grid.piece()], ..alone }
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        Ok(vec![matrix(self.m, self.k), matrix(self.k, self.n), matrix(self.m, self.n)])
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let products = self.m * self.n * self.k;
        Cost::dispatch(2 * products, self.m * 4 * blocks(self.n), 2 * products)
    }
}

/// Computes C = A B directly by the formula, as a baseline for [`matmul`](super::matmul()).
///
/// ```
/// use ndarray::array;
/// use tinytrain::kernels::{Compute, Grid, naive_matmul};
/// let compute = Compute::best()?;
/// let a = compute.matrix(&array![[0.0, 1.0], [2.0, 3.0]])?;
/// assert_eq!(naive_matmul(&compute, Grid::Plane, &a, &a)?.read(&compute)?, array![[2.0, 3.0], [6.0, 11.0]]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when the shapes do not match; see also [`Compute::run`].
pub fn naive_matmul(compute: &Compute, grid: Grid, a: &Matrix, b: &Matrix) -> Result<Matrix> {
    let (m, k, n) = (a.rows(), a.columns(), b.columns());
    if b.rows() != k {
        return Err(shape_error(&SHADER, format!("B of {k} rows for A of {m} x {k}"), dimensions(b)));
    }
    let c = Matrix::output(compute, m, n)?;
    let kernel = NaiveMatmul { m, n, k, grid };
    compute.run_into(c, &kernel, &[a.buffer(), b.buffer()], StepRecord::default())
}
