//! A schedule with its buffers on the device, every kernel compiled and bound: what is left is to record it.

use std::collections::BTreeMap;

use super::rows::DeviceRows;
use crate::error::Result;
use crate::gpu::{Context, Pipelines, Prepared};
use crate::kernels::{Batch, Tuning, prepare};
use crate::trainer::schedule::{Buffer, Schedule};

/// Most steps of one submission.
pub const MOST_STEPS: usize = 128;

/// The buffers and dispatches of one batch shape.
pub struct Plan {
    dispatches: Vec<Prepared>,
    buffers: BTreeMap<Buffer, wgpu::Buffer>,
    steps: wgpu::Buffer,
    step_group: wgpu::BindGroup,
    step_stride: u64,
    prologue: bool,
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
        let dispatches = schedule
            .dispatches
            .iter()
            .map(|dispatch| {
                let bound: Vec<&wgpu::Buffer> = dispatch.buffers.iter().map(resolve).collect();
                prepare(context, pipelines, &*dispatch.kernel, tuning, &bound)
            })
            .collect::<Result<Vec<_>>>()?;
        let alignment = u64::from(context.limits.min_uniform_buffer_offset_alignment);
        let step_stride = (size_of::<Batch>() as u64).next_multiple_of(alignment);
        let steps = context.uniform("steps", &vec![0; (MOST_STEPS + 1) * step_stride as usize]);
        let step_group = Pipelines::step_group(context, &steps, size_of::<Batch>() as u64);
        let metrics_stride = 8 * schedule.metrics_groups as u64;
        let prologue = schedule.prologue;
        Ok(Self { dispatches, buffers, steps, step_group, step_stride, prologue, metrics_stride })
    }

    /// A buffer that belongs to the batch.
    pub fn buffer(&self, buffer: Buffer) -> &wgpu::Buffer {
        &self.buffers[&buffer]
    }

    /// Writes where the batches of the next submission stand (at most [`MOST_STEPS`]) and records all their
    /// dispatches in one pass.
    pub fn record(&self, context: &Context, encoder: &mut wgpu::CommandEncoder, batches: &[Batch]) {
        let next_rows = batches.iter().skip(1).map(|next| next.rows).chain([0]);
        let steps = batches.iter().zip(next_rows).map(|(batch, next_rows)| Batch { next_rows, ..*batch });
        // Every submission stands by itself, so a prologue begins each.
        let before = batches.first().filter(|_| self.prologue);
        let before = before.map(|first| Batch { rows: 0, next_rows: first.rows, ..*first });
        let slots: Vec<Batch> = before.into_iter().chain(steps).collect();
        let mut uniforms = vec![0; slots.len() * self.step_stride as usize];
        for (slot, batch) in uniforms.chunks_exact_mut(self.step_stride as usize).zip(&slots) {
            slot[..size_of::<Batch>()].copy_from_slice(bytemuck::bytes_of(batch));
        }
        context.queue.write_buffer(&self.steps, 0, &uniforms);
        let mut pass = encoder.begin_compute_pass(&Default::default());
        let offsets = (0..).step_by(self.step_stride as usize);
        for (offset, batch) in offsets.zip(&slots) {
            let skipped = if batch.rows == 0 { self.dispatches.len() - 1 } else { 0 };
            for dispatch in &self.dispatches[skipped..] {
                dispatch.record(&mut pass, Some((&self.step_group, offset)));
            }
        }
    }
}
