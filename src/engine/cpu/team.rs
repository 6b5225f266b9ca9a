//! Networks trained together by one thread: each batch is gathered once for all of them.
//!
//! Gathering depends only on the rows, their order and the batch size, and is half of a step of a small
//! network. Each step of a network is the list of phases of [`CpuEngine`] with one thread, so its bits are
//! the same.

use std::sync::{Arc, OnceLock};

use super::evaluation::{Evaluated, EvaluationOutput, evaluate};
use super::inputs::Inputs;
use super::packed_rows::{PackedRows, is_sparse};
use super::partitioned_network::PartitionedNetwork;
use super::parts::Parts;
use super::plan::Plan;
use super::{CpuEngine, ceilings, evaluation, fitting_steps, skipped_groups};
use crate::clock::Instant;
use crate::data::Rows;
use crate::engine::augmented::AugmentedRows;
use crate::engine::order::{HostOrder, check_epoch, check_order};
use crate::engine::{Batches, Description, Evaluation, Inference};
use crate::error::{Error, Result};
use crate::model::Network;
use crate::step::StepRecord;
use crate::threads::steps_of_piece;
use crate::timing::Ceilings;

/// Rows of a turn: each network trains on this number of gathered rows before the next one does. More rows
/// load its weights into the nearest caches less often; fewer keep the gathered rows closer.
const TURN_ROWS: usize = 1 << 10;

/// Most inputs of a turn.
const TURN_INPUTS: usize = 1 << 20;

/// Networks that the calling thread trains together on the processor. They share rows, order and batch size,
/// and may differ in everything else. Each is trained to the same bits as by [`CpuEngine`], independently of
/// the others.
pub struct CpuTeam {
    members: Vec<Option<CpuEngine>>,
    batch: usize,
    /// Batches per turn.
    turn: usize,
    rows: Arc<TeamRows>,
    /// Distorted rows of the epoch instead of the shared rows, and their packed form if they skip zeros.
    augmented: Option<(AugmentedRows, Option<PackedRows>)>,
    gathered: Vec<Gathered>,
    host_order: HostOrder,
    /// Steps per call.
    pub(super) slice: usize,
    description: Description,
}

/// Packed rows for teams that skip zeros, available once one of them has trained; shared by all teams that
/// train on the same rows.
#[derive(Default)]
pub struct TeamRows(OnceLock<Option<PackedRows>>);

impl TeamRows {
    /// Returns the packed rows, or `None` if they have few zeros. `rows` must be the same at each call.
    fn get(&self, rows: &Rows<'_>) -> Option<&PackedRows> {
        let packed = || {
            skipped_groups(rows).map(|groups| {
                let mut packed = PackedRows::new(groups);
                packed.extend(rows, rows.len());
                packed
            })
        };
        self.0.get_or_init(packed).as_ref()
    }
}

/// Some gathered batches, for all networks that use the same form.
struct Gathered {
    /// Number of sections of the lists, or `None` for whole rows.
    sections: Option<usize>,
    /// One share for each batch.
    batches: Vec<Parts<Inputs>>,
}

impl CpuTeam {
    /// Creates a team of these networks, each with one thread. Its training rows are shared through `rows`.
    ///
    /// # Errors
    /// [`Error::Config`] when there are no networks, or when they cannot share batches.
    pub fn new(members: Vec<CpuEngine>, rows: &Arc<TeamRows>) -> Result<Self> {
        let shared = |engine: &CpuEngine| (engine.options.batch, engine.network.network.columns());
        let Some((batch, columns)) = members.first().map(shared) else {
            return Err(Error::Config("expected networks of a team, found none".to_owned()));
        };
        if let Some(other) = members.iter().map(shared).find(|other| *other != (batch, columns)) {
            let text = format!(
                "expected batches of {batch} rows of {columns} columns, found {} of {}",
                other.0, other.1
            );
            return Err(Error::Config(text));
        }
        let distortion = members[0].options.distortion;
        if members.iter().any(|engine| engine.options.distortion != distortion) {
            return Err(Error::Config("expected the same distortions, found different ones".to_owned()));
        }
        if let Some(engine) = members.iter().find(|engine| engine.network.plan.threads() != 1) {
            let text = format!("expected one thread a network, found {}", engine.network.plan.threads());
            return Err(Error::Config(text));
        }
        Ok(Self {
            batch,
            turn: (TURN_ROWS.min(TURN_INPUTS / columns.max(1)) / batch).max(1),
            description: members[0].description(),
            slice: (members.iter().map(|engine| engine.slice).min().unwrap_or(1) / members.len()).max(1),
            augmented: distortion.map(|distortion| (AugmentedRows::new(distortion), None)),
            members: members.into_iter().map(Some).collect(),
            rows: Arc::clone(rows),
            gathered: Vec::new(),
            host_order: HostOrder::default(),
        })
    }

    /// Returns the form in which a network uses a batch. A team gathers each form once, so networks of the
    /// same form share the most.
    pub fn form(network: &Network) -> usize {
        if network.input_layer().is_some() { 0 } else { Plan::first_pieces(network) }
    }

    /// Returns the description of the engine, valid for each network.
    pub fn description(&self) -> Description {
        self.description.clone()
    }

    /// Measures the ceilings of one thread.
    pub fn ceilings(&self) -> Ceilings {
        ceilings::measure(1)
    }

    /// Returns a network; `None` if it was stopped.
    pub fn member(&mut self, number: usize) -> Option<&mut CpuEngine> {
        self.members[number].as_mut()
    }

    /// Stops training this network and drops it.
    pub fn stop(&mut self, number: usize) {
        self.members[number] = None;
    }

    /// Trains all networks that have not stopped on `batches`, as
    /// [`Engine::submit`](crate::engine::Engine::submit) does one. Each keeps its metrics until it is polled.
    /// The rows must be the same for the team's lifetime.
    ///
    /// # Errors
    /// [`Error::Config`] for rows that do not exist.
    pub fn submit(&mut self, batches: &Batches<'_>) -> Result<usize> {
        check_epoch(batches)?;
        let mut host_order = std::mem::take(&mut self.host_order);
        let order = host_order.rows(batches);
        let taken = order.len().min(steps_of_piece(self.slice).saturating_mul(self.batch));
        check_order(&batches.rows, order[..taken].iter().map(|row| *row as usize))?;
        let begun = Instant::now();
        let has_dense = self.members.iter().flatten().any(|engine| engine.network.has_dense_inputs());
        let (mut augmented, shared) = (self.augmented.take(), Arc::clone(&self.rows));
        match &mut augmented {
            Some((distorted, packed)) => {
                if distorted.update(&batches.rows, batches.epoch, 1) {
                    // The undistorted rows decide, so that a resumed run decides alike.
                    let groups = if has_dense { skipped_groups(&batches.rows) } else { None };
                    *packed = groups.map(PackedRows::new);
                }
                let rows = distorted.view(&batches.rows);
                packed.iter_mut().for_each(|packed| packed.extend(&rows, rows.len()));
                self.train(&rows, packed.as_ref(), &order[..taken]);
            }
            None => {
                let packed = if has_dense { shared.get(&batches.rows) } else { None };
                self.train(&batches.rows, packed, &order[..taken]);
            }
        }
        self.augmented = augmented;
        self.slice = fitting_steps(begun.elapsed(), taken.div_ceil(self.batch), self.slice);
        self.host_order = host_order;
        Ok(taken)
    }

    /// Returns loss and predictions for `rows` of each network that has not stopped, as
    /// [`Inference::evaluate`](crate::engine::Inference::evaluate) does.
    pub fn evaluate(&mut self, rows: &Rows<'_>) -> Vec<Option<Evaluation>> {
        let each = self.evaluated(rows, EvaluationOutput::Evaluation, |_, sparse| sparse);
        each.into_iter().map(|evaluated| evaluated.map(evaluation)).collect()
    }

    /// Returns outputs for `rows` of each network that has not stopped, as
    /// [`Inference::outputs`](crate::engine::Inference::outputs) does.
    pub fn outputs(&mut self, rows: &Rows<'_>) -> Vec<Option<Vec<f32>>> {
        let decide = |engine: &mut CpuEngine, sparse| *engine.sparse_outputs.get_or_insert(sparse);
        let each = self.evaluated(rows, EvaluationOutput::Outputs, decide);
        each.into_iter().map(|evaluated| evaluated.map(|evaluated| evaluated.outputs)).collect()
    }

    /// Evaluates some rows with each network, on one thread. `decide` returns whether a network skips their
    /// zeros, given whether that pays.
    fn evaluated(
        &mut self,
        rows: &Rows<'_>,
        wanted: EvaluationOutput,
        decide: impl Fn(&mut CpuEngine, bool) -> bool,
    ) -> Vec<Option<Evaluated>> {
        let rows_are_sparse = is_sparse(rows);
        let mut all: Vec<Option<Evaluated>> = self.members.iter().map(|_| None).collect();
        let mut divided: [(Vec<usize>, Vec<&mut PartitionedNetwork>); 2] = Default::default();
        for (number, engine) in self.members.iter_mut().enumerate() {
            let Some(engine) = engine else { continue };
            let pays = engine.network.has_dense_inputs() && rows_are_sparse;
            let (numbers, networks) = &mut divided[usize::from(decide(engine, pays))];
            numbers.push(number);
            networks.push(&mut engine.network);
        }
        for (sparse, (numbers, mut networks)) in [false, true].into_iter().zip(divided) {
            if !networks.is_empty() {
                let evaluated = evaluate(&mut networks, rows, 1, sparse, wanted);
                numbers.into_iter().zip(evaluated).for_each(|(number, each)| all[number] = Some(each));
            }
        }
        all
    }

    fn train(&mut self, rows: &Rows<'_>, packed: Option<&PackedRows>, order: &[u32]) {
        self.take_groups(packed, rows.inputs);
        let Self { members, batch, turn, gathered, .. } = self;
        let mut live: Vec<&mut CpuEngine> = members.iter_mut().flatten().collect();
        for order in order.chunks(*turn * *batch) {
            for Gathered { sections, batches } in gathered.iter() {
                let Some(engine) = live.iter().find(|engine| engine.sections() == *sections) else {
                    continue;
                };
                let packed = packed.filter(|_| sections.is_some());
                for (order, to) in order.chunks(*batch).zip(batches) {
                    engine.network.gather(0, to, rows, order, packed);
                }
            }
            for engine in &mut live {
                let sections = engine.sections();
                let own = gathered.iter().filter(|gathered| gathered.sections == sections);
                let batches = own.flat_map(|own| order.chunks(*batch).map(<[u32]>::len).zip(&own.batches));
                engine.train_batches(batches);
            }
        }
    }

    /// Sets the same skipped groups for all networks, and makes room for gathered batches.
    fn take_groups(&mut self, packed: Option<&PackedRows>, inputs: usize) {
        for engine in self.members.iter_mut().flatten() {
            if engine.sparse.is_none() {
                engine.take_groups(packed.map(PackedRows::groups), inputs);
            }
            let sections = engine.sections();
            if self.gathered.iter().all(|gathered| gathered.sections != sections) {
                let share = || [Inputs::default()].into_iter().collect();
                let batches = (0..self.turn).map(|_| share()).collect();
                self.gathered.push(Gathered { sections, batches });
            }
        }
    }
}

impl CpuEngine {
    /// Returns the number of sections of the input lists; `None` if the network uses whole rows.
    fn sections(&self) -> Option<usize> {
        self.sparse.filter(|sparse| *sparse).map(|_| self.network.panels.len())
    }

    /// Trains on gathered batches, each with its number of rows, on the calling thread only.
    fn train_batches<'a>(&mut self, batches: impl Iterator<Item = (usize, &'a Parts<Inputs>)>) {
        let Self { network, options, steps, ended, .. } = self;
        for (rows, inputs) in batches {
            let record = StepRecord { rows: rows as u32, ..options.rule.record(*steps) };
            let step = network.training_step(inputs, &record);
            // The inputs are already gathered, so the gather phase does nothing.
            network.regions.iter().flatten().for_each(|phase| network.compute(*phase, 0, step));
            ended.push(network.metrics(step));
            *steps += 1;
        }
    }
}
