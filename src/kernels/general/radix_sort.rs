//! Host half of `shaders/radix_sort.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::general::scan::{power_of_two, scanning};
use crate::kernels::{
    Compute, Cost, Description, Invocation, Kernel, Scan, Seal, Shader, StepRecord, Tensor, ThreadLayout,
    Tuning, Vector, blocks, matrix, same_shape, shape_error, word, words,
};

/// Values that four bits have.
const DIGITS: usize = 16;
/// Passes over a key.
const PASSES: u32 = 8;
/// Keys of a thread.
const EACH: usize = 8;

static SHADER: Shader = Shader::new("radix_sort", &[Read, Read, Read, Write, Write]);

/// Half of one pass of the sort: counts the digits of every group, or moves the keys.
/// Buffers: keys, `payload [length]`, offsets [16, groups], output (counts [16, groups], or keys), payload.
#[derive(Debug, Clone, Copy)]
pub struct RadixSort {
    /// Keys.
    pub length: usize,
    /// Keys of a group: eight times [`Tuning::sorters`].
    pub group: usize,
    /// Which pass this is, from 0: its digit is that of 16 to that power.
    pub pass: u32,
    /// Whether it moves keys; otherwise it counts digits.
    pub scatter: bool,
}

impl RadixSort {
    /// The first half of the first pass over `length` keys.
    pub fn new(length: usize, tuning: &Tuning) -> Self {
        Self { length, group: EACH * tuning.sorters, pass: 0, scatter: false }
    }

    /// Groups of keys.
    fn groups(&self) -> usize {
        self.length.div_ceil(self.group)
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Sort { length: self.length, each: EACH }
    }

    /// Elements of counts and offsets.
    pub fn counts(&self) -> usize {
        DIGITS * self.groups()
    }
}

impl Kernel for RadixSort {
    fn describe(&self, _: Seal) -> Description {
        let words = [word(self.length), word(self.groups()), 4 * self.pass, 0];
        let shape = format!("{} keys, digit {}", self.length, self.pass);
        let flags = vec![("SCATTER", self.scatter), ("PADDED", true)];
        Description { flags, ..Description::new(&SHADER, &words, self.layout(), shape) }
    }

    fn extents(&self, tuning: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        power_of_two(&SHADER, "Tuning::sorters", tuning.sorters)?;
        if self.group != EACH * tuning.sorters || self.pass >= PASSES {
            let expected = format!("groups of {} keys and a pass below {PASSES}", EACH * tuning.sorters);
            return Err(shape_error(&SHADER, expected, format!("{} and {}", self.group, self.pass)));
        }
        let (keys, moved) = (matrix(1, self.length), words(&[&[self.length]]));
        let counts = words(&[&[self.counts()]]);
        Ok(if self.scatter { vec![keys, keys, counts, moved, moved] } else { vec![keys, 0, 0, counts, 0] })
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let stored = 4 * blocks(self.length);
        let launched = tuning.groups(self.layout());
        let counters = launched * DIGITS * tuning.sorters;
        // Each counter is cleared, summed, and replaced by a sum; each key counts in one.
        let counting = Cost::dispatch(stored, 0, 2 * self.length)
            .sharing(2 * counters + self.length, 2 * counters + self.length, 3 * launched)
            .scans(launched, tuning.sorters);
        let (length, counts) = (self.length, self.counts());
        if self.scatter {
            counting.with(stored + counts, 2 * length, length).sharing(counts + 2 * length, counts, 0)
        } else {
            // The end of a digit is the start of the next, where there is one.
            counting.with(0, counts, 0).sharing(counts + (DIGITS - 1) * self.groups(), 0, 0)
        }
    }
}

/// Keys and their payload.
pub(crate) type Pairs<'a> = [&'a Vector<u32>; 2];

/// The dispatches that sort `from` by key into `to`; `spare` is as long, and written over. `to` may be `from`.
pub(crate) fn sorting(
    compute: &Compute,
    from: Pairs<'_>,
    spare: Pairs<'_>,
    to: Pairs<'_>,
) -> Result<Vec<Invocation>> {
    power_of_two(&SHADER, "Tuning::sorters", compute.tuning.sorters)?;
    let first = RadixSort::new(from[0].len(), &compute.tuning);
    let counts = Vector::<u32>::output(compute, 1, first.counts())?;
    let scan = Scan::new::<u32>(counts.len(), false, &compute.tuning);
    let offsets = scanning::<u32>(compute, counts.buffer(), scan)?;
    let mut steps = Vec::new();
    let mut source = from;
    for pass in 0..PASSES {
        let target = if pass % 2 == 0 { spare } else { to };
        let bound = |output: &Vector<u32>, scatter| {
            let [keys, payload] = source.map(Tensor::buffer);
            let buffers = [keys, payload, offsets.output.buffer(), output.buffer(), target[1].buffer()];
            Invocation::new(RadixSort { pass, scatter, ..first }, &buffers)
        };
        steps.push(bound(&counts, false));
        steps.extend(offsets.steps.iter().cloned());
        steps.push(bound(target[0], true));
        source = target;
    }
    Ok(steps)
}

/// Room for `length` keys and their payload.
pub(crate) fn spare(compute: &Compute, length: usize) -> Result<[Vector<u32>; 2]> {
    Ok([Vector::output(compute, 1, length)?, Vector::output(compute, 1, length)?])
}

/// Keys in ascending order, and the payload in the order of its keys; what has equal keys keeps its order (a stable
/// least-significant-digit radix sort, four bits a pass).
///
/// ```
/// use tinytrain::kernels::{Compute, sort_by_key};
/// let compute = Compute::best()?;
/// let (keys, payload) = (compute.vector(&[9u32, 2, 9, 1])?, compute.vector(&[0u32, 1, 2, 3])?);
/// let (keys, payload) = sort_by_key(&compute, &keys, &payload)?;
/// assert_eq!(keys.read(&compute)?, [1, 2, 9, 9]);
/// assert_eq!(payload.read(&compute)?, [3, 1, 0, 2]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when there is not one payload a key, or when [`Tuning::team`] or
/// [`Tuning::sorters`] is no power of two from 2 on; as [`Compute::run`].
pub fn sort_by_key(
    compute: &Compute,
    keys: &Vector<u32>,
    payload: &Vector<u32>,
) -> Result<(Vector<u32>, Vector<u32>)> {
    same_shape(&SHADER, keys, payload)?;
    let (between, [sorted, moved]) = (spare(compute, keys.len())?, spare(compute, keys.len())?);
    if !keys.is_empty() {
        let spare = [&between[0], &between[1]];
        compute.run_steps(&sorting(compute, [keys, payload], spare, [&sorted, &moved])?)?;
    }
    Ok((sorted, moved))
}
