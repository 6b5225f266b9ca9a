//! The first layer, which is most of the work: its columns are divided between the parts, and zeros are skipped.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::aligned::Aligned;
use super::divide::{LANES, columns, range};
use super::matrix::Matrix;
use super::product::{View, multiply};
use super::sparse::{Inputs, QUAD, Sparse};
use super::tensors::Tensors;
use crate::model::Layer;

/// Which columns of the first layer's weights one part owns, so that they stay in its core's cache. Its weights are
/// [inputs, width], and behind them rows of zeros until they are a multiple of [`QUAD`]; its bias is `[width]`.
#[derive(Debug, Clone)]
pub struct Panel {
    /// Which columns.
    pub columns: Range<usize>,
    /// Columns with padding, which is zero: whole vectors.
    pub width: usize,
    inputs: usize,
}

/// Shares of a batch whose gradients are added in one go.
const SHARES: usize = 8;

impl Panel {
    /// How many panels a layer with so many outputs can be divided into.
    pub fn most(outputs: usize) -> usize {
        outputs.div_ceil(LANES)
    }

    /// Panel `number` of `count` of a layer.
    pub fn new(inputs: usize, outputs: usize, number: usize, count: usize) -> Self {
        let columns = columns(outputs, number, count);
        Self { width: Matrix::width_of(columns.len()), columns, inputs }
    }

    /// Its part of a whole layer.
    pub fn cut(&self, layer: &Layer) -> Tensors {
        let own = |to: &mut [f32], row: &[f32]| {
            to[..self.columns.len()].copy_from_slice(&row[self.columns.clone()]);
        };
        let mut weights = Aligned::zeros(self.inputs.next_multiple_of(QUAD) * self.width);
        let rows = layer.weights.chunks_exact(layer.outputs);
        weights.chunks_exact_mut(self.width).zip(rows).for_each(|(to, row)| own(to, row));
        let mut bias = vec![0.0; self.width];
        own(&mut bias, &layer.bias);
        Tensors { weights, bias }
    }

    /// The whole layer from what [`Panel::cut`] makes of it.
    pub fn join<'a>(parts: impl Iterator<Item = (&'a Panel, &'a Tensors)> + Clone) -> Layer {
        let inputs = parts.clone().map(|(panel, _)| panel.inputs).max().unwrap_or(0);
        let row_of = |values: fn(&Tensors) -> &[f32], row: usize| {
            parts.clone().flat_map(move |(panel, tensors)| {
                values(tensors)[row * panel.width..][..panel.columns.len()].iter().copied()
            })
        };
        let weights = (0..inputs).flat_map(|row| row_of(|tensors| &tensors.weights, row)).collect();
        let bias: Vec<f32> = row_of(|tensors| &tensors.bias, 0).collect();
        Layer { inputs, outputs: bias.len(), weights, bias }
    }

    /// Z [rows, width] = X W + b for these columns.
    pub fn forward(&self, parameters: &Tensors, inputs: &Inputs, z: &mut [f32]) {
        for row in z.chunks_exact_mut(self.width) {
            row.copy_from_slice(&parameters.bias);
        }
        match &inputs.sparse {
            Some(inputs) => {
                let (weights, width) = (&parameters.weights, self.width);
                Arch::new().dispatch(ForwardSparse { weights, width, inputs, z });
            }
            None => {
                let weights = View::new(&parameters.weights[..self.inputs * self.width], self.width);
                multiply(z, View::new(&inputs.dense, self.inputs), weights, true);
            }
        }
    }

    /// Adds X'D to the weights and the column sums of D to the bias, over the shares of the batch in their order; each is
    /// its inputs and its D [rows, width].
    pub fn add_gradient<'a>(
        &self,
        to: &mut Tensors,
        shares: impl Iterator<Item = (&'a Inputs, View<'a>)> + Clone,
    ) {
        for (_, delta) in shares.clone() {
            delta.add_column_sums(&mut to.bias);
        }
        let Some((first, _)) = shares.clone().next() else { return };
        if first.sparse.is_none() {
            let weights = &mut to.weights[..self.inputs * self.width];
            for (inputs, delta) in shares.filter(|(inputs, _)| inputs.rows() > 0) {
                multiply(weights, View::new(&inputs.dense, self.inputs).t(), delta, true);
            }
            return;
        }
        let mut sparse = shares.filter_map(|(inputs, delta)| Some((inputs.sparse.as_ref()?, delta)));
        while let Some(first) = sparse.next() {
            let mut some = [first; SHARES];
            let others = some[1..].iter_mut().zip(&mut sparse).map(|(to, from)| *to = from);
            let count = 1 + others.count();
            let (weights, width) = (&mut to.weights, self.width);
            Arch::new().dispatch(AddSparse { weights, width, shares: &some[..count] });
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

/// `z` += X W for the vectors `at..at + N` of its rows.
#[inline(always)]
fn forward_run<S: Simd, const N: usize>(
    simd: S,
    (inputs, weights): (&Sparse, &[S::f32s]),
    z: &mut [S::f32s],
    (width, at): (usize, usize),
) {
    for (number, weights) in weights.chunks_exact(QUAD * width).enumerate() {
        let held: [[_; N]; QUAD] = load(simd, weights, (width, at));
        for quad in inputs.list(number) {
            let start = quad.row as usize * width + at;
            let row = &mut z[start..start + N];
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

/// A share of a batch: its inputs, and its deltas in rows of `stride` vectors.
#[derive(Clone, Copy)]
struct Share<'a, V> {
    inputs: &'a Sparse,
    delta: &'a [V],
    stride: usize,
}

/// `weights` += X'D, over shares (X, D) of a batch, for the vectors `at..at + N` of their rows.
#[inline(always)]
fn update_run<S: Simd, const N: usize>(
    simd: S,
    weights: &mut [S::f32s],
    shares: &[Share<'_, S::f32s>],
    (width, at): (usize, usize),
) {
    for (number, weights) in weights.chunks_exact_mut(QUAD * width).enumerate() {
        let mut held: [[_; N]; QUAD] = load(simd, weights, (width, at));
        for Share { inputs, delta, stride } in shares {
            for quad in inputs.list(number) {
                let start = quad.row as usize * stride + at;
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
    weights: &'a [f32],
    width: usize,
    inputs: &'a Sparse,
    z: &'a mut [f32],
}

impl WithSimd for ForwardSparse<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.width / S::F32_LANES;
        let operands = (self.inputs, S::as_simd_f32s(self.weights).0);
        let (z, _) = S::as_mut_simd_f32s(self.z);
        for run in runs(width, FORWARD_VECTORS) {
            let place = (width, run.start);
            match run.len() {
                3 => forward_run::<S, 3>(simd, operands, z, place),
                2 => forward_run::<S, 2>(simd, operands, z, place),
                _ => forward_run::<S, 1>(simd, operands, z, place),
            }
        }
    }
}

struct AddSparse<'a> {
    weights: &'a mut [f32],
    width: usize,
    /// At most [`SHARES`].
    shares: &'a [(&'a Sparse, View<'a>)],
}

impl WithSimd for AddSparse<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.width / S::F32_LANES;
        let (weights, _) = S::as_mut_simd_f32s(self.weights);
        let [(first, _), ..] = self.shares else { return };
        let mut shares = [Share { inputs: first, delta: &[], stride: 0 }; SHARES];
        for (share, (inputs, delta)) in shares.iter_mut().zip(self.shares) {
            let stride = delta.row_stride() / S::F32_LANES;
            *share = Share { inputs, delta: S::as_simd_f32s(delta.values()).0, stride };
        }
        let shares = &shares[..self.shares.len()];
        // A run of columns of all deltas stays in the nearest cache while the inputs are walked.
        for run in runs(width, UPDATE_VECTORS) {
            let place = (width, run.start);
            match run.len() {
                2 => update_run::<S, 2>(simd, weights, shares, place),
                _ => update_run::<S, 1>(simd, weights, shares, place),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Features};

    fn number(i: usize) -> f32 {
        ((i * 37 + 11) % 23) as f32 / 8.0 - 1.25
    }

    #[test]
    fn panels_hold_every_column_once() {
        for (outputs, count) in [(300, 2), (300, 3), (16, 1), (5, 1), (100, 7), (17, 2), (1, 3)] {
            let weights: Vec<f32> = (0..2 * outputs).map(|i| i as f32).collect();
            let bias: Vec<f32> = (0..outputs).map(|i| -(i as f32)).collect();
            let layer = Layer { inputs: 2, outputs, weights, bias };
            let panels: Vec<Panel> = (0..count).map(|n| Panel::new(2, outputs, n, count)).collect();
            let columns: Vec<usize> = panels.iter().flat_map(|panel| panel.columns.clone()).collect();
            assert_eq!(columns, (0..outputs).collect::<Vec<_>>());
            let parts: Vec<Tensors> = panels.iter().map(|panel| panel.cut(&layer)).collect();
            for (panel, part) in panels.iter().zip(&parts) {
                for (offset, column) in panel.columns.clone().enumerate() {
                    assert_eq!(part.weights[panel.width + offset], (outputs + column) as f32);
                    assert_eq!(part.bias[offset], -(column as f32));
                }
                assert!(part.bias[panel.columns.len()..].iter().all(|b| *b == 0.0));
            }
            assert_eq!(Panel::join(panels.iter().zip(&parts)), layer);
        }
    }

    /// Vectors of every width, also of those processors that this one is not; deltas of a panel alone and beside those of
    /// others.
    #[test]
    fn any_vectors_give_the_same_layer() {
        let (inputs, outputs) = (22, 40);
        let weights: Vec<f32> = (0..inputs * outputs).map(number).collect();
        let layer = Layer { inputs, outputs, weights, bias: (0..outputs).map(number).collect() };
        let values: Vec<f32> = (0..5 * inputs).map(|i| if i % 5 < 3 { 0.0 } else { number(i) }).collect();
        let (features, labels) = (Features::Floats(values), vec![0; 5]);
        let data = Dataset { inputs, features, targets: labels.into(), weights: Vec::new() };
        let mut gathered = [Inputs::default(), Inputs::default()];
        for (inputs, sparse) in gathered.iter_mut().zip([false, true]) {
            inputs.gather(&data.view(), &[4, 2, 0, 1], sparse);
        }
        let [dense, sparse] = &gathered;
        let lists = sparse.sparse.as_ref().unwrap();
        let panel = Panel::new(inputs, outputs, 1, 2);
        let (tensors, width) = (panel.cut(&layer), panel.width);
        let beside: Vec<f32> = (0..4 * 3 * width).map(number).collect();
        let delta = View::new(&beside, 3 * width).columns(width..2 * width);
        let (mut z, mut updated) = (vec![0.0; 4 * width], tensors.clone());
        panel.forward(&tensors, dense, &mut z);
        panel.add_gradient(&mut updated, [(dense, delta)].into_iter());
        let check = |name: &str, got: &[f32], want: &[f32]| {
            let close = |(got, want): (&f32, &f32)| (got - want).abs() <= 1e-5;
            assert!(got.len() == want.len() && got.iter().zip(want).all(close), "{name}");
        };
        fn with<S: Simd>(simd: S, panel: &Tensors, inputs: &Sparse, delta: View<'_>) -> [Vec<f32>; 2] {
            let (mut z, width) = (panel.bias.repeat(4), panel.bias.len());
            simd.vectorize(ForwardSparse { weights: &panel.weights, width, inputs, z: &mut z });
            let mut weights = panel.weights.clone();
            simd.vectorize(AddSparse { weights: &mut weights, width, shares: &[(inputs, delta)] });
            [z, weights.to_vec()]
        }
        for (name, [got, weights]) in [
            ("1 lane", with(pulp::Scalar, &tensors, lists, delta)),
            ("4 lanes", with(pulp::Scalar128b, &tensors, lists, delta)),
            ("8 lanes", with(pulp::Scalar256b, &tensors, lists, delta)),
            ("16 lanes", with(pulp::Scalar512b, &tensors, lists, delta)),
        ] {
            check(name, &got, &z);
            check(name, &weights, &updated.weights);
        }
    }

    /// More shares than are added in one go give what they give one by one.
    #[test]
    fn any_number_of_shares_is_added() {
        let count = 2 * SHARES + 3;
        let values: Vec<f32> = (0..count * 4).map(|i| if i % 3 > 0 { 0.0 } else { number(i) }).collect();
        let targets = vec![0; count].into();
        let data = Dataset { inputs: 4, features: Features::Floats(values), targets, weights: Vec::new() };
        let panel = Panel::new(4, 20, 0, 1);
        let delta: Vec<f32> = (0..count * panel.width).map(number).collect();
        let delta = View::new(&delta, panel.width);
        for sparse in [true, false] {
            let mut shares: Vec<Inputs> = (0..count).map(|_| Inputs::default()).collect();
            for (share, row) in shares.iter_mut().zip(0..) {
                share.gather(&data.view(), &[row], sparse);
            }
            let zeros = || Tensors { weights: Aligned::zeros(4 * panel.width), bias: vec![0.0; panel.width] };
            let (mut together, mut one_by_one) = (zeros(), zeros());
            let parts = || shares.iter().enumerate().map(|(row, share)| (share, delta.rows(row..row + 1)));
            panel.add_gradient(&mut together, parts());
            parts().for_each(|part| panel.add_gradient(&mut one_by_one, std::iter::once(part)));
            assert_eq!((together.weights, together.bias), (one_by_one.weights, one_by_one.bias));
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
