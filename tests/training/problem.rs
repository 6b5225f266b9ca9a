//! A training problem: network, options and rows; and one step compared with the reference.

use ndarray::Array2;
use tinytrain::data::{Dataset, Targets};
use tinytrain::engine::block;
use tinytrain::engine::{BatchMetrics, Drive, Engine, EngineOptions, EngineState};
use tinytrain::model::{Network, Parameters};
use tinytrain::random::{Purpose, normal};
use tinytrain::reference::{ReferenceNetwork, ReferencePass, ReferenceTargets, bounds, ops};
use tinytrain::step::{Activation, Loss};

/// Network, training options, and rows.
pub struct Problem {
    pub network: Network,
    pub options: EngineOptions,
    pub parameters: Parameters,
    pub data: Dataset,
}

/// Returns a normal number in f32.
pub fn number(seed: u64, place: u32, index: usize) -> f32 {
    normal(seed, Purpose::Weights, [index as u32, place]) as f32
}

impl Problem {
    /// Returns the rows `order` for the reference: X, classes, values, weights.
    pub fn batch(&self, order: &[u32]) -> Batch {
        let rows: Vec<usize> = order.iter().map(|row| *row as usize).collect();
        let matrix = |columns: usize, of: &dyn Fn(usize) -> Vec<f32>| {
            let values = rows.iter().flat_map(|row| of(*row)).map(f64::from).collect();
            Array2::from_shape_vec((rows.len(), columns), values).unwrap()
        };
        let (mut classes, mut values) = (Vec::new(), Array2::zeros((0, self.network.outputs())));
        match &self.data.targets {
            Targets::Classes(labels) => classes = rows.iter().map(|row| labels[*row] as usize).collect(),
            Targets::Values { columns, values: all } => {
                values = matrix(*columns, &|row| all[row * columns..][..*columns].to_vec());
            }
        }
        let weight = |row: &usize| f64::from(self.data.view().weight(*row));
        Batch {
            x: matrix(self.data.inputs, &|row| self.data.row(row)),
            classes,
            values,
            weights: rows.iter().map(weight).collect(),
        }
    }

    /// Trains on `order`; returns the metrics of every batch.
    pub fn train(&self, engine: &mut dyn Engine, order: &[u32]) -> Vec<BatchMetrics> {
        let mut metrics = Vec::new();
        let mut sink = |batch: BatchMetrics| {
            metrics.push(batch);
            Ok(())
        };
        engine.train(&self.data.view(), order, &mut sink).unwrap();
        engine.finish(&mut sink).unwrap();
        metrics
    }
}

pub struct Batch {
    pub x: Array2<f64>,
    classes: Vec<usize>,
    values: Array2<f64>,
    weights: Vec<f64>,
}

impl Batch {
    pub fn targets(&self) -> ReferenceTargets<'_> {
        let targets = match self.classes.is_empty() {
            true => ReferenceTargets::values(self.values.view()),
            false => ReferenceTargets::classes(&self.classes),
        };
        targets.weighted(&self.weights)
    }
}

/// Returns all numbers of a network, weights and bias of each layer in turn.
pub fn flat(network: &ReferenceNetwork) -> Vec<f64> {
    let both = network.weights.iter().zip(&network.biases);
    let dense = both.flat_map(|(w, b)| w.iter().chain(b));
    let input = network.input.iter().flat_map(|input| input.weights.iter().chain(&input.scale));
    dense.chain(input).copied().collect()
}

pub fn numbers(parameters: &Parameters) -> Vec<f64> {
    parameters.numbers().map(f64::from).collect()
}

/// Fails at the first number that is further from `want` than `bound`.
pub fn assert_near(what: &str, got: &[f64], want: &[f64], bound: impl Fn(usize) -> f64) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        // Written so that NaN fails.
        let near = (got - want).abs() <= bound(i);
        assert!(near, "{what}, number {i}: {got}, not {want} within {:.1e}", bound(i));
    }
}

/// Expected results of a step, from the reference.
pub struct Expected {
    /// Each number of the network with its two numbers of state, and their bounds.
    numbers: Vec<[[f64; 2]; 3]>,
    /// Sum of the losses of the batch.
    pub loss: f64,
    /// Least distance of a number from a jump of a slope: near it rounding decides, and no bound holds.
    pub kink: f64,
}

impl Expected {
    /// Returns the step on the rows `order` of a network with these parameters and this state.
    pub fn of(problem: &Problem, parameters: &Parameters, state: &EngineState, order: &[u32]) -> Self {
        let Problem { network, options, .. } = problem;
        let (batch, rule, step) = (problem.batch(order), &options.rule, state.step);
        let numbers =
            bounds::step(network, rule, (parameters, &state.optimizer), (&batch.x, batch.targets()), step);
        let reference = ReferenceNetwork::new(network, parameters);
        let pass = reference.pass(batch.x.view(), Some(&rule.record(step)));
        let targets = batch.targets().smoothed(f64::from(rule.label_smoothing));
        let outputs = &pass.activations[network.dense().len()];
        let loss = ops::batch_loss(network.loss(), outputs.view(), &batch.targets()) * order.len() as f64;
        Self { numbers, loss, kink: kink(&reference, &pass, &targets) }
    }

    /// Fails if an engine after the step exceeds the bounds.
    pub fn assert_near(&self, what: &str, problem: &Problem, engine: &mut dyn Engine) {
        let state = block(engine.snapshot()).unwrap().1;
        assert_eq!(state.optimizer.len(), problem.options.rule.optimizer.kind.states(), "{what}");
        let got = [block(engine.parameters()).unwrap()].into_iter().chain(state.optimizer);
        for (place, got) in got.enumerate() {
            let values: Vec<f64> = self.numbers.iter().map(|number| number[place][0]).collect();
            let bound = |i: usize| self.numbers[i][place][1];
            assert_near(&format!("{what}, tensor {place}"), &numbers(&got), &values, bound);
        }
    }
}

/// Returns the least distance of a pre-activation from 0 if its activation's slope jumps there, or of an
/// output from its target if the loss' slope does.
fn kink(network: &ReferenceNetwork, pass: &ReferencePass, targets: &ReferenceTargets<'_>) -> f64 {
    let jumps = |f: Activation| matches!(f, Activation::Relu | Activation::LeakyRelu | Activation::Selu);
    let hidden = network.hidden.iter().zip(&pass.pre_activations);
    let hidden = hidden.filter(|(hidden, _)| jumps(hidden.activation)).flat_map(|(_, z)| z.iter().copied());
    let outputs = &pass.activations[network.weights.len()];
    let misses = matches!(network.loss, Loss::Mae | Loss::Quantile(_))
        .then(|| outputs - targets.matrix(outputs.ncols()));
    hidden.chain(misses.into_iter().flatten()).fold(f64::INFINITY, |nearest, z| nearest.min(z.abs()))
}
