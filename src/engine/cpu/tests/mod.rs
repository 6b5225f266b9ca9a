//! Whole engine compared with the reference, for all divisions of steps.

mod gradients;
mod input_layer;
mod team;
mod training;

use ndarray::Array2;

use super::CpuEngine;
use super::plan::Plan;
use crate::data::{Dataset, Features, Targets, TargetsRef};
use crate::engine::EngineOptions;
use crate::model::{Dense, Network, Parameters};
use crate::random::{Purpose, normal};
use crate::reference::{self, ReferenceNetwork};
use crate::step::{Activation, Loss};

/// Plans with one part and several, also more than a layer has vectors.
const PLANS: [Plan; 7] = [
    Plan::Rows(1),
    Plan::Rows(2),
    Plan::Rows(3),
    Plan::Columns(1),
    Plan::Columns(2),
    Plan::Columns(3),
    Plan::Apart,
];

/// Rows of the data set.
const ROWS: usize = 37;

/// A network and its training data.
struct Problem {
    network: Network,
    parameters: Parameters,
    data: Dataset,
}

/// A normally distributed number, rounded to f32.
fn number(place: u32, index: usize) -> f32 {
    normal(7, Purpose::Weights, [index as u32, place]) as f32
}

impl Problem {
    /// A network of these sizes with the same activation and dropout after every hidden layer. Of each three
    /// rows, one has half weight and one double weight. If `sparse`, three of four inputs are 0.
    fn new(sizes: &[usize], activation: Activation, dropout: f32, loss: Loss, sparse: bool) -> Self {
        let (inputs, outputs) = (sizes[0], sizes[sizes.len() - 1]);
        let mut layers: Vec<Dense> =
            sizes[1..].iter().map(|units| Dense { units: *units, activation, dropout }).collect();
        layers[sizes.len() - 2] = Dense::new(outputs, Activation::Identity);
        let network = Network::new(inputs, layers, loss).unwrap();
        let mut parameters = Parameters::he_normal(&network, 4);
        for (layer, place) in parameters.layers.iter_mut().zip(100..) {
            layer.bias.iter_mut().enumerate().for_each(|(i, bias)| *bias = 0.3 * number(place, i));
        }
        let value = |i: usize| if sparse && !(i / 4).is_multiple_of(4) { 0.0 } else { number(200, i) };
        let targets = if loss.of_classes() {
            Targets::Classes((0..ROWS).map(|row| (row * 5 % outputs) as u32).collect())
        } else {
            Targets::Values {
                columns: outputs,
                values: (0..ROWS * outputs).map(|i| number(201, i)).collect(),
            }
        };
        let weights = (0..ROWS).map(|row| [1.0, 0.5, 2.0][row % 3]).collect();
        let features = Features::Floats((0..ROWS * inputs).map(value).collect());
        Self { network, parameters, data: Dataset { inputs, features, targets, weights } }
    }

    fn engine(&self, options: &EngineOptions, plan: Plan) -> CpuEngine {
        CpuEngine::with_plan(&self.parameters, &self.network, options, 4, plan)
    }

    /// The first `rows` rows of the data set, with the targets and weights of all.
    fn first_rows(&self, rows: usize) -> Dataset {
        let mut data = self.data.clone();
        if let Features::Floats(values) = &mut data.features {
            values.truncate(rows * data.inputs);
        }
        data
    }

    fn reference(&self) -> ReferenceNetwork {
        ReferenceNetwork::new(&self.network, &self.parameters)
    }

    /// The rows of `order` in the reference's form.
    fn batch(&self, order: &[u32]) -> Batch {
        let rows = || order.iter().map(|row| *row as usize);
        let outputs = self.network.outputs();
        let x: Vec<f32> = rows().flat_map(|row| self.data.row(row)).collect();
        let mut batch = Batch {
            x: Array2::from_shape_vec((order.len(), self.data.inputs), wide(x)).unwrap(),
            classes: Vec::new(),
            values: Array2::zeros((0, outputs)),
            weights: rows().map(|row| f64::from(self.data.weights[row])).collect(),
        };
        match self.data.targets.view() {
            TargetsRef::Classes(classes) => batch.classes = rows().map(|row| classes[row] as usize).collect(),
            TargetsRef::Values { columns, values } => {
                let values = rows().flat_map(|row| values[row * columns..][..columns].iter().copied());
                batch.values = Array2::from_shape_vec((order.len(), outputs), wide(values)).unwrap();
            }
        }
        batch
    }
}

/// Some rows in f64.
struct Batch {
    x: Array2<f64>,
    classes: Vec<usize>,
    values: Array2<f64>,
    weights: Vec<f64>,
}

impl Batch {
    fn targets(&self) -> reference::ReferenceTargets<'_> {
        let targets = if self.classes.is_empty() {
            reference::ReferenceTargets::values(self.values.view())
        } else {
            reference::ReferenceTargets::classes(&self.classes)
        };
        targets.weighted(&self.weights)
    }
}

fn wide(values: impl IntoIterator<Item = f32>) -> Vec<f64> {
    values.into_iter().map(f64::from).collect()
}

/// All numbers of a network, layer by layer.
fn flat(network: &ReferenceNetwork) -> Vec<f64> {
    let both = network.weights.iter().zip(&network.biases);
    let dense = both.flat_map(|(weights, bias)| weights.iter().chain(bias));
    let input = network.input.iter().flat_map(|input| input.weights.iter().chain(&input.scale));
    dense.chain(input).copied().collect()
}

/// All numbers of the parameters.
fn numbers(parameters: &Parameters) -> Vec<f32> {
    parameters.numbers().collect()
}
