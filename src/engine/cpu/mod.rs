//! Training on the processor.
//!
//! The threads of a run go through every step together, in phases between which they meet (`plan.rs`). Each has a part
//! (`step.rs`):
//!
//! 1. by columns: computes its columns of the first layer for all rows;
//! 2. by rows: takes its rows forward through the other layers and back to the first layer's delta; or, where those layers
//!    are large, by columns, layer by layer. `gemm` packs the weights that it multiplies: if every thread took its rows
//!    through all layers, each would pack all of them;
//! 3. by columns (first layer) and by rows (the others): updates the weights that it owns, and before that computes the norm
//!    of their gradients where it is clipped; by rows: gathers its rows of the next batch.
//!
//! A step that is too small to be divided is done by one thread, and another gathers the next batch meanwhile.
//!
//! Parts are fixed, whichever thread does them; so sums have a fixed order. Nothing is written for two parts, and nothing is
//! locked: who owns what in which phase is proved and checked in `parts.rs`.

mod aligned;
mod ceilings;
mod dense_layer;
mod divide;
mod divided;
mod evaluation;
mod first_layer;
mod loss;
mod matrix;
mod meeting;
mod outputs;
mod parts;
mod pass;
mod phases;
mod plan;
mod product;
mod sparse;
mod step;
mod tensors;
#[cfg(test)]
mod tests;

use std::thread;
use std::time::{Duration, Instant};

use divided::DividedNetwork;
use evaluation::{EvaluatedPart, Wanted, evaluate};
use first_layer::Panel;
use parts::Turn;
use pass::Pass;
use plan::{Phase, Plan};
use sparse::is_sparse;
use step::Step;
use tensors::Tensors;

use crate::data::Rows;
use crate::engine::order::{HostOrder, check_order};
use crate::engine::{
    BatchMetrics, Batches, Description, Engine, EngineKind, EngineOptions, EngineState, Evaluation,
    Instrumented, Observer,
};
use crate::error::{Error, Result};
use crate::kernels::Ceilings;
use crate::model::{Network, Parameters};
use crate::step::StepRecord;

/// Rows of the batch below which a thread more does not pay.
const ROWS_A_THREAD: usize = 16;

/// Multiply-adds of a step below which a thread more does not pay: its meetings cost as much as this.
const WORK_A_THREAD: usize = 1 << 20;

/// Steps of the first call of [`Engine::submit`].
const FIRST_SLICE: usize = 512;

/// A network on the processor.
pub struct CpuEngine {
    network: DividedNetwork,
    options: EngineOptions,
    cores: usize,
    /// Whether the inputs of [`Engine::outputs`] are sparse, once it was asked.
    sparse_outputs: Option<bool>,
    observer: Observer,
    host_order: HostOrder,
    /// Steps so far.
    steps: u64,
    /// Steps of a call.
    slice: usize,
    /// Of batches that nobody has heard of.
    ended: Vec<BatchMetrics>,
}

impl CpuEngine {
    /// Takes the parameters. Uses as many threads as the options say, or all cores.
    pub fn new(parameters: &Parameters, network: &Network, options: &EngineOptions) -> Self {
        let all = || thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::with_threads(parameters, network, options, options.threads.unwrap_or_else(all))
    }

    /// As [`CpuEngine::new`], with so many threads at most.
    pub fn with_threads(
        parameters: &Parameters,
        network: &Network,
        options: &EngineOptions,
        cores: usize,
    ) -> Self {
        let (layer, batch) = (&parameters.layers[0], options.batch);
        let work = network.parameter_count() * batch;
        let useful = (batch / ROWS_A_THREAD).min(work / WORK_A_THREAD).min(Panel::most(layer.outputs));
        let plan = Plan::new(network, batch, cores.min(useful).max(1), cores);
        Self::planned(parameters, network, options, cores, plan)
    }

    /// With steps of this plan.
    fn planned(
        parameters: &Parameters,
        network: &Network,
        options: &EngineOptions,
        cores: usize,
        plan: Plan,
    ) -> Self {
        Self {
            network: DividedNetwork::new(network, &options.rule, plan, parameters, &[]),
            options: options.clone(),
            cores,
            sparse_outputs: None,
            observer: None,
            host_order: HostOrder::default(),
            steps: 0,
            slice: FIRST_SLICE,
            ended: Vec::new(),
        }
    }

    fn evaluate_parts(&mut self, rows: &Rows<'_>, sparse: bool, wanted: Wanted) -> Vec<EvaluatedPart> {
        evaluate(&mut self.network, rows, self.cores, sparse, wanted)
    }
}

impl Engine for CpuEngine {
    fn submit(&mut self, batches: &Batches<'_>) -> Result<usize> {
        if !self.ended.is_empty() {
            return Ok(0);
        }
        let mut host_order = std::mem::take(&mut self.host_order);
        let order = host_order.rows(batches);
        let taken = order.len().min(self.slice.saturating_mul(self.options.batch));
        check_order(&batches.rows, order[..taken].iter().map(|row| *row as usize))?;
        let begun = Instant::now();
        self.ended = Pass::new(self, &batches.rows, &order[..taken]).train();
        self.steps += self.ended.len() as u64;
        self.slice = fitting_steps(begun.elapsed(), self.ended.len(), self.slice);
        self.host_order = host_order;
        Ok(taken)
    }

    fn poll(&mut self, _: bool) -> Result<Vec<BatchMetrics>> {
        Ok(std::mem::take(&mut self.ended))
    }

    fn parameters(&mut self) -> Result<Parameters> {
        let network = &self.network;
        Ok(network.join(|layer, part| &network.parameters[layer].read(part).values))
    }

    fn state(&mut self) -> Result<EngineState> {
        let network = &self.network;
        let state =
            |number: usize| network.join(|layer, part| &network.parameters[layer].read(part).states[number]);
        let optimizer = (0..self.options.rule.optimizer.kind.states()).map(state).collect();
        Ok(EngineState { step: self.steps, optimizer })
    }

    fn restore(&mut self, parameters: &Parameters, state: &EngineState) -> Result<()> {
        self.network.set(parameters, &state.optimizer);
        self.steps = state.step;
        self.host_order = HostOrder::default();
        self.sparse_outputs = None;
        self.ended.clear();
        Ok(())
    }

    fn evaluate(&mut self, rows: &Rows<'_>) -> Result<Evaluation> {
        let parts = self.evaluate_parts(rows, is_sparse(rows), Wanted::Evaluation);
        // Summed in the order of the rows, whichever thread was first.
        let loss = parts.iter().map(|part| part.loss).sum::<f64>() / rows.len() as f64;
        Ok(Evaluation { loss, predictions: parts.into_iter().flat_map(|part| part.predictions).collect() })
    }

    fn outputs(&mut self, rows: &Rows<'_>) -> Result<Vec<f32>> {
        // The first rows decide for all that come in blocks behind them, as they do where all are evaluated at once.
        let sparse = *self.sparse_outputs.get_or_insert_with(|| is_sparse(rows));
        Ok(self
            .evaluate_parts(rows, sparse, Wanted::Outputs)
            .into_iter()
            .flat_map(|part| part.outputs)
            .collect())
    }

    fn gradients(&mut self, rows: &Rows<'_>) -> Result<Parameters> {
        let batch = self.options.batch;
        if rows.is_empty() || rows.len() > batch {
            return Err(Error::Config(format!("{} rows are no batch of 1 to {batch}", rows.len())));
        }
        let (network, sparse) = (&self.network, is_sparse(rows));
        let order: Vec<u32> = (0..rows.len() as u32).collect();
        let record = StepRecord { rows: order.len() as u32, ..self.options.rule.record(self.steps) };
        let step = Step { record: &record, inputs: network.inputs_of(0), scale: 1.0 / order.len() as f32 };
        let phases: Vec<Phase> = network.plan.phases(network.above.len(), false);
        let region = |region: u64, work: &mut dyn FnMut(usize)| {
            for part in 0..network.plan.parts() {
                let _turn = Turn::enter(region, part);
                work(part);
            }
        };
        let first = Turn::regions(phases.len() + 1);
        region(first, &mut |part| network.gather(part, step.inputs, rows, &order, sparse));
        let before_update = phases.iter().filter(|phase| **phase != Phase::Update);
        for (number, phase) in (first + 1..).zip(before_update) {
            region(number, &mut |part| network.compute(*phase, part, step));
        }
        let gradients: Vec<Vec<Tensors>> = network
            .parameters
            .iter()
            .enumerate()
            .map(|(layer, parameters)| {
                let of_part = |(part, owned): (usize, &tensors::Owned)| {
                    let mut gradients = owned.values.zeros();
                    network.add_gradient(layer, part, step, &mut gradients);
                    gradients
                };
                parameters.read_all().enumerate().map(of_part).collect()
            })
            .collect();
        Ok(network.join(|layer, part| &gradients[layer][part]))
    }
}

impl Instrumented for CpuEngine {
    fn description(&self) -> Description {
        let threads = self.network.plan.threads();
        Description {
            engine: EngineKind::Cpu,
            device: format!("CPU engine ({threads} thread{})", if threads == 1 { "" } else { "s" }),
            schedule: None,
            tiles: None,
            dispatches: Vec::new(),
        }
    }

    fn observe(&mut self, observer: Observer) {
        self.observer = observer;
    }

    fn ceilings(&mut self) -> Result<Ceilings> {
        Ok(ceilings::measure(self.network.plan.threads()))
    }
}

/// How long a call of [`Engine::submit`] should take: short enough that the run is heard of now and then.
const SLICE: Duration = Duration::from_millis(250);

/// How many steps fit into [`SLICE`] if `steps` of them took so long; not more than twice as many as `before`.
fn fitting_steps(time: Duration, steps: usize, before: usize) -> usize {
    let step = time.as_secs_f64().max(1e-9) / steps.max(1) as f64;
    ((SLICE.as_secs_f64() / step) as usize).clamp(1, 2 * before)
}
