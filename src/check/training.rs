//! The kernels of a training step.

use ndarray::{Array2, Axis, concatenate};

use super::products::product;
use super::{Cases, Figures, indices, labels, random, wide};
use crate::error::Result;
use crate::kernels::{
    Compute, FeatureFormat, Forward, Gather, InputGradient, Kernel, LayerInputs, LayerUpdate, Matrix,
    Nonlinearity, Samples, StepRecord, Tensor, Update, Vector, WeightGradient, pad_rows,
};
use crate::model::ParameterLayout;
use crate::reference::{bounds, ops};
use crate::step::UpdateRule;

/// Rows, inputs, outputs of a layer.
const SHAPES: [[usize; 3]; 2] = [[33, 17, 65], [64, 300, 100]];
pub(super) const RATE: f32 = 0.1;

/// Dispatches a kernel whose last binding is its output, a matrix.
pub(super) fn run_kernel(
    compute: &Compute,
    kernel: &dyn Kernel,
    inputs: &[&wgpu::Buffer],
    record: StepRecord,
    output: [usize; 2],
) -> Result<Array2<f32>> {
    let result = Matrix::output(compute, output[0], output[1])?;
    let buffers: Vec<&wgpu::Buffer> = inputs.iter().copied().chain([result.buffer()]).collect();
    compute.run(kernel, &buffers, record)?;
    result.read(compute)
}

pub(super) fn run(cases: &mut Cases<'_>) {
    for shape in SHAPES {
        let [rows, inputs, outputs] = shape;
        let text = format!("{rows} x {inputs} x {outputs}");
        for relu in [false, true] {
            let name = if relu { "forward + relu" } else { "forward" };
            cases.case(name, &text, |compute| forward(compute, shape, relu));
            let name = if relu { "input_gradient + mask" } else { "input_gradient" };
            cases.case(name, &text, |compute| input_gradient(compute, shape, relu));
        }
        cases.case("weight_gradient", &text, |compute| weight_gradient(compute, shape));
        cases.case("weight_gradient + update", &text, |compute| updated(compute, shape));
        for stored in [FeatureFormat::Bytes, FeatureFormat::Floats] {
            let name = format!("{stored:?}").to_lowercase();
            cases.case(&format!("forward {name}"), &text, |it| forward_stored(it, shape, stored));
            cases.case(&format!("weight_gradient {name}"), &text, |it| gradient_stored(it, shape, stored));
        }
    }
    cases.case("update", "65 x 257", |compute| {
        let (p, g) = (random(65, 257, 1), random(65, 257, 2));
        let (on_p, on_g) = (compute.matrix(&p)?, compute.matrix(&g)?);
        let kernel = &Update::all(&UpdateRule::sgd(RATE), &ParameterLayout::of_sizes(&[64, 257]), None)[0];
        let record = StepRecord { rate: RATE, ..StepRecord::default() };
        compute.run(kernel, &[on_g.buffer(), on_p.buffer()], record)?;
        Ok(near_update(&on_p.read(compute)?, &wide(&p), &wide(&g), &Array2::zeros(p.dim())))
    });
    for stored in [FeatureFormat::Bytes, FeatureFormat::Floats] {
        let name = format!("gather {}", format!("{stored:?}").to_lowercase());
        cases.case(&name, "63 of 100 x 65", |compute| gather(compute, stored));
    }
}

/// ReLU, or nothing.
fn relu_if(relu: bool) -> Nonlinearity {
    if relu { Nonlinearity::RELU } else { Nonlinearity::LINEAR }
}

/// The data set that [`samples`] makes for so many rows.
fn data_set(rows: usize, stored: FeatureFormat) -> LayerInputs {
    LayerInputs::DataSet(Samples { stored, count: rows + 9 })
}

/// Plain gradient descent of one layer.
fn sgd(inputs: usize, outputs: usize) -> LayerUpdate {
    LayerUpdate::of(&UpdateRule::sgd(RATE), &ParameterLayout::of_sizes(&[inputs, outputs]), 0)
}

/// W and below it b.
pub(super) fn parameters(inputs: usize, outputs: usize) -> Array2<f32> {
    random(inputs + 1, outputs, 5)
}

pub(super) fn with_ones(x: &Array2<f32>) -> Array2<f32> {
    concatenate![Axis(1), *x, Array2::ones((x.nrows(), 1))]
}

fn forward(compute: &Compute, [rows, inputs, outputs]: [usize; 3], relu: bool) -> Result<Figures> {
    let (x, p) = (random(rows, inputs, 6), parameters(inputs, outputs));
    let (on_x, on_p) = (compute.matrix(&x)?, compute.matrix(&p)?);
    let kernel = Forward {
        rows,
        inputs,
        outputs,
        offset: 0,
        nonlinearity: relu_if(relu),
        source: LayerInputs::Matrix,
    };
    let y = run_kernel(
        compute,
        &kernel,
        &[on_x.buffer(), on_p.buffer()],
        StepRecord::all(rows),
        [rows, outputs],
    )?;
    let mut figures = product(&y, &with_ones(&x), &p);
    if relu {
        figures.want.iter_mut().for_each(|value| *value = value.max(0.0));
    }
    Ok(figures)
}

fn input_gradient(compute: &Compute, [rows, inputs, outputs]: [usize; 3], mask: bool) -> Result<Figures> {
    let (dy, p, h) = (random(rows, outputs, 7), parameters(inputs, outputs), random(rows, inputs, 8));
    let (on_dy, on_p, on_h) = (compute.matrix(&dy)?, compute.matrix(&p)?, compute.matrix(&h)?);
    let kernel =
        InputGradient { rows, inputs, outputs, offset: 0, below: mask.then_some(Nonlinearity::RELU) };
    let buffers = [on_dy.buffer(), on_p.buffer(), on_h.buffer()];
    let dx = run_kernel(compute, &kernel, &buffers, StepRecord::all(rows), [rows, inputs])?;
    let w = p.slice(ndarray::s![..inputs, ..]).t().to_owned();
    let mut figures = product(&dx, &dy, &w);
    if mask {
        figures.want.iter_mut().zip(&h).filter(|(_, h)| **h <= 0.0).for_each(|(value, _)| *value = 0.0);
    }
    Ok(figures)
}

fn weight_gradient(compute: &Compute, [rows, inputs, outputs]: [usize; 3]) -> Result<Figures> {
    let (x, dy) = (random(rows, inputs, 9), random(rows, outputs, 10));
    let (on_x, on_dy) = (compute.matrix(&x)?, compute.matrix(&dy)?);
    let kernel =
        WeightGradient { rows, inputs, outputs, offset: 0, update: None, source: LayerInputs::Matrix };
    let dw = run_kernel(
        compute,
        &kernel,
        &[on_x.buffer(), on_dy.buffer()],
        StepRecord::all(rows),
        [inputs + 1, outputs],
    )?;
    Ok(product(&dw, &with_ones(&x).t().to_owned(), &dy))
}

fn updated(compute: &Compute, [rows, inputs, outputs]: [usize; 3]) -> Result<Figures> {
    let (x, dy, p) = (random(rows, inputs, 9), random(rows, outputs, 10), parameters(inputs, outputs));
    let (on_x, on_dy, on_p) = (compute.matrix(&x)?, compute.matrix(&dy)?, compute.matrix(&p)?);
    let update = Some(sgd(inputs, outputs));
    let kernel = WeightGradient { rows, inputs, outputs, offset: 0, update, source: LayerInputs::Matrix };
    let record = StepRecord { rate: RATE, ..StepRecord::all(rows) };
    compute.run(&kernel, &[on_x.buffer(), on_dy.buffer(), on_p.buffer()], record)?;
    let (x, dy) = (wide(&with_ones(&x)), wide(&dy));
    let dw = ops::matmul(x.t(), dy.view());
    Ok(near_update(&on_p.read(compute)?, &wide(&p), &dw, &bounds::matmul(x.t(), dy.view())))
}

/// P - rate G, where G may be off by `bound`.
fn near_update(got: &Array2<f32>, p: &Array2<f64>, g: &Array2<f64>, bound: &Array2<f64>) -> Figures {
    let rate = f64::from(RATE);
    let magnitude = p.mapv(f64::abs) + g.mapv(f64::abs) * rate;
    let bound = bound * rate + &magnitude * (2.0 * f64::from(f32::EPSILON));
    Figures::near(got, &ops::update(p.view(), g.view(), rate), &magnitude, &bound)
}

/// A data set as a device stores it, and its values as kernels see them.
pub(super) fn features(
    compute: &Compute,
    stored: FeatureFormat,
    samples: usize,
    inputs: usize,
) -> Result<(wgpu::Buffer, Array2<f64>)> {
    match stored {
        FeatureFormat::Bytes => {
            let bytes = Array2::from_shape_fn((samples, inputs), |(i, j)| ((i * 31 + j * 17) % 256) as u8);
            let padded = pad_rows(&bytes.iter().copied().collect::<Vec<u8>>(), inputs);
            Ok((compute.upload(&padded)?, bytes.mapv(|value| f64::from(value) / 255.0)))
        }
        FeatureFormat::Floats => {
            let floats = random(samples, inputs, 11);
            Ok((compute.matrix(&floats)?.buffer().clone(), wide(&floats)))
        }
    }
}

/// All rows of a data set in some order.
fn shuffled(samples: usize) -> Vec<u32> {
    (0..samples as u32).map(|i| (i * 79 + 13) % samples as u32).collect()
}

/// Where the batch begins in that order.
const FIRST: usize = 5;

/// A data set with rows to spare, on the device with its order; and the rows of the batch as a matrix.
fn samples(
    compute: &Compute,
    stored: FeatureFormat,
    [rows, inputs, _]: [usize; 3],
) -> Result<(wgpu::Buffer, Vector<u32>, Array2<f32>)> {
    let (features, values) = features(compute, stored, rows + 9, inputs)?;
    let order = shuffled(rows + 9);
    let x = ops::gather(values.view(), &indices(&order[FIRST..FIRST + rows]), 1.0);
    Ok((features, compute.vector(&order)?, x.mapv(|value| value as f32)))
}

fn forward_stored(compute: &Compute, shape: [usize; 3], stored: FeatureFormat) -> Result<Figures> {
    let [rows, inputs, outputs] = shape;
    let (features, order, x) = samples(compute, stored, shape)?;
    let (p, y) = (parameters(inputs, outputs), Matrix::output(compute, rows, outputs)?);
    let kernel = Forward {
        rows,
        inputs,
        outputs,
        offset: 0,
        nonlinearity: Nonlinearity::LINEAR,
        source: data_set(rows, stored),
    };
    let on_p = compute.matrix(&p)?;
    let batch = StepRecord { first: FIRST as u32, ..StepRecord::all(rows) };
    compute.run(&kernel, &[&features, on_p.buffer(), order.buffer(), y.buffer()], batch)?;
    Ok(product(&y.read(compute)?, &with_ones(&x), &p))
}

fn gradient_stored(compute: &Compute, shape: [usize; 3], stored: FeatureFormat) -> Result<Figures> {
    let [rows, inputs, outputs] = shape;
    let (features, order, x) = samples(compute, stored, shape)?;
    let (dy, dw) = (random(rows, outputs, 10), Matrix::output(compute, inputs + 1, outputs)?);
    let source = data_set(rows, stored);
    let kernel = WeightGradient { rows, inputs, outputs, offset: 0, update: None, source };
    let on_dy = compute.matrix(&dy)?;
    let batch = StepRecord { first: FIRST as u32, ..StepRecord::all(rows) };
    compute.run(&kernel, &[&features, on_dy.buffer(), order.buffer(), dw.buffer()], batch)?;
    Ok(product(&dw.read(compute)?, &with_ones(&x).t().to_owned(), &dy))
}

fn gather(compute: &Compute, stored: FeatureFormat) -> Result<Figures> {
    let (samples, inputs, rows) = (100, 65, 63);
    let (features, values) = features(compute, stored, samples, inputs)?;
    let order = shuffled(samples);
    let classes = labels(samples, 10);
    let (on_labels, on_order) = (compute.vector(&classes)?, compute.vector(&order)?);
    let (x, targets) = (Matrix::output(compute, rows, inputs)?, Vector::<u32>::output(compute, 1, rows)?);
    let buffers = [&features, on_labels.buffer(), on_order.buffer(), x.buffer(), targets.buffer()];
    let kernel = Gather { rows, inputs, words: 1, samples: Samples { stored, count: samples } };
    compute.run(&kernel, &buffers, StepRecord { first: FIRST as u32, ..StepRecord::all(rows) })?;
    let taken = indices(&order[FIRST..FIRST + rows]);
    let want = ops::gather(values.view(), &taken, 1.0);
    let magnitude = want.mapv(f64::abs);
    // unpack4x8unorm and one rounding; floats are taken as they are.
    let units = if stored == FeatureFormat::Bytes { 2.0 } else { 0.0 };
    let bound = &magnitude * (units * f64::from(f32::EPSILON));
    let figures = Figures::near(&x.read(compute)?, &want, &magnitude, &bound);
    Ok(figures.and(Figures::exact(targets.read(compute)?, taken.iter().map(|row| classes[*row]))))
}
