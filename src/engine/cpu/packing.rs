//! Blocks of factors, copied so that a tile reads them one number behind the other.

use bytemuck::cast_slice_mut;
use pulp::Simd;

use super::partition::{by_length, runs};
use super::tiles::{height, next_height, width};
use super::view::View;

/// Copies A, whose rows are columns in memory: for each tile, one step of the inner dimension after the other.
#[inline(always)]
pub fn pack_columns<S: Simd>(a: View<'_>, to: &mut [f32]) {
    let (rows, depth) = (a.row_count(), a.column_count());
    let mut row = 0;
    while row < rows {
        let height = next_height(height(S::F32_LANES), rows - row);
        let to = &mut to[row * depth..][..height * depth];
        match height {
            8 => pack_tile::<8>(a, row, to),
            6 => pack_tile::<6>(a, row, to),
            4 => pack_tile::<4>(a, row, to),
            2 => pack_tile::<2>(a, row, to),
            _ => pack_tile::<1>(a, row, to),
        }
        row += height;
    }
}

#[inline(always)]
fn pack_tile<const M: usize>(a: View<'_>, row: usize, to: &mut [f32]) {
    let values = &a.values()[row..];
    for (k, to) in to.as_chunks_mut::<M>().0.iter_mut().enumerate() {
        to.copy_from_slice(&values[k * a.column_stride()..][..M]);
    }
}

/// Copies B as rows of whole vectors: the runs of columns one behind the other, each row by row; behind the last column
/// zeros.
#[inline(always)]
pub fn pack<S: Simd>(simd: S, b: View<'_>, vectors: usize, to: &mut [S::f32s]) {
    let depth = b.row_count();
    for run in runs(vectors, width(S::F32_LANES)) {
        let to = &mut to[run.start * depth..run.end * depth];
        let first = run.start * S::F32_LANES;
        by_length!(run.len(), width(S::F32_LANES), N => pack_run::<S, N>(simd, b, first, to));
    }
}

/// Copies N vectors of columns from `first` on.
#[inline(always)]
fn pack_run<S: Simd, const N: usize>(simd: S, b: View<'_>, first: usize, to: &mut [S::f32s]) {
    let columns = b.column_count().saturating_sub(first).min(N * S::F32_LANES);
    let lanes = N * S::F32_LANES;
    if b.column_stride() == 1 && columns == lanes {
        let values = &b.values()[first..];
        for (k, to) in to.as_chunks_mut::<N>().0.iter_mut().enumerate() {
            to.copy_from_slice(S::as_simd_f32s(&values[k * b.row_stride()..][..lanes]).0);
        }
        return;
    }
    if columns < lanes {
        to.fill(simd.splat_f32s(0.0));
    }
    if columns == 0 {
        return;
    }
    let to: &mut [f32] = cast_slice_mut(to);
    if b.column_stride() == 1 {
        for (k, to) in to.chunks_exact_mut(lanes).enumerate() {
            to[..columns].copy_from_slice(&b.values()[k * b.row_stride() + first..][..columns]);
        }
    } else {
        b.transposed().rows(first..first + columns).transpose_into(to, lanes);
    }
}
