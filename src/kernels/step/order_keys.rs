//! Host half of `shaders/order_keys.wgsl`, and the order of an epoch that is made of it.

use std::ops::Range;

use crate::error::Result;
use crate::gpu::Access::Write;
use crate::gpu::Prepared;
use crate::kernels::general::radix_sort::{sorting, spare};
use crate::kernels::{
    Compute, Cost, Description, Invocation, Kernel, Seal, Shader, StepRecord, Tensor, ThreadLayout, Tuning,
    Vector, word, words,
};
use crate::random::Purpose;

static SHADER: Shader = Shader::new("order_keys", &[Write, Write]);

/// The keys by which [`order`](crate::data::order()) sorts rows. Buffers: keys, `rows [length]`.
#[derive(Debug, Clone, Copy)]
pub struct OrderKeys {
    /// Rows.
    pub length: usize,
    /// The first of them.
    pub first: u32,
    /// The run's seed.
    pub seed: u64,
    /// The epoch, from 1.
    pub epoch: u32,
}

impl Kernel for OrderKeys {
    fn describe(&self, _: Seal) -> Description {
        let Self { length, first, seed, epoch } = *self;
        let words =
            [word(length), first, epoch, Purpose::Order as u32, seed as u32, (seed >> 32) as u32, 0, 0];
        let layout = ThreadLayout::Elements(length);
        Description::new(&SHADER, &words, layout, format!("{length} rows from {first}"))
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        Ok(vec![words(&[&[self.length]]); 2])
    }

    fn cost(&self, _: &Tuning) -> Cost {
        // A round of Philox multiplies twice, adds twice and combines four times.
        Cost::dispatch(0, 2 * self.length, 10 * 8 * self.length)
    }
}

/// The keys of an epoch's rows, and its order: the same permutation as [`order`](crate::data::order()) gives.
///
/// ```
/// use tinytrain::data::order;
/// use tinytrain::kernels::{Compute, epoch_order};
/// let compute = Compute::best()?;
/// assert_eq!(epoch_order(&compute, 7, 2, 0..1000)?.read(&compute)?, order(7, 2, 0..1000));
/// # Ok::<(), tinytrain::Error>(())
/// ```
///
/// # Errors
/// As [`sort_by_key`](crate::kernels::sort_by_key).
pub fn epoch_order(compute: &Compute, seed: u64, epoch: usize, range: Range<u32>) -> Result<Vector<u32>> {
    let length = range.len();
    let keys = Vector::<u32>::output(compute, 1, length)?;
    let rows = Vector::<u32>::output(compute, 1, length)?;
    if length > 0 {
        let kernel = OrderKeys { length, first: range.start, seed, epoch: epoch as u32 };
        compute.run(&kernel, &[keys.buffer(), rows.buffer()], StepRecord::default())?;
        compute.run_steps(&in_place(compute, &keys, &rows)?)?;
    }
    Ok(rows)
}

fn in_place(compute: &Compute, keys: &Vector<u32>, rows: &Vector<u32>) -> Result<Vec<Invocation>> {
    let between = spare(compute, keys.len())?;
    sorting(compute, [keys, rows], [&between[0], &between[1]], [keys, rows])
}

/// [`epoch_order`] for many ranges of the same length: buffers are made and kernels bound once.
pub(crate) struct EpochOrders {
    compute: Compute,
    keys: Vector<u32>,
    rows: Vector<u32>,
    sort: Vec<Prepared>,
}

impl EpochOrders {
    /// For ranges of `length` rows, at least one.
    ///
    /// # Errors
    /// As [`epoch_order`].
    pub fn new(compute: Compute, length: usize) -> Result<Self> {
        let keys = Vector::output(&compute, 1, length)?;
        let rows = Vector::output(&compute, 1, length)?;
        let sort = compute.prepare_steps(&in_place(&compute, &keys, &rows)?)?;
        Ok(Self { compute, keys, rows, sort })
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Has the device make the order in which an epoch takes the rows from `first` on, and put it into `target`, whose
    /// first word belongs to row 0. Does not wait.
    ///
    /// # Errors
    /// As [`Compute::run`].
    pub fn make(&self, seed: u64, epoch: usize, first: usize, target: &wgpu::Buffer) -> Result<()> {
        let kernel = OrderKeys { length: self.len(), first: word(first), seed, epoch: epoch as u32 };
        let buffers = [self.keys.buffer(), self.rows.buffer()];
        let keys = self.compute.prepare(&kernel, &buffers, &StepRecord::default())?;
        let mut encoder = self.compute.context.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for dispatch in std::iter::once(&keys).chain(&self.sort) {
                dispatch.record(&mut pass, None);
            }
        }
        let (at, bytes) = (4 * first as u64, 4 * self.len() as u64);
        encoder.copy_buffer_to_buffer(self.rows.buffer(), 0, target, at, Some(bytes));
        self.compute.context.queue.submit([encoder.finish()]);
        self.compute.context.check()
    }
}
