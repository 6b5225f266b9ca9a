//! Shared test functions of the elementwise kernels.

use ndarray::Array2;
use tinytrain::kernels::{Kernel, Tuning};

use crate::lab::{Lab, batch};

/// Runs `kernel` on `inputs` and returns the output of the same shape, of which only `rows` rows are live.
pub fn run(
    lab: &Lab,
    tuning: &Tuning,
    kernel: &dyn Kernel,
    inputs: &[&Array2<f32>],
    rows: usize,
) -> Array2<f32> {
    let columns = inputs[0].ncols();
    let buffers: Vec<_> = inputs.iter().map(|input| lab.matrix(input)).collect();
    let output = lab.output_matrix(rows, columns);
    let mut bound: Vec<_> = buffers.iter().collect();
    bound.push(&output.buffer);
    lab.run(kernel, tuning, &bound, batch(rows));
    lab.read(&output, rows, columns)
}

/// Shapes with a capacity and fewer live rows: (capacity, rows, columns).
pub const SHAPES: [(usize, usize, usize); 6] =
    [(1, 1, 1), (3, 2, 17), (63, 63, 65), (64, 30, 100), (257, 257, 3), (65, 65, 257)];
