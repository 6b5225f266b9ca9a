//! Scaling of neighbouring columns of numbers, many at a time.

use crate::vectors::vectorized_loops;

/// Columns in which each number x becomes one input, (x - center) / width in f64; `fill` replaces a missing x.
#[derive(Default)]
pub(crate) struct Affine {
    center: Vec<f64>,
    width: Vec<f64>,
    fill: Vec<f64>,
}

impl Affine {
    /// Adds a column; `width` must not be 0.
    pub(crate) fn push(&mut self, center: f64, width: f64, fill: f64) {
        self.center.push(center);
        self.width.push(width);
        self.fill.push(fill);
    }

    /// The number of columns.
    pub(crate) fn len(&self) -> usize {
        self.center.len()
    }

    /// Writes the inputs of a row's cells; returns the number of missing cells.
    pub(crate) fn encode(&self, cells: &[f32], inputs: &mut [f32]) -> u64 {
        let Self { center, width, fill } = self;
        let mut missing = 0;
        vectorized_loops!({
            let scales = center.iter().zip(width).zip(fill);
            let mut count = 0;
            for ((cell, input), ((center, width), fill)) in cells.iter().zip(inputs.iter_mut()).zip(scales) {
                let value = if cell.is_nan() { *fill } else { f64::from(*cell) };
                *input = ((value - center) / width) as f32;
                count += u32::from(cell.is_nan());
            }
            missing = count;
        });
        missing.into()
    }
}
