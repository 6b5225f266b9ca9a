//! The first layer, which is most of the work: its columns are divided between the threads, and zeros are skipped.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::divide::{LANES, columns, range};
use super::product::{View, multiply};
use super::sparse::{Inputs, QUAD, Sparse};

/// Some columns of the first layer's weights, owned by one thread, so that they stay in its core's cache.
#[derive(Debug, Clone)]
pub struct Panel {
    /// Which columns.
    pub columns: Range<usize>,
    /// Columns with padding, which is zero: whole vectors.
    pub width: usize,
    /// [inputs, width], and rows of zeros behind them until they are a multiple of [`QUAD`].
    pub weights: Vec<f32>,
    /// `[width]`
    pub bias: Vec<f32>,
    inputs: usize,
}

impl Panel {
    /// How many panels a layer with so many outputs can be divided into.
    pub fn most(outputs: usize) -> usize {
        outputs.div_ceil(LANES)
    }

    /// Panel `number` of `count` of a layer's weights `[inputs, outputs]` and bias `[outputs]`.
    pub fn new(weights: &[f32], bias: &[f32], number: usize, count: usize) -> Self {
        let outputs = bias.len();
        let columns = columns(outputs, number, count);
        let width = columns.len().next_multiple_of(LANES);
        let padded = |row: &[f32]| {
            let mut padded = row[columns.clone()].to_vec();
            padded.resize(width, 0.0);
            padded
        };
        let inputs = weights.len() / outputs;
        let mut own: Vec<f32> = weights.chunks_exact(outputs).flat_map(&padded).collect();
        own.resize(inputs.next_multiple_of(QUAD) * width, 0.0);
        Self { weights: own, bias: padded(bias), columns, width, inputs }
    }

    /// The same columns, all zero.
    pub fn zeros(&self) -> Self {
        let (weights, bias) = (vec![0.0; self.weights.len()], vec![0.0; self.width]);
        Self { columns: self.columns.clone(), weights, bias, ..*self }
    }

    /// hidden [rows, width] = X W + b for these columns.
    pub fn forward(&self, inputs: &Inputs, hidden: &mut Vec<f32>) {
        hidden.clear();
        for _ in 0..inputs.rows() {
            hidden.extend_from_slice(&self.bias);
        }
        match &inputs.sparse {
            Some(inputs) => Arch::new().dispatch(ForwardSparse { panel: self, inputs, hidden }),
            None => {
                let weights = &self.weights[..self.inputs * self.width];
                multiply(hidden, View::new(&inputs.dense, self.inputs), View::new(weights, self.width), true);
            }
        }
    }

    /// W += X'D and b += (column sums of D), over the parts of the batch in their order; each part is its inputs and
    /// its D [rows, width].
    pub fn add_gradient(&mut self, parts: &[(&Inputs, &[f32])]) {
        for row in parts.iter().flat_map(|(_, delta)| delta.chunks_exact(self.width)) {
            for (b, d) in self.bias.iter_mut().zip(row) {
                *b += d;
            }
        }
        let sparse: Option<Vec<(&Sparse, &[f32])>> =
            parts.iter().map(|(inputs, delta)| Some((inputs.sparse.as_ref()?, *delta))).collect();
        match sparse {
            Some(parts) => Arch::new().dispatch(AddSparse { panel: self, parts: &parts }),
            None => {
                let weights = &mut self.weights[..self.inputs * self.width];
                for (inputs, delta) in parts.iter().filter(|(inputs, _)| inputs.rows() > 0) {
                    let x = View::new(&inputs.dense, self.inputs).t();
                    multiply(weights, x, View::new(delta, self.width), true);
                }
            }
        }
    }
}

/// Vectors of a row that forward works on together: with four inputs, weights and sums fill sixteen registers.
const FORWARD_VECTORS: usize = 3;

/// The same of the update, where compilers run out of registers earlier.
const UPDATE_VECTORS: usize = 2;

/// Divides `vectors` vectors into nearly equal runs of at most so many.
fn runs(vectors: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let count = vectors.div_ceil(most);
    (0..count).map(move |number| range(vectors, number, count))
}

/// The vectors `at..at + N` of four rows of `width` vectors each.
#[inline(always)]
fn load<S: Simd, const N: usize>(
    simd: S,
    rows: &[S::f32s],
    (width, at): (usize, usize),
) -> [[S::f32s; N]; QUAD] {
    let mut held = [[simd.splat_f32s(0.0); N]; QUAD];
    for (held, row) in held.iter_mut().zip(rows.chunks_exact(width)) {
        held.copy_from_slice(&row[at..at + N]);
    }
    held
}

/// `hidden` += X W for the vectors `at..at + N` of its rows.
#[inline(always)]
fn forward_run<S: Simd, const N: usize>(
    simd: S,
    (inputs, weights): (&Sparse, &[S::f32s]),
    hidden: &mut [S::f32s],
    (width, at): (usize, usize),
) {
    for (number, weights) in weights.chunks_exact(QUAD * width).enumerate() {
        let held: [[_; N]; QUAD] = load(simd, weights, (width, at));
        for quad in inputs.list(number) {
            let start = quad.row as usize * width + at;
            let row = &mut hidden[start..start + N];
            let mut sums = [simd.splat_f32s(0.0); N];
            sums.copy_from_slice(row);
            for (value, weights) in quad.values.iter().zip(&held) {
                let value = simd.splat_f32s(*value);
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum = simd.mul_add_e_f32s(value, *weight, *sum);
                }
            }
            row.copy_from_slice(&sums);
        }
    }
}

/// `weights` += X'D, over the parts (X, D) of a batch, for the vectors `at..at + N` of their rows.
#[inline(always)]
fn update_run<S: Simd, const N: usize>(
    simd: S,
    weights: &mut [S::f32s],
    parts: &[(&Sparse, &[f32])],
    (width, at): (usize, usize),
) {
    for (number, weights) in weights.chunks_exact_mut(QUAD * width).enumerate() {
        let mut held: [[_; N]; QUAD] = load(simd, weights, (width, at));
        for (inputs, delta) in parts {
            let (delta, _) = S::as_simd_f32s(delta);
            for quad in inputs.list(number) {
                let start = quad.row as usize * width + at;
                let delta = &delta[start..start + N];
                for (value, sums) in quad.values.iter().zip(&mut held) {
                    let value = simd.splat_f32s(*value);
                    for (sum, delta) in sums.iter_mut().zip(delta) {
                        *sum = simd.mul_add_e_f32s(value, *delta, *sum);
                    }
                }
            }
        }
        for (held, weights) in held.iter().zip(weights.chunks_exact_mut(width)) {
            weights[at..at + N].copy_from_slice(held);
        }
    }
}

struct ForwardSparse<'a> {
    panel: &'a Panel,
    inputs: &'a Sparse,
    hidden: &'a mut [f32],
}

impl WithSimd for ForwardSparse<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.panel.width / S::F32_LANES;
        let operands = (self.inputs, S::as_simd_f32s(&self.panel.weights).0);
        let (hidden, _) = S::as_mut_simd_f32s(self.hidden);
        for run in runs(width, FORWARD_VECTORS) {
            let place = (width, run.start);
            match run.len() {
                3 => forward_run::<S, 3>(simd, operands, hidden, place),
                2 => forward_run::<S, 2>(simd, operands, hidden, place),
                _ => forward_run::<S, 1>(simd, operands, hidden, place),
            }
        }
    }
}

struct AddSparse<'a> {
    panel: &'a mut Panel,
    parts: &'a [(&'a Sparse, &'a [f32])],
}

impl WithSimd for AddSparse<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.panel.width / S::F32_LANES;
        let (weights, _) = S::as_mut_simd_f32s(&mut self.panel.weights);
        // A run of columns of all deltas stays in the nearest cache while the inputs are walked.
        for run in runs(width, UPDATE_VECTORS) {
            let place = (width, run.start);
            match run.len() {
                2 => update_run::<S, 2>(simd, weights, self.parts, place),
                _ => update_run::<S, 1>(simd, weights, self.parts, place),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Features};

    #[test]
    fn panels_hold_every_column_once() {
        for (outputs, count) in [(300, 2), (300, 3), (16, 1), (5, 1), (100, 7), (17, 2)] {
            let weights: Vec<f32> = (0..2 * outputs).map(|i| i as f32).collect();
            let bias: Vec<f32> = (0..outputs).map(|i| -(i as f32)).collect();
            let panels: Vec<Panel> = (0..count).map(|n| Panel::new(&weights, &bias, n, count)).collect();
            let columns: Vec<usize> = panels.iter().flat_map(|panel| panel.columns.clone()).collect();
            assert_eq!(columns, (0..outputs).collect::<Vec<_>>());
            for panel in panels {
                for (offset, column) in panel.columns.clone().enumerate() {
                    assert_eq!(panel.weights[panel.width + offset], (outputs + column) as f32);
                    assert_eq!(panel.bias[offset], -(column as f32));
                }
                assert!(panel.bias[panel.columns.len()..].iter().all(|b| *b == 0.0));
            }
        }
    }

    /// Vectors of every width, also of those processors that this one is not.
    #[test]
    fn any_vectors_give_the_same_layer() {
        let (inputs, outputs) = (22, 40);
        let number = |i: usize| ((i * 37 + 11) % 23) as f32 / 8.0 - 1.25;
        let weights: Vec<f32> = (0..inputs * outputs).map(number).collect();
        let bias: Vec<f32> = (0..outputs).map(number).collect();
        let values: Vec<f32> = (0..5 * inputs).map(|i| if i % 5 < 3 { 0.0 } else { number(i) }).collect();
        let (features, labels) = (Features::Floats(values), vec![0; 5]);
        let data = Dataset { inputs, features, targets: labels.into(), weights: Vec::new() };
        let mut gathered = [Inputs::default(), Inputs::default()];
        for (inputs, sparse) in gathered.iter_mut().zip([false, true]) {
            inputs.gather(&data.view(), &[4, 2, 0, 1], sparse);
        }
        let [dense, sparse] = &gathered;
        let lists = sparse.sparse.as_ref().unwrap();
        let panel = Panel::new(&weights, &bias, 1, 2);
        let deltas: Vec<f32> = (0..4 * panel.width).map(number).collect();
        let (mut hidden, mut updated) = (Vec::new(), panel.clone());
        panel.forward(dense, &mut hidden);
        updated.add_gradient(&[(dense, &deltas)]);
        let check = |name: &str, got: &[f32], want: &[f32]| {
            let close = |(got, want): (&f32, &f32)| (got - want).abs() <= 1e-5;
            assert!(got.len() == want.len() && got.iter().zip(want).all(close), "{name}");
        };
        fn with<S: Simd>(simd: S, (panel, lists): (&Panel, &Sparse), deltas: &[f32]) -> [Vec<f32>; 2] {
            let mut hidden = panel.bias.repeat(4);
            simd.vectorize(ForwardSparse { panel, inputs: lists, hidden: &mut hidden });
            let mut updated = panel.clone();
            simd.vectorize(AddSparse { panel: &mut updated, parts: &[(lists, deltas)] });
            [hidden, updated.weights]
        }
        let operands = (&panel, lists);
        for (name, [got, weights]) in [
            ("1 lane", with(pulp::Scalar, operands, &deltas)),
            ("4 lanes", with(pulp::Scalar128b, operands, &deltas)),
            ("8 lanes", with(pulp::Scalar256b, operands, &deltas)),
            ("16 lanes", with(pulp::Scalar512b, operands, &deltas)),
        ] {
            check(name, &got, &hidden);
            check(name, &weights, &updated.weights);
        }
    }

    #[test]
    fn runs_cover_all_vectors() {
        for vectors in 0..40 {
            for most in [FORWARD_VECTORS, UPDATE_VECTORS] {
                let covered: Vec<usize> = runs(vectors, most).flatten().collect();
                assert_eq!(covered, (0..vectors).collect::<Vec<_>>());
                assert!(runs(vectors, most).all(|run| (1..=most).contains(&run.len())));
            }
        }
    }
}
