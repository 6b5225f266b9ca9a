//! Rows with targets, for devices and for the reference.

use ndarray::{Array1, Array2};

use super::{EPS, Figures, indices};
use crate::data::{Dataset, Features, Targets};
use crate::kernels::{LossTargets, sum_metrics};
use crate::random::{Purpose, normal, words};
use crate::reference::{ReferenceTargets, bounds, ops};
use crate::step::Loss;

/// Returns normally distributed inputs of `rows` rows, with random classes, labels of 0 or 1, or normally distributed
/// values, as the loss requires.
pub(super) fn dataset(loss: Loss, seed: u64, rows: usize, [inputs, outputs]: [usize; 2]) -> Dataset {
    let number = |i: usize, stream: u32| normal(seed, Purpose::Weights, [i as u32, stream]) as f32;
    let label = |row: usize| words(seed, Purpose::Order, [row as u32, 0])[0] % outputs as u32;
    let value = |i: usize| match number(i, 2001) {
        value if loss.of_labels() => f32::from(value > 0.0),
        value => value,
    };
    let values = || (0..rows * outputs).map(value).collect();
    let targets = match loss.of_classes() {
        true => Targets::Classes((0..rows).map(label).collect()),
        false => Targets::Values { columns: outputs, values: values() },
    };
    let features = Features::Floats((0..rows * inputs).map(|i| number(i, 2000)).collect());
    Dataset { inputs, features, targets, weights: Vec::new() }
}

/// Returns a matrix from f32 values in row-major order.
pub(super) fn stacked(values: &[f32], columns: usize) -> Array2<f64> {
    let values = values.iter().copied().map(f64::from).collect::<Vec<_>>();
    Array2::from_shape_vec((values.len() / columns, columns), values).unwrap_or_default()
}

/// Targets of the rows of a batch: classes or values, and the weight of each row.
pub(super) struct Expected {
    form: LossTargets,
    classes: Vec<usize>,
    values: Array2<f64>,
    weights: Array1<f64>,
}

impl Expected {
    /// Creates the targets of all rows of a data set.
    pub fn from_dataset(form: LossTargets, data: &Dataset) -> Self {
        let (classes, values) = match &data.targets {
            Targets::Classes(classes) => (indices(classes), Array2::zeros((0, 0))),
            Targets::Values { columns, values } => (Vec::new(), stacked(values, *columns)),
        };
        Self { form, classes, values, weights: data.view().counts().into() }
    }

    /// Creates targets for `rows` rows, with weights if the loss has them.
    pub fn new(form: LossTargets, rows: usize, outputs: usize) -> Self {
        let weights = (0..rows).filter(|_| form.weighted).map(|row| [1.0, 0.25, 3.0][row % 3]).collect();
        Self::from_dataset(form, &Dataset { weights, ..dataset(form.loss, 13, rows, [1, outputs]) })
    }

    /// Returns the words of a row's targets as stored on a device.
    pub fn words(&self, row: usize) -> Vec<u32> {
        let bits = |value: &f64| (*value as f32).to_bits();
        let mut words = match self.form.loss.of_classes() {
            true => vec![self.classes[row] as u32],
            false => self.values.row(row).iter().map(bits).collect(),
        };
        words.extend(self.weights.get(row).map(bits).filter(|_| self.form.weighted));
        words
    }

    /// Returns the targets for the reference, with label smoothing.
    pub fn targets(&self) -> ReferenceTargets<'_> {
        self.unsmoothed().smoothed(f64::from(self.form.smoothing))
    }

    pub fn unsmoothed(&self) -> ReferenceTargets<'_> {
        let targets = match self.form.loss.of_classes() {
            true => ReferenceTargets::classes(&self.classes),
            false => ReferenceTargets::values(self.values.view()),
        };
        targets.weighted(self.weights.as_slice().unwrap_or_default())
    }

    /// Returns the weight of each row in the mean.
    pub fn shares(&self) -> Array1<f64> {
        &self.weights / self.weights.len() as f64
    }

    /// Compares the sums over all pairs (loss, correct) of a batch with these outputs, each of which may be
    /// off by `units` eps of the largest.
    pub fn near_metrics(&self, metrics: &[f32], z: &Array2<f64>, units: f64) -> Figures {
        let (got, correct) = sum_metrics(metrics);
        let (loss, t) = (self.form.loss, self.targets().matrix(z.ncols()));
        let want = (ops::row_losses(loss, z.view(), &self.unsmoothed()) * &self.weights).sum();
        // For values, no row counts as correct.
        let right = ops::predictions(z.view()).iter().zip(&self.classes).filter(|(a, b)| a == b).count();
        let largest = z.iter().chain(&t).fold(1.0f64, |most, value| most.max(value.abs()));
        // This bounds the change of a loss per unit of error of an output; cross-entropy has rounding errors
        // in addition.
        let slope = if loss == Loss::Mse { 4.0 * largest } else { 2.0 };
        let own = if loss.of_classes() { bounds::log_sum_exp(z.view()) } else { Array1::zeros(z.nrows()) };
        let rows = own.mapv(|own| own + slope * (units + 8.0) * EPS * largest) * &self.weights;
        let bound = rows.sum() + (z.ncols() + 8) as f64 * EPS * want;
        Figures::one(got, want, want, bound).and(Figures::exact([correct as f64], [right as f64]))
    }
}
