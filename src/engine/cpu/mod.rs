//! Training on the processor.
//!
//! The threads of a run go through every step together, in regions between which they meet (`plan.rs`). Each
//! thread has a part (`step.rs`):
//!
//! 1. by columns: computes its panels of the first layer for all rows, and their sums for the second layer;
//! 2. by rows: takes its rows forward through the other layers and back to the second layer's deltas; gathers its share of
//!    the next batch (`fused_layers.rs`). If these layers are large, by columns, layer by layer (`by_columns.rs`): large
//!    products pack the weights, and if every thread took its rows through all layers, each would pack all of them;
//! 3. by columns of the first layer and rows of the others' weights: computes its panels' deltas and updates its own
//!    weights, after computing the norm of their gradients if it is clipped; then begins the next step.
//!
//! A step too small to be divided is done by one thread, while another gathers the next batch.
//!
//! One thread trains several small networks from batches that are gathered once (`team.rs`).
//!
//! The division into pieces and the order of sums do not depend on the number of threads, so the results are
//! bit-identical for any number. `parts.rs` lists the data that each phase writes and reads. Its locks
//! enforce these rules; no thread waits for them.

mod aligned;
mod barrier;
mod ceilings;
mod costs;
mod dense_layer;
mod dots;
mod epoch_workers;
mod evaluation;
mod first_layer;
mod groups;
mod input_panel;
mod inputs;
mod loss;
mod matrix;
mod outputs;
mod packed;
mod packed_rows;
mod partition;
mod partitioned_network;
mod parts;
mod periodic;
mod phases;
mod plan;
mod product;
mod sparse_products;
mod sparse_rows;
mod team;
mod tensors;
#[cfg(test)]
mod tests;
mod tiles;
mod view;

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use evaluation::{Evaluated, EvaluationOutput, evaluate};
use groups::Groups;
use packed_rows::{PackedRows, is_sparse};
use partitioned_network::{PartitionedNetwork, Step};
use plan::{Phase, Plan};
pub use team::{CpuTeam, TeamRows};

use crate::clock::Instant;
use crate::data::Rows;
use crate::engine::augmented::AugmentedRows;
use crate::engine::order::{HostOrder, check_epoch, check_order, unpolled};
use crate::engine::{
    BatchMetrics, Batches, Description, Engine, EngineKind, EngineOptions, EngineState, Evaluation,
    Inference, Observer, Waiting, Work, begin,
};
use crate::error::{Error, Result};
use crate::model::{Network, Parameters};
use crate::step::StepRecord;
use crate::threads::{available, steps_of_piece};
use crate::timing::Ceilings;

/// Rows of the batch per thread at least; with fewer another thread does not pay.
const ROWS_A_THREAD: usize = 16;

/// Multiply-adds of a step per thread at least; synchronizing another thread costs about this much.
const WORK_A_THREAD: usize = 3 << 14;

/// Most steps of the first call of [`Engine::submit`].
const FIRST_SLICE: usize = 512;

/// Most multiply-adds of the first call, unless a single step has more: some milliseconds.
const FIRST_WORK: usize = 1 << 30;

/// A network on the processor.
pub struct CpuEngine {
    network: PartitionedNetwork,
    options: EngineOptions,
    cores: usize,
    /// Distorted training rows of the epoch, if rows are distorted.
    augmented: Option<AugmentedRows>,
    /// Packed training rows, if zeros are skipped.
    packed: PackedRows,
    /// Whether zeros are skipped, once the first rows are known.
    sparse: Option<bool>,
    /// Whether the inputs of [`Inference::outputs`] are sparse, once known.
    sparse_outputs: Option<bool>,
    observer: Observer,
    host_order: HostOrder,
    /// Number of steps done.
    steps: u64,
    /// Steps per call.
    slice: usize,
    /// Metrics of batches that have not been polled.
    ended: Vec<BatchMetrics>,
}

impl CpuEngine {
    /// Creates an engine with these parameters. Uses the number of threads in the options, or all cores.
    pub fn new(parameters: &Parameters, network: &Network, options: &EngineOptions) -> Self {
        Self::with_threads(parameters, network, options, options.threads.unwrap_or_else(available))
    }

    /// Creates an engine as [`CpuEngine::new`] does, with at most `cores` threads.
    pub fn with_threads(
        parameters: &Parameters,
        network: &Network,
        options: &EngineOptions,
        cores: usize,
    ) -> Self {
        let batch = options.batch;
        let work = network.parameter_count() * batch;
        let most = Plan::most_parts(network, options.rule.clip_norm.is_some());
        let useful = (batch / ROWS_A_THREAD).min(work / WORK_A_THREAD).min(most);
        let plan = Plan::new(network, batch, cores.min(useful).max(1), cores);
        Self::with_plan(parameters, network, options, cores, plan)
    }

    /// Creates an engine with this plan.
    fn with_plan(
        parameters: &Parameters,
        network: &Network,
        options: &EngineOptions,
        cores: usize,
        plan: Plan,
    ) -> Self {
        let slice = first_slice(network, options.batch);
        let network = PartitionedNetwork::new(network, &options.rule, plan, parameters, &[]);
        Self {
            options: options.clone(),
            cores,
            augmented: options.distortion.map(AugmentedRows::new),
            packed: PackedRows::new(Arc::clone(&network.groups)),
            sparse: None,
            network,
            sparse_outputs: None,
            observer: None,
            host_order: HostOrder::default(),
            steps: 0,
            slice,
            ended: Vec::new(),
        }
    }

    /// Returns whether zeros are skipped. The first rows decide this and the groups of inputs.
    fn skips_zeros(&mut self, rows: &Rows<'_>) -> bool {
        self.sparse.unwrap_or_else(|| {
            let groups = if self.network.has_dense_inputs() { skipped_groups(rows) } else { None };
            self.take_groups(groups.as_ref(), rows.inputs)
        })
    }

    /// Skips zeros of the first layer's inputs in these groups, or uses all inputs. Returns whether zeros are
    /// skipped, which is never so for inputs of an input layer.
    fn take_groups(&mut self, groups: Option<&Arc<Groups>>, inputs: usize) -> bool {
        let groups = groups.filter(|_| self.network.has_dense_inputs());
        let taken = groups.map_or_else(|| Arc::new(Groups::neighbours(inputs)), Arc::clone);
        self.network.regroup(&taken);
        self.packed = PackedRows::new(taken);
        *self.sparse.insert(groups.is_some())
    }

    fn evaluated(&mut self, rows: &Rows<'_>, sparse: bool, wanted: EvaluationOutput) -> Evaluated {
        evaluate(&mut [&mut self.network], rows, self.cores, sparse, wanted).pop().unwrap_or_default()
    }
}

impl CpuEngine {
    fn batch_gradients(&self, rows: &Rows<'_>) -> Result<Parameters> {
        let batch = self.options.batch;
        if rows.is_empty() || rows.len() > batch {
            return Err(Error::Config(format!("{} rows are no batch of 1 to {batch}", rows.len())));
        }
        let network = &self.network;
        let sparse = network.has_dense_inputs() && is_sparse(rows) || !network.groups.are_neighbours();
        let order: Vec<u32> = (0..rows.len() as u32).collect();
        let record = StepRecord { rows: order.len() as u32, ..self.options.rule.record(self.steps) };
        let step = Step { record: &record, inputs: network.inputs_of(0), scale: 1.0 / order.len() as f32 };
        let mut packed = PackedRows::new(Arc::clone(&network.groups));
        if sparse {
            packed.extend(rows, rows.len());
        }
        let packed = sparse.then_some(&packed);
        let regions = network.plan.regions(network.above.len(), false);
        let parts = 0..network.plan.parts();
        parts.clone().for_each(|part| network.gather(part, step.inputs, rows, &order, packed));
        for phases in &regions {
            for part in parts.clone() {
                let phases = phases.iter().filter(|phase| **phase != Phase::Update);
                phases.for_each(|phase| network.compute(*phase, part, step));
            }
        }
        Ok(network.join(|layer, piece| {
            let values = &network.parameters[layer].read(piece).values;
            let (part, mut gradients) = (network.owner(layer, piece).0, values.zeros());
            network.add_piece_gradient((layer, piece, part), step, values, &mut gradients);
            gradients
        }))
    }
}

impl Inference for CpuEngine {
    fn evaluate<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Evaluation> {
        let sparse = self.network.has_dense_inputs() && is_sparse(rows);
        Box::pin(ready(Ok(evaluation(self.evaluated(rows, sparse, EvaluationOutput::Evaluation)))))
    }

    fn outputs<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Vec<f32>> {
        // The first rows decide for all later blocks, as if all were evaluated at once.
        let is_dense = self.network.has_dense_inputs();
        let sparse = *self.sparse_outputs.get_or_insert_with(|| is_dense && is_sparse(rows));
        Box::pin(ready(Ok(self.evaluated(rows, sparse, EvaluationOutput::Outputs).outputs)))
    }

    fn description(&self) -> Description {
        let threads = self.network.plan.threads();
        Description {
            engine: EngineKind::Cpu,
            device: format!("CPU engine ({threads} thread{})", if threads == 1 { "" } else { "s" }),
            #[cfg(feature = "gpu")]
            schedule: None,
            dispatches: Vec::new(),
        }
    }
}

impl Engine for CpuEngine {
    fn submit(&mut self, batches: &Batches<'_>) -> Result<usize> {
        if !self.ended.is_empty() {
            return Ok(0);
        }
        check_epoch(batches)?;
        let mut host_order = std::mem::take(&mut self.host_order);
        let order = host_order.rows(batches);
        let taken = order.len().min(steps_of_piece(self.slice).saturating_mul(self.options.batch));
        check_order(&batches.rows, order[..taken].iter().map(|row| *row as usize))?;
        let mut augmented = self.augmented.take();
        let rows = match &mut augmented {
            Some(augmented) => {
                // The undistorted rows decide, so that a resumed run decides alike.
                self.skips_zeros(&batches.rows);
                let distorting = begin(&self.observer, Work::Distorting);
                if augmented.update(&batches.rows, batches.epoch, self.cores) {
                    self.packed.begin(0);
                }
                drop(distorting);
                augmented.view(&batches.rows)
            }
            None => batches.rows,
        };
        let begun = Instant::now();
        self.ended = self.epoch_workers(&rows, &order[..taken]).train();
        self.augmented = augmented;
        self.steps += self.ended.len() as u64;
        self.slice = fitting_steps(begun.elapsed(), self.ended.len(), self.slice);
        self.host_order = host_order;
        Ok(taken)
    }

    fn poll(&mut self, _: bool) -> Waiting<'_, Vec<BatchMetrics>> {
        Box::pin(ready(Ok(std::mem::take(&mut self.ended))))
    }

    fn parameters(&mut self) -> Waiting<'_, Parameters> {
        Box::pin(ready(Ok(self.network.parameters())))
    }

    fn snapshot(&mut self) -> Waiting<'_, (Parameters, EngineState)> {
        let state = EngineState { step: self.steps, optimizer: self.network.states().collect() };
        let snapshot =
            if self.ended.is_empty() { Ok((self.network.parameters(), state)) } else { Err(unpolled()) };
        Box::pin(ready(snapshot))
    }

    fn restore(&mut self, parameters: &Parameters, state: &EngineState) -> Result<()> {
        self.network.set(parameters, &state.optimizer);
        self.steps = state.step;
        self.host_order = HostOrder::default();
        (self.sparse, self.sparse_outputs) = (None, None);
        self.augmented = self.options.distortion.map(AugmentedRows::new);
        self.ended.clear();
        Ok(())
    }

    fn gradients<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Parameters> {
        Box::pin(ready(self.batch_gradients(rows)))
    }

    fn observe(&mut self, observer: Observer) {
        self.observer = observer;
    }

    fn ceilings(&mut self) -> Result<Ceilings> {
        Ok(ceilings::measure(self.network.plan.threads()))
    }
}

/// Returns groups of inputs if the first rows show that skipping zeros pays.
fn skipped_groups(rows: &Rows<'_>) -> Option<Arc<Groups>> {
    is_sparse(rows).then(|| Arc::new(Groups::from_rows(rows)))
}

/// Converts losses and predictions of all rows.
fn evaluation(Evaluated { losses, predictions, .. }: Evaluated) -> Evaluation {
    Evaluation { loss: losses.iter().sum::<f64>() / losses.len() as f64, predictions }
}

/// Returns the number of steps of the first call for this network.
fn first_slice(network: &Network, batch: usize) -> usize {
    (FIRST_WORK / network.parameter_count().saturating_mul(3 * batch).max(1)).clamp(1, FIRST_SLICE)
}

/// Target duration of a call of [`Engine::submit`]: short enough for frequent progress reports.
const SLICE: Duration = Duration::from_millis(250);

/// Returns the number of steps that fit into [`SLICE`] if `steps` of them took `time`; at most twice
/// `before`.
fn fitting_steps(time: Duration, steps: usize, before: usize) -> usize {
    let step = time.as_secs_f64().max(1e-9) / steps.max(1) as f64;
    ((SLICE.as_secs_f64() / step) as usize).clamp(1, 2 * before)
}
