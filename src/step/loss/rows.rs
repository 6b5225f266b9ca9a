//! Rows whose losses are computed together.

/// The targets of rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Targets<'a> {
    /// A class for each row. Gradients are of the probability 1 - smoothing + smoothing / classes for it and smoothing / classes
    /// for every other; losses are of the class.
    Classes {
        /// Which classes.
        classes: &'a [u32],
        /// Label smoothing, from 0 to below 1.
        smoothing: f32,
    },
    /// A value for each output of each row, row-major.
    Values(&'a [f32]),
}

/// Some rows, and where their losses go.
#[derive(Debug)]
pub struct LossRows<'a> {
    /// Outputs, [rows, width].
    pub z: &'a [f32],
    /// Columns, of which the first `outputs` count.
    pub width: usize,
    /// Outputs of a row.
    pub outputs: usize,
    /// What the rows should give.
    pub targets: Targets<'a>,
    /// The factor of each row's gradient.
    pub scales: &'a [f32],
    /// Gradients by the outputs, [rows, width]; what stands behind the outputs of a row stays.
    pub gradient: &'a mut [f32],
    /// Receives the loss of each row, without label smoothing; NaN for targets of the other kind, and for a class that there is not.
    pub losses: &'a mut [f64],
    /// Receives the first of the largest outputs of each row.
    pub predictions: &'a mut [u32],
    /// Memory that a loss may use.
    pub scratch: &'a mut Vec<f32>,
}

/// The first of the largest outputs.
pub(super) fn largest(z: &[f32]) -> u32 {
    let Some((first, rest)) = z.split_first() else { return 0 };
    let (mut best, mut largest) = (0, *first);
    for (place, z) in (1..).zip(rest) {
        if *z > largest {
            (best, largest) = (place, *z);
        }
    }
    best
}
