//! The kernels with a loss: each loss once with weights of the rows and label smoothing, and cross-entropy without.

use ndarray::{Array1, Array2, Axis};

use super::{Cases, EPS, Figures, indices, labels, random, wide};
use crate::error::Result;
use crate::kernels::{Compute, LossGradient, LossTargets, Matrix, StepRecord, Tensor, Vector, sum_metrics};
use crate::reference::{ReferenceTargets, bounds, ops};
use crate::step::Loss;

/// Rows and outputs.
const SHAPES: [(usize, usize); 2] = [(64, 10), (300, 65)];

pub(super) fn run(cases: &mut Cases<'_>) {
    for (rows, outputs) in SHAPES {
        let text = format!("{rows} x {outputs}");
        let plain = LossTargets::CLASSES;
        cases.case("loss_gradient cross-entropy", &text, |it| loss_gradient(it, rows, outputs, plain));
        for loss in Loss::ALL.iter().copied() {
            let targets = LossTargets { loss, smoothing: 0.1, weighted: true };
            let name = format!("loss_gradient {loss} + weights");
            cases.case(&name, &text, |compute| loss_gradient(compute, rows, outputs, targets));
        }
    }
}

/// What the rows of a batch should give: classes or values, and how much each counts.
pub(super) struct Wanted {
    form: LossTargets,
    classes: Vec<usize>,
    values: Array2<f32>,
    weights: Vec<f64>,
    wide: Array2<f64>,
}

impl Wanted {
    pub fn new(form: LossTargets, rows: usize, outputs: usize) -> Self {
        let values = random(rows, outputs, 13) * 2.0;
        let weight = |row: usize| if form.weighted { [1.0, 0.25, 3.0][row % 3] } else { 1.0 };
        Self {
            form,
            classes: indices(&labels(rows, outputs)),
            wide: wide(&values),
            values,
            weights: (0..rows).map(weight).collect(),
        }
    }

    /// The words of a row's targets as a device stores them.
    pub fn words(&self, row: usize) -> Vec<u32> {
        let mut words = match self.form.loss.of_classes() {
            true => vec![self.classes[row] as u32],
            false => self.values.row(row).iter().map(|value| value.to_bits()).collect(),
        };
        words.extend(Some((self.weights[row] as f32).to_bits()).filter(|_| self.form.weighted));
        words
    }

    pub fn targets(&self) -> ReferenceTargets<'_> {
        let targets = match self.form.loss.of_classes() {
            true => ReferenceTargets::classes(&self.classes).smoothed(f64::from(self.form.smoothing)),
            false => ReferenceTargets::values(self.wide.view()),
        };
        targets.weighted(&self.weights)
    }

    /// The sums over all pairs (loss, correct) of a batch with these outputs, each of which may be off by `units` eps of the
    /// largest.
    pub fn near_metrics(&self, metrics: &[f32], z: &Array2<f64>, units: f64) -> Figures {
        let (got, correct) = sum_metrics(metrics);
        let (loss, targets) = (self.form.loss, self.targets());
        let losses =
            ops::row_losses(loss, z.view(), &targets.smoothed(0.0)) * Array1::from(self.weights.clone());
        let right = ops::predictions(z.view()).iter().zip(&self.classes).filter(|(a, b)| a == b).count();
        let right = if loss.of_classes() { right } else { 0 };
        let (want, t) = (losses.sum(), targets.matrix(z.ncols()));
        let largest = z.iter().chain(&t).fold(1.0f64, |most, value| most.max(value.abs()));
        // No loss changes by more than this for each unit that an output is off, and cross-entropy rounds by itself.
        let slope = if loss == Loss::Mse { 4.0 * largest } else { 2.0 };
        let own = if loss.of_classes() { bounds::log_sum_exp(z.view()) } else { Array1::zeros(z.nrows()) };
        let rows =
            own.mapv(|own| own + slope * (units + 8.0) * EPS * largest) * Array1::from(self.weights.clone());
        let bound = rows.sum() + (z.ncols() + 8) as f64 * EPS * want;
        Figures::one(got, want, want, bound).and(Figures::exact([correct as f64], [right as f64]))
    }
}

fn loss_gradient(compute: &Compute, rows: usize, outputs: usize, form: LossTargets) -> Result<Figures> {
    let (z, wanted) = (random(rows, outputs, 12) * 3.0, Wanted::new(form, rows, outputs));
    let on_z = compute.matrix(&z)?;
    // The targets stand the other way round in the data set, behind those of another row.
    let another = vec![0; form.words(outputs)];
    let stored: Vec<u32> =
        another.into_iter().chain((0..rows).rev().flat_map(|row| wanted.words(row))).collect();
    let order: Vec<u32> = (1..=rows as u32).rev().collect();
    let (on_targets, on_order) = (compute.vector(&stored)?, compute.vector(&order)?);
    let delta = Matrix::output(compute, rows, outputs)?;
    let metrics = Vector::<f32>::output(compute, 1, 2 * compute.tuning.row_groups(rows))?;
    let kernel = LossGradient { rows, outputs, targets: form, samples: Some(rows + 1) };
    let buffers = [on_z.buffer(), on_targets.buffer(), on_order.buffer(), delta.buffer(), metrics.buffer()];
    compute.run(&kernel, &buffers, StepRecord::all(rows))?;
    let (z, targets) = (wide(&z), wanted.targets());
    let want = ops::loss_gradient(form.loss, z.view(), &targets);
    // Errors are relative to what a row counts.
    let counts = Array1::from(wanted.weights.clone()).insert_axis(Axis(1)) / rows as f64;
    let local = match form.loss {
        Loss::CrossEntropy => bounds::softmax(z.view()) + 8.0 * EPS,
        _ => (z.mapv(f64::abs) + targets.matrix(outputs).mapv(f64::abs) + 1.0) * (8.0 * EPS / outputs as f64),
    };
    let magnitude = Array2::ones(z.dim()) * &counts;
    let figures = Figures::near(&delta.read(compute)?, &want, &magnitude, &(local * &counts));
    Ok(figures.and(wanted.near_metrics(&metrics.read(compute)?, &z, 0.0)))
}
