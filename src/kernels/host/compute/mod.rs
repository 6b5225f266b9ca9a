//! A device on which single kernels run, separately or in sequence.

mod invocation;
mod replay;
mod tensor;

pub use invocation::Invocation;
pub use tensor::{Element, Matrix, Tensor, Vector};

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytemuck::Pod;
use replay::SharedReplay;

use crate::clock::Instant;
use crate::error::{Error, Result};
use crate::gpu::{Adapter, Context, Pipelines, Prepared, StepRecords, adapters};
use crate::kernels::{Cost, Kernel, MOST_BUFFERS, StepRecord, Tuning, check_extents, prepare};

/// Number of trap words after every guarded buffer, which no kernel may access.
pub(crate) const TRAP_WORDS: usize = 64;
/// Value of the trap words.
pub(crate) const TRAP: u32 = 0xABCD_1234;

/// An open device with its compiled kernels. Clones share both, and the counted cost.
///
/// ```
/// use tinytrain::kernels::{Compute, Zip, zip};
/// let compute = Compute::best()?;
/// let a = compute.vector(&[1.0f32, 2.0, 3.0])?;
/// let b = compute.vector(&[10.0f32, 20.0, 30.0])?;
/// assert_eq!(zip(&compute, Zip::Add, &a, &b)?.read(&compute)?, [11.0, 22.0, 33.0]);
/// # Ok::<(), tinytrain::Error>(())
/// ```
#[derive(Clone)]
pub struct Compute {
    /// The device.
    pub context: Arc<Context>,
    /// Kernels compiled for the device.
    pub pipelines: Arc<Pipelines>,
    /// Tile shapes.
    pub tuning: Tuning,
    cost: Arc<Mutex<Cost>>,
    guarded: bool,
    /// Earlier reads, if work is restarted instead of waiting.
    replay: Option<SharedReplay>,
}

impl Compute {
    /// Wraps an open device, with the tile shapes for its kind.
    pub fn new(context: Context) -> Self {
        let tuning = Tuning::for_device(&context);
        Self {
            context: Arc::new(context),
            pipelines: Arc::new(Pipelines::new()),
            tuning,
            cost: Arc::default(),
            guarded: false,
            replay: None,
        }
    }

    /// Opens an adapter.
    ///
    /// # Errors
    /// [`Error::Device`] when the driver rejects it.
    pub fn open(adapter: &Adapter) -> Result<Self> {
        Context::open(adapter).map(Self::new)
    }

    /// Opens an adapter as [`Compute::open`] does, as a future.
    ///
    /// # Errors
    /// See [`Compute::open`].
    pub async fn open_async(adapter: &Adapter) -> Result<Self> {
        Context::open_async(adapter).await.map(Self::new)
    }

    /// Opens the best adapter of this machine: a real GPU if there is one, else a software driver.
    ///
    /// # Errors
    /// [`Error::Device`] when there is none.
    pub fn best() -> Result<Self> {
        let found = adapters(None);
        let able = found.iter().filter(|adapter| adapter.storage_buffers() >= MOST_BUFFERS);
        match able.min_by_key(|adapter| adapter.kind) {
            Some(adapter) => Self::open(adapter),
            None => Err(Error::Device("this machine has no GPU adapter, real or software".to_owned())),
        }
    }

    /// Returns the same device with other tile shapes.
    pub fn with_tuning(&self, tuning: Tuning) -> Self {
        Self { tuning, ..self.clone() }
    }

    /// Returns the same device in a distrustful mode: outputs created from now on are filled with NaN before
    /// a kernel runs, and every buffer is followed by trap words, which are checked on reading. Tensors
    /// created before must not be used with it.
    pub fn guarded(&self) -> Self {
        Self { guarded: true, ..self.clone() }
    }

    /// Returns whether the device is in the distrustful mode.
    pub(crate) fn is_guarded(&self) -> bool {
        self.guarded
    }

    /// Dispatches a kernel on `buffers`, in the order of its bindings. `batch` has the live rows, for kernels
    /// that use it. Does not wait. Kernels run without run-time checks, unless the device was opened
    /// [`checked`](crate::gpu::DeviceOptions::checked), so the sizes of buffers are compared with
    /// [`Kernel::extents`] first. The contents of buffers cannot break memory safety: an out-of-bounds index
    /// in them gives a wrong result.
    ///
    /// # Errors
    /// [`Error::Shape`] when a buffer is too small, when there is not one for each binding, or when the batch
    /// has more rows than the kernel; [`Error::Device`] when the device cannot run [`Compute::tuning`] or the
    /// number of workgroups; [`Error::Gpu`] when the driver rejects the kernel, or the device has failed.
    pub fn run(&self, kernel: &dyn Kernel, buffers: &[&wgpu::Buffer], batch: StepRecord) -> Result<()> {
        check_extents(&self.context, kernel, &self.tuning, buffers, &batch)?;
        let [x, y, z] = super::grid(kernel, &self.tuning);
        if x == 0 || y == 0 || z == 0 {
            return Ok(());
        }
        self.context.queue.submit([self.recorded(kernel, buffers, batch, 1)?]);
        *self.cost.lock().unwrap_or_else(PoisonError::into_inner) += kernel.cost(&self.tuning);
        self.context.check()
    }

    /// Dispatches a kernel as [`Compute::run`] does and returns `output`, the kernel's last binding.
    ///
    /// # Errors
    /// See [`Compute::run`].
    pub(crate) fn run_into<T: Tensor>(
        &self,
        output: T,
        kernel: &dyn Kernel,
        inputs: &[&wgpu::Buffer],
        batch: StepRecord,
    ) -> Result<T> {
        self.run(kernel, &[inputs, &[output.buffer()]].concat(), batch)?;
        Ok(output)
    }

    /// Records `dispatches` dispatches of a kernel in sequence.
    pub(crate) fn recorded(
        &self,
        kernel: &dyn Kernel,
        buffers: &[&wgpu::Buffer],
        batch: StepRecord,
        dispatches: u32,
    ) -> Result<wgpu::CommandBuffer> {
        let prepared = self.prepare(kernel, buffers, &batch)?;
        // Most kernels read no record.
        let records = kernel.description().records;
        let steps =
            (records > 0).then(|| StepRecords::new(&self.context, size_of::<StepRecord>(), 1, 1, records));
        let batch = bytemuck::bytes_of(&batch);
        if let Some(steps) = &steps {
            steps.write(&self.context, batch, 1);
        }
        let mut encoder = self.context.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for _ in 0..dispatches {
                prepared.record(&mut pass, steps.as_ref().and_then(|steps| steps.each(batch, 1).next()));
            }
        }
        Ok(encoder.finish())
    }

    /// Compiles a kernel and binds `buffers` to it. The caller records it, with records that do not exceed
    /// `most`.
    ///
    /// # Errors
    /// See [`Compute::run`].
    pub(crate) fn prepare(
        &self,
        kernel: &dyn Kernel,
        buffers: &[&wgpu::Buffer],
        most: &StepRecord,
    ) -> Result<Prepared> {
        prepare(&self.context, &self.pipelines, kernel, &self.tuning, buffers, most)
    }

    /// Waits until all dispatches have ended.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device fails.
    pub fn wait(&self) -> Result<()> {
        self.context.wait(self.context.queue.submit([]))
    }

    /// Returns the cost of all dispatches since the last call, by the kernels' models.
    pub fn take_cost(&self) -> Cost {
        std::mem::take(&mut *self.cost.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Creates a buffer with `values`.
    ///
    /// # Errors
    /// [`Error::Device`] when the device has no buffers of that size.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<wgpu::Buffer> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let trap = if self.guarded { 4 * TRAP_WORDS } else { 0 };
        let buffer = self.context.storage("tensor", (bytes.len() + trap) as u64)?;
        if !bytes.is_empty() {
            self.context.queue.write_buffer(&buffer, 0, bytes);
        }
        if self.guarded {
            self.context.queue.write_buffer(
                &buffer,
                bytes.len() as u64,
                bytemuck::cast_slice(&[TRAP; TRAP_WORDS]),
            );
        }
        Ok(buffer)
    }

    /// Creates a buffer of `words` words, of which a kernel must write the first `live`; the others are and
    /// stay 0.
    pub(crate) fn output_buffer(&self, live: usize, words: usize) -> Result<wgpu::Buffer> {
        if !self.guarded {
            return self.context.storage("output", 4 * words as u64);
        }
        let mut contents = vec![f32::NAN.to_bits(); live];
        contents.resize(words, 0);
        self.upload(&contents)
    }
}

impl Compute {
    /// Measures the time of one dispatch of `kernel` on the host: the shortest average over many dispatches
    /// in one submission, over all submissions that fit into `budget` (at least three). The first dispatch,
    /// which compiles, is not counted.
    ///
    /// # Errors
    /// See [`Compute::run`].
    pub fn time(
        &self,
        kernel: &dyn Kernel,
        buffers: &[&wgpu::Buffer],
        batch: StepRecord,
        budget: Duration,
    ) -> Result<Duration> {
        // Enough dispatches per submission to make its overhead negligible.
        let mut dispatches = 1;
        while self.time_once(kernel, buffers, batch, dispatches)? < budget / 8 && dispatches < 1 << 10 {
            dispatches *= 2;
        }
        let (begun, mut best, mut runs) = (Instant::now(), Duration::MAX, 0);
        while runs < 3 || begun.elapsed() < budget {
            best = best.min(self.time_once(kernel, buffers, batch, dispatches)? / dispatches);
            runs += 1;
        }
        Ok(best)
    }

    /// Measures the time from the submission of `dispatches` dispatches to the end of the last.
    ///
    /// # Errors
    /// See [`Compute::run`].
    pub fn time_once(
        &self,
        kernel: &dyn Kernel,
        buffers: &[&wgpu::Buffer],
        batch: StepRecord,
        dispatches: u32,
    ) -> Result<Duration> {
        let commands = self.recorded(kernel, buffers, batch, dispatches)?;
        self.wait()?;
        let begun = Instant::now();
        let submission = self.context.queue.submit([commands]);
        self.context.wait(submission)?;
        Ok(begun.elapsed())
    }
}
