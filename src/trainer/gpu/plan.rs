//! A schedule with its buffers on the device, every kernel compiled and bound: what is left is to record it.

use std::collections::BTreeMap;

use super::rows::DeviceRows;
use crate::error::Result;
use crate::gpu::{Context, Pipelines, Prepared, Steps};
use crate::kernels::{Batch, Tuning, prepare, program};
use crate::trainer::schedule::{Buffer, Schedule};

/// Most steps of one submission.
pub const MOST_STEPS: usize = 1024;

/// The buffers and dispatches of one batch shape.
pub struct Plan {
    dispatches: Vec<Prepared>,
    buffers: BTreeMap<Buffer, wgpu::Buffer>,
    steps: Steps,
    /// Bytes of the metrics of one step.
    pub metrics_stride: u64,
}

impl Plan {
    /// Makes the buffers that belong to the batch and binds every dispatch. `predictions` rows can be predicted
    /// before somebody reads them.
    ///
    /// # Errors
    /// When the device has no buffers of such sizes, or refuses a kernel.
    pub fn new(
        context: &Context,
        pipelines: &Pipelines,
        schedule: &Schedule,
        tuning: &Tuning,
        rows: &DeviceRows,
        parameters: &wgpu::Buffer,
        predictions: usize,
    ) -> Result<Self> {
        let mut buffers = BTreeMap::new();
        for (buffer, bytes) in &schedule.buffers {
            let bytes = match buffer {
                Buffer::Metrics => bytes * MOST_STEPS as u64,
                Buffer::Predictions => (*bytes).max(4 * predictions as u64),
                _ => *bytes,
            };
            buffers.insert(*buffer, context.storage(&buffer.to_string(), bytes)?);
        }
        let resolve = |buffer: &Buffer| match buffer {
            Buffer::Features => &rows.features,
            Buffer::Labels => &rows.labels,
            Buffer::Order => &rows.order,
            Buffer::Parameters => parameters,
            other => &buffers[other],
        };
        let kernels = schedule.dispatches.iter().map(|dispatch| &*dispatch.kernel);
        pipelines.compile(context, kernels.map(|kernel| program(kernel, tuning, context.carrier)))?;
        let dispatches = schedule
            .dispatches
            .iter()
            .map(|dispatch| {
                let bound: Vec<&wgpu::Buffer> = dispatch.buffers.iter().map(resolve).collect();
                prepare(context, pipelines, &*dispatch.kernel, tuning, &bound)
            })
            .collect::<Result<Vec<_>>>()?;
        let steps = Steps::new(context, size_of::<Batch>(), MOST_STEPS);
        let metrics_stride = 8 * schedule.metrics_groups as u64;
        Ok(Self { dispatches, buffers, steps, metrics_stride })
    }

    /// A buffer that belongs to the batch.
    pub fn buffer(&self, buffer: Buffer) -> &wgpu::Buffer {
        &self.buffers[&buffer]
    }

    /// Records all dispatches of these batches (at most [`MOST_STEPS`]) in one pass.
    pub fn record(&self, encoder: &mut wgpu::CommandEncoder, batches: &[Batch]) {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for step in self.steps.each(bytemuck::cast_slice(batches)) {
            for dispatch in &self.dispatches {
                dispatch.record(&mut pass, Some(step));
            }
        }
    }

    /// Says where the batches of the next submission stand. Call it when the one before is submitted, and before this.
    pub fn place(&self, context: &Context, batches: &[Batch]) {
        self.steps.write(context, bytemuck::cast_slice(batches));
    }
}
