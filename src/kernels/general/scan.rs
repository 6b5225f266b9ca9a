//! Host half of `shaders/scan.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Compute, Cost, Description, Element, Invocation, Kernel, ScanAdd, Seal, Shader, StepRecord, Tensor,
    ThreadLayout, Tuning, Vector, item_piece, shape_error, word, words,
};

static SHADER: Shader = Shader::new("scan", &[Read, Write, Write]);

/// Prefix sums of every block of a vector. Buffers: X, `Y [length]`, sums of the blocks.
#[derive(Debug, Clone, Copy)]
pub struct Scan {
    /// Number of elements.
    pub length: usize,
    /// Elements of a block: twice [`Tuning::team`].
    pub block: usize,
    /// Whether a prefix sum includes its own element.
    pub inclusive: bool,
    /// u32 elements, otherwise f32.
    pub integers: bool,
    /// Whether nonzero elements count as 1.
    pub flags: bool,
    /// Whether workgroup memory is padded so that threads of a sweep do not wait for the same bank. Results
    /// are the same.
    pub padded: bool,
}

impl Kernel for Scan {
    fn describe(&self, _: Seal) -> Description {
        let words = [word(self.length), word(self.length.div_ceil(self.block)), 0, 0];
        let shape = format!("{} in blocks of {}", self.length, self.block);
        Description {
            flags: vec![("INCLUSIVE", self.inclusive), ("FLAGS", self.flags), ("PADDED", self.padded)],
            pieces: vec![item_piece(self.integers)],
            ..Description::new(&SHADER, &words, self.layout(), shape)
        }
    }

    fn extents(&self, tuning: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        power_of_two(&SHADER, "Tuning::team", tuning.team)?;
        if self.block != 2 * tuning.team {
            let expected = format!("blocks of {}", 2 * tuning.team);
            return Err(shape_error(&SHADER, expected, self.block.to_string()));
        }
        let x = words(&[&[self.length]]);
        Ok(vec![x, x, words(&[&[self.length.div_ceil(self.block)]])])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let writes = self.length + self.length.div_ceil(self.block);
        let alone = Cost::dispatch(self.length, writes, self.length);
        alone.scans(tuning.groups(self.layout()), tuning.team)
    }
}

/// Dispatches of a scan, with the buffers for its result and for the sum of all elements (one element).
pub(crate) struct Scanning<T> {
    pub steps: Vec<Invocation>,
    pub output: Vector<T>,
    pub total: Vector<T>,
}

/// Checks that the team can sweep a binary tree.
pub(crate) fn power_of_two(shader: &'static Shader, what: &str, team: usize) -> Result<()> {
    if team >= 2 && team.is_power_of_two() {
        return Ok(());
    }
    Err(shape_error(shader, format!("a power of two from 2 on as {what}"), team.to_string()))
}

/// Creates the buffers of a scan of at least one element: blocks, the block sums scanned in the same way, and
/// these added to the blocks. `kernel` is the scan of a block.
pub(crate) fn scanning<T: Element>(compute: &Compute, x: &wgpu::Buffer, kernel: Scan) -> Result<Scanning<T>> {
    power_of_two(&SHADER, "Tuning::team", compute.tuning.team)?;
    let blocks = kernel.length.div_ceil(kernel.block);
    let output = Vector::output(compute, 1, kernel.length)?;
    let sums = Vector::<T>::output(compute, 1, blocks)?;
    let mut steps = vec![Invocation::new(kernel, &[x, output.buffer(), sums.buffer()])];
    if blocks <= 1 {
        return Ok(Scanning { steps, output, total: sums });
    }
    let above = Scan { length: blocks, inclusive: false, flags: false, ..kernel };
    let above = scanning::<T>(compute, sums.buffer(), above)?;
    steps.extend(above.steps);
    let add = ScanAdd { length: kernel.length, block: kernel.block, integers: kernel.integers };
    steps.push(Invocation::new(add, &[above.output.buffer(), output.buffer()]));
    Ok(Scanning { steps, output, total: above.total })
}

impl Scan {
    /// Creates the scan of `length` elements of type `T` used by the functions below.
    pub fn new<T: Element>(length: usize, inclusive: bool, tuning: &Tuning) -> Self {
        let integers = T::NAME == "u32";
        Self { length, block: 2 * tuning.team, inclusive, integers, flags: false, padded: true }
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Teams { lines: 1, length: self.length, each: 2 }
    }
}

/// Runs a given scan on the number of elements in `kernel`.
///
/// # Errors
/// See [`exclusive_scan`].
pub fn scan<T: Element>(compute: &Compute, kernel: Scan, x: &Vector<T>) -> Result<Vector<T>> {
    if x.len() != kernel.length {
        return Err(shape_error(&SHADER, format!("{} elements", kernel.length), x.len().to_string()));
    }
    let block = 2 * compute.tuning.team;
    if kernel.block != block {
        return Err(shape_error(&SHADER, format!("blocks of {block}"), kernel.block.to_string()));
    }
    if x.is_empty() {
        return Vector::output(compute, 1, 0);
    }
    let scanning = scanning(compute, x.buffer(), kernel)?;
    compute.run_steps(&scanning.steps)?;
    Ok(scanning.output)
}

/// Computes prefix sums without the element itself: `Y[i]` is the sum of all `X[j]` with j < i. u32 wraps
/// around at 2^32.
///
/// ```
/// use tinytrain::kernels::{Compute, exclusive_scan};
/// let compute = Compute::best()?;
/// let x = compute.vector(&[3u32, 1, 7, 0, 4])?;
/// assert_eq!(exclusive_scan(&compute, &x)?.read(&compute)?, [0, 3, 4, 11, 11]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when [`Tuning::team`] is not a power of two of at least 2; see also
/// [`Compute::run`].
pub fn exclusive_scan<T: Element>(compute: &Compute, x: &Vector<T>) -> Result<Vector<T>> {
    scan(compute, Scan::new::<T>(x.len(), false, &compute.tuning), x)
}

/// Computes prefix sums with the element itself: `Y[i]` is the sum of all `X[j]` with j <= i. u32 wraps
/// around at 2^32.
///
/// ```
/// use tinytrain::kernels::{Compute, inclusive_scan};
/// let compute = Compute::best()?;
/// let x = compute.vector(&[3.0f32, 1.0, 7.0, 0.0, 4.0])?;
/// assert_eq!(inclusive_scan(&compute, &x)?.read(&compute)?, [3.0, 4.0, 11.0, 11.0, 15.0]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// See [`exclusive_scan`].
pub fn inclusive_scan<T: Element>(compute: &Compute, x: &Vector<T>) -> Result<Vector<T>> {
    scan(compute, Scan::new::<T>(x.len(), true, &compute.tuning), x)
}
