//! Rows whose losses are computed together.

/// Targets of rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Targets<'a> {
    /// A class for each row. Gradients use the smoothed target: the probability 1 - smoothing + smoothing /
    /// classes for the class and smoothing / classes for every other; losses use the class.
    Classes {
        /// Class of each row.
        classes: &'a [u32],
        /// Label smoothing, from 0 to below 1.
        smoothing: f32,
    },
    /// A value for each output of each row, row-major.
    Values(&'a [f32]),
}

/// Some rows, and the destinations of their results.
#[derive(Debug)]
pub struct LossRows<'a> {
    /// Outputs, [rows, width].
    pub z: &'a [f32],
    /// Columns, of which the first `outputs` are used.
    pub width: usize,
    /// Outputs of a row.
    pub outputs: usize,
    /// Targets of the rows.
    pub targets: Targets<'a>,
    /// Factor of each row's gradient.
    pub scales: &'a [f32],
    /// Gradients with respect to the outputs, [rows, width]; numbers after the outputs of a row are
    /// unchanged.
    pub gradient: &'a mut [f32],
    /// Receives the loss of each row, without label smoothing; NaN for targets of the other kind, and for a
    /// nonexistent class.
    pub losses: &'a mut [f64],
    /// Receives the index of the first largest output of each row.
    pub predictions: &'a mut [u32],
    /// Memory that a loss may use.
    pub scratch: &'a mut Vec<f32>,
}

/// Returns the index of the first largest output.
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
