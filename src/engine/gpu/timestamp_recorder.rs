//! Submissions under the eyes of a recorder: which stages they have, and how each is timed.

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

/// Stages of one submission: their stamps stand in one set of queries, of which some devices have few. More only where
/// a single step has more.
const MOST_STAGES: usize = 2048;

/// Steps of a submission whose stages are all waited for: few, so that the run reports its progress often.
const HOST_STEPS: usize = 16;

/// Stamps that are on their way, and what they belong to.
pub struct PendingTimestamps {
    stamps: Timestamps,
    stages: Vec<usize>,
    /// Before the commands were submitted.
    submitted: u64,
}

/// Times the dispatches of one schedule for a recorder.
pub struct TimestampRecorder {
    recorder: Arc<Recorder>,
    schedule: DispatchPlan,
    tuning: Tuning,
    /// Places of stages in the recorder's list, by the dispatches that they consist of.
    stages: HashMap<Vec<usize>, usize>,
    idle: Vec<Timestamps>,
    detail: Detail,
}

impl TimestampRecorder {
    /// Times this schedule on a device. Without time stamps it takes the host's clock.
    pub fn new(context: &Context, recorder: Arc<Recorder>, schedule: DispatchPlan, tuning: Tuning) -> Self {
        let detail = if context.has_timestamps() { recorder.detail() } else { Detail::Host };
        let clock = if detail == Detail::Host { Clock::Host } else { Clock::Timestamps };
        recorder.log().clock = Some(clock);
        Self { recorder, schedule, tuning, stages: HashMap::new(), idle: Vec::new(), detail }
    }

    /// Most steps of a submission.
    pub fn most_steps(&self) -> usize {
        match self.detail {
            // A prologue is one more.
            Detail::Submissions | Detail::Stages => {
                ((MOST_STAGES - 1) / self.schedule.dispatches.len().max(1)).max(1)
            }
            Detail::Host => HOST_STEPS,
        }
    }

    /// Records all dispatches of these steps, with stamps. Records nothing by the host's clock: then they must be
    /// [run](TimestampRecorder::run).
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

    /// Runs each stage of these steps by itself and waits for it. Call it when the submission before has been submitted
    /// and the steps have been [placed](BoundSchedule::place).
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

    /// Divides dispatches into stages, each with its place in the recorder's list.
    fn runs(&mut self, dispatches: &[(usize, &Prepared, StepBinding<'_>)]) -> Vec<(Range<usize>, usize)> {
        let sequence: Vec<usize> = dispatches.iter().map(|(place, ..)| *place).collect();
        let runs = match self.detail {
            Detail::Submissions => std::iter::once(0..sequence.len()).collect(),
            Detail::Stages | Detail::Host => unfenced(&self.schedule.dispatches, &sequence),
        };
        runs.into_iter().map(|run| (run.clone(), self.stage(&sequence[run]))).collect()
    }

    /// The commands are about to be submitted.
    pub fn submit(&self, stamped: &mut PendingTimestamps) {
        stamped.submitted = self.recorder.now();
    }

    /// The commands have ended, as has just been seen.
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

    /// The place of the stage of these dispatches in the recorder's list.
    fn stage(&mut self, dispatches: &[usize]) -> usize {
        // Whole submissions have no names: the recorder's list would grow with every size of them.
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

/// A dispatch for people, and what it costs.
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
