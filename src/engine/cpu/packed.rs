//! Products that do not fit the nearest caches: blocks of the factors are copied, so that a tile reads them
//! contiguously.
//!
//! As in `tiles.rs`, every number of C is one chain of multiply-adds, so both give the same bits.

use std::cell::RefCell;
use std::ops::Range;

use bytemuck::cast_slice_mut;
use pulp::{Simd, WithSimd};

use super::aligned::Aligned;
use super::partition::{LANES, by_length, runs};
use super::tiles::{add_outer, height, next_height, width};
use super::view::View;
use crate::vectors::vectorized;

/// Steps of the inner dimension in a block.
const DEPTH: usize = 256;

/// Columns of a block of B: with [`DEPTH`] rows a quarter of a core's L2 cache. A tile of A stays in L1 while
/// it is multiplied by all of them.
const COLUMNS: usize = 15 * LANES;

/// Rows of A copied at a time, if they are columns in memory.
const ROWS: usize = 256;

thread_local! {
    static BLOCKS: RefCell<Blocks> = RefCell::default();
}

/// Memory for copies, kept per thread.
#[derive(Default)]
struct Blocks {
    a: Aligned,
    b: Aligned,
    c: Aligned,
}

/// Computes C += A B. Rows of C are `stride` numbers apart. The first numbers of each row, one per column of
/// B, are added to; zeros are added to the following numbers up to a whole vector, if C has room.
pub fn add_packed(c: &mut [f32], stride: usize, a: View<'_>, b: View<'_>) {
    let (rows, depth, columns) = (a.row_count(), a.column_count(), b.column_count());
    assert_eq!(depth, b.row_count(), "inner dimensions of a product agree");
    if rows == 0 || depth == 0 || columns == 0 {
        return;
    }
    let width = columns.next_multiple_of(LANES);
    assert!(stride.is_multiple_of(LANES), "rows are whole vectors");
    assert!(width <= stride && (rows - 1) * stride + columns <= c.len(), "C has the product's shape");
    let mut blocks = BLOCKS.take();
    if (rows - 1) * stride + width <= c.len() {
        vectorized(AddPacked { c, stride, a, b, blocks: &mut blocks });
    } else {
        // After an input layer, the first layer's inputs are divided at the ends of table columns.
        let mut copy = std::mem::take(&mut blocks.c);
        let whole = copy.room(rows * width);
        for (to, from) in whole.chunks_exact_mut(width).zip(c.chunks(stride)) {
            to[..columns].copy_from_slice(&from[..columns]);
            to[columns..].fill(0.0);
        }
        vectorized(AddPacked { c: whole, stride: width, a, b, blocks: &mut blocks });
        for (to, from) in c.chunks_mut(stride).zip(whole.chunks_exact(width)) {
            to[..columns].copy_from_slice(&from[..columns]);
        }
        blocks.c = copy;
    }
    BLOCKS.set(blocks);
}

/// Divides `length` into pieces of `most`.
fn pieces(length: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    (0..length).step_by(most).map(move |start| start..length.min(start + most))
}

struct AddPacked<'a> {
    c: &'a mut [f32],
    stride: usize,
    a: View<'a>,
    b: View<'a>,
    blocks: &'a mut Blocks,
}

impl WithSimd for AddPacked<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { c, stride, a, b, blocks } = self;
        let rows = a.row_count();
        // Rows with contiguous numbers are not copied.
        let height = if a.column_stride() == 1 { rows } else { ROWS };
        for depth in pieces(a.column_count(), DEPTH) {
            let a = a.columns(depth.clone());
            for rows in pieces(rows, height) {
                let a = a.rows(rows.clone());
                let factors = Factors::of::<S>(a, &mut blocks.a);
                for columns in pieces(b.column_count(), COLUMNS) {
                    let vectors = columns.len().div_ceil(S::F32_LANES);
                    let packed = blocks.b.room(vectors * S::F32_LANES * depth.len());
                    let (packed, _) = S::as_mut_simd_f32s(packed);
                    pack(simd, b.rows(depth.clone()).columns(columns.clone()), vectors, packed);
                    let (c, _) = S::as_mut_simd_f32s(&mut c[rows.start * stride + columns.start..]);
                    let block = Block {
                        factors,
                        depth: depth.len(),
                        b: packed,
                        vectors,
                        stride: stride / S::F32_LANES,
                    };
                    block.add(simd, c, a.row_count());
                }
            }
        }
    }
}

/// A block of A in the form that a tile reads.
#[derive(Clone, Copy)]
enum Factors<'a> {
    /// Rows with contiguous numbers.
    Rows(View<'a>),
    /// Output of [`pack_columns`].
    Packed(&'a [f32]),
}

impl<'a> Factors<'a> {
    /// Returns a block of A, copied to `room` if its rows are columns in memory.
    #[inline(always)]
    fn of<S: Simd>(a: View<'a>, room: &'a mut Aligned) -> Self {
        if a.column_stride() == 1 {
            return Factors::Rows(a);
        }
        let to = room.room(a.row_count() * a.column_count());
        pack_columns::<S>(a, to);
        Factors::Packed(to)
    }
}

/// Packed blocks of A and B.
struct Block<'a, S: Simd> {
    factors: Factors<'a>,
    depth: usize,
    b: &'a [S::f32s],
    /// Vectors per row of B.
    vectors: usize,
    /// Distance between rows of C, in vectors.
    stride: usize,
}

impl<S: Simd> Block<'_, S> {
    /// Adds the product to `rows` rows of C.
    #[inline(always)]
    fn add(&self, simd: S, c: &mut [S::f32s], rows: usize) {
        let mut row = 0;
        while row < rows {
            let next = next_height(height(S::F32_LANES), rows - row);
            match next {
                8 if const { height(S::F32_LANES) == 8 } => self.add_rows::<8>(simd, c, row),
                6 if const { height(S::F32_LANES) == 6 } => self.add_rows::<6>(simd, c, row),
                4 => self.add_rows::<4>(simd, c, row),
                2 => self.add_rows::<2>(simd, c, row),
                _ => self.add_rows::<1>(simd, c, row),
            }
            row += next;
        }
    }

    /// Adds the product to M rows from `row` on.
    #[inline(always)]
    fn add_rows<const M: usize>(&self, simd: S, c: &mut [S::f32s], row: usize) {
        for run in runs(self.vectors, width(S::F32_LANES)) {
            by_length!(run.len(), width(S::F32_LANES), N => self.add_tile::<M, N>(simd, c, row, run.start));
        }
    }

    /// Adds the product to the vectors `at..at + N` of M rows.
    #[inline(always)]
    fn add_tile<const M: usize, const N: usize>(&self, simd: S, c: &mut [S::f32s], row: usize, at: usize) {
        let mut sums = [[simd.splat_f32s(0.0); N]; M];
        for (m, sums) in sums.iter_mut().enumerate() {
            sums.copy_from_slice(&c[(row + m) * self.stride + at..][..N]);
        }
        let depth = self.depth;
        let b = &self.b[at * depth..][..N * depth].as_chunks::<N>().0[..depth];
        match self.factors {
            Factors::Rows(a) => {
                let mut rows = [&[][..]; M];
                for (m, to) in rows.iter_mut().enumerate() {
                    *to = &a.values()[(row + m) * a.row_stride()..][..depth];
                }
                for (k, b) in b.iter().enumerate() {
                    add_outer(simd, &mut sums, rows.iter().map(|row| row[k]), b);
                }
            }
            Factors::Packed(a) => {
                let a = &a[row * depth..][..M * depth].as_chunks::<M>().0[..depth];
                for (a, b) in a.iter().zip(b) {
                    add_outer(simd, &mut sums, a.iter().copied(), b);
                }
            }
        }
        for (m, sums) in sums.iter().enumerate() {
            c[(row + m) * self.stride + at..][..N].copy_from_slice(sums);
        }
    }
}

/// Copies A, whose rows are columns in memory: for each tile, the steps of the inner dimension in sequence.
#[inline(always)]
fn pack_columns<S: Simd>(a: View<'_>, to: &mut [f32]) {
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

/// Copies B as rows of whole vectors: runs of columns in sequence, each row by row; pads the last columns
/// with zeros.
#[inline(always)]
fn pack<S: Simd>(simd: S, b: View<'_>, vectors: usize, to: &mut [S::f32s]) {
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

#[cfg(test)]
mod tests {
    use super::super::tiles::tests::{expected, number};
    use super::*;

    /// Odd sizes and several blocks of each kind; both factors plain and transposed; the vectors of every
    /// processor. Numbers after the columns of the product do not change.
    #[test]
    fn any_vectors_give_one_chain_of_multiply_adds() {
        for (rows, depth, columns) in [
            (1, 1, 1usize),
            (3, 17, 17),
            (8, 63, 48),
            (65, 257, 63),
            (17, 65, 257),
            (257, 3, 16),
            (5, 513, 241),
        ] {
            let stride = columns.next_multiple_of(LANES) + LANES;
            let a_values: Vec<f32> = (0..rows * depth).map(number).collect();
            let b_values: Vec<f32> = (0..depth * columns).map(|i| number(7 * i + 3)).collect();
            let c: Vec<f32> = (0..rows * stride).map(|i| number(5 * i + 1)).collect();
            for a in [View::new(&a_values, depth), View::new(&a_values, rows).transposed()] {
                for b in [View::new(&b_values, columns), View::new(&b_values, depth).transposed()] {
                    let want = expected(&c, stride, a, b);
                    fn with<S: Simd>(
                        simd: S,
                        mut c: Vec<f32>,
                        stride: usize,
                        [a, b]: [View<'_>; 2],
                    ) -> Vec<f32> {
                        let blocks = &mut Blocks::default();
                        simd.vectorize(AddPacked { c: &mut c, stride, a, b, blocks });
                        c
                    }
                    let mut here = c.clone();
                    add_packed(&mut here, stride, a, b);
                    for (lanes, got) in [
                        (0, here),
                        (1, with(pulp::Scalar, c.clone(), stride, [a, b])),
                        (4, with(pulp::Scalar128b, c.clone(), stride, [a, b])),
                        (8, with(pulp::Scalar256b, c.clone(), stride, [a, b])),
                        (16, with(pulp::Scalar512b, c.clone(), stride, [a, b])),
                    ] {
                        for (got, want) in got.iter().zip(&want) {
                            let bound = 1e-6 * depth as f32 * want.abs().max(1.0);
                            assert!(
                                (got - want).abs() <= bound,
                                "{rows} {depth} {columns}, {lanes}: {got} {want}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// The last columns of C, which end within a vector.
    #[test]
    fn rows_need_no_room_behind_the_product() {
        let (rows, depth, columns, stride) = (9, 65, 19, 3 * LANES);
        let first = stride - columns;
        let a: Vec<f32> = (0..rows * depth).map(number).collect();
        let b: Vec<f32> = (0..columns * depth).map(|i| number(7 * i + 3)).collect();
        let (a, b) = (View::new(&a, depth), View::new(&b, depth).transposed());
        let c: Vec<f32> = (0..rows * stride).map(|i| number(5 * i + 1)).collect();
        let mut apart = vec![0.0; rows * stride];
        for (to, from) in apart.chunks_mut(stride).zip(c.chunks(stride)) {
            to[..columns].copy_from_slice(&from[first..]);
        }
        add_packed(&mut apart, stride, a, b);
        let mut got = c.clone();
        add_packed(&mut got[first..], stride, a, b);
        for ((got, before), apart) in got.chunks(stride).zip(c.chunks(stride)).zip(apart.chunks(stride)) {
            assert_eq!((&got[..first], &got[first..]), (&before[..first], &apart[..columns]));
        }
    }

    #[test]
    fn nothing_to_sum_changes_nothing() {
        let (a, b) = (View::new(&[1.0, 2.0], 1).columns(0..0), View::new(&[], 3));
        let mut c = [7.0; 32]; // 2 rows of 16
        add_packed(&mut c, 16, a, b);
        assert_eq!(c, [7.0; 32]);
    }
}
