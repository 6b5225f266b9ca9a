//! Products of the first layer's inputs where these are lists: of each group of inputs the rows in which it is not zero.

use std::cell::RefCell;

use pulp::{Simd, WithSimd};

use super::aligned::Aligned;
use super::groups::QUAD;
use super::partition::{by_length, runs};
use super::sparse_rows::{Quad, SparseRows};
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

/// `z` += X W for a run of its columns, of which the first is the vector `at` of a row of the weights.
#[inline(always)]
fn forward_run<S: Simd, const N: usize>(
    simd: S,
    (lists, weights): (&SparseRows, &[S::f32s]),
    z: &mut [[S::f32s; N]],
    (width, at): (usize, usize),
) {
    for (group, list) in lists.each() {
        let weights = &weights[group * QUAD * width..][..QUAD * width];
        let held: [[_; N]; QUAD] = load(simd, weights, (width, at));
        for quad in list {
            let row = &mut z[quad.row as usize];
            let mut sums = *row;
            for (value, weights) in quad.values.iter().zip(&held) {
                let value = simd.splat_f32s(*value);
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum = simd.mul_add_e_f32s(value, *weight, *sum);
                }
            }
            *row = sums;
        }
    }
}

/// `held` += X'D for a group of inputs, whose list this is, and a run of the columns of D.
#[inline(always)]
pub fn add_list<S: Simd, const N: usize>(
    simd: S,
    held: &mut [[S::f32s; N]; QUAD],
    list: &[Quad],
    delta: &[[S::f32s; N]],
) {
    for quad in list {
        add_quad(simd, held, quad, delta);
    }
}

/// As [`add_list`], for one row of the list.
#[inline(always)]
fn add_quad<S: Simd, const N: usize>(
    simd: S,
    held: &mut [[S::f32s; N]; QUAD],
    quad: &Quad,
    delta: &[[S::f32s; N]],
) {
    let row = delta[quad.row as usize];
    for (value, sums) in quad.values.iter().zip(held) {
        let value = simd.splat_f32s(*value);
        for (sum, delta) in sums.iter_mut().zip(&row) {
            *sum = simd.mul_add_e_f32s(value, *delta, *sum);
        }
    }
}

/// `weights` += X'D, for the vectors `at..at + N` of their rows, which are a run of the columns of D.
#[inline(always)]
fn update_run<S: Simd, const N: usize>(
    simd: S,
    weights: &mut [S::f32s],
    (lists, delta): (&SparseRows, &[[S::f32s; N]]),
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
                add_quad(simd, &mut held, quad, delta);
                add_quad(simd, &mut held_beside, other, delta);
            }
            store(&held_beside, &mut weights[others], (width, at));
        } else {
            add_list(simd, &mut held, list, delta);
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
    pub lists: &'a SparseRows,
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
        let rows = z.len() / width;
        let mut copy = RUNS.take();
        let is_one = width <= most;
        let by_runs =
            if is_one { &mut *z } else { copy_to_runs::<S>(z, (rows, width, width), most, &mut copy) };
        for run in runs(width, most) {
            by_length!(run.len(), most_vectors(S::F32_LANES).0, N => {
                let z = by_runs[rows * run.start..rows * run.end].as_chunks_mut::<N>().0;
                forward_run::<S, N>(simd, operands, z, (width, run.start));
            });
        }
        if !is_one {
            copy_from_runs::<S>(&copy, z, width, most);
        }
        RUNS.set(copy);
    }
}

/// `weights`, rows of `width` numbers each, += X'D.
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
        let width = self.width / S::F32_LANES;
        let (weights, _) = S::as_mut_simd_f32s(self.weights);
        let mut copy = RUNS.take();
        // A run of columns of all deltas stays in the nearest cache while the inputs are walked.
        let (delta, rows) = delta_by_runs::<S>(self.delta, width, &mut copy);
        for run in runs(width, most_vectors(S::F32_LANES).1) {
            by_length!(run.len(), most_vectors(S::F32_LANES).1, N => {
                let delta = delta[rows * run.start..rows * run.end].as_chunks::<N>().0;
                update_run::<S, N>(simd, weights, (self.lists, delta), (width, run.start));
            });
        }
        RUNS.set(copy);
    }
}

thread_local! {
    /// Memory for runs, which a thread keeps.
    pub static RUNS: RefCell<Aligned> = RefCell::default();
}

/// D of `width` vectors a row, run by run, and its number of rows: each run has one row behind the other, so that a row is found by
/// its number alone.
#[inline(always)]
pub fn delta_by_runs<'a, S: Simd>(
    delta: View<'a>,
    width: usize,
    copy: &'a mut Aligned,
) -> (&'a [S::f32s], usize) {
    let (values, rows) = (S::as_simd_f32s(delta.values()).0, delta.row_count());
    let (stride, (_, most)) = (delta.row_stride() / S::F32_LANES, most_vectors(S::F32_LANES));
    if stride == width && width <= most {
        return (values, rows);
    }
    (copy_to_runs::<S>(values, (rows, width, stride), most, copy), rows)
}

/// Copies rows of `width` vectors, which are `stride` vectors apart, run by run.
#[inline(always)]
fn copy_to_runs<'a, S: Simd>(
    values: &[S::f32s],
    (rows, width, stride): (usize, usize, usize),
    most: usize,
    copy: &'a mut Aligned,
) -> &'a mut [S::f32s] {
    let (copy, _) = S::as_mut_simd_f32s(copy.room(rows * width * S::F32_LANES));
    for run in runs(width, most) {
        let to = &mut copy[rows * run.start..rows * run.end];
        by_length!(run.len(), 5, N => {
            for (to, from) in to.as_chunks_mut::<N>().0.iter_mut().zip(values.chunks(stride)) {
                to.copy_from_slice(&from[run.start..run.start + N]);
            }
        });
    }
    copy
}

/// Copies the runs of rows back.
#[inline(always)]
fn copy_from_runs<S: Simd>(copy: &[f32], values: &mut [S::f32s], width: usize, most: usize) {
    let (copy, rows) = (S::as_simd_f32s(copy).0, values.len() / width);
    for run in runs(width, most) {
        let from = &copy[rows * run.start..rows * run.end];
        by_length!(run.len(), 5, N => {
            for (from, to) in from.as_chunks::<N>().0.iter().zip(values.chunks_exact_mut(width)) {
                to[run.start..run.start + N].copy_from_slice(from);
            }
        });
    }
}
