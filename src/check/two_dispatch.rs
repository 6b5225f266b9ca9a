//! The two kernels of the two-dispatch step.

use ndarray::{Array2, Axis, concatenate};

use super::training::{RATE, features, near_metrics, near_update};
use super::{Cases, Figures, indices, labels, random, wide};
use crate::error::Result;
use crate::kernels::{
    Column, Compute, FeatureFormat, Row, Samples, StepRecord, StepShape, Tensor, Vector, blocks, pad_rows,
    unpad_rows,
};
use crate::model::{Network, ParameterLayout, Parameters};
use crate::reference::{ReferenceNetwork, bounds, ops};
use crate::step::UpdateRule;

/// Layer sizes, and most rows and live rows of a batch.
const SHAPES: [(&[usize], usize, usize); 4] =
    [(&[13, 5], 9, 9), (&[33, 17, 65], 40, 33), (&[17, 63, 33, 5], 33, 33), (&[784, 300, 100, 10], 64, 64)];

pub(super) fn run(cases: &mut Cases<'_>) {
    for (sizes, capacity, rows) in SHAPES {
        let sizes_text: Vec<String> = sizes.iter().map(usize::to_string).collect();
        let text = format!("{rows} of {capacity} x {}", sizes_text.join("-"));
        cases.case("row", &text, |compute| row(compute, sizes, capacity, rows));
        for stored in [FeatureFormat::Bytes, FeatureFormat::Floats] {
            let name = format!("column {}", format!("{stored:?}").to_lowercase());
            cases.case(&name, &text, |compute| column(compute, sizes, capacity, rows, stored));
        }
    }
}

/// A network with its parameters as the device has them.
fn network(sizes: &[usize]) -> Result<(ReferenceNetwork, Vec<f32>)> {
    let network = Network::classifier(sizes)?;
    let parameters = Parameters::he_normal(&network, 3);
    Ok((parameters.to_reference(&network), ParameterLayout::of_sizes(sizes).pack(&parameters)))
}

fn shape(compute: &Compute, sizes: &[usize], rows: usize) -> Result<StepShape> {
    let many = || crate::Error::Config("the kernels have no room for so many layers".to_owned());
    let (network, rule) = (Network::classifier(sizes)?, UpdateRule::sgd(RATE));
    StepShape::new(&network, &rule, false, rows, &compute.tuning).ok_or_else(many)
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

fn row(compute: &Compute, sizes: &[usize], capacity: usize, rows: usize) -> Result<Figures> {
    let shape = shape(compute, sizes, capacity)?;
    let (network, mut parameters) = network(sizes)?;
    let mut z = Array2::zeros((rows, sizes[1])) + &network.biases[0];
    for part in 0..shape.parts() {
        let partial = random(capacity, sizes[1], 20 + part as u32);
        parameters.extend(pad_rows(&partial.iter().copied().collect::<Vec<_>>(), sizes[1]));
        z += &wide(&partial).slice(ndarray::s![..rows, ..]);
    }
    let (first, classes) = (2u32, labels(capacity + 5, sizes[sizes.len() - 1]));
    let order: Vec<u32> = (0..classes.len() as u32).rev().collect();
    let on_parameters = compute.vector(&parameters)?;
    let (on_labels, on_order) = (compute.vector(&classes)?, compute.vector(&order)?);
    let activations = Vector::<f32>::output(compute, 1, 8 * shape.activations())?;
    let metrics = Vector::<f32>::output(compute, 1, 2 * compute.tuning.batch_groups(capacity))?;
    let buffers = [
        on_parameters.buffer(),
        on_labels.buffer(),
        on_order.buffer(),
        activations.buffer(),
        metrics.buffer(),
    ];
    compute.run(
        &Row::new(&shape, capacity + 5, &compute.tuning),
        &buffers,
        StepRecord { first, ..StepRecord::all(rows) },
    )?;

    let taken: Vec<usize> = indices(&order[first as usize..first as usize + rows]);
    let targets: Vec<usize> = taken.iter().map(|sample| classes[*sample] as usize).collect();
    let (outputs, deltas) = from_sums(&network, z, &targets);
    let got = activations.read(compute)?;
    let mut figures = Figures::default();
    for (layer, (output, delta)) in (1..).zip(outputs.iter().zip(&deltas)) {
        let units = 4.0 * (layer * sizes[layer.max(2) - 1]) as f64 + 16.0;
        let place = shape.place(layer);
        figures = figures.and(near_largest(&matrix(&got, place, rows, sizes[layer]), output, units));
        let place = place + shape.activations();
        figures = figures.and(near_largest(&matrix(&got, place, rows, sizes[layer]), delta, 8.0 * units));
    }
    let logits = &outputs[outputs.len() - 1];
    Ok(figures.and(near_metrics(&metrics.read(compute)?, logits, &targets, 4.0)))
}

/// The outputs of all layers and their deltas, from the first layer's sums.
fn from_sums(
    network: &ReferenceNetwork,
    z: Array2<f64>,
    targets: &[usize],
) -> (Vec<Array2<f64>>, Vec<Array2<f64>>) {
    if network.weights.len() == 1 {
        let delta = ops::softmax_cross_entropy(z.view(), targets);
        return (vec![z], vec![delta]);
    }
    let h = ops::relu(z.view());
    let above = ReferenceNetwork::relu(network.weights[1..].to_vec(), network.biases[1..].to_vec());
    let mut deltas = above.deltas(h.view(), targets);
    let dh = ops::input_gradient(deltas[0].view(), network.weights[1].view());
    deltas.insert(0, ops::relu_backward(h.view(), dh.view()));
    (above.activations(h.view()), deltas)
}

fn column(
    compute: &Compute,
    sizes: &[usize],
    capacity: usize,
    rows: usize,
    stored: FeatureFormat,
) -> Result<Figures> {
    let shape = shape(compute, sizes, capacity)?;
    let (network, mut parameters) = network(sizes)?;
    parameters.resize(
        parameters.len() + 4 * (shape.layout().state_distance() - shape.layout().weights()),
        f32::NAN,
    );
    let (samples, inputs, next) = (2 * capacity + 3, sizes[0], (rows / 2 + 1) as u32);
    let (features, x) = features(compute, stored, samples, inputs)?;
    let order: Vec<u32> = (0..samples as u32).rev().collect();
    let (mut outputs, mut deltas) = (Vec::new(), Vec::new());
    for (layer, size) in (0..).zip(&sizes[1..]) {
        outputs.push(random(capacity, *size, 50 + layer));
        deltas.push(random(capacity, *size, 60 + layer));
    }
    let both = outputs.iter().chain(&deltas);
    let activations: Vec<f32> = both
        .flat_map(|values| pad_rows(&values.iter().copied().collect::<Vec<_>>(), values.ncols()))
        .collect();
    let (on_order, on_activations) = (compute.vector(&order)?, compute.vector(&activations)?);
    let on_parameters = compute.vector(&parameters)?;
    let buffers = [&features, on_order.buffer(), on_activations.buffer(), on_parameters.buffer()];
    let kernel = Column::new(&shape, Samples { stored, count: samples }, &compute.tuning);
    compute.run(
        &kernel,
        &buffers,
        StepRecord { first: 1, next_rows: next, rate: RATE, ..StepRecord::all(rows) },
    )?;

    let got = on_parameters.read(compute)?;
    let taken = indices(&order[1..1 + rows]);
    let mut input = x.select(Axis(0), &taken);
    let (mut figures, mut place, mut first) = (Figures::default(), 0, Array2::zeros((0, 0)));
    let layers = network.weights.iter().zip(&network.biases).zip(outputs.iter().zip(&deltas));
    for ((w, b), (output, delta)) in layers {
        let live = |values: &Array2<f32>| wide(values).slice(ndarray::s![..rows, ..]).to_owned();
        let ones = concatenate![Axis(1), input, Array2::ones((rows, 1))];
        let gradient = ops::matmul(ones.t(), live(delta).view());
        let before = concatenate![Axis(0), *w, b.clone().insert_axis(Axis(0))];
        let bound = bounds::matmul(ones.t(), live(delta).view());
        let after = matrix(&got, place, before.nrows(), before.ncols());
        place += before.nrows() * blocks(before.ncols());
        if first.is_empty() {
            first = wide(&after).slice(ndarray::s![..inputs, ..]).to_owned();
        }
        figures = figures.and(near_update(&after, &before, &gradient, &bound));
        input = live(output);
    }
    // The next batch's sums, with the weights as the device has just made them.
    let next_rows = next as usize;
    let x = x.select(Axis(0), &indices(&order[1 + rows..1 + rows + next_rows]));
    let mut sums = Array2::zeros((next_rows, sizes[1]));
    for part in 0..shape.parts() {
        let start = place + part * capacity * blocks(sizes[1]);
        sums += &wide(&matrix(&got, start, next_rows, sizes[1]));
    }
    let (want, bound) = (ops::matmul(x.view(), first.view()), bounds::matmul(x.view(), first.view()));
    let sums = sums.mapv(|value: f64| value as f32);
    let magnitude = ops::matmul(x.mapv(f64::abs).view(), first.mapv(f64::abs).view());
    Ok(figures.and(Figures::near(&sums, &want, &magnitude, &bound)))
}
