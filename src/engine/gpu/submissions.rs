//! Submissions on their way: sized by measured time, their metrics read back without a stall.

use std::collections::VecDeque;

use super::bound::{BoundSchedule, MOST_STEPS};
use super::encoder_thread::EncoderThread;
use super::submission_sizing::SubmissionSizing;
use super::timestamp_recorder::{PendingTimestamps, TimestampRecorder};
use crate::clock::Instant;
use crate::engine::{BatchMetrics, Observer, Work, recorder};
use crate::error::Result;
use crate::gpu::{Context, Readback};
use crate::kernels::{StepRecord, sum_metrics};
use crate::schedule::Buffer;

/// Submissions that may be on their way: one that runs, one that waits, one whose commands the finisher makes.
const IN_FLIGHT: usize = 3;

/// A submission that the finisher still has, whose metrics will go to `readback`.
struct Recorded {
    rows: Vec<usize>,
    readback: Readback,
    metrics_stride: u64,
    stamped: Option<PendingTimestamps>,
}

/// A submission whose metrics are still to come.
struct InFlight {
    index: wgpu::SubmissionIndex,
    rows: Vec<usize>,
    readback: Readback,
    metrics_stride: u64,
    submitted: Instant,
    stamped: Option<PendingTimestamps>,
}

/// The submissions of a run that the device has not finished, or whose metrics were not polled yet.
pub struct Submissions {
    encoder_thread: EncoderThread,
    recorded: Option<Recorded>,
    in_flight: VecDeque<InFlight>,
    idle: Vec<Readback>,
    sizing: SubmissionSizing,
    observer: Observer,
    /// Times what is submitted, for the observer.
    timestamps: Option<TimestampRecorder>,
}

impl Submissions {
    /// None yet; the first will be of one step, so that something is known soon.
    ///
    /// # Errors
    /// As [`EncoderThread::new`].
    pub fn new() -> Result<Self> {
        let encoder_thread = EncoderThread::new()?;
        let (in_flight, idle) = (VecDeque::new(), Vec::new());
        Ok(Self {
            encoder_thread,
            recorded: None,
            in_flight,
            idle,
            sizing: SubmissionSizing::new(),
            observer: None,
            timestamps: None,
        })
    }

    /// Sets the observer, or none; submission sizes start again from one step.
    pub fn observe(&mut self, observer: Observer) {
        (self.observer, self.timestamps) = (observer, None);
        self.sizing = SubmissionSizing::new();
    }

    /// Who observes.
    pub fn observer(&self) -> &Observer {
        &self.observer
    }

    /// Who observes, as long as nothing is stamped for it.
    pub fn unstamped(&self) -> Observer {
        self.observer.clone().filter(|_| self.timestamps.is_none())
    }

    /// From now on this one times what is submitted.
    pub fn stamp(&mut self, timestamps: TimestampRecorder) {
        self.timestamps = Some(timestamps);
    }

    /// Steps that the next one should have: what the observer asks for, or what fits. Ask once for each.
    pub fn steps(&mut self) -> usize {
        let asked = self.observer.as_ref().and_then(|recorder| recorder.next_size());
        let most = self.timestamps.as_ref().map_or(MOST_STEPS, TimestampRecorder::most_steps);
        let is_idle = self.is_idle();
        asked.unwrap_or_else(|| self.sizing.steps(is_idle)).min(most)
    }

    /// Whether one more may be recorded.
    pub fn has_room(&self) -> bool {
        self.in_flight.len() <= IN_FLIGHT - 2
    }

    /// Whether nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.recorded.is_none()
    }

    /// Submits what is recorded. Call it before writing to a buffer that those commands use: what is written goes
    /// before all that is submitted later.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when the device fails.
    pub fn flush(&mut self, context: &Context) -> Result<()> {
        if let Some(Recorded { rows, readback, metrics_stride, mut stamped }) = self.recorded.take() {
            let commands = self.encoder_thread.receive()?;
            if let (Some(timestamps), Some(stamped)) = (&self.timestamps, &mut stamped) {
                timestamps.submit(stamped);
            }
            let submitting = recorder::begin(&self.observer, Work::Submitting);
            let index = context.queue.submit([commands]);
            drop(submitting);
            context.check()?;
            let submitted = Instant::now();
            self.in_flight.push_back(InFlight { index, rows, readback, metrics_stride, submitted, stamped });
        }
        Ok(())
    }

    /// Records some batches. They are submitted once the next are recorded, or by [`Submissions::flush`].
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when the device fails.
    pub fn record(&mut self, context: &Context, bound: &BoundSchedule, batches: &[StepRecord]) -> Result<()> {
        let bytes = bound.metrics_stride * MOST_STEPS as u64;
        let readback = self.idle.pop().unwrap_or_else(|| Readback::new(context, bytes));
        let mut encoder = context.device.create_command_encoder(&Default::default());
        let steps = bound.steps(batches, self.timestamps.as_ref().is_some_and(TimestampRecorder::alone))?;
        let stamped = match &mut self.timestamps {
            None => {
                bound.record(&mut encoder, &steps);
                None
            }
            Some(timestamps) => timestamps.record(context, &mut encoder, bound, &steps),
        };
        let used = bound.metrics_stride * batches.len() as u64;
        readback.record(&mut encoder, bound.buffer(Buffer::Metrics), used);
        self.flush(context)?;
        bound.place(context, &steps);
        if let (Some(timestamps), None) = (&mut self.timestamps, &stamped) {
            // The encoder has only what comes behind them.
            timestamps.run(context, bound, &steps)?;
        }
        self.encoder_thread.send(encoder, self.observer.clone())?;
        let metrics_stride = bound.metrics_stride;
        let rows = batches.iter().map(|batch| batch.rows as usize).collect();
        self.recorded = Some(Recorded { rows, readback, metrics_stride, stamped });
        Ok(())
    }

    /// The metrics of submissions that have ended. With `wait`, waits for the oldest if none has; none then means that
    /// nothing is on its way.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when the device fails.
    pub async fn poll(&mut self, context: &Context, wait: bool) -> Result<Vec<BatchMetrics>> {
        context.poll()?;
        if wait && self.in_flight.is_empty() {
            self.flush(context)?;
        }
        let mut metrics = Vec::new();
        while let Some(oldest) = self.in_flight.front() {
            let waited = !oldest.readback.is_ready()?;
            if waited {
                if !(wait && metrics.is_empty()) {
                    break;
                }
                let _waiting = recorder::begin(&self.observer, Work::Waiting);
                context.ended(oldest.index.clone()).await?;
                oldest.readback.ready().await?;
            }
            let Some(mut ended) = self.in_flight.pop_front() else { break };
            if let (Some(timestamps), Some(stamped)) = (&mut self.timestamps, ended.stamped.take()) {
                timestamps.take(stamped)?;
            }
            self.sizing.adapt(ended.submitted, ended.rows.len(), waited);
            self.take(ended, &mut metrics)?;
        }
        Ok(metrics)
    }

    fn take(&mut self, ended: InFlight, metrics: &mut Vec<BatchMetrics>) -> Result<()> {
        let stride = ended.metrics_stride;
        let bytes = ended.readback.take(stride * ended.rows.len() as u64)?;
        self.idle.push(ended.readback);
        for (slot, rows) in bytes.chunks_exact(stride as usize).zip(&ended.rows) {
            let (loss, correct) = sum_metrics(&bytemuck::pod_collect_to_vec(slot));
            metrics.push(BatchMetrics { rows: *rows, loss, correct });
        }
        Ok(())
    }
}
