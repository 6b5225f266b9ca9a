//! A schedule with its buffers on the device and all kernels compiled and bound, ready to be recorded.

use std::collections::BTreeMap;
use std::ops::Range;

use super::rows::DeviceRows;
use crate::error::{Error, Result};
use crate::gpu::{Context, Pipelines, Prepared, StepBinding, StepRecords};
use crate::kernels::{StepRecord, Tuning, prepare, program};
use crate::schedule::{Buffer, DispatchPlan};

/// Most steps of one submission.
pub const MOST_STEPS: usize = 1024;

/// Most bytes of the optimizers' numbers of a submission, which are written before it, and of its metrics,
/// which are read after it.
pub const RULE_BYTES: usize = 16 << 20;

/// A slot of the metrics, with the trained networks of a group.
pub struct MetricSlots {
    /// Pairs (loss, correct).
    pub pairs: usize,
    /// Number in the pack, and the network's range of pairs.
    pub live: Vec<(usize, Range<usize>)>,
}

/// Returns the records of batches of `batch` rows that divide the `rows` positions from `first` on, slot
/// after slot.
pub fn step_records(first: usize, rows: usize, batch: usize) -> impl Iterator<Item = StepRecord> {
    (0..rows).step_by(batch).zip(0..).map(move |(start, slot)| StepRecord {
        first: (first + start) as u32,
        rows: batch.min(rows - start) as u32,
        slot,
        ..StepRecord::default()
    })
}

/// The buffers and dispatches of one batch shape.
pub struct BoundSchedule {
    dispatches: Vec<Prepared>,
    buffers: BTreeMap<Buffer, wgpu::Buffer>,
    carried: StepRecords,
    prologue: bool,
    /// Upper bounds of all records: rows, slot, start of predictions.
    most: StepRecord,
    /// Positions of the order, the limit of every batch.
    positions: usize,
    /// Pairs (loss, correct) of one step.
    pub metrics_groups: usize,
}

impl BoundSchedule {
    /// Creates the buffers of the batch and binds every dispatch. Up to `predictions` rows can be predicted
    /// before they are read.
    ///
    /// # Errors
    /// When the device has no buffers of such sizes, or rejects a kernel.
    pub fn new(
        context: &Context,
        pipelines: &Pipelines,
        schedule: &DispatchPlan,
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
            Buffer::Targets => &rows.targets,
            Buffer::Order => &rows.order,
            Buffer::Parameters => parameters,
            other => &buffers[other],
        };
        let kernels = schedule.dispatches.iter().map(|dispatch| &*dispatch.kernel);
        pipelines.compile(context, kernels.map(|kernel| program(kernel, tuning, context.transport)))?;
        // Upper bounds of the records of `steps`; the order has room for at least one batch.
        let behind = |all: usize| all.saturating_sub(schedule.rows) as u32;
        let most = StepRecord {
            first: behind(rows.positions),
            rows: schedule.rows as u32,
            slot: MOST_STEPS as u32 - 1,
            output: behind(predictions),
            ..StepRecord::default()
        };
        let dispatches = schedule
            .dispatches
            .iter()
            .map(|dispatch| {
                let bound: Vec<&wgpu::Buffer> = dispatch.buffers.iter().map(resolve).collect();
                prepare(context, pipelines, &*dispatch.kernel, tuning, &bound, &most)
            })
            .collect::<Result<Vec<_>>>()?;
        // One more for a prologue.
        let carried = StepRecords::new(context, size_of::<StepRecord>(), MOST_STEPS + 1, 1, 1);
        let positions = rows.positions;
        Ok(Self {
            dispatches,
            buffers,
            carried,
            prologue: schedule.prologue,
            most,
            positions,
            metrics_groups: schedule.metrics_groups,
        })
    }

    /// Returns a buffer of the batch.
    pub fn buffer(&self, buffer: Buffer) -> &wgpu::Buffer {
        &self.buffers[&buffer]
    }

    /// Returns the records of these batches (at most [`MOST_STEPS`]), step by step: a prologue is a batch of
    /// no rows.
    ///
    /// # Errors
    /// [`Error::Config`] for a batch beyond the order, or beyond another limit that the kernels were bound
    /// to.
    pub fn steps(&self, batches: &[StepRecord]) -> Result<Vec<StepRecord>> {
        let fits = |it: &StepRecord| {
            let end = it.first as usize + it.rows as usize;
            let within =
                it.rows <= self.most.rows && it.slot <= self.most.slot && it.output <= self.most.output;
            within && end <= self.positions
        };
        if let Some(it) = batches.iter().find(|batch| !fits(batch)) {
            let (first, end) = (it.first, u64::from(it.first) + u64::from(it.rows));
            return Err(Error::Config(format!("the device has no rows {first} to {end}")));
        }
        let next_rows = batches.iter().skip(1).map(|next| next.rows).chain([0]);
        let steps =
            batches.iter().zip(next_rows).map(|(batch, next_rows)| StepRecord { next_rows, ..*batch });
        // Submissions are independent, so each begins with a prologue.
        let before = batches.first().filter(|_| self.prologue);
        let before = before.map(|first| StepRecord { rows: 0, next_rows: first.rows, ..*first });
        Ok(before.into_iter().chain(steps).collect())
    }

    /// Returns all dispatches of these steps: each with its index in the schedule and the record of its step.
    pub fn dispatches<'a>(
        &'a self,
        steps: &'a [StepRecord],
    ) -> impl Iterator<Item = (usize, &'a Prepared, StepBinding<'a>)> {
        let bindings = self.carried.each(bytemuck::cast_slice(steps), 1);
        bindings.zip(steps).flat_map(|(step, batch)| {
            let skipped = if batch.rows == 0 { self.dispatches.len() - 1 } else { 0 };
            self.dispatches
                .iter()
                .enumerate()
                .skip(skipped)
                .map(move |(place, dispatch)| (place, dispatch, step))
        })
    }

    /// Records all dispatches of these steps in one pass.
    pub fn record(&self, encoder: &mut wgpu::CommandEncoder, steps: &[StepRecord]) {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for (_, dispatch, step) in self.dispatches(steps) {
            dispatch.record(&mut pass, Some(step));
        }
    }

    /// Writes the records of the next submission's batches. Call this before recording it, and after the
    /// previous one is submitted.
    pub fn place(&self, context: &Context, steps: &[StepRecord]) {
        self.carried.write(context, bytemuck::cast_slice(steps), 1);
    }
}
