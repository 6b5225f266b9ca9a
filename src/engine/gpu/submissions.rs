//! Submissions on their way: sized by measured time, their metrics read back without a stall.

use std::collections::VecDeque;

use super::bound::{BoundSchedule, MOST_STEPS, MetricSlots};
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

/// What one batch gave to one network of a pack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemberMetrics {
    /// Which network, from 0 as they were given; 0 where there is one.
    pub member: usize,
    /// The metrics.
    pub metrics: BatchMetrics,
}

/// A submission that the finisher still has, whose metrics will go to `readback`.
struct Recorded {
    /// Rows of each batch.
    rows: Vec<usize>,
    readback: Readback,
    /// What `readback` has, one behind the other: slot after slot of each.
    metrics: Vec<MetricSlots>,
    stamped: Option<PendingTimestamps>,
}

/// A submission whose metrics are still to come.
struct InFlight {
    index: wgpu::SubmissionIndex,
    submitted: Instant,
    recorded: Recorded,
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
        Ok(Self {
            encoder_thread: EncoderThread::new()?,
            recorded: None,
            in_flight: VecDeque::new(),
            idle: Vec::new(),
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
        if let Some(mut recorded) = self.recorded.take() {
            let commands = self.encoder_thread.receive()?;
            if let (Some(timestamps), Some(stamped)) = (&self.timestamps, &mut recorded.stamped) {
                timestamps.submit(stamped);
            }
            let submitting = recorder::begin(&self.observer, Work::Submitting);
            let index = context.queue.submit([commands]);
            drop(submitting);
            context.check()?;
            self.in_flight.push_back(InFlight { index, submitted: Instant::now(), recorded });
        }
        Ok(())
    }

    /// Records some batches. They are submitted once the next are recorded, or by [`Submissions::flush`].
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when the device fails.
    pub fn record(&mut self, context: &Context, bound: &BoundSchedule, batches: &[StepRecord]) -> Result<()> {
        let mut encoder = context.device.create_command_encoder(&Default::default());
        let steps = bound.steps(batches)?;
        let stamped = match &mut self.timestamps {
            None => {
                bound.record(&mut encoder, &steps);
                None
            }
            Some(timestamps) => timestamps.record(context, &mut encoder, bound, &steps),
        };
        self.flush(context)?;
        bound.place(context, &steps);
        if let (Some(timestamps), None) = (&mut self.timestamps, &stamped) {
            // The encoder has only what comes behind them.
            timestamps.run(context, bound, &steps)?;
        }
        let pairs = bound.metrics_groups;
        let metrics = vec![(bound.buffer(Buffer::Metrics), MetricSlots { pairs, live: vec![(0, 0..pairs)] })];
        let rows = batches.iter().map(|batch| batch.rows as usize).collect();
        self.send(context, encoder, rows, metrics, stamped)
    }

    /// Sends what is recorded for batches of `rows` rows to be finished, and behind it copies of the metrics in these buffers.
    /// Call it when the submission before is [flushed](Submissions::flush).
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when the device fails.
    pub fn send(
        &mut self,
        context: &Context,
        mut encoder: wgpu::CommandEncoder,
        rows: Vec<usize>,
        metrics: Vec<(&wgpu::Buffer, MetricSlots)>,
        stamped: Option<PendingTimestamps>,
    ) -> Result<()> {
        let bytes = |slots: &MetricSlots| (8 * slots.pairs * rows.len()) as u64;
        let all = metrics.iter().map(|(_, slots)| bytes(slots)).sum();
        let most = metrics.iter().map(|(buffer, _)| buffer.size()).sum();
        let idle = self.idle.iter().position(|idle| idle.size() >= all);
        let readback = idle.map_or_else(|| Readback::new(context, most), |idle| self.idle.swap_remove(idle));
        let mut at = 0;
        for (buffer, slots) in &metrics {
            readback.record_to(&mut encoder, buffer, bytes(slots), at);
            at += bytes(slots);
        }
        readback.record_end(&encoder, all);
        self.encoder_thread.send(encoder, self.observer.clone())?;
        let metrics = metrics.into_iter().map(|(_, slots)| slots).collect();
        self.recorded = Some(Recorded { rows, readback, metrics, stamped });
        Ok(())
    }

    /// The metrics of submissions that have ended. With `wait`, waits for the oldest if none has; none then means that
    /// nothing is on its way.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when the device fails.
    pub async fn poll(&mut self, context: &Context, wait: bool) -> Result<Vec<MemberMetrics>> {
        context.poll()?;
        if wait && self.in_flight.is_empty() {
            self.flush(context)?;
        }
        let mut metrics = Vec::new();
        while let Some(InFlight { index, recorded: oldest, .. }) = self.in_flight.front() {
            let waited = !oldest.readback.is_ready()?;
            if waited {
                if !(wait && metrics.is_empty()) {
                    break;
                }
                let _waiting = recorder::begin(&self.observer, Work::Waiting);
                context.ended(index.clone()).await?;
                oldest.readback.ready().await?;
            }
            let Some(InFlight { submitted, mut recorded, .. }) = self.in_flight.pop_front() else { break };
            if let (Some(timestamps), Some(stamped)) = (&mut self.timestamps, recorded.stamped.take()) {
                timestamps.take(stamped)?;
            }
            self.sizing.adapt(submitted, recorded.rows.len(), waited);
            recorded.take(&mut metrics)?;
            self.idle.push(recorded.readback);
        }
        Ok(metrics)
    }
}

impl Recorded {
    /// Batch after batch, of each all networks.
    fn take(&self, metrics: &mut Vec<MemberMetrics>) -> Result<()> {
        let pairs: usize = self.metrics.iter().map(|slots| slots.pairs).sum();
        let bytes = self.readback.take((8 * pairs * self.rows.len()) as u64)?;
        let numbers: Vec<f32> = bytemuck::pod_collect_to_vec(&bytes);
        for (slot, rows) in self.rows.iter().enumerate() {
            let mut start = 0;
            for slots in &self.metrics {
                let of_slot = &numbers[2 * (start + slot * slots.pairs)..];
                start += slots.pairs * self.rows.len();
                for (member, own) in &slots.live {
                    let (loss, correct) = sum_metrics(&of_slot[2 * own.start..2 * own.end]);
                    let metrics_of_batch = BatchMetrics { rows: *rows, loss, correct };
                    metrics.push(MemberMetrics { member: *member, metrics: metrics_of_batch });
                }
            }
        }
        Ok(())
    }
}
