//! Submissions on their way: sized by measured time, their metrics read back without a stall.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::bound::{BoundSchedule, MOST_STEPS};
use super::finisher::Finisher;
use super::stamper::{Stamped, Stamper};
use crate::engine::{BatchMetrics, Observer, Sink, Work, recorder};
use crate::error::Result;
use crate::gpu::{Context, Readback};
use crate::kernels::{Batch, sum_metrics};
use crate::schedule::Buffer;

/// Submissions that may be on their way: one that runs, one that waits, one whose commands the finisher makes.
const IN_FLIGHT: usize = 3;

/// How long a submission should take: short enough that the progress bar moves and no watchdog bites, long enough
/// that its own cost does not count.
const SUBMISSION_TIME: Duration = Duration::from_millis(50);

/// A submission that the finisher still has, whose metrics will go to `readback`.
struct Recorded {
    rows: Vec<usize>,
    readback: Readback,
    metrics_stride: u64,
    stamped: Option<Stamped>,
}

/// A submission whose metrics are still to come.
struct InFlight {
    index: wgpu::SubmissionIndex,
    rows: Vec<usize>,
    readback: Readback,
    metrics_stride: u64,
    submitted: Instant,
    stamped: Option<Stamped>,
}

/// The submissions of a run that the device has not finished, or whose metrics nobody has heard of.
pub struct Submissions {
    finisher: Finisher,
    recorded: Option<Recorded>,
    in_flight: VecDeque<InFlight>,
    idle: Vec<Readback>,
    steps: usize,
    last_ready: Option<Instant>,
    listener: Observer,
    /// Times what is submitted, for the listener.
    stamper: Option<Stamper>,
}

impl Submissions {
    /// None yet; the first will be of one step, so that something is known soon.
    ///
    /// # Errors
    /// As [`Finisher::new`].
    pub fn new() -> Result<Self> {
        let finisher = Finisher::new()?;
        let (in_flight, idle) = (VecDeque::new(), Vec::new());
        Ok(Self {
            finisher,
            recorded: None,
            in_flight,
            idle,
            steps: 1,
            last_ready: None,
            listener: None,
            stamper: None,
        })
    }

    /// From now on this one is told what happens when, or nobody; and sizes are found anew, from one step on.
    pub fn observe(&mut self, listener: Observer) {
        (self.listener, self.stamper) = (listener, None);
        (self.steps, self.last_ready) = (1, None);
    }

    /// Who is told.
    pub fn listener(&self) -> &Observer {
        &self.listener
    }

    /// Who is told, as long as nothing is stamped for it.
    pub fn unstamped(&self) -> Observer {
        self.listener.clone().filter(|_| self.stamper.is_none())
    }

    /// From now on this one times what is submitted.
    pub fn stamp(&mut self, stamper: Stamper) {
        self.stamper = Some(stamper);
    }

    /// Steps that the next one should have: what the listener asks for, or what fits. Ask once for each.
    pub fn steps(&self) -> usize {
        let asked = self.listener.as_ref().and_then(|recorder| recorder.next_size());
        let most = self.stamper.as_ref().map_or(MOST_STEPS, Stamper::most_steps);
        asked.unwrap_or(self.steps).min(most)
    }

    /// Waits until one more may be submitted.
    ///
    /// # Errors
    /// Those of the device and of `sink`.
    pub fn make_room(&mut self, context: &Context, sink: &mut Sink<'_>) -> Result<()> {
        self.collect(context, IN_FLIGHT - 2, sink)
    }

    /// Waits until all have ended and `sink` has heard of them.
    ///
    /// # Errors
    /// Those of the device and of `sink`.
    pub fn finish(&mut self, context: &Context, sink: &mut Sink<'_>) -> Result<()> {
        self.flush(context)?;
        self.collect(context, 0, sink)
    }

    /// Submits what is recorded. Call it before writing to a buffer that those commands use: what is written goes
    /// before all that is submitted later.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when the device fails.
    pub fn flush(&mut self, context: &Context) -> Result<()> {
        if let Some(Recorded { rows, readback, metrics_stride, mut stamped }) = self.recorded.take() {
            let commands = self.finisher.take()?;
            if let (Some(stamper), Some(stamped)) = (&self.stamper, &mut stamped) {
                stamper.submit(stamped);
            }
            let submitting = recorder::begin(&self.listener, Work::Submitting);
            let index = context.queue.submit([commands]);
            drop(submitting);
            context.check()?;
            let submitted = Instant::now();
            self.in_flight.push_back(InFlight { index, rows, readback, metrics_stride, submitted, stamped });
        }
        Ok(())
    }

    /// Records some whole batches (the last may be shorter), which begin at position `first` of the order. They are
    /// submitted once the next are recorded, or by [`Submissions::flush`].
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when the device fails.
    pub fn record(
        &mut self,
        context: &Context,
        plan: &BoundSchedule,
        first: usize,
        rows: &[usize],
    ) -> Result<()> {
        let mut position = first;
        let batches: Vec<Batch> = (0..)
            .zip(rows)
            .map(|(slot, rows)| {
                let batch = Batch { first: position as u32, rows: *rows as u32, slot, ..Batch::default() };
                position += rows;
                batch
            })
            .collect();
        let bytes = plan.metrics_stride * MOST_STEPS as u64;
        let readback = self.idle.pop().unwrap_or_else(|| Readback::new(context, bytes));
        let mut encoder = context.device.create_command_encoder(&Default::default());
        let steps = plan.steps(&batches);
        let stamped = match &mut self.stamper {
            None => {
                plan.record(&mut encoder, &steps);
                None
            }
            Some(stamper) => stamper.record(context, &mut encoder, plan, &steps),
        };
        let used = plan.metrics_stride * batches.len() as u64;
        readback.record(&mut encoder, plan.buffer(Buffer::Metrics), used);
        self.flush(context)?;
        plan.place(context, &steps);
        if let (Some(stamper), None) = (&mut self.stamper, &stamped) {
            // The encoder has only what comes behind them.
            stamper.run(context, plan, &steps)?;
        }
        self.finisher.begin(encoder, self.listener.clone())?;
        let metrics_stride = plan.metrics_stride;
        self.recorded = Some(Recorded { rows: rows.to_vec(), readback, metrics_stride, stamped });
        Ok(())
    }

    /// Hands on the metrics of submissions that have ended; waits until at most `most` are in flight.
    fn collect(&mut self, context: &Context, most: usize, sink: &mut Sink<'_>) -> Result<()> {
        context.poll()?;
        while let Some(oldest) = self.in_flight.front() {
            let waited = !oldest.readback.is_ready()?;
            if waited {
                if self.in_flight.len() <= most {
                    break;
                }
                let _waiting = recorder::begin(&self.listener, Work::Waiting);
                context.wait(oldest.index.clone())?;
                oldest.readback.wait()?;
            }
            let Some(mut ended) = self.in_flight.pop_front() else { break };
            if let (Some(stamper), Some(stamped)) = (&mut self.stamper, ended.stamped.take()) {
                stamper.take(stamped)?;
            }
            self.adapt(&ended, waited);
            self.report(ended, sink)?;
        }
        Ok(())
    }

    /// Sizes the next submissions by how long this one took. If nobody `waited` for it, it may have ended long ago and
    /// the host was late: that is no reason for smaller ones.
    fn adapt(&mut self, ended: &InFlight, waited: bool) {
        let now = Instant::now();
        let started = self.last_ready.map_or(ended.submitted, |ready| ready.max(ended.submitted));
        self.last_ready = Some(now);
        let fitting = fitting_steps(now - started, ended.rows.len(), self.steps);
        self.steps = if waited { fitting } else { fitting.max(self.steps) };
    }

    fn report(&mut self, ended: InFlight, sink: &mut Sink<'_>) -> Result<()> {
        let stride = ended.metrics_stride;
        let bytes = ended.readback.take(stride * ended.rows.len() as u64)?;
        self.idle.push(ended.readback);
        for (slot, rows) in bytes.chunks_exact(stride as usize).zip(&ended.rows) {
            let (loss, correct) = sum_metrics(&bytemuck::pod_collect_to_vec(slot));
            sink(BatchMetrics { rows: *rows, loss, correct })?;
        }
        Ok(())
    }
}

/// How many steps fit into [`SUBMISSION_TIME`] if `steps` of them took so long; not more than twice as many as
/// `before`, since one measurement may be a fluke.
pub fn fitting_steps(time: Duration, steps: usize, before: usize) -> usize {
    let step = time.as_secs_f64().max(1e-9) / steps as f64;
    let fitting = (SUBMISSION_TIME.as_secs_f64() / step) as usize;
    fitting.clamp(1, (2 * before).min(MOST_STEPS))
}
