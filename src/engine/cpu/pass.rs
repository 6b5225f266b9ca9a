//! The threads of a run, from its first batch to its last.

use std::thread;

use super::CpuEngine;
use super::divided::DividedNetwork;
use super::meeting::{Meeting, SPINS};
use super::parts::{Parts, Turn};
use super::phases::{Phases, costs};
use super::plan::{Phase, Plan};
use super::sparse::is_sparse;
use crate::data::Rows;
use crate::engine::BatchMetrics;
use crate::step::StepRecord;
use crate::threads::spawn_scoped;

/// A pass over some rows.
pub struct Pass<'a> {
    network: &'a DividedNetwork,
    rows: &'a Rows<'a>,
    order: &'a [u32],
    batch: usize,
    sparse: bool,
    /// Those of a step.
    phases: Vec<Phase>,
    /// Of each step.
    records: Vec<StepRecord>,
    metrics: Parts<BatchMetrics>,
    meeting: Meeting,
    /// The first region among those of all passes.
    first_region: u64,
    watched: Option<Phases>,
}

impl<'a> Pass<'a> {
    /// Over the rows that `order` names. The engine is borrowed mutably so that nobody else computes with it.
    pub fn new(engine: &'a mut CpuEngine, rows: &'a Rows<'a>, order: &'a [u32]) -> Self {
        let CpuEngine { network, options, steps, observer, .. } = engine;
        let (plan, sparse, batch) = (network.plan, is_sparse(rows), options.batch);
        // Where a thread does whole steps, another that has not even begun to gather by its end is away.
        let patience = if plan == Plan::Apart { 0 } else { SPINS };
        let phases = plan.phases(network.above.len(), options.rule.clip_norm.is_some());
        let records: Vec<StepRecord> = order
            .chunks(batch)
            .zip(*steps..)
            .map(|(order, step)| StepRecord { rows: order.len() as u32, ..options.rule.record(step) })
            .collect();
        let watched = observer.as_ref().map(|recorder| {
            let costs = costs(plan, &network.network, options, rows, sparse);
            Phases::new(recorder, costs, records.len())
        });
        let none = |record: &StepRecord| BatchMetrics { rows: record.rows as usize, loss: 0.0, correct: 0 };
        Self {
            network,
            rows,
            order,
            batch,
            sparse,
            metrics: records.iter().map(none).collect(),
            meeting: Meeting::new(plan.threads(), patience),
            first_region: Turn::regions(1 + records.len() * phases.len()),
            phases,
            records,
            watched,
        }
    }

    /// Trains on all batches; gives the metrics of each, in their order.
    pub fn train(self) -> Vec<BatchMetrics> {
        thread::scope(|scope| {
            let this = &self;
            for number in 1..this.network.plan.threads() {
                // Those that are there do the parts of one that the system does not start.
                let _ = spawn_scoped(scope, move || this.work(number));
            }
            this.work(0);
        });
        self.metrics.into_values().collect()
    }

    /// Thread `number`.
    fn work(&self, number: usize) {
        let _presence = self.meeting.presence();
        let watch = self.watched.as_ref().map(|phases| phases.watch(number));
        let meet = |region: usize, work: &dyn Fn(usize)| {
            let meet = || {
                self.meeting.region(number, region, |part| {
                    let _turn = Turn::enter(self.first_region + region as u64, part);
                    work(part);
                });
            };
            match &watch {
                None => meet(),
                Some(watch) => watch.meet(meet),
            }
        };
        let time = |phase: Option<usize>, work: &dyn Fn()| match &watch {
            None => work(),
            Some(watch) => watch.time(phase, work),
        };
        meet(0, &|part| {
            if part < self.network.plan.parts() {
                time(Some(0), &|| self.gather(part, 0));
            }
        });
        for step in 0..self.records.len() {
            let numbered = || (1 + step * self.phases.len()..).zip(&self.phases);
            if self.network.plan == Plan::Apart {
                meet(1 + step, &|part| match part {
                    0 => numbered().for_each(|(number, phase)| {
                        time(Some(number), &|| self.compute(*phase, part, step));
                    }),
                    _ => time(None, &|| self.gather(0, step + 1)),
                });
            } else {
                for (number, phase) in numbered() {
                    meet(number, &|part| {
                        time(Some(number), &|| {
                            self.compute(*phase, part, step);
                            if *phase == Phase::Update {
                                self.gather(part, step + 1);
                            }
                        });
                    });
                }
            }
        }
    }

    /// Part `part` of the inputs of a step, if there is one.
    fn gather(&self, part: usize, step: usize) {
        if let Some(order) = self.order.chunks(self.batch).nth(step) {
            self.network.gather(part, self.network.inputs_of(step), self.rows, order, self.sparse);
        }
    }

    /// Part `part` of a phase of a step.
    fn compute(&self, phase: Phase, part: usize, step: usize) {
        let of_step = self.network.training_step(step, &self.records[step]);
        self.network.compute(phase, part, of_step);
        if phase == Phase::Update && part == 0 {
            *self.metrics.write(step) = self.network.metrics(of_step);
        }
    }
}
