//! Products of the first layer's inputs where these are lists: of each group of inputs the rows in which it is not zero.

use pulp::{Simd, WithSimd};

use super::divide::{by_length, runs};
use super::groups::QUAD;
use super::lists::{Lists, Quad};
use super::view::View;

/// Vectors of a row that are worked on together: with four inputs, their weights and sums fill the registers, 32 with the
/// longest vectors and 16 with others, of which compilers need more in the update.
pub const fn most_vectors(lanes: usize) -> (usize, usize) {
    if lanes == 16 { (5, 5) } else { (3, 2) }
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
    (lists, weights): (&Lists, &[S::f32s]),
    z: &mut [S::f32s],
    (width, at): (usize, usize),
) {
    for (group, list) in lists.each() {
        let weights = &weights[group * QUAD * width..][..QUAD * width];
        let held: [[_; N]; QUAD] = load(simd, weights, (width, at));
        for quad in list {
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

/// `held` += X'D for a group of inputs, whose list this is, and the vectors `at..at + N` of the rows of D, which are `stride`
/// vectors apart.
#[inline(always)]
pub fn add_list<S: Simd, const N: usize>(
    simd: S,
    held: &mut [[S::f32s; N]; QUAD],
    list: &[Quad],
    (delta, stride): (&[S::f32s], usize),
    at: usize,
) {
    for quad in list {
        add_quad(simd, held, quad, (delta, stride), at);
    }
}

/// The same for one row of the list.
#[inline(always)]
fn add_quad<S: Simd, const N: usize>(
    simd: S,
    held: &mut [[S::f32s; N]; QUAD],
    quad: &Quad,
    (delta, stride): (&[S::f32s], usize),
    at: usize,
) {
    let start = quad.row as usize * stride + at;
    let mut row = [simd.splat_f32s(0.0); N];
    row.copy_from_slice(&delta[start..start + N]);
    for (value, sums) in quad.values.iter().zip(held) {
        let value = simd.splat_f32s(*value);
        for (sum, delta) in sums.iter_mut().zip(&row) {
            *sum = simd.mul_add_e_f32s(value, *delta, *sum);
        }
    }
}

/// `weights` += X'D, for the vectors `at..at + N` of their rows; those of D are `stride` vectors apart.
#[inline(always)]
fn update_run<S: Simd, const N: usize>(
    simd: S,
    weights: &mut [S::f32s],
    (lists, delta, stride): (&Lists, &[S::f32s], usize),
    (width, at): (usize, usize),
) {
    let mut groups = lists.each().peekable();
    while let Some((group, list)) = groups.next() {
        let rows = group * QUAD * width..(group + 1) * QUAD * width;
        let mut held: [[_; N]; QUAD] = load(simd, &weights[rows.clone()], (width, at));
        let beside = if side_by_side(S::F32_LANES, N) {
            groups.next_if(|(_, next)| next.len() == list.len())
        } else {
            None
        };
        if let Some((group, other)) = beside {
            let others = group * QUAD * width..(group + 1) * QUAD * width;
            let mut held_beside: [[_; N]; QUAD] = load(simd, &weights[others.clone()], (width, at));
            for (quad, other) in list.iter().zip(other) {
                add_quad(simd, &mut held, quad, (delta, stride), at);
                add_quad(simd, &mut held_beside, other, (delta, stride), at);
            }
            store(&held_beside, &mut weights[others], (width, at));
        } else {
            add_list(simd, &mut held, list, (delta, stride), at);
        }
        store(&held, &mut weights[rows], (width, at));
    }
}

/// Whether the sums of two groups fit into registers.
const fn side_by_side(lanes: usize, vectors: usize) -> bool {
    2 * vectors <= most_vectors(lanes).1
}

/// Puts vectors back that [`load`] has taken.
#[inline(always)]
fn store<V: Copy, const N: usize>(held: &[[V; N]; QUAD], rows: &mut [V], (width, at): (usize, usize)) {
    for (held, row) in held.iter().zip(rows.chunks_exact_mut(width)) {
        row[at..at + N].copy_from_slice(held);
    }
}

/// `z` += X W, rows of `width` numbers each.
pub struct ForwardSparse<'a> {
    pub weights: &'a [f32],
    pub width: usize,
    pub lists: &'a Lists,
    pub z: &'a mut [f32],
}

impl WithSimd for ForwardSparse<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.width / S::F32_LANES;
        let operands = (self.lists, S::as_simd_f32s(self.weights).0);
        let (z, _) = S::as_mut_simd_f32s(self.z);
        let (most, _) = most_vectors(S::F32_LANES);
        for run in runs(width, most) {
            let place = (width, run.start);
            by_length!(run.len(), most, N => forward_run::<S, N>(simd, operands, z, place));
        }
    }
}

/// `weights`, rows of `width` numbers each, += X'D.
pub struct AddSparse<'a> {
    pub weights: &'a mut [f32],
    pub width: usize,
    pub lists: &'a Lists,
    pub delta: View<'a>,
}

impl WithSimd for AddSparse<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.width / S::F32_LANES;
        let (weights, _) = S::as_mut_simd_f32s(self.weights);
        let delta = S::as_simd_f32s(self.delta.values()).0;
        let operands = (self.lists, delta, self.delta.row_stride() / S::F32_LANES);
        // A run of columns of all deltas stays in the nearest cache while the inputs are walked.
        let (_, most) = most_vectors(S::F32_LANES);
        for run in runs(width, most) {
            let place = (width, run.start);
            by_length!(run.len(), most, N => update_run::<S, N>(simd, weights, operands, place));
        }
    }
}
