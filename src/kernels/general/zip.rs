//! Host half of `shaders/zip.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Compute, Cost, Description, Element, Grid, Kernel, Piece, Seal, Shader, StepRecord, Tensor, Tuning,
    Vector, blocks, matrix, same_shape,
};

static SHADER: Shader = Shader::new("zip", &[Read, Read, Write]);

/// Operation on each pair (a, b) of elements. u32 wraps around at 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zip {
    /// a + b.
    Add,
    /// a - b.
    Subtract,
    /// a b.
    Multiply,
    /// a / b; for u32, rounded down, and a if b is 0.
    Divide,
    /// Maximum; NaN if one of them is NaN.
    Maximum,
}

/// Comparison of two u32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// 1 if a = b, else 0.
    Equal,
    /// 1 if a and b differ, else 0.
    Different,
}

/// C = A op B element by element. Buffers: A, B, C [rows, columns].
#[derive(Debug, Clone, Copy)]
pub struct ZipKernel {
    /// Rows of the matrices.
    pub rows: usize,
    /// Columns of the matrices.
    pub columns: usize,
    /// The operation's number in the shader.
    code: u32,
    /// Piece that defines the operations.
    piece: &'static str,
    /// Arrangement of the threads.
    pub grid: Grid,
}

impl ZipKernel {
    /// Creates an arithmetic kernel on elements of type `T`.
    pub fn new<T: Element>(rows: usize, columns: usize, operation: Zip, grid: Grid) -> Self {
        let code = match operation {
            Zip::Add => 0,
            Zip::Subtract => 1,
            Zip::Multiply => 2,
            Zip::Divide => 3,
            Zip::Maximum => 4,
        };
        Self { rows, columns, code, piece: if T::NAME == "f32" { "zip_f32" } else { "zip_u32" }, grid }
    }

    /// Creates a comparison kernel on u32.
    pub fn comparing(columns: usize, comparison: Comparison) -> Self {
        let code = match comparison {
            Comparison::Equal => 5,
            Comparison::Different => 6,
        };
        Self { rows: 1, columns, code, piece: "zip_u32", grid: Grid::Line }
    }
}

impl Kernel for ZipKernel {
    fn describe(&self, _: Seal) -> Description {
        let mut it = self.grid.describe(&SHADER, self.rows, self.columns, 0);
        it.pieces.push(("zip_operation", Piece::Named(self.piece)));
        Description { choices: vec![("OPERATION", self.code)], ..it }
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        Ok(vec![matrix(self.rows, self.columns); 3])
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let elements = self.rows * 4 * blocks(self.columns);
        Cost::dispatch(2 * elements, elements, self.rows * self.columns)
    }
}

/// Computes A op B, element by element, of two vectors or two matrices. Vector addition is `Zip::Add`.
///
/// ```
/// use tinytrain::kernels::{Compute, Zip, zip};
/// let compute = Compute::best()?;
/// let (a, b) = (compute.vector(&[1u32, 2, 3])?, compute.vector(&[10u32, 20, 30])?);
/// assert_eq!(zip(&compute, Zip::Add, &a, &b)?.read(&compute)?, [11, 22, 33]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when the shapes differ; see also [`Compute::run`].
pub fn zip<T: Tensor>(compute: &Compute, operation: Zip, a: &T, b: &T) -> Result<T> {
    same_shape(&SHADER, a, b)?;
    let grid = if a.rows() > 1 { Grid::Plane } else { Grid::Line };
    let kernel = ZipKernel::new::<T::Element>(a.rows(), a.columns(), operation, grid);
    compute.run_into(a.output_like(compute)?, &kernel, &[a.buffer(), b.buffer()], StepRecord::default())
}

/// Compares two vectors of u32 element by element: 1 if they are equal, or different, else 0.
///
/// ```
/// use tinytrain::kernels::{Comparison, Compute, compare};
/// let compute = Compute::best()?;
/// let (a, b) = (compute.vector(&[1u32, 2, 3])?, compute.vector(&[1u32, 5, 3])?);
/// assert_eq!(compare(&compute, Comparison::Different, &a, &b)?.read(&compute)?, [0, 1, 0]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// See [`zip()`].
pub fn compare(
    compute: &Compute,
    comparison: Comparison,
    a: &Vector<u32>,
    b: &Vector<u32>,
) -> Result<Vector<u32>> {
    same_shape(&SHADER, a, b)?;
    let kernel = ZipKernel::comparing(a.columns(), comparison);
    compute.run_into(a.output_like(compute)?, &kernel, &[a.buffer(), b.buffer()], StepRecord::default())
}
