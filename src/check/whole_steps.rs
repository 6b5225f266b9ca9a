//! The kernels that do whole steps: the two of the two-dispatch step, and the one that does all.

use ndarray::{Array2, Axis, concatenate};

use super::losses::Wanted;
use super::optimizers::{STEP, Updated, flat, rule, states};
use super::training::{RATE, features};
use super::{Cases, Figures, indices, random, wide};
use crate::error::{Error, Result};
use crate::kernels::{
    Column, Compute, FeatureFormat, LossTargets, Resident, Row, Samples, StepRecord, StepShape, Tensor,
    Vector, blocks, unpad_rows,
};
use crate::model::{Dense, Network, ParameterLayout, Parameters};
use crate::reference::{ReferenceNetwork, bounds, ops};
use crate::step::{Activation, Loss, OptimizerKind, UpdateRule};

/// Layer sizes, and most rows and live rows of a batch, of classifiers with ReLU and plain gradient descent. The third and
/// the fifth have a layer that no workgroup of rows can hold; the fourth has as many layers as code is made for, the code of the
/// fifth is for any network.
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
    /// What the names of the two kernels are followed by.
    names: [String; 2],
    network: Network,
    rule: UpdateRule,
    weighted: bool,
    capacity: usize,
    rows: usize,
}

/// Every optimizer, with different activations (of those that keep Z and those that do not), losses and dropout.
fn mixed(number: usize, kind: OptimizerKind) -> Result<Step> {
    const KINDS: [[Activation; 2]; 3] = [
        [Activation::Gelu, Activation::Tanh],
        [Activation::Elu, Activation::Mish],
        [Activation::Silu, Activation::Selu],
    ];
    // The slope of the mean absolute error has no bound: a rounding decides on its sign.
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
        for (place, stored) in [FeatureFormat::Bytes, FeatureFormat::Floats].into_iter().enumerate() {
            // One of them is enough where the optimizer is what differs.
            if column.is_empty() || number % 2 == place {
                let name = format!("column {}{column}", format!("{stored:?}").to_lowercase());
                cases.case(&name, &text, |compute| step.column(compute, stored));
            }
        }
        // It takes seconds to compile: bytes without state, floats with two numbers.
        let kind = step.rule.optimizer.kind;
        let resident = match kind {
            OptimizerKind::Sgd if row.is_empty() => Some(FeatureFormat::Bytes),
            OptimizerKind::Adam => Some(FeatureFormat::Floats),
            _ => None,
        };
        if let Some(stored) = resident {
            let name = format!("resident {}{row}{column}", format!("{stored:?}").to_lowercase());
            cases.case(&name, &text, |compute| step.resident(compute, stored));
        }
    }
}

/// `rows` rows of a matrix that begins at vec4 `place`.
fn matrix(values: &[f32], place: usize, rows: usize, columns: usize) -> Array2<f32> {
    let padded = &values[4 * place..4 * (place + rows * blocks(columns))];
    Array2::from_shape_vec((rows, columns), unpad_rows(padded, columns)).unwrap_or_default()
}

/// Deviations of a few roundings a layer, relative to the largest element: errors go through all layers.
fn near_largest(got: &Array2<f32>, want: &Array2<f64>, units: f64) -> Figures {
    let largest = want.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    let magnitude = Array2::from_elem(want.dim(), largest);
    Figures::near(got, want, &magnitude, &(&magnitude * (units * f64::from(f32::EPSILON))))
}

fn too_many_layers() -> Error {
    Error::Config("the kernels have no room for so many layers".to_owned())
}

impl Step {
    fn shape(&self, compute: &Compute) -> Result<StepShape> {
        StepShape::new(&self.network, &self.rule, self.weighted, self.capacity, &compute.tuning)
            .ok_or_else(too_many_layers)
    }

    /// The network with its parameters as the device has them.
    fn parameters(&self, shape: &StepShape) -> (ReferenceNetwork, Vec<f32>) {
        let parameters = Parameters::he_normal(&self.network, 3);
        (ReferenceNetwork::new(&self.network, &parameters), shape.layout().pack(&parameters))
    }

    /// Puts optimizer state behind the parameters, and NaN where what a step keeps will stand; gives the state of each layer.
    fn with_states(&self, layout: &ParameterLayout, parameters: &mut Vec<f32>) -> Vec<Vec<Array2<f32>>> {
        let kind = self.rule.optimizer.kind;
        parameters.resize(4 * layout.state_distance(), f32::NAN);
        let layers = layout.layers().iter().zip(80..);
        let all: Vec<Vec<Array2<f32>>> =
            layers.map(|(at, stream)| states(kind, at.inputs + 1, at.outputs, 3 * stream)).collect();
        for number in 0..kind.states() {
            all.iter().for_each(|states| parameters.extend(flat(&states[number])));
        }
        all
    }

    fn resident(&self, compute: &Compute, stored: FeatureFormat) -> Result<Figures> {
        let (sizes, kind) = (self.network.sizes(), self.rule.optimizer.kind);
        let shape = StepShape::resident(&self.network, &self.rule, self.weighted, self.capacity);
        let shape = shape.ok_or_else(too_many_layers)?;
        let layout = shape.layout();
        let (network, mut parameters) = self.parameters(&shape);
        let states = self.with_states(layout, &mut parameters);
        let (first, samples) = (2, self.capacity + 5);
        let order: Vec<u32> = (0..samples as u32).rev().collect();
        let taken = indices(&order[first..first + self.rows]);
        let (features, x) = features(compute, stored, samples, sizes[0])?;
        let (wanted, targets) = self.wanted(samples, &taken);
        let on_parameters = compute.vector(&parameters)?;
        let (on_targets, on_order) = (compute.vector(&targets)?, compute.vector(&order)?);
        let metrics = Vector::<f32>::output(compute, 1, 2)?;
        let record = StepRecord { first: first as u32, rows: self.rows as u32, ..self.rule.record(STEP) };
        let buffers = [
            &features,
            on_targets.buffer(),
            on_order.buffer(),
            &compute.upload(&[record])?,
            on_parameters.buffer(),
            metrics.buffer(),
        ];
        compute.run(&Resident::new(&shape, Samples { stored, count: samples }), &buffers, record)?;

        let got = on_parameters.read(compute)?;
        let pass = network.pass(x.select(Axis(0), &taken).view(), Some(&record));
        let g = network.gradients_of(&pass, &wanted.targets());
        let of_g = bounds::gradients_of(&network, &pass, &wanted.targets());
        let whole = |of: &ReferenceNetwork, layer: usize| {
            concatenate![Axis(0), of.weights[layer], of.biases[layer].clone().insert_axis(Axis(0))]
        };
        let mut figures = Figures::default();
        for (layer, (at, states)) in layout.layers().iter().zip(states).enumerate() {
            let before = whole(&network, layer).mapv(|value| value as f32);
            let regions =
                (0..kind.states()).map(|number| layout.state_distance() + number * layout.weights());
            let after = [0].into_iter().chain(regions);
            let updated = Updated {
                before: [before].into_iter().chain(states).collect(),
                after: after
                    .map(|region| matrix(&got, region + at.offset, at.inputs + 1, at.outputs))
                    .collect(),
            };
            figures =
                figures.and(updated.figures(&self.rule, layer, &whole(&g, layer), &whole(&of_g, layer)));
        }
        let units = 4.0 * (sizes.len() * sizes[0].max(sizes[1])) as f64 + 16.0;
        let logits = &pass.activations[pass.activations.len() - 1];
        Ok(figures.and(wanted.near_metrics(&metrics.read(compute)?, logits, units)))
    }

    /// What the rows of the batch should give, and the targets of all samples, of which those are `taken`.
    fn wanted(&self, samples: usize, taken: &[usize]) -> (Wanted, Vec<u32>) {
        let (loss, smoothing) = (self.network.loss(), self.rule.label_smoothing);
        let (form, outputs) =
            (LossTargets { loss, smoothing, weighted: self.weighted }, self.network.outputs());
        let wanted = Wanted::new(form, self.rows, outputs);
        let mut targets = vec![vec![0; form.words(outputs)]; samples];
        for (row, sample) in taken.iter().enumerate() {
            targets[*sample] = wanted.words(row);
        }
        (wanted, targets.concat())
    }

    fn row(&self, compute: &Compute) -> Result<Figures> {
        let (shape, sizes) = (self.shape(compute)?, self.network.sizes());
        let (capacity, rows) = (self.capacity, self.rows);
        let (mut network, mut parameters) = self.parameters(&shape);
        let mut sums = Array2::zeros((rows, sizes[1]));
        for part in 0..shape.parts() {
            let partial = random(capacity, sizes[1], 20 + part as u32);
            parameters.extend(flat(&partial));
            sums += &wide(&partial).slice(ndarray::s![..rows, ..]);
        }
        let (first, samples) = (2u32, capacity + 5);
        let order: Vec<u32> = (0..samples as u32).rev().collect();
        let (wanted, targets) = self.wanted(samples, &indices(&order[first as usize..][..rows]));
        let on_parameters = compute.vector(&parameters)?;
        let (on_targets, on_order) = (compute.vector(&targets)?, compute.vector(&order)?);
        let activations = Vector::<f32>::output(compute, 1, 8 * shape.activations())?;
        let metrics = Vector::<f32>::output(compute, 1, 2 * compute.tuning.batch_groups(capacity))?;
        let buffers = [
            on_parameters.buffer(),
            on_targets.buffer(),
            on_order.buffer(),
            activations.buffer(),
            metrics.buffer(),
        ];
        let record = StepRecord { first, rows: rows as u32, ..self.rule.record(STEP) };
        compute.run(&Row::new(&shape, samples), &buffers, record)?;

        // The sums as the inputs of a first layer that only adds its bias.
        network.weights[0] = Array2::eye(sizes[1]);
        let pass = network.pass(sums.view(), Some(&record));
        let deltas = network.deltas_of(&pass, &wanted.targets());
        let got = activations.read(compute)?;
        let mut figures = Figures::default();
        for (layer, (output, delta)) in (1..).zip(pass.activations[1..].iter().zip(&deltas)) {
            let units = 4.0 * (layer * sizes[layer.max(2) - 1]) as f64 + 16.0;
            let place = shape.place(layer);
            figures = figures.and(near_largest(&matrix(&got, place, rows, sizes[layer]), output, units));
            let place = place + shape.activations();
            figures = figures.and(near_largest(&matrix(&got, place, rows, sizes[layer]), delta, 8.0 * units));
        }
        let layers = deltas.len();
        let units = 4.0 * (layers * sizes[layers - 1]) as f64 + 16.0;
        let logits = &pass.activations[layers];
        Ok(figures.and(wanted.near_metrics(&metrics.read(compute)?, logits, units)))
    }

    fn column(&self, compute: &Compute, stored: FeatureFormat) -> Result<Figures> {
        let (shape, sizes, kind) = (self.shape(compute)?, self.network.sizes(), self.rule.optimizer.kind);
        let (capacity, rows) = (self.capacity, self.rows);
        let (network, mut parameters) = self.parameters(&shape);
        let layout = shape.layout();
        let states = self.with_states(layout, &mut parameters);
        let (samples, inputs, next) = (2 * capacity + 3, sizes[0], (rows / 2 + 1) as u32);
        let (features, x) = features(compute, stored, samples, inputs)?;
        let order: Vec<u32> = (0..samples as u32).rev().collect();
        let (mut outputs, mut deltas) = (Vec::new(), Vec::new());
        for (layer, size) in (0..).zip(&sizes[1..]) {
            outputs.push(random(capacity, *size, 50 + layer));
            deltas.push(random(capacity, *size, 60 + layer));
        }
        let activations: Vec<f32> = outputs.iter().chain(&deltas).flat_map(flat).collect();
        let (on_order, on_activations) = (compute.vector(&order)?, compute.vector(&activations)?);
        let on_parameters = compute.vector(&parameters)?;
        let buffers = [&features, on_order.buffer(), on_activations.buffer(), on_parameters.buffer()];
        let kernel = Column::new(&shape, Samples { stored, count: samples }, &compute.tuning);
        let record = StepRecord { first: 1, rows: rows as u32, next_rows: next, ..self.rule.record(STEP) };
        compute.run(&kernel, &buffers, record)?;

        let got = on_parameters.read(compute)?;
        let taken = indices(&order[1..1 + rows]);
        let mut input = x.select(Axis(0), &taken);
        let (mut figures, mut first) = (Figures::default(), Array2::zeros((0, 0)));
        for (layer, (at, states)) in layout.layers().iter().zip(states).enumerate() {
            let live = |values: &Array2<f32>| wide(values).slice(ndarray::s![..rows, ..]).to_owned();
            let ones = concatenate![Axis(1), input, Array2::ones((rows, 1))];
            let delta = live(&deltas[layer]);
            let (g, of_g) = (ops::matmul(ones.t(), delta.view()), bounds::matmul(ones.t(), delta.view()));
            let (w, b) = (&network.weights[layer], &network.biases[layer]);
            let before = concatenate![Axis(0), *w, b.clone().insert_axis(Axis(0))];
            let before = [before.mapv(|value| value as f32)].into_iter().chain(states).collect();
            let regions =
                (0..kind.states()).map(|number| layout.state_distance() + number * layout.weights());
            let after: Vec<Array2<f32>> = [0]
                .into_iter()
                .chain(regions)
                .map(|region| matrix(&got, region + at.offset, at.inputs + 1, at.outputs))
                .collect();
            if layer == 0 {
                first = wide(&after[0]).slice(ndarray::s![..inputs, ..]).to_owned();
            }
            figures = figures.and(Updated { before, after }.figures(&self.rule, layer, &g, &of_g));
            input = live(&outputs[layer]);
        }
        // The next batch's sums, with the weights as the device has just made them.
        let next_rows = next as usize;
        let x = x.select(Axis(0), &indices(&order[1 + rows..1 + rows + next_rows]));
        let mut sums = Array2::zeros((next_rows, sizes[1]));
        for part in 0..shape.parts() {
            let start = layout.partials() + part * capacity * blocks(sizes[1]);
            sums += &wide(&matrix(&got, start, next_rows, sizes[1]));
        }
        let (want, bound) = (ops::matmul(x.view(), first.view()), bounds::matmul(x.view(), first.view()));
        let sums = sums.mapv(|value: f64| value as f32);
        let magnitude = ops::matmul(x.mapv(f64::abs).view(), first.mapv(f64::abs).view());
        Ok(figures.and(Figures::near(&sums, &want, &magnitude, &bound)))
    }
}
