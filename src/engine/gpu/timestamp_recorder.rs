//! Submissions timed for a recorder: their stages, and the timing of each.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::bound::BoundSchedule;
use crate::engine::{Clock, Detail, Member, Recorder, Submission};
use crate::error::Result;
use crate::gpu::{Context, Prepared, StepBinding, Timestamps};
use crate::kernels::{StepRecord, Tuning, grid};
use crate::schedule::{Dispatch, DispatchPlan, unfenced};
use crate::timing::Span;

/// Most stages of one submission, unless a single step has more: their time stamps are in one query set, and
/// some devices allow few queries.
const MOST_STAGES: usize = 2048;

/// Steps of a submission whose stages are all waited for: few, for frequent progress reports.
const HOST_STEPS: usize = 16;

/// Pending time stamps and their stages.
pub struct PendingTimestamps {
    stamps: Timestamps,
    stages: Vec<usize>,
    /// Time before the commands were submitted.
    submitted: u64,
}

/// Times the dispatches of one schedule for a recorder.
pub struct TimestampRecorder {
    recorder: Arc<Recorder>,
    schedule: DispatchPlan,
    tuning: Tuning,
    /// Indices of stages in the recorder's list, by their dispatches.
    stages: HashMap<Vec<usize>, usize>,
    idle: Vec<Timestamps>,
    detail: Detail,
}

impl TimestampRecorder {
    /// Times this schedule on a device. Without time stamps it uses the host's clock.
    pub fn new(context: &Context, recorder: Arc<Recorder>, schedule: DispatchPlan, tuning: Tuning) -> Self {
        let detail = if context.has_timestamps() { recorder.detail() } else { Detail::Host };
        let clock = if detail == Detail::Host { Clock::Host } else { Clock::Timestamps };
        recorder.log().clock = Some(clock);
        Self { recorder, schedule, tuning, stages: HashMap::new(), idle: Vec::new(), detail }
    }

    /// Returns the largest number of steps of a submission.
    pub fn most_steps(&self) -> usize {
        match self.detail {
            // One more for a prologue.
            Detail::Submissions | Detail::Stages => {
                ((MOST_STAGES - 1) / self.schedule.dispatches.len().max(1)).max(1)
            }
            Detail::Host => HOST_STEPS,
        }
    }

    /// Records all dispatches of these steps, with time stamps. Records nothing when timing by the host's
    /// clock: the steps must then be [run](TimestampRecorder::run).
    pub fn record(
        &mut self,
        context: &Context,
        encoder: &mut wgpu::CommandEncoder,
        plan: &BoundSchedule,
        steps: &[StepRecord],
    ) -> Option<PendingTimestamps> {
        self.recorder.log().sizes.push(steps.iter().filter(|step| step.rows > 0).count());
        if self.detail == Detail::Host {
            return None;
        }
        let dispatches: Vec<_> = plan.dispatches(steps).collect();
        let runs = self.runs(&dispatches);
        let idle = self.idle.iter().position(|stamps| stamps.capacity() >= runs.len());
        let stamps =
            idle.map_or_else(|| Timestamps::new(context, runs.len()), |idle| self.idle.swap_remove(idle));
        for (pair, (run, _)) in runs.iter().enumerate() {
            let mut pass = stamps.pass(encoder, pair);
            for (_, dispatch, step) in &dispatches[run.clone()] {
                dispatch.record(&mut pass, Some(*step));
            }
        }
        stamps.record(encoder, runs.len());
        let stages = runs.into_iter().map(|(_, stage)| stage).collect();
        Some(PendingTimestamps { stamps, stages, submitted: 0 })
    }

    /// Runs each stage of these steps separately and waits for it. Call this after the previous submission
    /// has been submitted and the steps have been [placed](BoundSchedule::place).
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when the device fails.
    pub fn run(&mut self, context: &Context, plan: &BoundSchedule, steps: &[StepRecord]) -> Result<()> {
        let dispatches: Vec<_> = plan.dispatches(steps).collect();
        for (run, stage) in self.runs(&dispatches) {
            let mut encoder = context.device.create_command_encoder(&Default::default());
            {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                for (_, dispatch, step) in &dispatches[run] {
                    dispatch.record(&mut pass, Some(*step));
                }
            }
            let commands = encoder.finish();
            let begin = self.recorder.now();
            context.wait(context.queue.submit([commands]))?;
            let span = Span { begin, end: self.recorder.now() };
            let stages = vec![(stage, Some(span))];
            let ended = Submission { submitted: span.begin, seen: span.end, stages };
            self.recorder.log().submissions.push(ended);
        }
        Ok(())
    }

    /// Divides dispatches into stages, each with its index in the recorder's list.
    fn runs(&mut self, dispatches: &[(usize, &Prepared, StepBinding<'_>)]) -> Vec<(Range<usize>, usize)> {
        let sequence: Vec<usize> = dispatches.iter().map(|(place, ..)| *place).collect();
        let runs = match self.detail {
            Detail::Submissions => std::iter::once(0..sequence.len()).collect(),
            Detail::Stages | Detail::Host => unfenced(&self.schedule.dispatches, &sequence),
        };
        runs.into_iter().map(|run| (run.clone(), self.stage(&sequence[run]))).collect()
    }

    /// Stores the time just before the commands are submitted.
    pub fn submit(&self, stamped: &mut PendingTimestamps) {
        stamped.submitted = self.recorder.now();
    }

    /// Reads the stamps of commands that have just been seen to end.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when the stamps cannot be read.
    pub fn take(&mut self, stamped: PendingTimestamps) -> Result<()> {
        let seen = self.recorder.now();
        let PendingTimestamps { stamps, stages, submitted } = stamped;
        let spans = stamps.take(stages.len())?;
        let stages = stages.into_iter().zip(spans).collect();
        self.recorder.log().submissions.push(Submission { submitted, seen, stages });
        self.idle.push(stamps);
        Ok(())
    }

    /// Returns the index of the stage of these dispatches in the recorder's list.
    fn stage(&mut self, dispatches: &[usize]) -> usize {
        // Whole submissions have no names: the recorder's list would grow with each new size.
        let key = if self.detail == Detail::Submissions { &[][..] } else { dispatches };
        if let Some(stage) = self.stages.get(key) {
            return *stage;
        }
        let members = key.iter().map(|place| member(&self.schedule.dispatches[*place], &self.tuning));
        let stage = self.recorder.stage(members.collect());
        self.stages.insert(key.to_vec(), stage);
        stage
    }
}

/// Describes a dispatch and its cost.
fn member(dispatch: &Dispatch, tuning: &Tuning) -> Member {
    let kernel = &*dispatch.kernel;
    let (cost, it) = (kernel.cost(tuning), kernel.description());
    Member {
        kernel: it.shader.name.to_owned(),
        fused: it.fused(),
        shape: it.shape,
        workgroups: grid(kernel, tuning).into_iter().map(u64::from).product(),
        bytes: cost.bytes(),
        flop: cost.flop,
    }
}
