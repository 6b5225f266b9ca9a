//! Products of the first layer's inputs as lists: for each group of inputs, the rows in which it is not zero.

use pulp::{Simd, WithSimd};

use super::groups::QUAD;
use super::partition::{by_length, runs};
use super::sparse_rows::SparseRows;
use super::view::View;

/// Vectors of a row computed together, forward and for gradients: with four inputs, their weights and sums
/// fill the registers, 32 with the longest vectors and 16 with others, of which compilers need more for
/// gradients.
const fn most_vectors(lanes: usize) -> (usize, usize) {
    if lanes == 16 { (5, 5) } else { (3, 2) }
}

/// Loads the vectors `at..at + N` of four rows of `width` vectors each.
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

/// Computes `z` += X W, in rows of `width` numbers each.
pub struct ForwardSparse<'a> {
    pub weights: &'a [f32],
    pub width: usize,
    pub lists: &'a SparseRows,
    pub z: &'a mut [f32],
}

impl WithSimd for ForwardSparse<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { lists, .. } = self;
        let (weights, z) = (S::as_simd_f32s(self.weights).0, S::as_mut_simd_f32s(self.z).0);
        let width = self.width / S::F32_LANES;
        for run in runs(width, most_vectors(S::F32_LANES).0) {
            by_length!(run.len(), most_vectors(S::F32_LANES).0, N => forward_run::<S, N>(simd, (lists, weights), z, (width, run.start)));
        }
    }
}

/// Computes `z` += X W for the vectors `at..at + N` of their rows, which have `width` vectors.
#[inline(always)]
fn forward_run<S: Simd, const N: usize>(
    simd: S,
    (lists, weights): (&SparseRows, &[S::f32s]),
    z: &mut [S::f32s],
    (width, at): (usize, usize),
) {
    for (group, list) in lists.each() {
        let weights = &weights[group * QUAD * width..][..QUAD * width];
        let held: [[_; N]; QUAD] = load(simd, weights, (width, at));
        for quad in list {
            let row = &mut z[quad.row as usize * width + at..][..N];
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

/// Computes `weights` += X'D, in rows of `width` numbers each.
pub struct AddSparse<'a> {
    pub weights: &'a mut [f32],
    pub width: usize,
    pub lists: &'a SparseRows,
    pub delta: View<'a>,
}

impl WithSimd for AddSparse<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { lists, delta, .. } = self;
        let weights = S::as_mut_simd_f32s(self.weights).0;
        let delta = (S::as_simd_f32s(delta.values()).0, delta.row_stride() / S::F32_LANES);
        let width = self.width / S::F32_LANES;
        for run in runs(width, most_vectors(S::F32_LANES).1) {
            by_length!(run.len(), most_vectors(S::F32_LANES).1, N => add_run::<S, N>(simd, weights, (lists, delta), (width, run.start)));
        }
    }
}

/// Computes `weights` += X'D for the vectors `at..at + N` of their rows, which have `width` vectors; rows of
/// D are `stride` vectors apart.
#[inline(always)]
fn add_run<S: Simd, const N: usize>(
    simd: S,
    weights: &mut [S::f32s],
    (lists, (delta, stride)): (&SparseRows, (&[S::f32s], usize)),
    (width, at): (usize, usize),
) {
    for (group, list) in lists.each() {
        let weights = &mut weights[group * QUAD * width..][..QUAD * width];
        let mut held: [[_; N]; QUAD] = load(simd, weights, (width, at));
        for quad in list {
            let mut row = [simd.splat_f32s(0.0); N];
            row.copy_from_slice(&delta[quad.row as usize * stride + at..][..N]);
            for (value, sums) in quad.values.iter().zip(&mut held) {
                let value = simd.splat_f32s(*value);
                for (sum, delta) in sums.iter_mut().zip(&row) {
                    *sum = simd.mul_add_e_f32s(value, *delta, *sum);
                }
            }
        }
        for (held, row) in held.iter().zip(weights.chunks_exact_mut(width)) {
            row[at..at + N].copy_from_slice(held);
        }
    }
}
