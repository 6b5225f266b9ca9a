//! Rows whose losses are computed together.

/// What rows should give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Targets<'a> {
    /// Of each row a class. Gradients are of the probability 1 - smoothing + smoothing / classes for it and smoothing / classes
    /// for every other; losses are of the class.
    Classes {
        /// Which classes.
        classes: &'a [u32],
        /// Label smoothing, from 0 to below 1.
        smoothing: f32,
    },
    /// Of each row a number for each output, row after row.
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
    /// Of each row, what its gradient is multiplied by.
    pub scales: &'a [f32],
    /// Gradients by the outputs, [rows, width]; what stands behind the outputs of a row stays.
    pub gradient: &'a mut [f32],
    /// Of each row its loss, without label smoothing; NaN for targets of the other kind.
    pub losses: &'a mut [f64],
    /// Of each row the first of its largest outputs.
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
