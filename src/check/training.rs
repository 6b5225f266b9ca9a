//! Kernels of a training step: of a layer, with every activation and every optimizer, and kernels that only
//! gather or update.

use ndarray::{Array2, Axis, concatenate, s};

use super::products::{product, with_ones};
use super::{Cases, Figures, flat, indices, labels, matrix, random, wide};
use crate::error::Result;
use crate::kernels::{
    Activate, ActivateBackward, Augment, Compute, FeatureFormat, Forward, Gather, InputGradient, Kernel,
    LayerInputs, LayerUpdate, Matrix, Nonlinearity, Samples, StepRecord, SumSquares, Tensor, Update, Vector,
    WeightGradient, pad_rows, unpad_rows,
};
use crate::model::{ParameterLayout, blocks};
use crate::reference::{bounds, ops};
use crate::step::{
    Activation, Augment as Distortions, Distortion, Dropout, ImageSize, OptimizerKind, RateFactors,
    UpdateRule,
};

/// Rows, inputs, outputs of a layer.
const SHAPES: [[usize; 3]; 2] = [[33, 17, 65], [64, 300, 100]];
/// Layer with dropout, and its share.
const LAYER: usize = 1;
const SHARE: f32 = 0.3;
/// Number of the step, from 0.
pub(super) const STEP: u64 = 2;
pub(super) const RATE: f32 = 0.1;
pub(super) const STORED: [(FeatureFormat, &str); 2] =
    [(FeatureFormat::Bytes, "bytes"), (FeatureFormat::Floats, "floats")];

pub(super) fn run(cases: &mut Cases<'_>) {
    let sgd = UpdateRule::sgd(RATE);
    for shape in cases.shapes(SHAPES, [[1, 1, 1], [3, 257, 5], [65, 63, 3], [257, 5, 17]]) {
        let [rows, inputs, outputs] = shape;
        let text = format!("{rows} x {inputs} x {outputs}");
        let plain = Layer { shape, stored: None };
        let (linear, relu) = (Nonlinearity::LINEAR, Nonlinearity::RELU);
        for (follows, mask, below) in [("", "", None), (" + relu", " + mask", Some(relu))] {
            let nonlinearity = below.unwrap_or(linear);
            cases.case(&format!("forward{follows}"), &text, |it| plain.forward(it, nonlinearity));
            cases.case(&format!("input_gradient{mask}"), &text, |it| plain.input_gradient(it, below));
        }
        cases.case("weight_gradient", &text, |it| plain.weight_gradient(it, None));
        cases.case("weight_gradient + update", &text, |it| plain.weight_gradient(it, Some(&sgd)));
        for (stored, name) in STORED {
            let it = Layer { shape, stored: Some(stored) };
            cases.case(&format!("forward {name}"), &text, |compute| it.forward(compute, linear));
            let name = format!("weight_gradient {name}");
            cases.case(&name, &text, |compute| it.weight_gradient(compute, None));
        }
    }
    cases.case("update", "65 x 257", |compute| update(compute, &sgd, [64, 257]));
    for (stored, name) in STORED {
        cases.case(&format!("gather {name}"), "63 of 100 x 65", |compute| gather(compute, stored));
        let subject = format!("augment {name}");
        cases.case(&subject, "63 of 100 x 13 x 5", |compute| augment(compute, stored));
    }
}

/// Each activation once, every second one with dropout.
pub(super) fn run_activations(cases: &mut Cases<'_>) {
    let [rows, inner, columns] = SHAPES[0];
    for (number, activation) in Activation::ALL.iter().copied().enumerate() {
        let dropout = Dropout::new(SHARE, LAYER).filter(|_| number % 2 == 1);
        let it = Nonlinearity { activation, dropout };
        let name = if dropout.is_some() { format!("{activation} + dropout") } else { activation.to_string() };
        let [plain, product] = [format!("{rows} x {columns}"), format!("{rows} x {inner} x {columns}")];
        let layer = |shape| Layer { shape, stored: None };
        cases.case(&format!("activate, activate_backward {name}"), &plain, |compute| {
            elementwise(compute, it, [rows, columns])
        });
        let up = layer([rows, inner, columns]);
        cases.case(&format!("forward {name}"), &product, |compute| up.forward(compute, it));
        let down = layer([rows, columns, inner]);
        let name = format!("input_gradient {name}");
        cases.case(&name, &product, |compute| down.input_gradient(compute, Some(it)));
    }
}

/// Each optimizer once, with weight decay and factors of the learning rate.
pub(super) fn run_optimizers(cases: &mut Cases<'_>) {
    let [rows, inputs, outputs] = SHAPES[0];
    let layer = Layer { shape: SHAPES[0], stored: None };
    for (number, kind) in OptimizerKind::ALL.iter().copied().enumerate() {
        let rule = rule(kind);
        let clipped = UpdateRule { clip_norm: Some(5.0).filter(|_| number % 2 == 0), ..rule.clone() };
        let name = if clipped.clip_norm.is_some() { "sum_squares, update" } else { "update" };
        cases.case(&format!("{name} {kind}"), &format!("{} x {outputs}", inputs + 1), |compute| {
            update(compute, &clipped, [inputs, outputs])
        });
        let text = format!("{rows} x {inputs} x {outputs}");
        cases.case(&format!("weight_gradient + {kind}"), &text, |compute| {
            layer.weight_gradient(compute, Some(&rule))
        });
    }
}

/// Returns the rule for checking an optimizer.
pub(super) fn rule(kind: OptimizerKind) -> UpdateRule {
    let mut optimizer = kind.defaults();
    optimizer.weight_decay = 0.1;
    let factors = RateFactors { biases: 2.0, layers: vec![0.5], ..RateFactors::default() };
    UpdateRule { optimizer, factors, ..UpdateRule::sgd(RATE) }
}

/// Returns the record of a batch of `rows` rows, in a step with a dropout mask other than the first.
fn record(rows: usize) -> StepRecord {
    StepRecord { step: 7, seed: [3, 0x9876_5432], ..StepRecord::all(rows) }
}

/// Returns the dropout factors of the outputs of such a batch.
fn mask(it: Nonlinearity, dim: (usize, usize)) -> Array2<f64> {
    match it.dropout {
        Some(_) => ops::dropout_mask(f64::from(SHARE), LAYER, dim, &record(dim.0)),
        None => Array2::ones(dim),
    }
}

fn value(it: Nonlinearity, z: &Array2<f64>) -> Array2<f64> {
    z.mapv(|z| ops::activation(it.activation, z)) * mask(it, z.dim())
}

/// Compares f(Z) M with the reference; Z may be off by `of_z`.
fn near_value(got: &Array2<f32>, it: Nonlinearity, z: &Array2<f64>, of_z: &Array2<f64>) -> Figures {
    let want = value(it, z);
    let bound = bounds::activation(it.activation, z, of_z, &mask(it, z.dim()));
    Figures::near(got, &want, &want.mapv(|value| 1.0 + value.abs()), &bound)
}

/// Compares dY M f'(Z) with the reference; dY may be off by `of_dy`.
fn near_gradient(got: &Array2<f32>, it: Nonlinearity, [dy, z, of_dy]: [&Array2<f64>; 3]) -> Figures {
    let mask = mask(it, z.dim());
    let want = dy * &z.mapv(|z| ops::activation_slope(it.activation, z)) * &mask;
    let bound = bounds::activation_gradient(it.activation, [dy, z, of_dy, &mask]);
    Figures::near(got, &want, &dy.mapv(|value| 1.0 + value.abs()), &bound)
}

fn elementwise(compute: &Compute, it: Nonlinearity, [rows, columns]: [usize; 2]) -> Result<Figures> {
    let (z, dy) = (random(rows, columns, 3) * 3.0, random(rows, columns, 4));
    let kept = if it.keeps_z() { z.clone() } else { value(it, &wide(&z)).mapv(|y| y as f32) };
    let forward = Activate { rows, columns, nonlinearity: it };
    let backward = ActivateBackward { rows, columns, nonlinearity: it };
    let on_z = compute.matrix(&z)?;
    let y = run_kernel(compute, &forward, &[on_z.buffer()], [rows, columns])?;
    let (on_kept, on_dy) = (compute.matrix(&kept)?, compute.matrix(&dy)?);
    let dz = run_kernel(compute, &backward, &[on_kept.buffer(), on_dy.buffer()], [rows, columns])?;
    let (z, dy, exact) = (wide(&z), wide(&dy), Array2::zeros((rows, columns)));
    Ok(near_value(&y, it, &z, &exact).and(near_gradient(&dz, it, [&dy, &z, &exact])))
}

/// Dispatches a kernel whose last binding is its output, a matrix.
fn run_kernel(
    compute: &Compute,
    kernel: &dyn Kernel,
    inputs: &[&wgpu::Buffer],
    [rows, columns]: [usize; 2],
) -> Result<Array2<f32>> {
    let output = Matrix::output(compute, rows, columns)?;
    compute.run_into(output, kernel, inputs, record(rows))?.read(compute)
}

/// A layer, and the format of its inputs if they are rows of a data set.
#[derive(Clone, Copy)]
struct Layer {
    /// Rows, inputs, outputs.
    shape: [usize; 3],
    stored: Option<FeatureFormat>,
}

/// Inputs of a layer: a matrix, or rows of a data set in an order.
struct Inputs {
    source: LayerInputs,
    features: wgpu::Buffer,
    order: Option<Vector<u32>>,
    x: Array2<f64>,
    record: StepRecord,
}

impl Inputs {
    /// Dispatches a product of the inputs with `other`.
    fn run(
        &self,
        compute: &Compute,
        kernel: &dyn Kernel,
        other: &Matrix,
        result: &impl Tensor,
    ) -> Result<()> {
        let order = self.order.iter().map(Tensor::buffer);
        let buffers = [&self.features, other.buffer()].into_iter().chain(order).chain([result.buffer()]);
        compute.run(kernel, &buffers.collect::<Vec<_>>(), self.record)
    }
}

impl Layer {
    fn inputs(&self, compute: &Compute, stream: u32) -> Result<Inputs> {
        let [rows, inputs, _] = self.shape;
        let Some(stored) = self.stored else {
            let x = random(rows, inputs, stream);
            let features = compute.matrix(&x)?.buffer().clone();
            let (source, record) = (LayerInputs::Matrix, record(rows));
            return Ok(Inputs { source, features, order: None, x: wide(&x), record });
        };
        // More rows than needed.
        let count = rows + 9;
        let (features, values) = features(compute, stored, count, inputs)?;
        let order = shuffled(count);
        Ok(Inputs {
            source: LayerInputs::DataSet(Samples { stored, count }),
            features,
            x: ops::gather(values.view(), &indices(&order[FIRST..FIRST + rows]), 1.0),
            order: Some(compute.vector(&order)?),
            record: StepRecord { first: FIRST as u32, ..record(rows) },
        })
    }

    /// Returns W followed by b.
    fn parameters(&self) -> Array2<f32> {
        random(self.shape[1] + 1, self.shape[2], 5)
    }

    fn forward(&self, compute: &Compute, nonlinearity: Nonlinearity) -> Result<Figures> {
        let ([rows, inputs, outputs], p) = (self.shape, self.parameters());
        let it = self.inputs(compute, 6)?;
        let kernel = Forward { rows, inputs, outputs, offset: 0, nonlinearity, source: it.source };
        let copies = if nonlinearity.keeps_z() { 2 } else { 1 };
        let y = Matrix::output(compute, copies * rows, outputs)?;
        it.run(compute, &kernel, &compute.matrix(&p)?, &y)?;
        let (y, x, p) = (y.read(compute)?, with_ones(&it.x), wide(&p));
        let product = product(&y.slice(s![(copies - 1) * rows.., ..]).to_owned(), &x, &p);
        let (z, of_z) = (ops::matmul(x.view(), p.view()), bounds::matmul(x.view(), p.view()));
        let value = near_value(&y.slice(s![..rows, ..]).to_owned(), nonlinearity, &z, &of_z);
        Ok(if nonlinearity.keeps_z() { value.and(product) } else { value })
    }

    fn input_gradient(&self, compute: &Compute, below: Option<Nonlinearity>) -> Result<Figures> {
        let ([rows, inputs, outputs], p) = (self.shape, self.parameters());
        let (dy, z) = (random(rows, outputs, 7), random(rows, inputs, 8) * 3.0);
        // Inputs of the backward pass: Y rounded to f32, and Z.
        let it = below.unwrap_or(Nonlinearity::LINEAR);
        let y = value(it, &wide(&z)).mapv(|y| y as f32);
        let (on_dy, on_p) = (compute.matrix(&dy)?, compute.matrix(&p)?);
        let on_h = compute.matrix(&concatenate![Axis(0), y, z])?;
        let kernel = InputGradient { rows, inputs, outputs, offset: 0, below };
        let buffers = [on_dy.buffer(), on_p.buffer(), on_h.buffer()];
        let dx = run_kernel(compute, &kernel, &buffers, [rows, inputs])?;
        let (dy, w, z) = (wide(&dy), wide(&p.slice(s![..inputs, ..]).t().to_owned()), wide(&z));
        let (product, bound) = (ops::matmul(dy.view(), w.view()), bounds::matmul(dy.view(), w.view()));
        Ok(near_gradient(&dx, it, [&product, &z, &bound]))
    }

    /// Compares the gradient, or the update of a rule with it.
    fn weight_gradient(&self, compute: &Compute, rule: Option<&UpdateRule>) -> Result<Figures> {
        let [rows, inputs, outputs] = self.shape;
        let (it, dy) = (self.inputs(compute, 9)?, random(rows, outputs, 10));
        let on_dy = compute.matrix(&dy)?;
        let kernel = |update| {
            let (offset, source) = (0, it.source);
            WeightGradient { rows, inputs, outputs, offset, update, source }
        };
        let (x, dy) = (with_ones(&it.x), wide(&dy));
        let Some(rule) = rule else {
            let dw = Matrix::output(compute, inputs + 1, outputs)?;
            it.run(compute, &kernel(None), &on_dy, &dw)?;
            return Ok(product(&dw.read(compute)?, &x.t().to_owned(), &dy));
        };
        let stored = StoredLayer::new(compute, rule, [inputs, outputs])?;
        let update = LayerUpdate::for_layer(rule, &stored.layout, 0);
        let record = StepRecord { rows: rows as u32, ..rule.record(STEP) };
        let it = Inputs { record, ..it };
        it.run(compute, &kernel(Some(update)), &on_dy, &stored.buffer)?;
        let (g, of_g) = (ops::matmul(x.t(), dy.view()), bounds::matmul(x.t(), dy.view()));
        stored.figures(compute, rule, &g, &of_g)
    }
}

/// Returns state of a typical size during training: means of squares are above 0.
pub(super) fn states(kind: OptimizerKind, rows: usize, columns: usize, stream: u32) -> Vec<Array2<f32>> {
    let state = |number: usize| {
        let values = random(rows, columns, stream + number as u32);
        if number == 1 { values.mapv(|value| 0.05 + value * value) } else { values }
    };
    (0..kind.states()).map(state).collect()
}

/// Compares a layer's parameters, one matrix, and its states, before and after an update, with the
/// reference's update of layer `layer`; the gradient may be off by `of_g`.
pub(super) fn near_update(
    [before, after]: [&[Array2<f32>]; 2],
    (rule, layer): (&UpdateRule, usize),
    (g, of_g): (&Array2<f64>, &Array2<f64>),
) -> Figures {
    let mut figures = Figures::default();
    for (at, of_g) in of_g.indexed_iter() {
        let is_bias = at.0 == g.nrows() - 1;
        let factor = f64::from(rule.factors.for_layer(layer)[usize::from(is_bias)]);
        let number = |place: usize| before.get(place).map_or(0.0, |matrix| f64::from(matrix[at]));
        let (parameter, state) = ((number(0), g[at], *of_g), [number(1), number(2)]);
        let want = bounds::optimize(rule, STEP, (factor, is_bias), parameter, state);
        for (after, [want, bound]) in after.iter().zip(want) {
            figures.push(after[at], want, want.abs() + number(0).abs() + g[at].abs(), bound);
        }
    }
    figures
}

/// One layer on the device: parameters, then states.
struct StoredLayer {
    layout: ParameterLayout,
    before: Vec<Array2<f32>>,
    buffer: Vector<f32>,
}

impl StoredLayer {
    fn new(compute: &Compute, rule: &UpdateRule, [inputs, outputs]: [usize; 2]) -> Result<Self> {
        let kind = rule.optimizer.kind;
        let layout = ParameterLayout::of_sizes(&[inputs, outputs]).with_states(kind.states());
        let before = [vec![random(inputs + 1, outputs, 5)], states(kind, inputs + 1, outputs, 30)].concat();
        let buffer = compute.vector(&before.iter().flat_map(flat).collect::<Vec<f32>>())?;
        Ok(Self { layout, before, buffer })
    }

    fn figures(
        &self,
        compute: &Compute,
        rule: &UpdateRule,
        g: &Array2<f64>,
        of_g: &Array2<f64>,
    ) -> Result<Figures> {
        let (values, (rows, columns)) = (self.buffer.read(compute)?, g.dim());
        let region = |number| matrix(&values, number * rows * blocks(columns), rows, columns);
        let after: Vec<_> = (0..self.before.len()).map(region).collect();
        Ok(near_update([&self.before, &after], (rule, 0), (g, of_g)))
    }
}

fn update(compute: &Compute, rule: &UpdateRule, [inputs, outputs]: [usize; 2]) -> Result<Figures> {
    let (layer, g) = (StoredLayer::new(compute, rule, [inputs, outputs])?, random(inputs + 1, outputs, 2));
    let (on_g, record, length) = (compute.matrix(&g)?, rule.record(STEP), layer.layout.weights());
    let clip = rule.clip_norm.map(|_| compute.tuning.row_groups(length));
    let squares = Vector::<f32>::output(compute, 1, clip.unwrap_or(0))?;
    let mut buffers = vec![on_g.buffer()];
    if clip.is_some() {
        compute.run(&SumSquares { length }, &[on_g.buffer(), squares.buffer()], record)?;
        buffers.push(squares.buffer());
    }
    buffers.push(layer.buffer.buffer());
    for kernel in Update::all(rule, &layer.layout, clip) {
        compute.run(&kernel, &buffers, record)?;
    }
    let g = wide(&g);
    let norm = g.iter().map(|g| g * g).sum::<f64>().sqrt();
    let g = g * rule.clip_norm.map_or(1.0, |clip| (f64::from(clip) / (norm + 1e-6)).min(1.0));
    // The sum of the squares has a relative error, which the root halves.
    let units = if clip.is_some() { 30.0 } else { 0.0 };
    let of_g = g.mapv(|g| g.abs() * units * f64::from(f32::EPSILON));
    layer.figures(compute, rule, &g, &of_g)
}

/// Returns a data set as stored on a device, and its values as seen by kernels.
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

/// Returns all rows of a data set in some order.
fn shuffled(samples: usize) -> Vec<u32> {
    (0..samples as u32).map(|i| (i * 79 + 13) % samples as u32).collect()
}

/// Start of the batch in that order.
const FIRST: usize = 5;

fn gather(compute: &Compute, stored: FeatureFormat) -> Result<Figures> {
    let (samples, inputs, rows) = (100, 65, 63);
    let (features, values) = features(compute, stored, samples, inputs)?;
    let (order, classes) = (shuffled(samples), labels(samples, 10));
    let (on_labels, on_order) = (compute.vector(&classes)?, compute.vector(&order)?);
    let (x, targets) = (Matrix::output(compute, rows, inputs)?, Vector::<u32>::output(compute, 1, rows)?);
    let buffers = [&features, on_labels.buffer(), on_order.buffer(), x.buffer(), targets.buffer()];
    let kernel = Gather { rows, inputs, words: 1, samples: Samples { stored, count: samples } };
    compute.run(&kernel, &buffers, StepRecord { first: FIRST as u32, ..StepRecord::all(rows) })?;
    let taken = indices(&order[FIRST..FIRST + rows]);
    let want = ops::gather(values.view(), &taken, 1.0);
    // unpack4x8unorm and one rounding; floats are unchanged.
    let units = if stored == FeatureFormat::Bytes { 2.0 } else { 0.0 };
    let figures = Figures::relative(&x.read(compute)?, &want, &want.mapv(f64::abs), units);
    Ok(figures.and(Figures::exact(targets.read(compute)?, taken.iter().map(|row| classes[*row]))))
}

fn augment(compute: &Compute, stored: FeatureFormat) -> Result<Figures> {
    let size = ImageSize { height: 13, width: 5, channels: 1 };
    let (samples, rows, epoch, seed) = (100, 63, 3, 7);
    let (features, values) = features(compute, stored, samples, size.values())?;
    let distortion = Distortion::new(&Distortions::DIGITS, size, seed)?;
    let kernel = Augment { distortion, rows, samples: Samples { stored, count: samples } };
    let numbers: Vec<u32> = (0..rows as u32).collect();
    let want = ops::augment(values.view(), &Distortions::DIGITS, size, seed, epoch, &numbers);
    let record = kernel.record(0, rows, epoch);
    let got = match stored {
        FeatureFormat::Bytes => {
            let to = Vector::<u32>::output(compute, 1, rows * blocks(size.values()))?;
            compute.run(&kernel, &[&features, to.buffer()], record)?;
            let bytes = to.read(compute)?.into_iter().flat_map(u32::to_le_bytes);
            let all: Vec<f32> = bytes.map(|byte| f32::from(byte) / 255.0).collect();
            unpad_rows(&all, size.values())
        }
        FeatureFormat::Floats => {
            let to = Matrix::output(compute, rows, size.values())?;
            compute.run(&kernel, &[&features, to.buffer()], record)?;
            to.read(compute)?.into_iter().collect()
        }
    };
    let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let bound = bounds::augment(largest, 100.0, stored == FeatureFormat::Bytes);
    let (magnitude, bound) = (want.mapv(|_| largest), want.mapv(|_| bound));
    Ok(Figures::near(&got, &want, &magnitude, &bound))
}
