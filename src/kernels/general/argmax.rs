//! Host half of `shaders/argmax.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Axis, Comparison, Compute, Cost, Description, Kernel, Matrix, Reduction, Seal, Segments, Shader,
    StepRecord, Tensor, Tuning, Vector, compare, not_empty, reduce,
};

static SHADER: Shader = Shader::new("argmax", &[Read, Read, Write, Write]);

/// One dispatch of an argmax. Buffers: X, its positions (not read when `first`), maxima, positions.
#[derive(Debug, Clone, Copy)]
pub struct Argmax {
    /// Shapes.
    pub segments: Segments,
    /// The input has no positions yet: they are those in the line.
    pub first: bool,
}

impl Kernel for Argmax {
    fn describe(&self, _: Seal) -> Description {
        let alone = self.segments.describe(&SHADER);
        Description { flags: [alone.flags, vec![("FIRST", self.first)]].concat(), ..alone }
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        let (x, outputs) = self.segments.extents();
        Ok(vec![x, if self.first { 0 } else { x }, outputs, outputs])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        self.segments.cost(tuning, if self.first { 1 } else { 2 }, 2, 1)
    }
}

fn run_passes(compute: &Compute, passes: Vec<Segments>, x: &wgpu::Buffer) -> Result<(Vector, Vector<u32>)> {
    let mut output: Option<(Vector, Vector<u32>)> = None;
    for segments in passes {
        let maxima = Vector::<f32>::output(compute, 1, segments.total())?;
        let positions = Vector::<u32>::output(compute, 1, segments.total())?;
        let kernel = Argmax { segments, first: output.is_none() };
        let (from, from_positions) =
            output.as_ref().map_or((x, x), |(maxima, positions)| (maxima.buffer(), positions.buffer()));
        let buffers = [from, from_positions, maxima.buffer(), positions.buffer()];
        compute.run(&kernel, &buffers, StepRecord::default())?;
        output = Some((maxima, positions));
    }
    match output {
        Some(output) => Ok(output),
        None => Ok((Vector::output(compute, 1, 0)?, Vector::output(compute, 1, 0)?)),
    }
}

/// The position of the first maximum of a vector, and the maximum. NaN counts as the largest.
///
/// ```
/// use tinytrain::kernels::{Compute, argmax};
/// let compute = Compute::best()?;
/// let x = compute.vector(&[1.0f32, 7.0, 3.0, 7.0])?;
/// assert_eq!(argmax(&compute, &x)?, (1, 7.0));
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for a vector of no elements; as [`Compute::run`].
pub fn argmax(compute: &Compute, x: &Vector) -> Result<(usize, f32)> {
    not_empty(&SHADER, x)?;
    let passes = Segments::passes(Axis::Rows, 1, x.len(), x.len(), &compute.tuning);
    let (maxima, positions) = run_passes(compute, passes, x.buffer())?;
    Ok((positions.read(compute)?[0] as usize, maxima.read(compute)?[0]))
}

/// The position of the first maximum of every row, or of every column, of a matrix. NaN counts as the largest.
///
/// ```
/// use ndarray::array;
/// use tinytrain::kernels::{Axis, Compute, argmax_axis};
/// let compute = Compute::best()?;
/// let x = compute.matrix(&array![[1.0, 9.0, 3.0], [4.0, 2.0, 4.0]])?;
/// assert_eq!(argmax_axis(&compute, Axis::Rows, &x)?.read(&compute)?, [1, 0]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for lines without elements; as [`Compute::run`].
pub fn argmax_axis(compute: &Compute, axis: Axis, x: &Matrix) -> Result<Vector<u32>> {
    let [_, length] = axis.lines(x.rows(), x.columns());
    if length == 0 {
        not_empty(&SHADER, x)?;
    }
    let passes = Segments::passes(axis, x.rows(), x.columns(), length, &compute.tuning);
    Ok(run_passes(compute, passes, x.buffer())?.1)
}

/// How many rows of the logits have their first maximum at their target: the number of correct predictions.
///
/// ```
/// use ndarray::array;
/// use tinytrain::kernels::{Compute, count_correct};
/// let compute = Compute::best()?;
/// let logits = compute.matrix(&array![[1.0, 9.0, 3.0], [4.0, 2.0, 4.0]])?;
/// assert_eq!(count_correct(&compute, &logits, &compute.vector(&[1u32, 2])?)?, 1);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when there is not one target a row; as [`Compute::run`].
pub fn count_correct(compute: &Compute, logits: &Matrix, targets: &Vector<u32>) -> Result<u32> {
    let predicted = argmax_axis(compute, Axis::Rows, logits)?;
    let correct = compare(compute, Comparison::Equal, &predicted, targets)?;
    reduce(compute, Reduction::Sum, &correct)
}
