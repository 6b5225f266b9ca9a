//! Evaluation on an adapter: many batches per submission, predictions read back.

use super::GpuEngine;
use super::bound::{BoundSchedule, step_records};
use super::rows::{DeviceRows, stored};
use super::submission_sizing::fitting_steps;
use crate::clock::Instant;
use crate::data::Rows;
use crate::engine::Evaluation;
use crate::error::Result;
use crate::gpu::Readback;
use crate::kernels::{Compute, FeatureFormat, StepRecord, blocks, sum_metrics, unpad_rows};
use crate::schedule::{Buffer, DispatchPlan, TrainingStep};

/// Most bytes read back at a time, unless a single evaluation returns more.
const MOST_READ: u64 = 1 << 24;

/// Location of the parameters for an evaluation.
#[derive(Debug, Clone, Copy)]
pub(super) enum ParametersAt<'a> {
    /// The engine's parameters.
    Engine,
    /// Parameters in a buffer from this byte on, in the engine's layout. They replace the engine's.
    Place(&'a wgpu::Buffer, u64),
}

impl GpuEngine {
    /// Creates the buffers for an evaluation's rows at the first evaluation of this form.
    pub(super) fn prepare_evaluation(&mut self, stored: FeatureFormat) -> Result<()> {
        let key = stored == FeatureFormat::Bytes;
        if !self.evaluation.contains_key(&key) {
            let batch = self.evaluation_batch;
            let capacity = self.window_rows(stored, batch);
            let rows = DeviceRows::new(&self.compute.context, &self.network, None, stored, capacity, batch)?;
            rows.set_identity_order(&self.compute.context);
            let schedule = DispatchPlan::evaluate(
                &TrainingStep { rows: batch, ..self.step() },
                rows.samples(),
                &self.compute.tuning,
            );
            let bound = self.bind(&schedule, &rows, capacity)?;
            self.evaluation.insert(key, (rows, bound));
        }
        Ok(())
    }

    /// Returns loss and predictions of `rows` with each of some parameters, in submissions of about the same
    /// duration as in training.
    pub(super) async fn evaluate_rows(
        &mut self,
        rows: &Rows<'_>,
        parameters: &[ParametersAt<'_>],
    ) -> Result<Vec<Evaluation>> {
        let stored = stored(rows);
        self.prepare_evaluation(stored)?;
        let (device_rows, bound) = &self.evaluation[&(stored == FeatureFormat::Bytes)];
        let batch = self.evaluation_batch;
        let empty = || Evaluation { loss: 0.0, predictions: Vec::with_capacity(rows.len()) };
        let mut evaluations: Vec<Evaluation> = parameters.iter().map(|_| empty()).collect();
        let mut start = 0;
        while start < rows.len() {
            let begun = Instant::now();
            let end = rows.len().min(start + device_rows.capacity.min(batch * self.evaluation_steps));
            let batches = (end - start).div_ceil(batch);
            device_rows.upload(&self.compute.context, rows, start..end, 0)?;
            let metrics = (8 * bound.metrics_groups * batches) as u64;
            let wanted = [(Buffer::Metrics, metrics), (Buffer::Predictions, 4 * (end - start) as u64)];
            let read = self.read_evaluations(bound, end - start, parameters, &wanted).await?;
            for (evaluation, bytes) in evaluations.iter_mut().zip(read) {
                let (metrics, classes) = bytes.split_at(metrics as usize);
                evaluation.loss += sum_metrics(&bytemuck::pod_collect_to_vec(metrics)).0;
                evaluation.predictions.extend(bytemuck::pod_collect_to_vec::<u8, u32>(classes));
            }
            let evaluated = batches * parameters.len().max(1);
            self.evaluation_steps = fitting_steps(begun.elapsed(), evaluated, self.evaluation_steps);
            start = end;
        }
        evaluations.iter_mut().for_each(|evaluation| evaluation.loss /= rows.len() as f64);
        Ok(evaluations)
    }

    /// Returns outputs for `rows` with each of some parameters, [rows, outputs], batch by batch: the device
    /// stores the outputs of one batch.
    pub(super) async fn outputs_of_rows(
        &mut self,
        rows: &Rows<'_>,
        parameters: &[ParametersAt<'_>],
    ) -> Result<Vec<Vec<f32>>> {
        let stored = stored(rows);
        self.prepare_evaluation(stored)?;
        let (device_rows, bound) = &self.evaluation[&(stored == FeatureFormat::Bytes)];
        let (batch, classes) = (self.evaluation_batch, self.network.outputs());
        let empty = || Vec::with_capacity(rows.len() * classes);
        let mut outputs: Vec<Vec<f32>> = parameters.iter().map(|_| empty()).collect();
        for start in (0..rows.len()).step_by(batch) {
            let end = rows.len().min(start + batch);
            device_rows.upload(&self.compute.context, rows, start..end, 0)?;
            let wanted = [(Buffer::Outputs, 16 * (blocks(classes) * (end - start)) as u64)];
            let read = self.read_evaluations(bound, end - start, parameters, &wanted).await?;
            for (outputs, padded) in outputs.iter_mut().zip(read) {
                outputs.extend(unpad_rows(&bytemuck::pod_collect_to_vec::<u8, f32>(&padded), classes));
            }
        }
        Ok(outputs)
    }

    /// Evaluates `rows` rows on the device with each of some parameters. For each, returns the first bytes of
    /// the requested buffers, concatenated.
    async fn read_evaluations(
        &self,
        bound: &BoundSchedule,
        rows: usize,
        parameters: &[ParametersAt<'_>],
        wanted: &[(Buffer, u64)],
    ) -> Result<Vec<Vec<u8>>> {
        let Compute { context, .. } = &self.compute;
        let batches = step_records(0, rows, self.evaluation_batch);
        let batches: Vec<_> = batches.map(|it| StepRecord { output: it.first, ..it }).collect();
        let steps = bound.steps(&batches)?;
        bound.place(context, &steps);
        let bytes_of_one: u64 = wanted.iter().map(|(_, bytes)| bytes).sum();
        let mut read = Vec::with_capacity(parameters.len());
        for parameters in parameters.chunks((MOST_READ / bytes_of_one.max(1)).max(1) as usize) {
            let bytes = bytes_of_one * parameters.len() as u64;
            let target = Readback::new(context, bytes);
            let (mut at, mut last) = (0, None);
            for (number, from) in parameters.iter().enumerate() {
                let mut encoder = context.device.create_command_encoder(&Default::default());
                if let ParametersAt::Place(buffer, start) = from {
                    let bytes = Some(self.layout.weight_bytes());
                    encoder.copy_buffer_to_buffer(buffer, *start, &self.parameters, 0, bytes);
                }
                bound.record(&mut encoder, &steps);
                for (buffer, bytes) in wanted {
                    target.record_to(&mut encoder, bound.buffer(*buffer), *bytes, at);
                    at += bytes;
                }
                if number + 1 == parameters.len() {
                    target.record_end(&encoder, bytes);
                }
                last = Some(context.queue.submit([encoder.finish()]));
            }
            if let Some(last) = last {
                context.ended(last).await?;
                target.ready().await?;
                read.extend(target.take(bytes)?.chunks_exact(bytes_of_one as usize).map(<[u8]>::to_vec));
            }
        }
        Ok(read)
    }
}
