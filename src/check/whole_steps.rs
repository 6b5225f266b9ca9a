//! Both kernels of the two-dispatch step.

use ndarray::{Array2, Axis, s};

use super::products::{product, with_ones};
use super::targets::Expected;
use super::training::{RATE, STEP, STORED, features, near_update, rule, states};
use super::{Cases, Figures, flat, indices, matrix, random, wide};
use crate::error::{Error, Result};
use crate::kernels::{
    Column, Compute, FeatureFormat, LossTargets, Row, Samples, StepRecord, StepShape, Tensor, Vector, blocks,
};
use crate::model::{Dense, Network, ParameterLayout, Parameters};
use crate::reference::{ReferenceNetwork, bounds, ops};
use crate::step::{Activation, Loss, OptimizerKind, UpdateRule};

/// Layer sizes, and most rows and live rows of a batch, of classifiers with ReLU and plain gradient descent.
/// The third and the fifth have a layer that does not fit a workgroup of rows; the fourth has the largest
/// number of layers with specialised code, the fifth uses the general code.
const SHAPES: [(&[usize], usize, usize); 6] = [
    (&[13, 5], 9, 9),
    (&[33, 17, 65], 40, 33),
    (&[17, 62, 530, 5], 33, 33),
    (&[9, 7, 6, 11, 5], 9, 7),
    (&[20, 6, 270, 9, 12, 5], 11, 9),
    (&[784, 300, 100, 10], 64, 64),
];

/// A step to check.
struct Step {
    /// Suffixes of the names of the two kernels.
    names: [String; 2],
    network: Network,
    rule: UpdateRule,
    weighted: bool,
    capacity: usize,
    rows: usize,
}

/// Returns a step with the optimizer, with different activations (some keep Z and some do not), losses and
/// dropout.
fn mixed(number: usize, kind: OptimizerKind) -> Result<Step> {
    const KINDS: [[Activation; 2]; 3] = [
        [Activation::Gelu, Activation::Tanh],
        [Activation::Elu, Activation::Mish],
        [Activation::Silu, Activation::Selu],
    ];
    // The derivative of the mean absolute error has no error bound, since rounding decides its sign.
    const LOSSES: [Loss; 3] = [Loss::CrossEntropy, Loss::Mse, Loss::Huber];
    let (pair, loss) = (KINDS[number % 3], LOSSES[number % 3]);
    let dropout = if number.is_multiple_of(2) { 0.25 } else { 0.0 };
    let layers = vec![
        Dense { units: 21, activation: pair[0], dropout },
        Dense { units: 33, activation: pair[1], dropout: dropout / 2.0 },
        Dense::new(5, Activation::Identity),
    ];
    let mut rule = rule(kind);
    rule.label_smoothing = if loss.of_classes() { 0.1 } else { 0.0 };
    let names = [format!(" {} {} {loss}", pair[0], pair[1]), format!(" {kind}")];
    let network = Network::new(17, layers, loss)?;
    Ok(Step { names, network, rule, weighted: true, capacity: 40, rows: 33 })
}

fn steps() -> Result<Vec<Step>> {
    let plain = SHAPES.iter().map(|(sizes, capacity, rows)| {
        let (network, rule) = (Network::classifier(sizes)?, UpdateRule::sgd(RATE));
        let (capacity, rows) = (*capacity, *rows);
        Ok(Step { names: Default::default(), network, rule, weighted: false, capacity, rows })
    });
    let mixed = OptimizerKind::ALL.iter().enumerate().map(|(number, kind)| mixed(number, *kind));
    plain.chain(mixed).collect()
}

pub(super) fn run(cases: &mut Cases<'_>) {
    let steps = match steps() {
        Ok(steps) => steps,
        Err(error) => return cases.case("row, column", "", |_| Err(error)),
    };
    for (number, step) in steps.iter().enumerate() {
        let text = format!("{} of {} x {}", step.rows, step.capacity, step.network);
        let [row, column] = &step.names;
        cases.case(&format!("row{row}"), &text, |compute| step.row(compute));
        for (place, (stored, name)) in STORED.into_iter().enumerate() {
            // One of them is enough if only the optimizer differs.
            if column.is_empty() || number % 2 == place {
                let name = format!("column {name}{column}");
                cases.case(&name, &text, |compute| step.column(compute, stored));
            }
        }
    }
}

/// Compares with a tolerance of a few roundings per layer, relative to the largest element, since errors
/// propagate through all layers.
fn near_largest(got: &Array2<f32>, want: &Array2<f64>, units: f64) -> Figures {
    let largest = want.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    Figures::relative(got, want, &Array2::from_elem(want.dim(), largest), units)
}

fn too_many_layers() -> Error {
    Error::Config("the kernels do not support this many layers".to_owned())
}

/// Start of the batch in the order.
const FIRST: usize = 2;

impl Step {
    fn shape(&self, compute: &Compute) -> Result<StepShape> {
        StepShape::new(&self.network, &self.rule, self.weighted, self.capacity, &compute.tuning)
            .ok_or_else(too_many_layers)
    }

    /// Returns the network, and its parameters as stored on the device.
    fn parameters(&self, shape: &StepShape) -> (ReferenceNetwork, Vec<f32>) {
        let parameters = Parameters::he_normal(&self.network, 3);
        (ReferenceNetwork::new(&self.network, &parameters), shape.layout().pack(&parameters))
    }

    /// Adds optimizer state after the parameters, and NaN in place of a step's intermediate results.
    fn with_states(&self, layout: &ParameterLayout, parameters: &mut Vec<f32>) {
        let kind = self.rule.optimizer.kind;
        parameters.resize(4 * layout.state_distance(), f32::NAN);
        let layers = layout.layers().iter().zip(80..);
        let all: Vec<Vec<Array2<f32>>> =
            layers.map(|(at, stream)| states(kind, at.inputs + 1, at.outputs, 3 * stream)).collect();
        for number in 0..kind.states() {
            all.iter().for_each(|states| parameters.extend(flat(&states[number])));
        }
    }

    /// Returns the parameters of layer `layer` and their state, from the numbers of all layers.
    fn layer(&self, layout: &ParameterLayout, values: &[f32], layer: usize) -> Vec<Array2<f32>> {
        let (at, states) = (layout.layers()[layer], self.rule.optimizer.kind.states());
        let regions = (0..states).map(|number| layout.state_distance() + number * layout.weights());
        let all = [0].into_iter().chain(regions);
        all.map(|region| matrix(values, region + at.offset, at.inputs + 1, at.outputs)).collect()
    }

    /// Returns an order of more rows than needed, the last first; and the rows of the batch.
    fn order(&self) -> (Vec<u32>, Vec<usize>) {
        let order: Vec<u32> = (0..(2 * self.capacity + 5) as u32).rev().collect();
        let taken = indices(&order[FIRST..FIRST + self.rows]);
        (order, taken)
    }

    fn record(&self) -> StepRecord {
        StepRecord { first: FIRST as u32, rows: self.rows as u32, ..self.rule.record(STEP) }
    }

    /// Returns the targets of the rows of the batch, `taken`, and the stored targets of all samples.
    fn wanted(&self, samples: usize, taken: &[usize]) -> (Expected, Vec<u32>) {
        let (loss, smoothing, outputs) =
            (self.network.loss(), self.rule.label_smoothing, self.network.outputs());
        let form = LossTargets { loss, smoothing, weighted: self.weighted };
        let wanted = Expected::new(form, self.rows, outputs);
        let mut targets = vec![vec![0; form.words(outputs)]; samples];
        for (row, sample) in taken.iter().enumerate() {
            targets[*sample] = wanted.words(row);
        }
        (wanted, targets.concat())
    }

    fn row(&self, compute: &Compute) -> Result<Figures> {
        let (shape, sizes, record) = (self.shape(compute)?, self.network.sizes(), self.record());
        let (capacity, rows) = (self.capacity, self.rows);
        let (mut network, mut parameters) = self.parameters(&shape);
        let mut sums = Array2::zeros((rows, sizes[1]));
        for part in 0..shape.parts() {
            let partial = random(capacity, sizes[1], 20 + part as u32);
            parameters.extend(flat(&partial));
            sums += &wide(&partial).slice(s![..rows, ..]);
        }
        let (order, taken) = self.order();
        let (wanted, targets) = self.wanted(order.len(), &taken);
        let on_parameters = compute.vector(&parameters)?;
        let (on_targets, on_order) = (compute.vector(&targets)?, compute.vector(&order)?);
        let activations = Vector::<f32>::output(compute, 1, 8 * shape.activations())?;
        let metrics = Vector::<f32>::output(compute, 1, 2 * compute.tuning.batch_groups(capacity))?;
        let read = [on_parameters.buffer(), on_targets.buffer(), on_order.buffer()];
        let buffers = [&read[..], &[activations.buffer(), metrics.buffer()]].concat();
        compute.run(&Row::new(&shape, order.len()), &buffers, record)?;

        // Use the sums as inputs of a first layer that only adds its bias.
        network.weights[0] = Array2::eye(sizes[1]);
        let pass = network.pass(sums.view(), Some(&record));
        let deltas = network.deltas_of(&pass, &wanted.targets());
        let got = activations.read(compute)?;
        let mut figures = Figures::default();
        for (layer, (output, delta)) in (1..).zip(pass.activations[1..].iter().zip(&deltas)) {
            let units = 4.0 * (layer * sizes[layer.max(2) - 1]) as f64 + 16.0;
            let (place, behind) = (shape.place(layer), shape.activations());
            for (place, want, units) in [(place, output, units), (place + behind, delta, 8.0 * units)] {
                figures.extend(near_largest(&matrix(&got, place, rows, sizes[layer]), want, units));
            }
        }
        let layers = deltas.len();
        let units = 4.0 * (layers * sizes[layers - 1]) as f64 + 16.0;
        let logits = &pass.activations[layers];
        Ok(figures.and(wanted.near_metrics(&metrics.read(compute)?, logits, units)))
    }

    fn column(&self, compute: &Compute, stored: FeatureFormat) -> Result<Figures> {
        let (shape, sizes) = (self.shape(compute)?, self.network.sizes());
        let (capacity, rows, next) = (self.capacity, self.rows, self.rows / 2 + 1);
        let (_, mut parameters) = self.parameters(&shape);
        let layout = shape.layout();
        self.with_states(layout, &mut parameters);
        let (order, taken) = self.order();
        let (features, x) = features(compute, stored, order.len(), sizes[0])?;
        let of_layers = |stream| {
            let layers = (stream..).zip(&sizes[1..]);
            layers.map(|(stream, size)| random(capacity, *size, stream)).collect::<Vec<_>>()
        };
        let (outputs, deltas) = (of_layers(50), of_layers(60));
        let activations: Vec<f32> = outputs.iter().chain(&deltas).flat_map(flat).collect();
        let (on_order, on_activations) = (compute.vector(&order)?, compute.vector(&activations)?);
        let on_parameters = compute.vector(&parameters)?;
        let buffers = [&features, on_order.buffer(), on_activations.buffer(), on_parameters.buffer()];
        let kernel = Column::new(&shape, Samples { stored, count: order.len() }, &compute.tuning);
        compute.run(&kernel, &buffers, StepRecord { next_rows: next as u32, ..self.record() })?;

        let got = on_parameters.read(compute)?;
        let live = |values: &Array2<f32>| wide(values).slice(s![..rows, ..]).to_owned();
        let mut input = x.select(Axis(0), &taken);
        let mut figures = Figures::default();
        for (layer, (output, delta)) in outputs.iter().zip(&deltas).enumerate() {
            let (ones, delta) = (with_ones(&input), live(delta));
            let (g, of_g) = (ops::matmul(ones.t(), delta.view()), bounds::matmul(ones.t(), delta.view()));
            let [before, after] = [&parameters, &got].map(|values| self.layer(layout, values, layer));
            figures.extend(near_update([&before, &after], (&self.rule, layer), (&g, &of_g)));
            input = live(output);
        }
        // Sums of the next batch, with the weights that the device has just updated.
        let first = wide(&matrix(&got, 0, sizes[0], sizes[1]));
        let x = x.select(Axis(0), &indices(&order[FIRST + rows..][..next]));
        let mut sums = Array2::zeros((next, sizes[1]));
        for part in 0..shape.parts() {
            let start = layout.partials() + part * capacity * blocks(sizes[1]);
            sums += &wide(&matrix(&got, start, next, sizes[1]));
        }
        Ok(figures.and(product(&sums.mapv(|value: f64| value as f32), &x, &first)))
    }
}
