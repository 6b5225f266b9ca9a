//! Host half of `shaders/dot.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::general::reduce::run_passes;
use crate::kernels::{
    Axis, Compute, Cost, Description, Kernel, Reduction, Seal, Segments, Shader, StepRecord, Tensor, Tuning,
    Vector, same_shape, shape_error, words,
};

static SHADER: Shader = Shader::new("dot", &[Read, Read, Write]);

/// The first dispatch of a dot product: sums of products. Buffers: A, `B [length]`, `Y [outputs]`.
#[derive(Debug, Clone, Copy)]
pub struct Dot {
    /// Shapes.
    pub segments: Segments,
}

impl Kernel for Dot {
    fn describe(&self, _: Seal) -> Description {
        self.segments.describe(&SHADER)
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        // Other lines would write to the same outputs.
        if self.segments.lines != 1 {
            return Err(shape_error(&SHADER, "1 line".to_owned(), self.segments.lines.to_string()));
        }
        let (x, (_, outputs)) = (words(&[&[self.segments.length]]), self.segments.extents());
        Ok(vec![x, x, outputs])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        self.segments.cost(tuning, 2, 1, 2)
    }
}

/// Returns the dot product of two vectors: sum of `a[i] b[i]`; 0 for empty vectors.
///
/// ```
/// use tinytrain::kernels::{Compute, dot};
/// let compute = Compute::best()?;
/// let a = compute.vector(&[0.0f32, 1.0, 2.0, 3.0])?;
/// assert_eq!(dot(&compute, &a, &a)?, 14.0);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when the lengths differ; see also [`Compute::run`].
pub fn dot(compute: &Compute, a: &Vector, b: &Vector) -> Result<f32> {
    same_shape(&SHADER, a, b)?;
    if a.is_empty() {
        return Ok(0.0);
    }
    let mut passes = Segments::passes(Axis::Rows, 1, a.len(), a.len(), &compute.tuning);
    let segments = passes.remove(0);
    let products = Vector::<f32>::output(compute, 1, segments.total())?;
    compute.run(&Dot { segments }, &[a.buffer(), b.buffer(), products.buffer()], StepRecord::default())?;
    if passes.is_empty() {
        return Ok(products.read(compute)?[0]);
    }
    Ok(run_passes::<f32>(compute, Reduction::Sum, passes, products.buffer(), 0)?.read(compute)?[0])
}
