//! The kernels with an optimizer: each optimizer once, with weight decay and factors of the learning rate.

use ndarray::Array2;

use super::training::with_ones;
use super::{Cases, Figures, random, wide};
use crate::error::Result;
use crate::kernels::{
    Compute, LayerInputs, LayerUpdate, StepRecord, SumSquares, Tensor, Update, Vector, WeightGradient,
    blocks, pad_rows, unpad_rows,
};
use crate::model::ParameterLayout;
use crate::reference::{bounds, ops};
use crate::step::{OptimizerKind, RateFactors, UpdateRule};

/// Rows of the batch.
const ROWS: usize = 33;
/// Inputs of the layer.
const INPUTS: usize = 17;
/// Outputs of the layer.
const OUTPUTS: usize = 65;
/// Which step it is, from 0.
pub(super) const STEP: u64 = 2;

/// The rule by which an optimizer is checked.
pub(super) fn rule(kind: OptimizerKind) -> UpdateRule {
    let mut optimizer = kind.defaults();
    optimizer.weight_decay = 0.1;
    let factors = RateFactors { biases: 2.0, layers: vec![0.5], ..RateFactors::default() };
    UpdateRule { optimizer, factors, ..UpdateRule::sgd(0.1) }
}

pub(super) fn run(cases: &mut Cases<'_>) {
    let text = format!("{ROWS} x {INPUTS} x {OUTPUTS}");
    for (number, kind) in OptimizerKind::ALL.iter().copied().enumerate() {
        let rule = rule(kind);
        let clipped = UpdateRule { clip_norm: Some(5.0).filter(|_| number % 2 == 0), ..rule.clone() };
        let name = if clipped.clip_norm.is_some() { "sum_squares, update" } else { "update" };
        cases.case(&format!("{name} {kind}"), &format!("{} x {OUTPUTS}", INPUTS + 1), |it| {
            update(it, &clipped)
        });
        cases.case(&format!("weight_gradient + {kind}"), &text, |it| weight_gradient(it, &rule));
    }
}

/// Numbers of state as large as those of an optimizer that has run for a while: means of squares are above 0.
pub(super) fn states(kind: OptimizerKind, rows: usize, columns: usize, stream: u32) -> Vec<Array2<f32>> {
    let state = |number: usize| {
        let values = random(rows, columns, stream + number as u32);
        if number == 1 { values.mapv(|value| 0.05 + value * value) } else { values }
    };
    (0..kind.states()).map(state).collect()
}

/// A matrix with its rows padded.
pub(super) fn flat(matrix: &Array2<f32>) -> Vec<f32> {
    pad_rows(&matrix.iter().copied().collect::<Vec<_>>(), matrix.ncols())
}

/// A layer's parameters with their state, one matrix each, before an update and after.
pub(super) struct Updated {
    pub before: Vec<Array2<f32>>,
    pub after: Vec<Array2<f32>>,
}

impl Updated {
    /// Against the reference's update of layer `layer`, where the gradient may be off by `of_g`.
    pub fn figures(&self, rule: &UpdateRule, layer: usize, g: &Array2<f64>, of_g: &Array2<f64>) -> Figures {
        let (rows, columns) = g.dim();
        let mut figures = Figures::default();
        for at in (0..rows).flat_map(|row| (0..columns).map(move |column| [row, column])) {
            let is_bias = at[0] == rows - 1;
            let rate = rule.rates.at(STEP) * rule.factors.of(layer)[usize::from(is_bias)];
            let decays = !is_bias || ops::decays_biases(rule.optimizer.kind);
            let decay = if decays { rule.optimizer.weight_decay } else { 0.0 };
            let number = |place: usize| self.before.get(place).map_or(0.0, |matrix| f64::from(matrix[at]));
            let settings = [rate, decay].map(f64::from);
            let parameter = (number(0), g[at], of_g[at]);
            let state = [number(1), number(2)];
            let want = bounds::optimize(&rule.optimizer, parameter, state, settings, STEP + 1);
            for (after, [want, bound]) in self.after.iter().zip(want) {
                figures.got.push(f64::from(after[at]));
                figures.want.push(want);
                figures.magnitude.push(want.abs() + parameter.0.abs() + g[at].abs());
                figures.bound.push(bound);
            }
        }
        figures
    }
}

/// One layer on the device: parameters, then states.
struct Layer {
    layout: ParameterLayout,
    before: Vec<Array2<f32>>,
    buffer: Vector<f32>,
}

impl Layer {
    fn new(compute: &Compute, kind: OptimizerKind) -> Result<Self> {
        let layout = ParameterLayout::of_sizes(&[INPUTS, OUTPUTS]).with_states(kind.states());
        let mut before = vec![random(INPUTS + 1, OUTPUTS, 5)];
        before.extend(states(kind, INPUTS + 1, OUTPUTS, 30));
        let buffer = compute.vector(&before.iter().flat_map(flat).collect::<Vec<f32>>())?;
        Ok(Self { layout, before, buffer })
    }

    fn updated(self, compute: &Compute) -> Result<Updated> {
        let values = self.buffer.read(compute)?;
        let regions = values.chunks_exact(4 * (INPUTS + 1) * blocks(OUTPUTS));
        let matrix = |region| {
            Array2::from_shape_vec((INPUTS + 1, OUTPUTS), unpad_rows(region, OUTPUTS)).unwrap_or_default()
        };
        Ok(Updated { before: self.before, after: regions.map(matrix).collect() })
    }
}

fn update(compute: &Compute, rule: &UpdateRule) -> Result<Figures> {
    let (layer, g) = (Layer::new(compute, rule.optimizer.kind)?, random(INPUTS + 1, OUTPUTS, 2));
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
    let scale = rule.clip_norm.map_or(1.0, |clip| (f64::from(clip) / (norm + 1e-6)).min(1.0));
    let g = g * scale;
    // The sum of the squares has a relative error, of which the root has half.
    let units = if clip.is_some() { 30.0 } else { 0.0 };
    let of_g = g.mapv(|g| g.abs() * units * f64::from(f32::EPSILON));
    Ok(layer.updated(compute)?.figures(rule, 0, &g, &of_g))
}

fn weight_gradient(compute: &Compute, rule: &UpdateRule) -> Result<Figures> {
    let (rows, inputs, outputs) = (ROWS, INPUTS, OUTPUTS);
    let layer = Layer::new(compute, rule.optimizer.kind)?;
    let (x, dy) = (random(rows, inputs, 9), random(rows, outputs, 10));
    let (on_x, on_dy) = (compute.matrix(&x)?, compute.matrix(&dy)?);
    let update = Some(LayerUpdate::of(rule, &layer.layout, 0));
    let kernel = WeightGradient { rows, inputs, outputs, offset: 0, update, source: LayerInputs::Matrix };
    let record = StepRecord { rows: rows as u32, ..rule.record(STEP) };
    compute.run(&kernel, &[on_x.buffer(), on_dy.buffer(), layer.buffer.buffer()], record)?;
    let (x, dy) = (wide(&with_ones(&x)), wide(&dy));
    let (g, of_g) = (ops::matmul(x.t(), dy.view()), bounds::matmul(x.t(), dy.view()));
    Ok(layer.updated(compute)?.figures(rule, 0, &g, &of_g))
}
