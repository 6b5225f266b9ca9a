//! Host half of `shaders/compact.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::general::scan::scanning;
use crate::kernels::{
    Compute, Cost, Description, Kernel, Scan, Seal, Shader, StepRecord, Tensor, ThreadLayout, Tuning, Vector,
    same_shape, word, words,
};

static SHADER: Shader = Shader::new("compact", &[Read, Read, Read, Write]);

/// Moves what is kept to the front. Buffers: X (not read for `positions`), keep, `offsets [length]`, `Y [kept]`.
#[derive(Debug, Clone, Copy)]
pub struct Compact {
    /// Elements before.
    pub length: usize,
    /// Elements that Y has room for; what is kept beyond is left out.
    pub kept: usize,
    /// The output holds where the kept elements stood, or else the elements.
    pub positions: bool,
}

impl Kernel for Compact {
    fn describe(&self, _: Seal) -> Description {
        let (words, layout) =
            ([word(self.length), word(self.kept), 0, 0], ThreadLayout::Elements(self.length));
        let alone = Description::new(&SHADER, &words, layout, self.length.to_string());
        Description { flags: vec![("POSITIONS", self.positions)], ..alone }
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        let all = words(&[&[self.length]]);
        Ok(vec![if self.positions { 0 } else { all }, all, all, words(&[&[self.kept]])])
    }

    fn cost(&self, _: &Tuning) -> Cost {
        // The most: everything is kept.
        let reads = if self.positions { 2 } else { 3 };
        Cost::dispatch(reads * self.length, self.length, self.length)
    }
}

fn run(compute: &Compute, values: &Vector<u32>, keep: &Vector<u32>, positions: bool) -> Result<Vector<u32>> {
    let length = keep.len();
    if length == 0 {
        return Vector::output(compute, 1, 0);
    }
    let count = Scan { flags: true, ..Scan::new::<u32>(length, false, &compute.tuning) };
    let offsets = scanning::<u32>(compute, keep.buffer(), count)?;
    compute.run_steps(&offsets.steps)?;
    // The only wait: the output is made as long as it has to be.
    let kept = offsets.total.read(compute)?[0] as usize;
    let (y, kernel) = (Vector::output(compute, 1, kept)?, Compact { length, kept, positions });
    let inputs = [values.buffer(), keep.buffer(), offsets.output.buffer()];
    compute.run_into(y, &kernel, &inputs, StepRecord::default())
}

/// The values whose flag in `keep` is not 0, in their order.
///
/// ```
/// use tinytrain::kernels::{Compute, compact};
/// let compute = Compute::best()?;
/// let (values, keep) = (compute.vector(&[5u32, 6, 7, 8])?, compute.vector(&[0u32, 1, 0, 9])?);
/// assert_eq!(compact(&compute, &values, &keep)?.read(&compute)?, [6, 8]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when there is not one flag a value; as
/// [`exclusive_scan`](super::exclusive_scan).
pub fn compact(compute: &Compute, values: &Vector<u32>, keep: &Vector<u32>) -> Result<Vector<u32>> {
    same_shape(&SHADER, values, keep)?;
    run(compute, values, keep, false)
}

/// Where the flags that are not 0 stand, in ascending order.
///
/// ```
/// use tinytrain::kernels::{Compute, positions_where};
/// let compute = Compute::best()?;
/// let keep = compute.vector(&[0u32, 1, 0, 9])?;
/// assert_eq!(positions_where(&compute, &keep)?.read(&compute)?, [1, 3]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// As [`exclusive_scan`](super::exclusive_scan).
pub fn positions_where(compute: &Compute, keep: &Vector<u32>) -> Result<Vector<u32>> {
    run(compute, keep, keep, true)
}
