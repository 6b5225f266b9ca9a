//! Threads of a run, from its first batch to its last.

use std::sync::{Mutex, PoisonError};

use super::CpuEngine;
use super::barrier::{Barrier, SPINS};
use super::costs::costs;
use super::packed_rows::{PackedRows, share_taken};
use super::partitioned_network::PartitionedNetwork;
use super::phases::Phases;
use super::plan::{Phase, Plan};
use crate::data::Rows;
use crate::engine::BatchMetrics;
use crate::step::StepRecord;
use crate::threads::beside;

/// Threads of a pass over some rows.
pub struct EpochWorkers<'a> {
    network: &'a PartitionedNetwork,
    rows: &'a Rows<'a>,
    order: &'a [u32],
    batch: usize,
    /// The same rows in packed form, if zeros are skipped.
    packed: Option<&'a PackedRows>,
    /// The phases of a step, by regions.
    regions: Vec<Vec<Phase>>,
    /// One record per step.
    records: Vec<StepRecord>,
    /// Metrics of finished steps.
    metrics: Mutex<Vec<BatchMetrics>>,
    barrier: Barrier,
    watched: Option<Phases>,
}

impl CpuEngine {
    /// Starts a pass over the rows in `order`. The mutable borrow keeps the engine from other computations.
    pub(super) fn epoch_workers<'a>(&'a mut self, rows: &'a Rows<'a>, order: &'a [u32]) -> EpochWorkers<'a> {
        let sparse = self.skips_zeros(rows);
        let Self { network, options, steps, observer, packed, .. } = self;
        let (plan, batch) = (network.plan, options.batch);
        if sparse {
            packed.extend(rows, rows.len());
        }
        // If a thread does whole steps, another thread that has not begun to gather by then has no core.
        let patience = if plan == Plan::Apart { 0 } else { SPINS };
        let mut regions = network.regions.clone();
        if plan == Plan::Apart {
            // One region with all phases except gathering, which another thread does at the same time.
            regions = vec![regions.concat().into_iter().filter(|phase| *phase != Phase::Gather).collect()];
        }
        let records: Vec<StepRecord> = order
            .chunks(batch)
            .zip(*steps..)
            .map(|(order, step)| StepRecord { rows: order.len() as u32, ..options.rule.record(step) })
            .collect();
        let watched = observer.as_ref().map(|recorder| {
            let phases: Vec<Phase> = regions.concat();
            let share = sparse.then(|| share_taken(rows, &network.groups));
            let costs = costs(plan, &phases, &network.network, options, rows, share);
            Phases::new(recorder, costs)
        });
        EpochWorkers {
            network,
            rows,
            order,
            batch,
            packed: sparse.then_some(&*packed),
            metrics: Mutex::default(),
            barrier: Barrier::new(plan.threads(), patience),
            regions,
            records,
            watched,
        }
    }
}

impl EpochWorkers<'_> {
    /// Trains on all batches and returns their metrics in order. Running threads take over the parts of
    /// threads that do not run.
    pub fn train(self) -> Vec<BatchMetrics> {
        beside(self.network.plan.threads() - 1, |number| self.work(number));
        self.metrics.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs thread `number`.
    fn work(&self, number: usize) {
        let _presence = self.barrier.panic_guard();
        let watch = self.watched.as_ref().map(|phases| phases.watch(number));
        let meet = |region: usize, work: &dyn Fn(usize)| {
            let meet = || self.barrier.region(number, region, work);
            match &watch {
                None => meet(),
                Some(watch) => watch.wait(meet),
            }
        };
        let time = |phase: Option<usize>, work: &dyn Fn()| match &watch {
            None => work(),
            Some(watch) => watch.time(phase, work),
        };
        let apart = self.network.plan.steps_of_region();
        meet(0, &|part| {
            if part < self.network.plan.parts() {
                time(Some(0), &|| (0..apart).for_each(|step| self.gather(part, step)));
            }
        });
        let count: usize = self.regions.iter().map(Vec::len).sum();
        // Does part `part` of some phases of a step, after the first `before` phases; does nothing after the
        // last step.
        let compute = |phases: &[Phase], before: usize, part: usize, step: usize| {
            for (phase, number) in phases.iter().zip(1 + step * count + before..) {
                let steps = self.records.len();
                if step < steps && (*phase != Phase::Gather || step + 1 < steps) {
                    time(Some(number), &|| self.compute(*phase, part, step));
                }
            }
        };
        let steps = 0..self.records.len();
        let [first, others @ ..] = &self.regions[..] else { return };
        if others.is_empty() {
            for (region, start) in (1..).zip(steps.step_by(apart)) {
                meet(region, &|part| match part {
                    0 => (start..start + apart).for_each(|step| compute(first, 0, part, step)),
                    _ => time(None, &|| {
                        (start + apart..start + 2 * apart).for_each(|step| self.gather(0, step));
                    }),
                });
            }
            return;
        }
        let mut region = 1;
        meet(region, &|part| compute(first, 0, part, 0));
        for step in steps {
            let mut before = first.len();
            for (number, phases) in (1..).zip(others) {
                region += 1;
                meet(region, &|part| {
                    compute(phases, before, part, step);
                    if number == others.len() {
                        compute(first, 0, part, step + 1);
                    }
                });
                before += phases.len();
            }
        }
    }

    /// Gathers part `part` of the inputs of a step, if the step exists.
    fn gather(&self, part: usize, step: usize) {
        if let Some(order) = self.order.chunks(self.batch).nth(step) {
            self.network.gather(part, self.network.inputs_of(step), self.rows, order, self.packed);
        }
    }

    /// Computes part `part` of a phase of a step.
    fn compute(&self, phase: Phase, part: usize, step: usize) {
        if phase == Phase::Gather {
            return self.gather(part, step + 1);
        }
        let of_step = self.network.training_step(self.network.inputs_of(step), &self.records[step]);
        self.network.compute(phase, part, of_step);
        if phase == Phase::Update && part == 0 {
            let mut metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
            metrics.push(self.network.metrics(of_step));
        }
    }
}
