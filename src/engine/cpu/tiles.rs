//! Products that fit the nearest caches: tiles of sums in registers, without packing.
//!
//! Every number of C is one chain of multiply-adds, in the order of the inner dimension. It depends neither
//! on the division of rows, columns and the inner dimension between calls or threads, nor on the length of
//! vectors.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::partition::{LANES, by_length, runs};
use super::view::View;
use crate::vectors::vectorized;

/// Steps of the inner dimension after which sums are written to memory: this number of rows of a run of B
/// fits the L1 cache.
const DEPTH: usize = 256;

/// Rows of a tile, and vectors per row: with a row of B and a number of A its sums fill 32 registers, or
/// nearly 16, where three vectors instead of two would need one register more.
const fn shape(lanes: usize) -> (usize, usize) {
    if lanes == 16 || cfg!(target_arch = "aarch64") { (8, 3) } else { (6, 2) }
}

/// Most vectors of a tile's row.
pub const fn width(lanes: usize) -> usize {
    shape(lanes).1
}

/// Most rows of a tile.
pub const fn height(lanes: usize) -> usize {
    shape(lanes).0
}

/// Returns the height of the next tile when `rows` rows are left and tiles have at most `most`.
#[inline(always)]
pub fn next_height(most: usize, rows: usize) -> usize {
    if rows >= most { most } else { [1, 1, 2, 2, 4, 4, 4, 4][rows] }
}

/// Initial value of a product's sums.
#[derive(Clone, Copy)]
pub enum Start<'a> {
    /// Numbers in C.
    Sums,
    /// This row for each row of C, ignoring its numbers.
    Row(&'a [f32]),
    /// Zeros.
    Zeros,
}

impl Start<'_> {
    /// Returns whether the numbers in C are used.
    pub fn reads_c(self) -> bool {
        matches!(self, Start::Sums)
    }

    /// Writes the start into the first `columns` numbers of some rows of C.
    pub fn write(self, c: &mut [f32], stride: usize, rows: usize, columns: usize) {
        for to in c.chunks_mut(stride).take(rows) {
            match self {
                Start::Sums => {}
                Start::Row(row) => to[..columns].copy_from_slice(&row[..columns]),
                Start::Zeros => to[..columns].fill(0.0),
            }
        }
    }
}

/// Computes C = start + A B. Rows of B are padded with any numbers to whole vectors. Rows of C are `stride`
/// numbers apart. The first numbers of each row, one per column of B, are added to, and the numbers after
/// them up to a whole vector of this processor, or of any processor if the numbers in C are not used.
pub fn add_product(c: &mut [f32], stride: usize, start: Start<'_>, a: View<'_>, b: View<'_>) {
    assert_eq!(a.column_count(), b.row_count(), "inner dimensions of a product agree");
    assert!(b.has_whole_vectors() && stride.is_multiple_of(LANES), "rows are whole vectors");
    let columns = b.column_count().next_multiple_of(LANES);
    if a.row_count() == 0 || columns == 0 {
        return;
    }
    let last = (a.row_count() - 1) * stride;
    assert!(columns <= stride && last + columns <= c.len(), "C has the product's shape");
    assert!(!matches!(start, Start::Row(row) if row.len() < columns), "a row of C is whole vectors");
    if a.column_count() == 0 {
        return start.write(c, stride, a.row_count(), columns);
    }
    vectorized(AddProduct { c, stride, start, a, b });
}

struct AddProduct<'a> {
    c: &'a mut [f32],
    stride: usize,
    start: Start<'a>,
    a: View<'a>,
    b: View<'a>,
}

impl WithSimd for AddProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { c, stride, start, a, b } = self;
        let mut operands = Operands {
            a,
            b: S::as_simd_f32s(b.values()).0,
            start,
            b_stride: b.row_stride() / S::F32_LANES,
            c_stride: stride / S::F32_LANES,
        };
        let (c, _) = S::as_mut_simd_f32s(c);
        let whole = if start.reads_c() { S::F32_LANES } else { LANES };
        let vectors = b.column_count().next_multiple_of(whole) / S::F32_LANES;
        for first in (0..a.column_count()).step_by(DEPTH) {
            if first > 0 {
                operands.start = Start::Sums;
            }
            let depth = first..a.column_count().min(first + DEPTH);
            for run in runs(vectors, width(S::F32_LANES)) {
                by_length!(run.len(), width(S::F32_LANES), N => operands.rows::<N>(simd, c, depth.clone(), run.start));
            }
        }
    }
}

/// Two factors, the start of their product, and the distances between rows of B and C in vectors.
struct Operands<'a, S: Simd> {
    a: View<'a>,
    b: &'a [S::f32s],
    start: Start<'a>,
    b_stride: usize,
    c_stride: usize,
}

impl<S: Simd> Operands<'_, S> {
    /// Adds the product with some columns of A to the vectors `at..at + N` of all rows of C.
    #[inline(always)]
    fn rows<const N: usize>(&self, simd: S, c: &mut [S::f32s], depth: Range<usize>, at: usize) {
        let (rows, mut row) = (self.a.row_count(), 0);
        while row < rows {
            let (depth, next) = (depth.clone(), next_height(height(S::F32_LANES), rows - row));
            match next {
                8 if const { height(S::F32_LANES) == 8 } => self.tile::<8, N>(simd, c, row, depth, at),
                6 if const { height(S::F32_LANES) == 6 } => self.tile::<6, N>(simd, c, row, depth, at),
                4 => self.tile::<4, N>(simd, c, row, depth, at),
                2 => self.tile::<2, N>(simd, c, row, depth, at),
                _ => self.tile::<1, N>(simd, c, row, depth, at),
            }
            row += next;
        }
    }

    /// Computes a tile of M rows from `row` on.
    #[inline(always)]
    fn tile<const M: usize, const N: usize>(
        &self,
        simd: S,
        c: &mut [S::f32s],
        row: usize,
        depth: Range<usize>,
        at: usize,
    ) {
        let mut sums = [[simd.splat_f32s(0.0); N]; M];
        match self.start {
            Start::Sums => {
                for (m, sums) in sums.iter_mut().enumerate() {
                    sums.copy_from_slice(&c[(row + m) * self.c_stride + at..][..N]);
                }
            }
            Start::Row(row) => {
                let row = &S::as_simd_f32s(row).0[at..][..N];
                sums.iter_mut().for_each(|sums| sums.copy_from_slice(row));
            }
            Start::Zeros => {}
        }
        let b = &self.b[depth.start * self.b_stride + at..];
        match self.a.rows_of::<M>(row, depth.clone()) {
            // Rows of A are contiguous.
            Some(rows) => {
                let mut at = 0;
                for k in 0..depth.len() {
                    add_outer(simd, &mut sums, rows.iter().map(|row| row[k]), &b[at..at + N]);
                    at += self.b_stride;
                }
            }
            // Rows of A are columns in memory.
            None => {
                let stride = self.a.column_stride();
                let a = &self.a.values()[depth.start * stride + row..];
                let (mut at, mut from) = (0, 0);
                for _ in depth {
                    add_outer(simd, &mut sums, a[from..from + M].iter().copied(), &b[at..at + N]);
                    at += self.b_stride;
                    from += stride;
                }
            }
        }
        for (m, sums) in sums.iter().enumerate() {
            c[(row + m) * self.c_stride + at..][..N].copy_from_slice(sums);
        }
    }
}

/// Computes `sums` += `factors` x `b`. Each factor is read when it is needed: reading all at once would take
/// registers of sums.
#[inline(always)]
pub fn add_outer<S: Simd, const M: usize, const N: usize>(
    simd: S,
    sums: &mut [[S::f32s; N]; M],
    factors: impl Iterator<Item = f32>,
    b: &[S::f32s],
) {
    let mut held = [simd.splat_f32s(0.0); N];
    held.copy_from_slice(b);
    for (sums, factor) in sums.iter_mut().zip(factors) {
        let factor = simd.splat_f32s(factor);
        for (sum, b) in sums.iter_mut().zip(&held) {
            *sum = simd.mul_add_e_f32s(factor, *b, *sum);
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Returns a test number.
    pub fn number(i: usize) -> f32 {
        ((i * 37 + 11) % 23) as f32 / 8.0 - 1.25
    }

    /// Computes C with one multiply-add after the other, in the order of the inner dimension.
    pub fn expected(c: &[f32], stride: usize, a: View<'_>, b: View<'_>) -> Vec<f32> {
        let at = |view: View<'_>, row: usize, column: usize| {
            view.values()[row * view.row_stride() + column * view.column_stride()]
        };
        let mut c = c.to_vec();
        for row in 0..a.row_count() {
            for column in 0..b.column_count() {
                for k in 0..a.column_count() {
                    let sum = &mut c[row * stride + column];
                    *sum = at(a, row, k).mul_add(at(b, k, column), *sum);
                }
            }
        }
        c
    }

    /// Odd sizes, A plain and transposed, with the vectors of every processor; processors without fused
    /// multiply-adds round each step twice.
    #[test]
    fn any_vectors_give_one_chain_of_multiply_adds() {
        for (rows, depth, vectors) in
            [(1, 1, 6), (3, 17, 2), (10, 63, 3), (17, 65, 4), (63, 3, 5), (65, 257, 1), (2, 513, 7)]
        {
            let (columns, stride) = (vectors * LANES, (vectors + 1) * LANES);
            let a_values: Vec<f32> = (0..rows * depth).map(number).collect();
            let b_values: Vec<f32> = (0..depth * stride).map(|i| number(7 * i + 3)).collect();
            let c: Vec<f32> = (0..rows * stride).map(|i| number(5 * i + 1)).collect();
            let b = View::new(&b_values, stride).columns(LANES..LANES + columns);
            for a in [View::new(&a_values, depth), View::new(&a_values, rows).transposed()] {
                let want = expected(&c, stride, a, b);
                fn with<S: Simd>(simd: S, mut c: Vec<f32>, stride: usize, [a, b]: [View<'_>; 2]) -> Vec<f32> {
                    simd.vectorize(AddProduct { c: &mut c, stride, start: Start::Sums, a, b });
                    c
                }
                let mut here = c.clone();
                add_product(&mut here, stride, Start::Sums, a, b);
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
                            "{rows} {depth} {vectors}, {lanes}: {got} {want}"
                        );
                    }
                }
            }
        }
    }

    /// Starting with a row or zeros gives the bits of a sum with them, whatever C contains; so does an inner
    /// dimension of 0.
    #[test]
    fn products_begin_with_a_row_or_zeros() {
        for (rows, depth, columns) in [(1usize, 1usize, 1usize), (9, 17, 40), (13, 300, 100), (3, 0, 16)] {
            let (width, first) = (columns.next_multiple_of(LANES) + LANES, LANES);
            let a: Vec<f32> = (0..rows * depth.max(1)).map(number).collect();
            let mut b: Vec<f32> = (0..depth * width).map(|i| number(3 * i)).collect();
            b.chunks_mut(width).for_each(|row| row[columns..].fill(0.0));
            let a = View::new(&a, depth.max(1)).columns(0..depth);
            let b = View::new(&b, width).columns(0..columns);
            let row: Vec<f32> = (0..width).map(|i| number(5 * i + 1)).collect();
            for start in [Start::Row(&row), Start::Zeros] {
                let mut want = vec![7.0; rows * width];
                start.write(&mut want[first..], width, rows, columns.next_multiple_of(LANES));
                let mut got = vec![7.0; rows * width];
                add_product(&mut want[first..], width, Start::Sums, a, b);
                add_product(&mut got[first..], width, start, a, b);
                assert_eq!(got, want);
            }
        }
    }

    /// The inner dimension in pieces, and rows in pieces, give the bits of one call.
    #[test]
    fn pieces_give_the_bits_of_the_whole() {
        let (rows, depth, width) = (13, 70, 48);
        let a: Vec<f32> = (0..rows * depth).map(number).collect();
        let b: Vec<f32> = (0..depth * width).map(|i| number(3 * i)).collect();
        let (a, b) = (View::new(&a, depth), View::new(&b, width));
        let (mut whole, mut pieces) = (vec![0.5; rows * width], vec![0.5; rows * width]);
        add_product(&mut whole, width, Start::Sums, a, b);
        for inner in [0..1, 1..33, 33..70] {
            for part in [0..5, 5..6, 6..13] {
                let a = a.rows(part.clone()).columns(inner.clone());
                add_product(&mut pieces[part.start * width..], width, Start::Sums, a, b.rows(inner.clone()));
            }
        }
        assert_eq!(pieces, whole);
    }
}
