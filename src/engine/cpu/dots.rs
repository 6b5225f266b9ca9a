//! Products with few columns: A B where the columns of B are rows in memory, as the rows of A are. Each
//! number of C is a scalar product, computed as [`LANES`] sums in vectors.
//!
//! Column k of A goes to sum k mod [`LANES`], in order, and the sums are finally added by halves. This order
//! depends neither on the division of rows and the inner dimension, as long as pieces of the latter are whole
//! vectors, nor on the length of vectors.

use pulp::{Simd, WithSimd};

use super::partition::{LANES, by_length, runs};
use super::tiles::Start;
use super::view::View;
use crate::vectors::vectorized;

/// Rows of A per tile.
const ROWS: usize = 4;

/// Columns of C per tile; with [`ROWS`] rows their sums fill half the registers.
const fn most_columns(lanes: usize) -> usize {
    if lanes == LANES { 4 } else { 2 }
}

/// Returns whether scalar products are faster than vectors of the columns of C, most of whose lanes would be
/// empty, for an inner dimension of `depth`.
pub fn pays(depth: usize, columns: usize) -> bool {
    /// Vector multiply-adds that take as long as adding the lanes of a sum.
    const OF_A_SUM: usize = 8;
    columns * (depth / LANES + OF_A_SUM) < depth
}

/// Computes C = start + the sum of A B' over some A and B, for the first `columns` columns of all rows in
/// `c`, of `width` numbers each. Rows of A and B are padded to whole vectors: rows of B with zeros, rows of A
/// with any finite numbers.
pub fn begin(
    c: &mut [f32],
    width: usize,
    columns: usize,
    start: Start<'_>,
    factors: &[(View<'_>, View<'_>)],
) {
    for (a, b) in factors {
        assert_eq!((a.row_count(), b.row_count()), (c.len() / width, columns), "C has the product's shape");
        assert_eq!(a.column_count(), b.column_count(), "inner dimensions of a product agree");
        assert!(a.has_whole_vectors() && b.has_whole_vectors(), "rows are whole vectors");
    }
    vectorized(Dots { c, width, columns, start, factors });
}

/// Sums numbers by adding the second half to the first until one is left.
#[inline(always)]
fn by_halves<S: Simd>(simd: S, sums: &mut [f32; LANES]) -> f32 {
    match *S::as_simd_f32s(sums).0 {
        [all] => simd.reduce_sum_f32s(all),
        [first, second] => simd.reduce_sum_f32s(simd.add_f32s(first, second)),
        // Not every processor adds the lanes of a vector in that order.
        _ => {
            let mut half = LANES / 2;
            while half > 0 {
                for lane in 0..half {
                    sums[lane] += sums[lane + half];
                }
                half /= 2;
            }
            sums[0]
        }
    }
}

struct Dots<'a> {
    c: &'a mut [f32],
    width: usize,
    columns: usize,
    start: Start<'a>,
    factors: &'a [(View<'a>, View<'a>)],
}

impl WithSimd for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let rows = self.c.len() / self.width;
        let tiled = rows - rows % ROWS;
        for run in runs(self.columns, most_columns(S::F32_LANES)) {
            by_length!(run.len(), most_columns(S::F32_LANES), N => {
                (0..tiled).step_by(ROWS).for_each(|row| self.tile::<S, ROWS, N>(simd, row, run.start));
                (tiled..rows).for_each(|row| self.tile::<S, 1, N>(simd, row, run.start));
            });
        }
    }
}

impl Dots<'_> {
    /// Computes a tile of M rows and N columns.
    #[inline(always)]
    fn tile<S: Simd, const M: usize, const N: usize>(&mut self, simd: S, row: usize, column: usize) {
        // Vectors per sum.
        let of_sum = LANES / S::F32_LANES;
        let mut lanes = [[[0.0; LANES]; N]; M];
        for part in 0..of_sum {
            let mut sums = [[simd.splat_f32s(0.0); N]; M];
            for (a, b) in self.factors {
                let vectors = a.column_count().div_ceil(LANES) * of_sum;
                let [(a, a_stride), (b, b_stride)] =
                    [a, b].map(|view| (S::as_simd_f32s(view.values()).0, view.row_stride() / S::F32_LANES));
                let mut rows = [&a[..0]; M];
                for (m, slice) in rows.iter_mut().enumerate() {
                    *slice = &a[(row + m) * a_stride..][..vectors];
                }
                let mut columns = [&b[..0]; N];
                for (n, slice) in columns.iter_mut().enumerate() {
                    *slice = &b[(column + n) * b_stride..][..vectors];
                }
                for k in (part..vectors).step_by(of_sum) {
                    let mut held = [simd.splat_f32s(0.0); N];
                    held.iter_mut().zip(&columns).for_each(|(held, column)| *held = column[k]);
                    for (sums, row) in sums.iter_mut().zip(&rows) {
                        for (sum, b) in sums.iter_mut().zip(&held) {
                            *sum = simd.mul_add_e_f32s(row[k], *b, *sum);
                        }
                    }
                }
            }
            // Not flattened: compilers would keep the sums in memory.
            for (lanes, sums) in lanes.iter_mut().zip(&sums) {
                for (lanes, sum) in lanes.iter_mut().zip(sums) {
                    S::as_mut_simd_f32s(lanes).0[part] = *sum;
                }
            }
        }
        for (m, lanes) in lanes.iter_mut().enumerate() {
            let to = &mut self.c[(row + m) * self.width + column..][..N];
            match self.start {
                Start::Sums => {}
                Start::Row(row) => to.copy_from_slice(&row[column..column + N]),
                Start::Zeros => to.copy_from_slice(&[0.0; N]),
            }
            to.iter_mut().zip(lanes).for_each(|(to, lanes)| *to += by_halves(simd, lanes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tiles::tests::number;
    use super::*;

    /// Odd sizes, with the vectors of every processor: equal sums except for the rounding of multiply-adds,
    /// close to sums in f64. Dividing the inner dimension or rows into pieces changes no bit.
    #[test]
    fn any_vectors_and_pieces_give_the_same_sums() {
        for (rows, depth, columns) in
            [(1usize, 1usize, 1), (3, 17, 2), (63, 65, 3), (17, 257, 5), (65, 100, 7)]
        {
            let (stride, width) = (depth.next_multiple_of(LANES) + LANES, LANES);
            let padded = |values: &mut [f32]| {
                values.chunks_mut(stride).for_each(|row| row[depth..].fill(0.0));
            };
            let a: Vec<f32> = (0..rows * stride).map(number).collect();
            let mut b: Vec<f32> = (0..columns * stride).map(|i| number(7 * i + 3)).collect();
            padded(&mut b);
            let (a, b) = (View::new(&a, stride).columns(0..depth), View::new(&b, stride).columns(0..depth));
            let mut c = vec![0.5; rows * width];
            begin(&mut c, width, columns, Start::Sums, &[(a, b)]);
            for (i, value) in c.iter().enumerate() {
                let (row, column) = (i / width, i % width);
                if column >= columns {
                    assert_eq!(*value, 0.5);
                    continue;
                }
                let products = a.each_row().nth(row).unwrap().iter().zip(b.each_row().nth(column).unwrap());
                let want = 0.5 + products.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
                let bound = 1e-6 * depth as f64 * want.abs().max(1.0);
                assert!(
                    (f64::from(*value) - want).abs() <= bound,
                    "{rows} {depth} {columns}: {value} {want}"
                );
            }
            let mut pieces = vec![0.5; rows * width];
            for part in [0..rows / 2, rows / 2..rows] {
                let edges = [0, depth.min(LANES), depth.min(3 * LANES), depth];
                let inner = edges.windows(2).map(|edge| edge[0]..edge[1]).filter(|inner| !inner.is_empty());
                let factors =
                    inner.map(|inner| (a.rows(part.clone()).columns(inner.clone()), b.columns(inner)));
                let factors: Vec<_> = factors.collect();
                let c = &mut pieces[part.start * width..part.end * width];
                begin(c, width, columns, Start::Sums, &factors);
            }
            assert_eq!(pieces, c);
            // The start is added to the finished sums.
            let row: Vec<f32> = (0..columns).map(|i| number(5 * i + 1)).collect();
            let mut sums = vec![0.0; rows * width];
            begin(&mut sums, width, columns, Start::Sums, &[(a, b)]);
            for (start, first) in [(Start::Row(&row), &row[..]), (Start::Zeros, &vec![0.0; columns])] {
                let mut got = vec![7.0; rows * width];
                begin(&mut got, width, columns, start, &[(a, b)]);
                for (i, got) in got.iter().enumerate() {
                    let want = first.get(i % width).map_or(7.0, |first| first + sums[i]);
                    assert_eq!(*got, want, "{rows} {depth} {columns}");
                }
            }
            fn with<S: Simd>(simd: S, width: usize, a: View<'_>, b: View<'_>) -> Vec<f32> {
                let mut c = vec![0.5; a.row_count() * width];
                let (c_of, columns) = (&mut c, b.row_count());
                simd.vectorize(Dots { c: c_of, width, columns, start: Start::Sums, factors: &[(a, b)] });
                c
            }
            for (lanes, got) in [
                (1, with(pulp::Scalar, width, a, b)),
                (4, with(pulp::Scalar128b, width, a, b)),
                (8, with(pulp::Scalar256b, width, a, b)),
                (16, with(pulp::Scalar512b, width, a, b)),
            ] {
                for (got, want) in got.iter().zip(&c) {
                    let bound = 1e-6 * depth as f32 * want.abs().max(1.0);
                    assert!((got - want).abs() <= bound, "{rows} {depth} {columns}, {lanes}: {got} {want}");
                }
            }
        }
    }

    /// Vectors of 4, 8 and 16 lanes add the same pairs.
    #[test]
    fn sums_of_lanes_have_the_same_bits_whatever_the_vectors() {
        for first in 0..100 {
            let sums: [f32; LANES] = std::array::from_fn(|lane| 1.0 / (1 + first + 7 * lane) as f32 - 0.1);
            let halves = |values: &[f32]| -> Vec<f32> {
                let (first, second) = values.split_at(values.len() / 2);
                first.iter().zip(second).map(|(first, second)| first + second).collect()
            };
            let want = halves(&halves(&halves(&halves(&sums))))[0];
            let got = [
                by_halves(pulp::Scalar128b, &mut sums.clone()),
                by_halves(pulp::Scalar256b, &mut sums.clone()),
                by_halves(pulp::Scalar512b, &mut sums.clone()),
            ];
            assert_eq!(got, [want; 3]);
        }
    }
}
