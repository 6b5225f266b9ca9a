//! Training on the processor.
//!
//! The threads of a run go through every step together, in phases between which they meet (`plan.rs`). Each has a part:
//!
//! 1. by columns: computes its columns of the first layer for all rows;
//! 2. by rows: takes its rows forward through the other layers and back to the first layer's delta; where those layers
//!    are large, by columns, layer by layer (`wide.rs`);
//! 3. by columns (first layer) and by rows (the others): updates the weights that it owns; by rows: gathers its rows of
//!    the next batch.
//!
//! A step that is too small to be divided is done by one thread, and another gathers the next batch meanwhile.
//!
//! Parts are fixed, whichever thread does them; so sums have a fixed order. Nothing is written for two parts, and a lock
//! is never waited for: it is there so that the compiler sees it, too.

mod ceilings;
mod dense_layer;
mod divide;
mod first_layer;
mod meeting;
mod pass;
mod phases;
mod plan;
mod product;
mod share;
mod sparse;
mod wide;

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

use dense_layer::DenseLayer;
use divide::range;
use first_layer::Panel;
use pass::Pass;
use plan::{Phase, Plan};
use product::View;
use share::Share;
use sparse::{Inputs, is_sparse};
use wide::Wide;

use crate::data::Rows;
use crate::engine::order::{HostOrder, check_order};
use crate::engine::{
    BatchMetrics, Batches, Description, Engine, EngineKind, EngineOptions, EngineState, Evaluation,
    Instrumented, Observer,
};
use crate::error::{Error, Result};
use crate::kernels::Ceilings;
use crate::model::{Layer, Network, Parameters};
use crate::threads::spawn_scoped;

/// Rows of the batch below which a thread more does not pay.
const ROWS_A_THREAD: usize = 16;

/// Multiply-adds of a step below which a thread more does not pay: its meetings cost as much as this.
const WORK_A_THREAD: usize = 1 << 20;

/// Steps of the first call of [`Engine::submit`].
const FIRST_SLICE: usize = 64;

/// Rows that an evaluation takes at a time, on each thread.
const EVALUATION_ROWS: usize = 64;

/// A network on the processor.
pub struct CpuEngine {
    network: Network,
    batch: usize,
    rate: f32,
    options: EngineOptions,
    cores: usize,
    first: Vec<RwLock<FirstLayer>>,
    others: Vec<DenseLayer>,
    /// Those of one batch and of the next; each divided as `shares` are.
    inputs: [Vec<RwLock<Inputs>>; 2],
    shares: Vec<RwLock<Share>>,
    /// Used if the layers above the first are divided by columns.
    wide: Wide,
    plan: Plan,
    /// Whether the inputs of [`Engine::logits`] are sparse, once it was asked.
    sparse_logits: Option<bool>,
    observer: Observer,
    host_order: HostOrder,
    /// Steps so far.
    steps: u64,
    /// Steps of a call.
    slice: usize,
    /// Of batches that nobody has heard of.
    ended: Vec<BatchMetrics>,
}

/// What an evaluation gave for some rows.
struct EvaluatedPart {
    /// Sum of their losses.
    loss: f64,
    predictions: Vec<u32>,
    /// [rows, classes], if they were wanted.
    logits: Vec<f32>,
}

/// What one thread owns of the first layer.
struct FirstLayer {
    panel: Panel,
    /// [rows, width] for each share of the batch.
    hidden: Vec<Vec<f32>>,
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl CpuEngine {
    /// Takes the parameters. Uses all cores.
    pub fn new(parameters: &Parameters, network: &Network, options: &EngineOptions) -> Self {
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::with_threads(parameters, network, options, cores)
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
        let (batch, rate) = (options.batch, options.rule.rates.peak);
        let (layer, parts) = (&parameters.layers[0], plan.parts());
        let above = &parameters.layers[1..];
        let owned = |number| {
            let panel = Panel::new(&layer.weights, &layer.bias, number, parts);
            RwLock::new(FirstLayer { panel, hidden: vec![Vec::new(); parts] })
        };
        Self {
            network: network.clone(),
            batch,
            rate,
            options: options.clone(),
            cores,
            first: (0..parts).map(owned).collect(),
            others: above.iter().map(|layer| DenseLayer::new(layer, parts, plan.divide())).collect(),
            inputs: std::array::from_fn(|_| (0..parts).map(|_| RwLock::default()).collect()),
            shares: (0..parts).map(|_| RwLock::default()).collect(),
            wide: Wide::new(above.len(), parts),
            plan,
            sparse_logits: None,
            observer: None,
            host_order: HostOrder::default(),
            steps: 0,
            slice: FIRST_SLICE,
            ended: Vec::new(),
        }
    }

    /// Outputs of the first layer.
    fn outputs(&self) -> usize {
        self.network.sizes()[1]
    }

    /// The inputs of a step, a share of the batch each.
    fn inputs(&self, step: usize) -> &[RwLock<Inputs>] {
        &self.inputs[step % 2]
    }

    /// Before a step: the rows of share `number` of its batch.
    fn gather(&self, number: usize, step: usize, rows: &Rows<'_>, order: &[u32], sparse: bool) {
        let part = range(order.len(), number, self.shares.len());
        write(&self.inputs(step)[number]).gather(rows, &order[part], sparse);
    }

    /// Part `number` of a phase other than the update. Deltas are gradients of the sum of the losses times `scale`.
    fn compute(&self, phase: Phase, number: usize, step: usize, scale: f32) {
        match phase {
            Phase::FirstLayer => {
                let FirstLayer { panel, hidden } = &mut *write(&self.first[number]);
                for (inputs, hidden) in self.inputs(step).iter().zip(&mut *hidden) {
                    panel.forward(&read(inputs), hidden);
                }
                if self.plan.is_wide() {
                    self.wide.take(number, panel, hidden);
                }
            }
            Phase::Rows => self.deltas(number, step, scale),
            Phase::Forward(index) => self.wide.forward(index, number, &self.others),
            Phase::Loss => self.loss(number, step, scale),
            Phase::Backward(index) => self.wide.backward(index, number, &self.others, &self.shares),
            Phase::Update => {}
        }
    }

    /// Share `number` of the loss and its gradient by the logits.
    fn loss(&self, number: usize, step: usize, scale: f32) {
        let share = &mut *write(&self.shares[number]);
        let (before, here) = self.inputs(step)[..number + 1].split_at(number);
        let start = before.iter().map(|inputs| read(inputs).rows()).sum();
        let targets = &read(&here[0]).targets;
        self.wide.logits(start..start + targets.len(), self.network.outputs(), share);
        share.loss(targets, self.network.outputs(), scale);
    }

    /// Share `number`, forward and back.
    fn deltas(&self, number: usize, step: usize, scale: f32) {
        let share = &mut *write(&self.shares[number]);
        let targets = &read(&self.inputs(step)[number]).targets;
        let first: Vec<_> = self.first.iter().map(read).collect();
        let panels = first.iter().map(|first| (&first.panel, first.hidden[number].as_slice()));
        share.assemble(targets.len(), panels, &self.others, self.outputs());
        share.forward(&self.others);
        share.loss(targets, self.network.outputs(), scale);
        share.backward(&self.others, self.outputs(), first.iter().map(|first| &first.panel));
    }

    /// Adds the gradient, scaled as the deltas are, to panel and pieces `number` of these layers.
    fn add_gradient(&self, number: usize, step: usize, panel: &mut Panel, others: &[DenseLayer]) {
        let inputs: Vec<_> = self.inputs(step).iter().map(read).collect();
        let inputs: Vec<&Inputs> = inputs.iter().map(|inputs| &**inputs).collect();
        if self.plan.is_wide() {
            return self.wide.add_gradient(number, &inputs, panel, others);
        }
        let shares: Vec<_> = self.shares.iter().map(read).collect();
        let deltas = shares.iter().map(|share| share.delta_panels[number].as_slice());
        panel.add_gradient(&inputs.into_iter().zip(deltas).collect::<Vec<_>>());
        for (index, layer) in others.iter().enumerate() {
            let parts = shares.iter().map(|share| {
                let x = layer.columns(&share.activations[index], number);
                (x, (0..layer.outputs, View::new(&share.deltas[index + 1], layer.outputs)))
            });
            layer.add_gradient(number, parts);
        }
    }

    fn metrics(&self, rows: usize) -> BatchMetrics {
        let shares: Vec<_> = self.shares.iter().map(read).collect();
        BatchMetrics {
            rows,
            loss: shares.iter().map(|share| share.loss).sum(),
            correct: shares.iter().map(|share| share.correct).sum(),
        }
    }

    /// The layers in one piece each.
    fn collect(&self, panels: &[&Panel], others: &[DenseLayer]) -> Parameters {
        let (inputs, outputs) = (self.network.inputs(), self.outputs());
        let row_of = |values: fn(&Panel) -> &[f32], row: usize| {
            panels.iter().flat_map(move |panel| {
                values(panel)[row * panel.width..][..panel.columns.len()].iter().copied()
            })
        };
        let weights = (0..inputs).flat_map(|row| row_of(|panel| &panel.weights, row)).collect();
        let bias = row_of(|panel| &panel.bias, 0).collect();
        let mut layers = vec![Layer { inputs, outputs, weights, bias }];
        layers.extend(others.iter().map(DenseLayer::layer));
        Parameters { layers }
    }

    /// Loss, predictions and, if they are wanted, logits of the rows `order`, on the calling thread.
    fn evaluate_part(
        &self,
        rows: &Rows<'_>,
        order: &[u32],
        sparse: bool,
        wants_logits: bool,
    ) -> EvaluatedPart {
        let first: Vec<_> = self.first.iter().map(read).collect();
        let (mut inputs, mut share, mut hidden) =
            (Inputs::default(), Share::default(), vec![Vec::new(); first.len()]);
        let mut loss = 0.0;
        let mut predictions = Vec::with_capacity(order.len());
        let mut logits = Vec::new();
        for order in order.chunks(EVALUATION_ROWS) {
            inputs.gather(rows, order, sparse);
            for (first, hidden) in first.iter().zip(&mut hidden) {
                first.panel.forward(&inputs, hidden);
            }
            let panels = first.iter().map(|first| &first.panel).zip(hidden.iter().map(Vec::as_slice));
            share.assemble(order.len(), panels, &self.others, self.outputs());
            share.forward(&self.others);
            share.loss(&inputs.targets, self.network.outputs(), 0.0);
            loss += share.loss;
            predictions.extend_from_slice(&share.predictions);
            if let (true, Some(last)) = (wants_logits, share.activations.last()) {
                logits.extend_from_slice(last);
            }
        }
        EvaluatedPart { loss, predictions, logits }
    }

    /// Evaluates all rows, in parts that are whole batches of an evaluation whatever the number of cores: so every row
    /// is computed beside the same others.
    fn evaluate_parts(&self, rows: &Rows<'_>, sparse: bool, wants_logits: bool) -> Vec<EvaluatedPart> {
        let order: Vec<u32> = (0..rows.len() as u32).collect();
        let part = rows.len().div_ceil(self.cores).next_multiple_of(EVALUATION_ROWS).max(EVALUATION_ROWS);
        thread::scope(|scope| {
            let threads: Vec<_> = order
                .chunks(part)
                .map(|order| {
                    let work = move || self.evaluate_part(rows, order, sparse, wants_logits);
                    spawn_scoped(scope, work).ok_or(work)
                })
                .collect();
            // What the system starts no thread for is done here.
            let results = threads.into_iter().map(|thread| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(work) => work(),
            });
            results.collect()
        })
    }
}

impl Engine for CpuEngine {
    fn submit(&mut self, batches: &Batches<'_>) -> Result<usize> {
        if !self.ended.is_empty() {
            return Ok(0);
        }
        let mut host_order = std::mem::take(&mut self.host_order);
        let order = host_order.rows(batches);
        let taken = order.len().min(self.slice.saturating_mul(self.batch));
        check_order(&batches.rows, order[..taken].iter().map(|row| *row as usize))?;
        let begun = Instant::now();
        self.ended = Pass::new(self, &batches.rows, &order[..taken]).train()?;
        self.steps += self.ended.len() as u64;
        self.slice = fitting_steps(begun.elapsed(), self.ended.len(), self.slice);
        self.host_order = host_order;
        Ok(taken)
    }

    fn poll(&mut self, _: bool) -> Result<Vec<BatchMetrics>> {
        Ok(std::mem::take(&mut self.ended))
    }

    fn parameters(&mut self) -> Result<Parameters> {
        let first: Vec<_> = self.first.iter().map(read).collect();
        let panels: Vec<&Panel> = first.iter().map(|first| &first.panel).collect();
        Ok(self.collect(&panels, &self.others))
    }

    fn state(&mut self) -> Result<EngineState> {
        Ok(EngineState { step: self.steps, optimizer: Vec::new() })
    }

    fn restore(&mut self, parameters: &Parameters, state: &EngineState) -> Result<()> {
        *self = Self::with_threads(parameters, &self.network, &self.options, self.cores);
        self.steps = state.step;
        Ok(())
    }

    fn evaluate(&mut self, rows: &Rows<'_>) -> Result<Evaluation> {
        let parts = self.evaluate_parts(rows, is_sparse(rows), false);
        // Summed in the order of the rows, whichever thread was first.
        let loss = parts.iter().map(|part| part.loss).sum::<f64>() / rows.len() as f64;
        Ok(Evaluation { loss, predictions: parts.into_iter().flat_map(|part| part.predictions).collect() })
    }

    fn outputs(&mut self, rows: &Rows<'_>) -> Result<Vec<f32>> {
        // The first rows decide for all that come in blocks behind them, as they do where all are evaluated at once.
        let sparse = *self.sparse_logits.get_or_insert_with(|| is_sparse(rows));
        Ok(self.evaluate_parts(rows, sparse, true).into_iter().flat_map(|part| part.logits).collect())
    }

    fn gradients(&mut self, rows: &Rows<'_>) -> Result<Parameters> {
        if rows.is_empty() || rows.len() > self.batch {
            return Err(Error::Config(format!("{} rows are no batch of 1 to {}", rows.len(), self.batch)));
        }
        let order: Vec<u32> = (0..rows.len() as u32).collect();
        let (parts, sparse) = (self.shares.len(), is_sparse(rows));
        (0..parts).for_each(|number| self.gather(number, 0, rows, &order, sparse));
        for phase in self.plan.phases(self.others.len()) {
            (0..parts).for_each(|number| self.compute(phase, number, 0, 1.0 / order.len() as f32));
        }
        let mut panels: Vec<Panel> = self.first.iter().map(|first| read(first).panel.zeros()).collect();
        let zeros = Parameters::zeros(&self.network);
        let others: Vec<_> =
            zeros.layers[1..].iter().map(|layer| DenseLayer::new(layer, parts, self.plan.divide())).collect();
        for (number, panel) in panels.iter_mut().enumerate() {
            self.add_gradient(number, 0, panel, &others);
        }
        Ok(self.collect(&panels.iter().collect::<Vec<_>>(), &others))
    }
}

impl Instrumented for CpuEngine {
    fn description(&self) -> Description {
        let threads = self.plan.threads();
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
        Ok(ceilings::measure(self.plan.threads()))
    }
}

/// How long a call of [`Engine::submit`] should take: short enough that the run is heard of now and then.
const SLICE: Duration = Duration::from_millis(50);

/// How many steps fit into [`SLICE`] if `steps` of them took so long; not more than twice as many as `before`.
fn fitting_steps(time: Duration, steps: usize, before: usize) -> usize {
    let step = time.as_secs_f64().max(1e-9) / steps.max(1) as f64;
    ((SLICE.as_secs_f64() / step) as usize).clamp(1, 2 * before)
}
