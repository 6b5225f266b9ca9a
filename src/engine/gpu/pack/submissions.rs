//! Submissions of a pack on their way, and what they give.

use std::collections::VecDeque;

use super::group::Group;
use crate::clock::Instant;
use crate::engine::BatchMetrics;
use crate::engine::gpu::bound::MetricSlots;
use crate::engine::gpu::submission_sizing::SubmissionSizing;
use crate::error::Result;
use crate::gpu::{Context, Readback};
use crate::kernels::sum_metrics;
use crate::threads::block;

/// Submissions that may be on their way: one that runs, one that waits.
const IN_FLIGHT: usize = 2;

/// What one batch gave to one network of a pack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemberMetrics {
    /// Which network, from 0 as they were given.
    pub member: usize,
    /// The metrics.
    pub metrics: BatchMetrics,
}

/// What a submission leaves of a group.
struct CopiedMetrics {
    readback: Readback,
    slots: MetricSlots,
}

struct InFlight {
    index: wgpu::SubmissionIndex,
    /// Rows of each batch.
    rows: Vec<usize>,
    copied: Vec<CopiedMetrics>,
    /// How many of `copied` are there.
    ready: usize,
    submitted: Instant,
}

/// The submissions that the device has not finished, or whose metrics were not polled yet.
pub struct PackSubmissions {
    in_flight: VecDeque<InFlight>,
    sizing: SubmissionSizing,
}

impl PackSubmissions {
    /// None yet.
    pub fn new() -> Self {
        Self { in_flight: VecDeque::new(), sizing: SubmissionSizing::new() }
    }

    /// Steps that the next one should have.
    pub fn steps(&mut self) -> usize {
        self.sizing.steps(self.in_flight.is_empty())
    }

    /// Whether nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Whether one more may be submitted.
    pub fn has_room(&self) -> bool {
        self.in_flight.len() < IN_FLIGHT
    }

    /// Submits what is recorded, for batches of `rows` rows, and behind it copies of the metrics of these groups, each with
    /// its networks that are trained.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when the device fails.
    pub fn submit(
        &mut self,
        context: &Context,
        mut encoder: wgpu::CommandEncoder,
        rows: Vec<usize>,
        groups: &[(&Group, Vec<usize>)],
    ) -> Result<()> {
        let copied = groups.iter().map(|(group, live)| {
            let slots = group.slots(live);
            let bytes = (8 * slots.pairs * rows.len()) as u64;
            let readback = Readback::new(context, bytes);
            readback.record(&mut encoder, group.metrics(), bytes);
            CopiedMetrics { readback, slots }
        });
        let copied = copied.collect();
        let index = context.queue.submit([encoder.finish()]);
        self.in_flight.push_back(InFlight { index, rows, copied, ready: 0, submitted: Instant::now() });
        context.check()
    }

    /// The metrics of submissions that have ended. With `wait`, waits for the oldest if none has; none then means that
    /// nothing is on its way.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when the device fails.
    pub fn poll(&mut self, context: &Context, wait: bool) -> Result<Vec<MemberMetrics>> {
        context.poll()?;
        let mut metrics = Vec::new();
        while let Some(oldest) = self.in_flight.front_mut() {
            let waited = !oldest.is_ready()?;
            if waited {
                if !(wait && metrics.is_empty()) {
                    break;
                }
                context.wait(oldest.index.clone())?;
                let mut copied = oldest.copied[oldest.ready..].iter();
                copied.try_for_each(|copied| block(copied.readback.ready()))?;
            }
            let Some(ended) = self.in_flight.pop_front() else { break };
            self.sizing.adapt(ended.submitted, ended.rows.len(), waited);
            ended.take(&mut metrics)?;
        }
        Ok(metrics)
    }
}

impl InFlight {
    fn is_ready(&mut self) -> Result<bool> {
        while let Some(copied) = self.copied.get(self.ready) {
            if !copied.readback.is_ready()? {
                return Ok(false);
            }
            self.ready += 1;
        }
        Ok(true)
    }

    /// Batch after batch, of each all networks.
    fn take(self, metrics: &mut Vec<MemberMetrics>) -> Result<()> {
        let pairs = |copied: &CopiedMetrics| -> Result<Vec<f32>> {
            let bytes = copied.readback.take((8 * copied.slots.pairs * self.rows.len()) as u64)?;
            Ok(bytemuck::pod_collect_to_vec(&bytes))
        };
        let pairs = self.copied.iter().map(pairs).collect::<Result<Vec<_>>>()?;
        for (slot, rows) in self.rows.iter().enumerate() {
            for (copied, pairs) in self.copied.iter().zip(&pairs) {
                let of_slot = &pairs[2 * slot * copied.slots.pairs..];
                for (member, own) in &copied.slots.live {
                    let (loss, correct) = sum_metrics(&of_slot[2 * own.start..2 * own.end]);
                    let metrics_of_batch = BatchMetrics { rows: *rows, loss, correct };
                    metrics.push(MemberMetrics { member: *member, metrics: metrics_of_batch });
                }
            }
        }
        Ok(())
    }
}
