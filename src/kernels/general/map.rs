//! Host half of `shaders/map.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Compute, Cost, Description, Grid, Kernel, Seal, Shader, StepRecord, Tensor, Tuning, blocks, matrix,
};

static SHADER: Shader = Shader::new("map", &[Read, Write]);

/// What is done with each element x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Map {
    /// x + s.
    Add(f32),
    /// s x.
    Multiply(f32),
    /// x^2.
    Square,
    /// The square root of x.
    Sqrt,
    /// 1 / x.
    Reciprocal,
    /// e^x.
    Exp,
    /// The natural logarithm of x.
    Log,
}

impl Map {
    /// Its number in the shader, and its scalar.
    fn code(self) -> (u32, f32) {
        match self {
            Map::Add(scalar) => (0, scalar),
            Map::Multiply(scalar) => (1, scalar),
            Map::Square => (2, 0.0),
            Map::Sqrt => (3, 0.0),
            Map::Reciprocal => (4, 0.0),
            Map::Exp => (5, 0.0),
            Map::Log => (6, 0.0),
        }
    }
}

/// Y = f(X) element by element. Buffers: X, Y [rows, columns].
#[derive(Debug, Clone, Copy)]
pub struct MapKernel {
    /// Rows of the matrices.
    pub rows: usize,
    /// Columns of the matrices.
    pub columns: usize,
    /// f.
    pub operation: Map,
    /// How the threads stand.
    pub grid: Grid,
}

impl Kernel for MapKernel {
    fn describe(&self, _: Seal) -> Description {
        let (code, scalar) = self.operation.code();
        let alone = self.grid.describe(&SHADER, self.rows, self.columns, scalar.to_bits());
        Description { choices: vec![("OPERATION", code)], ..alone }
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        Ok(vec![matrix(self.rows, self.columns); 2])
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let elements = self.rows * 4 * blocks(self.columns);
        Cost::dispatch(elements, elements, self.rows * self.columns)
    }
}

/// f(X), element by element, of a vector or a matrix.
///
/// ```
/// use tinytrain::kernels::{Compute, Map, map};
/// let compute = Compute::best()?;
/// let x = compute.vector(&[0.0f32, 1.0, 2.0])?;
/// assert_eq!(map(&compute, Map::Add(10.0), &x)?.read(&compute)?, [10.0, 11.0, 12.0]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// As [`Compute::run`].
pub fn map<T: Tensor<Element = f32>>(compute: &Compute, operation: Map, x: &T) -> Result<T> {
    let grid = if x.rows() > 1 { Grid::Plane } else { Grid::Line };
    let kernel = MapKernel { rows: x.rows(), columns: x.columns(), operation, grid };
    compute.run_into(x.output_like(compute)?, &kernel, &[x.buffer()], StepRecord::default())
}
