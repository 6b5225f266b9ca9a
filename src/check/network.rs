//! Whole networks: gradients, and the weights after one step, of every schedule.

use ndarray::{Array1, Array2};

use super::rules::{self, Make};
use super::{Figures, Outcome, Sink, outcome};
use crate::data::{Dataset, Features};
use crate::engine::{CpuEngine, Drive, Engine, EngineOptions, GpuEngine};
use crate::error::Result;
use crate::gpu::Adapter;
use crate::model::{Network, Parameters};
use crate::random::{Purpose, normal, words};
use crate::reference::{ReferenceNetwork, bounds, ops};
use crate::schedule::ScheduleKind;

/// Layer sizes and rows of the batch: odd ones, softmax regression, and the standard reference.
const SHAPES: [(&[usize], usize); 3] = [(&[17, 63, 33, 5], 33), (&[13, 4], 9), (&[784, 300, 100, 10], 64)];

/// The learning rate.
const RATE: f32 = 0.1;

/// No pre-activation of a hidden unit may be nearer to the kink of its ReLU than this: there a rounding decides.
pub(super) const KINK: f64 = 1e-4;

/// A reference with a batch for it, on which f32 and f64 decide every ReLU alike.
pub(super) struct Problem {
    pub network: Network,
    pub parameters: Parameters,
    pub data: Dataset,
    pub x: Array2<f64>,
    pub targets: Vec<usize>,
}

impl Problem {
    /// He-normal weights, small normal biases, normal features; random labels.
    pub fn new(sizes: &[usize], rows: usize) -> Result<Self> {
        let network = Network::classifier(sizes)?;
        let mut seed = 1;
        loop {
            let mut problem = Self::drawn(&network, rows, seed);
            if problem.clears_kinks() {
                return Ok(problem);
            }
            seed += 1;
        }
    }

    fn drawn(network: &Network, rows: usize, seed: u64) -> Self {
        let mut parameters = Parameters::he_normal(network, seed);
        for (layer, place) in parameters.layers.iter_mut().zip(1000..) {
            for (bias, i) in layer.bias.iter_mut().zip(0..) {
                *bias = (0.1 * normal(seed, Purpose::Weights, [i, place])) as f32;
            }
        }
        let inputs = network.inputs();
        let values: Vec<f32> =
            (0..rows * inputs).map(|i| normal(seed, Purpose::Weights, [i as u32, 2000]) as f32).collect();
        let label = |row: usize| words(seed, Purpose::Order, [row as u32, 0])[0] % network.outputs() as u32;
        let labels: Vec<u32> = (0..rows).map(label).collect();
        let x = Array2::from_shape_fn((rows, inputs), |(i, j)| f64::from(values[i * inputs + j]));
        let targets = labels.iter().map(|label| *label as usize).collect();
        let data = Dataset {
            inputs,
            features: Features::Floats(values),
            targets: labels.into(),
            weights: Vec::new(),
        };
        Self { network: network.clone(), parameters, data, x, targets }
    }

    /// Moves what lies too near to a kink: the bias of its unit, a little. Says whether nothing is left.
    fn clears_kinks(&mut self) -> bool {
        let hidden = self.parameters.layers.len() - 1;
        for layer in 0..hidden {
            let reference = ReferenceNetwork::new(&self.network, &self.parameters);
            let input = reference.activations(self.x.view()).swap_remove(layer);
            let z =
                ops::forward(input.view(), reference.weights[layer].view(), reference.biases[layer].view());
            for (unit, column) in z.columns().into_iter().enumerate() {
                // Steps of three kinks: some step in a row of a hundred leaves all rows of the batch alone.
                let clear = |shift: f64| column.iter().all(|z| (z + shift).abs() > 1.5 * KINK);
                let Some(step) =
                    (0..100).map(|step| f64::from(step) * 3.0 * KINK).find(|shift| clear(*shift))
                else {
                    return false;
                };
                self.parameters.layers[layer].bias[unit] += step as f32;
            }
        }
        self.distance_from_kinks() > KINK
    }

    /// The smallest magnitude of a hidden pre-activation.
    pub fn distance_from_kinks(&self) -> f64 {
        let reference = ReferenceNetwork::new(&self.network, &self.parameters);
        let activations = reference.activations(self.x.view());
        let hidden = reference.weights.len() - 1;
        let layers = reference.weights.iter().zip(&reference.biases).zip(&activations).take(hidden);
        layers
            .flat_map(|((w, b), input)| ops::forward(input.view(), w.view(), b.view()).into_iter())
            .fold(f64::INFINITY, |least, z| least.min(z.abs()))
    }
}

/// Every tensor of a reference, one after the other.
fn flat(reference: &ReferenceNetwork) -> Array1<f64> {
    let both = reference.weights.iter().zip(&reference.biases);
    both.flat_map(|(w, b)| w.iter().chain(b).copied()).collect()
}

fn figures(got: &Parameters, want: &ReferenceNetwork, bound: &Array1<f64>) -> Figures {
    let (got, want) = (got.numbers().map(f64::from).collect(), flat(want));
    // Relative to the largest: single gradients may be 0 by chance.
    let largest = want.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    let magnitude = vec![largest; want.len()];
    Figures { got, want: want.to_vec(), magnitude, bound: bound.to_vec() }
}

fn gradients(engine: &mut dyn Engine, problem: &Problem) -> Result<Figures> {
    let got = engine.gradients(&problem.data.view())?;
    let reference = ReferenceNetwork::new(&problem.network, &problem.parameters);
    let want = reference.gradients(problem.x.view(), &problem.targets);
    let bound = bounds::gradients(&reference, &problem.x, &problem.targets);
    Ok(figures(&got, &want, &flat(&bound)))
}

/// Where a schedule keeps no gradient, the weights after one step tell it.
fn one_step(engine: &mut dyn Engine, problem: &Problem, rate: f64) -> Result<Figures> {
    let order: Vec<u32> = (0..problem.targets.len() as u32).collect();
    engine.train(&problem.data.view(), &order, &mut |_| Ok(()))?;
    engine.finish(&mut |_| Ok(()))?;
    let got = engine.parameters()?;
    let reference = ReferenceNetwork::new(&problem.network, &problem.parameters);
    let mut want = reference.clone();
    want.step(problem.x.view(), &problem.targets, rate);
    let gradient_bound = flat(&bounds::gradients(&reference, &problem.x, &problem.targets));
    // An update may add the products of the batch to the weight itself, one after the other: a rounding each, at its size.
    let roundings = (problem.targets.len() as f64 / 2.0 + 2.0) * f64::from(f32::EPSILON);
    let rounding = flat(&want).mapv(|p| p.abs() * roundings);
    Ok(figures(&got, &want, &(gradient_bound * rate + rounding)))
}

fn engine(make: &Make<'_>, schedules: &[(&str, ScheduleKind)], sink: &mut Sink<'_>) -> Result<()> {
    for (sizes, rows) in SHAPES {
        let problem = Problem::new(sizes, rows)?;
        let shape = format!("{} x {rows}", problem.network);
        let report = |subject: &str, figures| -> Outcome { outcome(subject, &shape, figures) };
        let made = |options: &EngineOptions| make(&problem.parameters, &problem.network, options);
        let options = EngineOptions::sgd(rows, RATE);
        let got = made(&options).and_then(|mut engine| gradients(&mut *engine, &problem));
        sink(report("gradients", got));
        for (name, schedule) in schedules {
            let options = EngineOptions { schedule: Some(*schedule), ..options.clone() };
            let rate = f64::from(RATE);
            let got = made(&options).and_then(|mut engine| one_step(&mut *engine, &problem, rate));
            sink(report(name, got));
        }
    }
    Ok(())
}

/// Checks the CPU engine: the gradients of some networks, and their weights after one step; and a step with every activation,
/// loss and optimizer.
///
/// # Errors
/// When no reference can be made; what the engine does wrong is an [`Outcome`].
pub fn cpu_engine(sink: &mut Sink<'_>) -> Result<()> {
    let make = |parameters: &Parameters,
                network: &Network,
                options: &EngineOptions|
     -> Result<Box<dyn Engine>> { Ok(Box::new(CpuEngine::new(parameters, network, options))) };
    engine(&make, &[("one step", ScheduleKind::Fused)], sink)?;
    rules::run(&make, &[], sink)
}

/// The same of the GPU engine, for every schedule.
///
/// # Errors
/// As [`cpu_engine`].
pub fn gpu_engine(adapter: &Adapter, sink: &mut Sink<'_>) -> Result<()> {
    let make =
        |parameters: &Parameters, network: &Network, options: &EngineOptions| -> Result<Box<dyn Engine>> {
            Ok(Box::new(GpuEngine::new(adapter, parameters, network, options)?))
        };
    let schedules = [
        ("one step, plain", ScheduleKind::Plain),
        ("one step, fused", ScheduleKind::Fused),
        ("one step, two-dispatch", ScheduleKind::TwoDispatch),
        ("one step, resident", ScheduleKind::Resident),
    ];
    engine(&make, &schedules, sink)?;
    rules::run(&make, &ScheduleKind::ALL, sink)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_relu_of_a_problem_stands_at_its_kink() {
        for (sizes, rows) in SHAPES {
            let problem = Problem::new(sizes, rows).unwrap();
            assert!(problem.distance_from_kinks() > KINK, "{sizes:?}");
        }
    }
}
