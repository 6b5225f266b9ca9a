//! Host half of `shaders/reduce.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Axis, Compute, Cost, Description, Element, Kernel, Matrix, Seal, Segments, Shader, StepRecord, Tensor,
    Tuning, Vector, item_piece, not_empty, shape_error,
};

static SHADER: Shader = Shader::new("reduce", &[Read, Write]);

/// Operation of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Sum; 0 for no elements.
    Sum,
    /// Maximum; NaN if an element is NaN.
    Maximum,
    /// Sum divided by the number of elements.
    Mean,
}

/// One dispatch of a reduction. Buffers: X, Y; see [`Segments`].
#[derive(Debug, Clone, Copy)]
pub struct Reduce {
    /// Shapes.
    pub segments: Segments,
    /// Maximum, otherwise sum.
    pub maximum: bool,
    /// u32 elements, otherwise f32.
    pub integers: bool,
}

impl Kernel for Reduce {
    fn describe(&self, _: Seal) -> Description {
        Description {
            choices: vec![("OPERATION", u32::from(self.maximum))],
            pieces: vec![item_piece(self.integers)],
            ..self.segments.describe(&SHADER)
        }
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        let (x, outputs) = self.segments.extents();
        Ok(vec![x, outputs])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        self.segments.cost(tuning, 1, 1, 1)
    }
}

/// Runs `passes`; the first reads `input`.
pub(crate) fn run_passes<T: Element>(
    compute: &Compute,
    reduction: Reduction,
    mut passes: Vec<Segments>,
    input: &wgpu::Buffer,
    count: usize,
) -> Result<Vector<T>> {
    if let (Reduction::Mean, Some(last)) = (reduction, passes.last_mut()) {
        last.count = count;
    }
    let mut output: Option<Vector<T>> = None;
    for segments in passes {
        let (maximum, integers) = (reduction == Reduction::Maximum, T::NAME == "u32");
        let kernel = Reduce { segments, maximum, integers };
        let (next, from) =
            (Vector::output(compute, 1, segments.total())?, output.as_ref().map_or(input, Vector::buffer));
        output = Some(compute.run_into(next, &kernel, &[from], StepRecord::default())?);
    }
    output.map_or_else(|| Vector::output(compute, 1, 0), Ok)
}

/// Returns the sum, maximum or mean of a vector, with a tree of any depth. The sum of no elements is 0.
///
/// ```
/// use tinytrain::kernels::{Compute, Reduction, reduce};
/// let compute = Compute::best()?;
/// let x = compute.vector(&[1.0f32, 5.0, 3.0])?;
/// assert_eq!(reduce(&compute, Reduction::Mean, &x)?, 3.0);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for the maximum or mean of no elements; see also [`Compute::run`].
pub fn reduce<T: Element>(compute: &Compute, reduction: Reduction, x: &Vector<T>) -> Result<T> {
    if x.is_empty() && reduction == Reduction::Sum {
        return Ok(T::default());
    }
    not_empty(&SHADER, x)?;
    let passes = Segments::passes(Axis::Rows, 1, x.len(), x.len(), &compute.tuning);
    let result = run_passes(compute, reduction, passes, x.buffer(), x.len())?;
    Ok(result.read(compute)?[0])
}

/// Computes the sum, maximum or mean of every row, or of every column, of a matrix.
///
/// ```
/// use ndarray::array;
/// use tinytrain::kernels::{Axis, Compute, Reduction, reduce_axis};
/// let compute = Compute::best()?;
/// let x = compute.matrix(&array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
/// let sums = reduce_axis(&compute, Reduction::Sum, Axis::Columns, &x)?;
/// assert_eq!(sums.read(&compute)?, [5.0, 7.0, 9.0]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for the maximum or mean of lines without elements; see also
/// [`Compute::run`].
pub fn reduce_axis(compute: &Compute, reduction: Reduction, axis: Axis, x: &Matrix) -> Result<Vector> {
    let [lines, length] = axis.lines(x.rows(), x.columns());
    if lines > 0 && length == 0 {
        if reduction == Reduction::Sum {
            return compute.vector(&vec![0.0; lines]);
        }
        not_empty(&SHADER, x)?;
    }
    let passes = Segments::passes(axis, x.rows(), x.columns(), length, &compute.tuning);
    run_passes(compute, reduction, passes, x.buffer(), length)
}

/// Computes the sum of each block of `block` elements; the last block may be shorter.
///
/// ```
/// use tinytrain::kernels::{Compute, block_sums};
/// let compute = Compute::best()?;
/// let x = compute.vector(&[0.0f32, 1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!(block_sums(&compute, 2, &x)?.read(&compute)?, [1.0, 5.0, 4.0]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for blocks of no elements; see also [`Compute::run`].
pub fn block_sums<T: Element>(compute: &Compute, block: usize, x: &Vector<T>) -> Result<Vector<T>> {
    if block == 0 {
        let expected = "blocks of at least one element".to_owned();
        return Err(shape_error(&SHADER, expected, "blocks of 0".to_owned()));
    }
    let passes = Segments::passes(Axis::Rows, 1, x.len(), block.min(x.len()), &compute.tuning);
    run_passes(compute, Reduction::Sum, passes, x.buffer(), 0)
}
