//! Training batches: uploads rows and their order, and records steps.

use super::GpuEngine;
use super::bound::{BoundSchedule, MOST_STEPS, step_records};
use super::rows::{DeviceRows, ORDER_POSITIONS, row_bytes, stored};
use super::timestamp_recorder::TimestampRecorder;
use crate::data::Rows;
use crate::engine::augmented::Distorter;
use crate::engine::order::{check_epoch, check_order};
use crate::engine::{Batches, EngineOptions, Work, begin};
use crate::error::Result;
use crate::kernels::{Compute, FeatureFormat, LossTargets, Samples, StepRecord};
use crate::schedule::DispatchPlan;
use crate::threads::available;

/// Most bytes of a data set that stays on the device; the amount of its memory cannot be queried.
const RESIDENT_BYTES: u64 = 1 << 30;

/// Bytes of features on the device at a time if a data set does not stay there.
const WINDOW_BYTES: u64 = 16 << 20;

/// Rows on the device and their training schedule.
pub(super) struct Training {
    rows: DeviceRows,
    bound: BoundSchedule,
    /// Rows of the data set on the device; a window keeps none of them for long.
    uploaded: usize,
    is_window: bool,
    /// Whether earlier rows passed through a window, while their number was unknown.
    was_window: bool,
    /// Half of the order buffer that receives the next piece of the order.
    half: usize,
}

impl Training {
    /// Begins again with no rows. Returns `None` if rows passed through a window while their number was
    /// unknown: they begin with a window again.
    pub fn restarted(self) -> Option<Self> {
        let mut training = Some(self).filter(|training| !training.was_window)?;
        training.uploaded = 0;
        if let Some(augmenter) = &mut training.rows.augmenter {
            augmenter.restart();
        }
        Some(training)
    }
}

impl GpuEngine {
    fn training_schedule(&self, samples: Samples) -> DispatchPlan {
        DispatchPlan::train(self.selected.kind, &self.step(), samples, &self.compute.tuning)
    }

    /// Returns the format of targets on the device in training.
    pub(super) fn targets(&self) -> LossTargets {
        let EngineOptions { rule, weighted, .. } = &self.options;
        LossTargets { loss: self.network.loss(), smoothing: rule.label_smoothing, weighted: *weighted }
    }

    /// Returns readable descriptions of the dispatches of a step.
    pub(super) fn dispatches(&self) -> Vec<String> {
        let schedule = self.training_schedule(Samples { stored: FeatureFormat::Bytes, count: 1 });
        schedule.dispatches.iter().map(|dispatch| dispatch.describe(&self.compute.tuning)).collect()
    }

    /// Returns the rows of a window for batches of `batch` rows: whole batches, at least one.
    pub(super) fn window_rows(&self, stored: FeatureFormat, batch: usize) -> usize {
        let budget = WINDOW_BYTES.min(self.compute.context.largest_storage());
        let rows = (budget / row_bytes(self.network.columns(), stored)) as usize;
        batch * (rows.min(ORDER_POSITIONS) / batch).clamp(1, MOST_STEPS)
    }

    /// Creates the buffers and schedule for `rows`: the whole set on the device if its size is known and
    /// fits, else a window through which it passes.
    fn prepare_training(&mut self, rows: &Rows<'_>) -> Result<Training> {
        let (stored, batch) = (stored(rows), self.options.batch);
        let resident = self.resident_rows(rows);
        let capacity = resident.unwrap_or_else(|| self.window_rows(stored, batch));
        let device_rows = DeviceRows::new(
            &self.compute.context,
            &self.network,
            Some(self.targets()),
            stored,
            capacity,
            batch,
        )?;
        let distortion = self.options.distortion.filter(|_| resident.is_some());
        let device_rows = device_rows.distorted_by(&self.compute.context, distortion)?;
        if resident.is_none() {
            device_rows.set_identity_order(&self.compute.context);
        }
        let bound = self.bind(&self.training_schedule(device_rows.samples()), &device_rows, 0)?;
        let is_window = resident.is_none();
        Ok(Training { rows: device_rows, bound, uploaded: 0, is_window, was_window: false, half: 0 })
    }

    /// Returns the rows of the whole set, if their number is known and the device has room for them.
    fn resident_rows(&self, rows: &Rows<'_>) -> Option<usize> {
        let bytes = row_bytes(self.network.columns(), stored(rows));
        let most = self.compute.context.largest_storage().min(RESIDENT_BYTES);
        rows.total.filter(|total| bytes * *total as u64 <= most)
    }

    /// Returns the buffers and schedule for `rows`, with resident rows uploaded.
    fn take_training(&mut self, rows: &Rows<'_>) -> Result<Training> {
        // A set of unknown size passed through a window; with its size known it may stay on the device.
        let may_stay = self.resident_rows(rows).is_some();
        let mut training = match self.training.take() {
            Some(training) if !(training.is_window && may_stay) => training,
            before => Training { was_window: before.is_some(), ..self.prepare_training(rows)? },
        };
        if let Some(recorder) = self.submissions.unstamped() {
            let schedule = self.training_schedule(training.rows.samples());
            let Compute { context, tuning, .. } = &self.compute;
            self.submissions.stamp(TimestampRecorder::new(context, recorder, schedule, *tuning));
        }
        if !training.is_window && training.uploaded < rows.len() {
            let context = &self.compute.context;
            let _upload = begin(self.submissions.observer(), Work::Upload);
            training.rows.upload(context, rows, training.uploaded..rows.len(), training.uploaded)?;
            training.uploaded = rows.len();
        }
        Ok(training)
    }

    /// Records one submission of `batches`, or nothing if there is no room; returns the number of positions
    /// taken.
    pub(super) fn submit_batches(&mut self, batches: &Batches<'_>) -> Result<usize> {
        if !self.submissions.has_room() || batches.positions.is_empty() {
            return Ok(0);
        }
        check_epoch(batches)?;
        let mut training = self.take_training(&batches.rows)?;
        let (compute, submissions) = (&self.compute, &mut self.submissions);
        let flush = || submissions.flush(&compute.context);
        training.rows.distort(compute, batches.epoch, training.uploaded, flush)?;
        let taken = self.submit_piece(&mut training, batches);
        self.training = Some(training);
        taken
    }

    fn submit_piece(&mut self, training: &mut Training, batches: &Batches<'_>) -> Result<usize> {
        let (context, batch) = (&self.compute.context, self.options.batch);
        let positions = batches.positions.clone();
        let half = training.rows.positions / 2 / batch * batch;
        let most = if training.is_window { training.rows.capacity } else { usize::MAX };
        let steps = self.submissions.steps();
        let whole = positions.len().min(steps.saturating_mul(batch)).min(most);
        let taken = whole.min(half.max(batch));
        let order = &self.host_order.rows(batches)[..taken];
        check_order(&batches.rows, order.iter().map(|row| *row as usize))?;
        let upload = begin(self.submissions.observer(), Work::Upload);
        let first = if training.is_window {
            self.submissions.flush(context)?;
            let features = match &self.options.distortion {
                Some(distortion) => {
                    let (epoch, threads) = (batches.epoch, available());
                    Distorter { distortion, epoch, first: 0, threads }.copies(&batches.rows, order)
                }
                None => batches.rows.features.rows(batches.rows.inputs, order),
            };
            training.rows.upload_gathered(context, &batches.rows, order, &features)?;
            0
        } else {
            // Recorded steps that are not yet submitted read their order from the other half.
            if half == 0 {
                self.submissions.flush(context)?;
            }
            let first = training.half * half;
            training.half = 1 - training.half;
            training.rows.set_order(context, first, order);
            first
        };
        drop(upload);
        let trained = |StepRecord { first, rows, slot, .. }| StepRecord {
            first,
            rows,
            slot,
            ..self.options.rule.record(self.steps + u64::from(slot))
        };
        let records: Vec<StepRecord> = step_records(first, taken, batch).map(trained).collect();
        self.steps += records.len() as u64;
        let _recording = begin(self.submissions.observer(), Work::Recording);
        self.submissions.record(context, &training.bound, &records)?;
        if taken == positions.len() {
            // The caller may wait for more rows next.
            self.submissions.flush(context)?;
            self.host_order.prefetch(batches);
        }
        Ok(taken)
    }
}
