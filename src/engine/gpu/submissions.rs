//! Submissions in flight: sized by measured time, with metrics read back without a stall.

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

/// Most submissions in flight: one running, one waiting, one whose commands are being finished.
const IN_FLIGHT: usize = 3;

/// Metrics of one batch for one network of a pack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemberMetrics {
    /// Number of the network, from 0 in the given order; 0 for a single network.
    pub member: usize,
    /// The metrics.
    pub metrics: BatchMetrics,
}

/// A submission whose encoder is being finished, and whose metrics will go to `readback`.
struct Recorded {
    /// Rows of each batch.
    rows: Vec<usize>,
    readback: Readback,
    /// Slots of the metrics in `readback`, concatenated.
    metrics: Vec<MetricSlots>,
    stamped: Option<PendingTimestamps>,
}

/// A submission whose metrics have not arrived.
struct InFlight {
    index: wgpu::SubmissionIndex,
    submitted: Instant,
    recorded: Recorded,
}

/// Submissions of a run that the device has not finished, or whose metrics were not polled yet.
pub struct Submissions {
    encoder_thread: EncoderThread,
    recorded: Option<Recorded>,
    in_flight: VecDeque<InFlight>,
    idle: Vec<Readback>,
    sizing: SubmissionSizing,
    observer: Observer,
    /// Times submissions for the observer.
    timestamps: Option<TimestampRecorder>,
}

impl Submissions {
    /// Creates an empty queue; the first submission will have one step, for an early measurement.
    ///
    /// # Errors
    /// See [`EncoderThread::new`].
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

    /// Returns the observer.
    pub fn observer(&self) -> &Observer {
        &self.observer
    }

    /// Returns the observer, unless time stamps are recorded for it.
    pub fn unstamped(&self) -> Observer {
        self.observer.clone().filter(|_| self.timestamps.is_none())
    }

    /// Times later submissions with this recorder.
    pub fn stamp(&mut self, timestamps: TimestampRecorder) {
        self.timestamps = Some(timestamps);
    }

    /// Returns the number of steps of the next submission: the observer's request, or the number that fits.
    /// Call this once per submission.
    pub fn steps(&mut self) -> usize {
        let asked = self.observer.as_ref().and_then(|recorder| recorder.next_size());
        let most = self.timestamps.as_ref().map_or(MOST_STEPS, TimestampRecorder::most_steps);
        let is_idle = self.is_idle();
        asked.unwrap_or_else(|| self.sizing.steps(is_idle)).min(most)
    }

    /// Returns whether one more submission may be recorded.
    pub fn has_room(&self) -> bool {
        self.in_flight.len() <= IN_FLIGHT - 2
    }

    /// Returns whether nothing is in flight.
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.recorded.is_none()
    }

    /// Submits the recorded commands. Call this before writing to a buffer that they use: writes take effect
    /// before all later submissions.
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
            // The encoder has only the commands after these steps.
            timestamps.run(context, bound, &steps)?;
        }
        let pairs = bound.metrics_groups;
        let metrics = vec![(bound.buffer(Buffer::Metrics), MetricSlots { pairs, live: vec![(0, 0..pairs)] })];
        let rows = batches.iter().map(|batch| batch.rows as usize).collect();
        self.send(context, encoder, rows, metrics, stamped)
    }

    /// Sends the recorded commands for batches of `rows` rows to be finished, followed by copies of the
    /// metrics in these buffers. Call this after the previous submission is [flushed](Submissions::flush).
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

    /// Returns the metrics of submissions that have ended. With `wait`, waits for the oldest if none has; an
    /// empty result then means that nothing is in flight.
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
    /// Appends the metrics batch after batch, each with all networks.
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
