//! Evaluation on an adapter: many batches a submission, predictions read back.

use std::time::Instant;

use super::bound::BoundSchedule;
use super::pace::fitting_steps;
use super::rows::{DeviceRows, stored};
use super::{Evaluation, GpuEngine};
use crate::data::Rows;
use crate::error::Result;
use crate::gpu::read_buffer;
use crate::kernels::{
    Comparison, Compute, FeatureFormat, StepRecord, blocks, compare, positions_where, sum_metrics, unpad_rows,
};
use crate::schedule::{Buffer, Schedule, TrainingStep};

/// Rows whose predictions are compared with their labels at a time.
const COMPARED_ROWS: usize = 1 << 24;

impl GpuEngine {
    /// The rows of an evaluation, made when the first of this form comes.
    fn prepare_evaluation(&mut self, stored: FeatureFormat) -> Result<()> {
        let key = stored == FeatureFormat::Bytes;
        if !self.evaluation.contains_key(&key) {
            let batch = self.evaluation_batch;
            let capacity = self.window_rows(stored, batch);
            let rows = DeviceRows::new(&self.compute.context, &self.network, None, stored, capacity, batch)?;
            rows.set_identity_order(&self.compute.context);
            let schedule = Schedule::evaluate(
                &TrainingStep { rows: batch, ..self.step() },
                rows.samples(),
                &self.compute.tuning,
            );
            let bound = self.bind(&schedule, &rows, capacity)?;
            self.evaluation.insert(key, (rows, bound));
        }
        Ok(())
    }

    /// Loss and predictions of `rows`, in submissions of about as much time as those of training.
    pub(super) fn evaluate_rows(&mut self, rows: &Rows<'_>) -> Result<Evaluation> {
        let stored = stored(rows);
        self.prepare_evaluation(stored)?;
        let (device_rows, bound) = &self.evaluation[&(stored == FeatureFormat::Bytes)];
        let batch = self.evaluation_batch;
        let mut loss = 0.0;
        let mut predictions = Vec::with_capacity(rows.len());
        while predictions.len() < rows.len() {
            let begun = Instant::now();
            let start = predictions.len();
            let end = rows.len().min(start + device_rows.capacity.min(batch * self.evaluation_steps));
            device_rows.upload(&self.compute.context, rows, start..end, 0)?;
            let batches = self.submit_evaluation(bound, end - start)?;
            let metrics = bound.metrics_stride * batches as u64;
            let metrics = read_buffer(&self.compute.context, bound.buffer(Buffer::Metrics), metrics)?;
            loss += sum_metrics(&bytemuck::pod_collect_to_vec(&metrics)).0;
            let classes = 4 * (end - start) as u64;
            let classes = read_buffer(&self.compute.context, bound.buffer(Buffer::Predictions), classes)?;
            predictions.extend(bytemuck::pod_collect_to_vec::<u8, u32>(&classes));
            self.evaluation_steps = fitting_steps(begun.elapsed(), batches, self.evaluation_steps);
        }
        Ok(Evaluation { loss: loss / rows.len() as f64, predictions })
    }

    /// Outputs for `rows`, [rows, outputs], batch by batch: the device keeps those of one.
    pub(super) fn outputs_of_rows(&mut self, rows: &Rows<'_>) -> Result<Vec<f32>> {
        let stored = stored(rows);
        self.prepare_evaluation(stored)?;
        let (device_rows, bound) = &self.evaluation[&(stored == FeatureFormat::Bytes)];
        let (batch, classes) = (self.evaluation_batch, self.network.outputs());
        let mut logits = Vec::with_capacity(rows.len() * classes);
        for start in (0..rows.len()).step_by(batch) {
            let end = rows.len().min(start + batch);
            device_rows.upload(&self.compute.context, rows, start..end, 0)?;
            self.submit_evaluation(bound, end - start)?;
            let bytes = 16 * (blocks(classes) * (end - start)) as u64;
            let padded = read_buffer(&self.compute.context, bound.buffer(Buffer::Outputs), bytes)?;
            logits.extend(unpad_rows(&bytemuck::pod_collect_to_vec::<u8, f32>(&padded), classes));
        }
        Ok(logits)
    }

    /// Submits the batches of an evaluation of so many rows, which stand on the device; gives their number.
    fn submit_evaluation(&self, bound: &BoundSchedule, rows: usize) -> Result<usize> {
        let batch = self.evaluation_batch;
        let batches: Vec<StepRecord> = (0..rows)
            .step_by(batch)
            .zip(0..)
            .map(|(first, slot)| {
                let rows = (rows - first).min(batch) as u32;
                StepRecord { first: first as u32, rows, slot, output: first as u32, ..StepRecord::default() }
            })
            .collect();
        let mut encoder = self.compute.context.device.create_command_encoder(&Default::default());
        let steps = bound.steps(&batches, false)?;
        bound.record(&mut encoder, &steps);
        bound.place(&self.compute.context, &steps);
        self.compute.context.queue.submit([encoder.finish()]);
        Ok(batches.len())
    }
}

/// Which predictions are not their labels: row numbers in ascending order.
pub fn different_rows(compute: &Compute, labels: &[u32], predictions: &[u32]) -> Result<Vec<u32>> {
    let mut errors = Vec::new();
    let chunks = labels.chunks(COMPARED_ROWS).zip(predictions.chunks(COMPARED_ROWS));
    for (start, (labels, predictions)) in (0..).step_by(COMPARED_ROWS).zip(chunks) {
        let (labels, predictions) = (compute.vector(labels)?, compute.vector(predictions)?);
        let different = compare(compute, Comparison::Different, &labels, &predictions)?;
        let rows = positions_where(compute, &different)?.read(compute)?;
        errors.extend(rows.into_iter().map(|row| start + row));
    }
    Ok(errors)
}
