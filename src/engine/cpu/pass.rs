//! The threads of a run, from its first batch to its last.

use std::sync::mpsc::{self, Sender};
use std::thread;

use super::meeting::{Meeting, SPINS};
use super::phases::{Phases, costs};
use super::plan::{Phase, Plan};
use super::sparse::is_sparse;
use super::{CpuEngine, write};
use crate::data::Rows;
use crate::engine::BatchMetrics;
use crate::error::Result;
use crate::threads::spawn_scoped;

/// A pass over some rows.
pub struct Pass<'a> {
    engine: &'a CpuEngine,
    rows: &'a Rows<'a>,
    order: &'a [u32],
    sparse: bool,
    /// Those of a step.
    phases: Vec<Phase>,
    meeting: Meeting,
    record: Option<Phases>,
}

impl<'a> Pass<'a> {
    /// Over the rows that `order` names.
    pub fn new(engine: &'a CpuEngine, rows: &'a Rows<'a>, order: &'a [u32]) -> Self {
        let (plan, sparse) = (engine.plan, is_sparse(rows));
        // Where a thread does whole steps, another that has not even begun to gather by its end is away.
        let patience = if plan == Plan::Apart { 0 } else { SPINS };
        let record = engine.observer.as_ref().map(|recorder| {
            let costs = costs(plan, &engine.network, engine.batch, rows, sparse);
            Phases::new(recorder, costs, order.len().div_ceil(engine.batch))
        });
        Self {
            engine,
            rows,
            order,
            sparse,
            phases: plan.phases(engine.others.len()),
            meeting: Meeting::new(plan.threads(), patience),
            record,
        }
    }

    /// Trains on all batches; gives the metrics of each, in their order.
    pub fn train(&self) -> Result<Vec<BatchMetrics>> {
        let (metrics, received) = mpsc::channel();
        thread::scope(|scope| {
            for number in 1..self.engine.plan.threads() {
                let metrics = metrics.clone();
                let work = move || self.work(number, &metrics);
                // Those that are there do the parts of one that the system does not start.
                let _ = spawn_scoped(scope, work);
            }
            self.work(0, &metrics);
        });
        Ok(received.try_iter().collect())
    }

    /// Thread `number`. Metrics go to `metrics`.
    fn work(&self, number: usize, metrics: &Sender<BatchMetrics>) {
        let _presence = self.meeting.presence();
        let watch = self.record.as_ref().map(|phases| phases.watch(number));
        let meet = |region: usize, work: &dyn Fn(usize)| match &watch {
            None => self.meeting.region(number, region, work),
            Some(watch) => watch.meet(|| self.meeting.region(number, region, work)),
        };
        let time = |phase: Option<usize>, work: &dyn Fn()| match &watch {
            None => work(),
            Some(watch) => watch.time(phase, work),
        };
        meet(0, &|part| {
            if part < self.engine.plan.parts() {
                time(Some(0), &|| self.gather(part, 0));
            }
        });
        for (step, batch) in self.order.chunks(self.engine.batch).enumerate() {
            let numbered = || (1 + step * self.phases.len()..).zip(&self.phases);
            if self.engine.plan == Plan::Apart {
                meet(1 + step, &|part| match part {
                    0 => numbered().for_each(|(number, phase)| {
                        time(Some(number), &|| self.compute(*phase, part, step, batch.len(), metrics));
                    }),
                    _ => time(None, &|| self.gather(0, step + 1)),
                });
            } else {
                for (number, phase) in numbered() {
                    meet(number, &|part| {
                        time(Some(number), &|| {
                            self.compute(*phase, part, step, batch.len(), metrics);
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
        if let Some(batch) = self.order.chunks(self.engine.batch).nth(step) {
            self.engine.gather(part, step, self.rows, batch, self.sparse);
        }
    }

    /// Part `part` of a phase of a step with so many rows.
    fn compute(&self, phase: Phase, part: usize, step: usize, rows: usize, metrics: &Sender<BatchMetrics>) {
        let engine = self.engine;
        if phase != Phase::Update {
            return engine.compute(phase, part, step, -engine.rate / rows as f32);
        }
        engine.add_gradient(part, step, &mut write(&engine.first[part]).panel, &engine.others);
        if part == 0 {
            // Nobody receives them when the run has ended with an error.
            let _ = metrics.send(engine.metrics(rows));
        }
    }
}
