//! The targets of a batch's rows, and their weights.

use ndarray::{Array2, ArrayView2};

/// A class for each row, or a value for each output of each row.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Expected<'a> {
    Classes(&'a [usize]),
    Values(ArrayView2<'a, f64>),
}

/// The targets of a batch. Targets from `&[usize]` are classes without smoothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReferenceTargets<'a> {
    wanted: Expected<'a>,
    smoothing: f64,
    weights: Option<&'a [f64]>,
}

impl<'a> ReferenceTargets<'a> {
    /// Targets with one class per row.
    pub fn classes(classes: &'a [usize]) -> Self {
        Self { wanted: Expected::Classes(classes), smoothing: 0.0, weights: None }
    }

    /// Targets that are values, [rows, outputs].
    pub fn values(values: ArrayView2<'a, f64>) -> Self {
        Self { wanted: Expected::Values(values), smoothing: 0.0, weights: None }
    }

    /// Takes this share of every class's probability and distributes it evenly to all classes. Values are unchanged.
    pub fn smoothed(self, smoothing: f64) -> Self {
        Self { smoothing, ..self }
    }

    /// Multiplies the loss of row i by `weights[i]`.
    pub fn weighted(self, weights: &'a [f64]) -> Self {
        Self { weights: Some(weights), ..self }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self.wanted {
            Expected::Classes(classes) => classes.len(),
            Expected::Values(values) => values.nrows(),
        }
    }

    /// The weight of a row: 1 by default.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    /// T [rows, outputs]: values, or the probabilities of the classes.
    pub fn matrix(&self, outputs: usize) -> Array2<f64> {
        match self.wanted {
            Expected::Classes(classes) => Array2::from_shape_fn((classes.len(), outputs), |(i, j)| {
                let onehot = if classes[i] == j { 1.0 } else { 0.0 };
                (1.0 - self.smoothing) * onehot + self.smoothing / outputs as f64
            }),
            Expected::Values(values) => values.to_owned(),
        }
    }
}

impl<'a> From<&'a [usize]> for ReferenceTargets<'a> {
    fn from(classes: &'a [usize]) -> Self {
        Self::classes(classes)
    }
}

impl<'a> From<&'a Vec<usize>> for ReferenceTargets<'a> {
    fn from(classes: &'a Vec<usize>) -> Self {
        Self::classes(classes)
    }
}

impl<'a> From<&ReferenceTargets<'a>> for ReferenceTargets<'a> {
    fn from(targets: &ReferenceTargets<'a>) -> Self {
        *targets
    }
}
