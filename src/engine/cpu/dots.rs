//! Products with few columns: A B where the columns of B are rows in memory, as those of A are. Each number of C is a scalar product,
//! of which vectors hold [`LANES`] sums.
//!
//! A number's order of summation is its own: column k of A goes to sum k mod [`LANES`], in order, and these are added by halves in the
//! end. It does not depend on how rows and the inner dimension are divided, as long as pieces of that are whole vectors, nor on how long
//! vectors are.

use std::cell::RefCell;

use pulp::{Simd, WithSimd};

use super::aligned::Aligned;
use super::partition::{LANES, by_length, row_tiles, runs};
use super::view::View;
use crate::vectors::{vectorized, vectorized_loops};

/// Rows of A that are taken at a time.
const ROWS: usize = 4;

/// Rows whose sums stand in the nearest cache until their lanes are added.
const TILE_ROWS: usize = 64;

/// Columns of C that are taken at a time: with those rows their sums fill half the registers.
const fn most_columns(lanes: usize) -> usize {
    if lanes == LANES { 4 } else { 2 }
}

thread_local! {
    static SUMS: RefCell<Aligned> = RefCell::default();
}

/// Whether that takes less than vectors of the columns of C, most of whose lanes would be empty, for an inner dimension of `depth`.
pub fn pays(depth: usize, columns: usize) -> bool {
    /// Multiply-adds of vectors that it takes as long to add the lanes of a sum.
    const OF_A_SUM: usize = 8;
    columns * (depth / LANES + OF_A_SUM) < depth
}

/// C += the sum of A B' over some A and B, for the first `columns` columns of all rows in `c`, of `width` numbers each. A and B have whole
/// vectors as rows; behind the last number of those of B stand zeros, and of those of A any that are finite.
pub fn add(c: &mut [f32], width: usize, columns: usize, factors: &[(View<'_>, View<'_>)]) {
    for (a, b) in factors {
        assert_eq!((a.row_count(), b.row_count()), (c.len() / width, columns), "C has the product's shape");
        assert_eq!(a.column_count(), b.column_count(), "inner dimensions of a product agree");
        assert!(a.has_whole_vectors() && b.has_whole_vectors(), "rows are whole vectors");
    }
    let mut kept = SUMS.take();
    for rows in row_tiles(c.len() / width, TILE_ROWS) {
        let sums = kept.room(rows.len() * columns * LANES);
        sums.fill(0.0);
        for (a, b) in factors {
            vectorized(AddDots { sums, a: a.rows(rows.clone()), b: *b });
        }
        let (c, sums) = (&mut c[rows.start * width..rows.end * width], sums.as_chunks::<LANES>().0);
        vectorized_loops!({
            for (row, sums) in c.chunks_exact_mut(width).zip(sums.chunks_exact(columns)) {
                row.iter_mut().zip(sums).for_each(|(to, sums)| *to += by_halves(*sums));
            }
        });
    }
    SUMS.set(kept);
}

/// The sum of numbers: those of the second half are added to those of the first, until one is left.
#[inline(always)]
fn by_halves(mut sums: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

/// Adds to the sums of all rows, [rows, columns, lanes].
struct AddDots<'a> {
    sums: &'a mut [f32],
    a: View<'a>,
    b: View<'a>,
}

impl WithSimd for AddDots<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { sums, a, b } = self;
        let (rows, columns) = (a.row_count(), b.row_count());
        let (sums, _) = S::as_mut_simd_f32s(sums);
        let dots = Dots::<S> {
            a: S::as_simd_f32s(a.values()).0,
            b: S::as_simd_f32s(b.values()).0,
            strides: [a.row_stride() / S::F32_LANES, b.row_stride() / S::F32_LANES],
            vectors: a.column_count().div_ceil(LANES) * (LANES / S::F32_LANES),
            columns,
        };
        let tiled = rows - rows % ROWS;
        for run in runs(columns, most_columns(S::F32_LANES)) {
            by_length!(run.len(), most_columns(S::F32_LANES), N => {
                (0..tiled).step_by(ROWS).for_each(|row| dots.tile::<ROWS, N>(simd, sums, row, run.start));
                (tiled..rows).for_each(|row| dots.tile::<1, N>(simd, sums, row, run.start));
            });
        }
    }
}

/// Two factors in vectors, how far their rows are apart, and how many vectors of a row count.
struct Dots<'a, S: Simd> {
    a: &'a [S::f32s],
    b: &'a [S::f32s],
    strides: [usize; 2],
    vectors: usize,
    columns: usize,
}

impl<S: Simd> Dots<'_, S> {
    /// Adds to the sums of M rows and N columns.
    #[inline(always)]
    fn tile<const M: usize, const N: usize>(&self, simd: S, to: &mut [S::f32s], row: usize, column: usize) {
        // Vectors that hold the lanes of a sum.
        let of_sum = LANES / S::F32_LANES;
        let mut rows = [&self.a[..0]; M];
        for (m, slice) in rows.iter_mut().enumerate() {
            *slice = &self.a[(row + m) * self.strides[0]..][..self.vectors];
        }
        let mut columns = [&self.b[..0]; N];
        for (n, slice) in columns.iter_mut().enumerate() {
            *slice = &self.b[(column + n) * self.strides[1]..][..self.vectors];
        }
        for part in 0..of_sum {
            let mut sums = [[simd.splat_f32s(0.0); N]; M];
            let at = |m: usize, n: usize| ((row + m) * self.columns + column + n) * of_sum + part;
            for (m, sums) in sums.iter_mut().enumerate() {
                sums.iter_mut().enumerate().for_each(|(n, sum)| *sum = to[at(m, n)]);
            }
            for k in (part..self.vectors).step_by(of_sum) {
                let mut held = [simd.splat_f32s(0.0); N];
                held.iter_mut().zip(&columns).for_each(|(held, column)| *held = column[k]);
                for (sums, row) in sums.iter_mut().zip(&rows) {
                    for (sum, b) in sums.iter_mut().zip(&held) {
                        *sum = simd.mul_add_e_f32s(row[k], *b, *sum);
                    }
                }
            }
            for (m, sums) in sums.iter().enumerate() {
                sums.iter().enumerate().for_each(|(n, sum)| to[at(m, n)] = *sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tiles::tests::number;
    use super::*;

    /// Odd sizes, with the vectors of every processor: the same sums but for how multiply-adds round, close to those in f64. The inner
    /// dimension in pieces and rows in pieces give the bits of the whole.
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
            add(&mut c, width, columns, &[(a, b)]);
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
                add(&mut pieces[part.start * width..part.end * width], width, columns, &factors);
            }
            assert_eq!(pieces, c);
            fn with<S: Simd>(simd: S, a: View<'_>, b: View<'_>) -> Vec<f32> {
                let mut sums = vec![0.0; a.row_count() * b.row_count() * LANES];
                simd.vectorize(AddDots { sums: &mut sums, a, b });
                sums.as_chunks::<LANES>().0.iter().map(|sums| 0.5 + by_halves(*sums)).collect()
            }
            let kept: Vec<f32> = c.chunks(width).flat_map(|row| &row[..columns]).copied().collect();
            for (lanes, got) in [
                (1, with(pulp::Scalar, a, b)),
                (4, with(pulp::Scalar128b, a, b)),
                (8, with(pulp::Scalar256b, a, b)),
                (16, with(pulp::Scalar512b, a, b)),
            ] {
                for (got, want) in got.iter().zip(&kept) {
                    let bound = 1e-6 * depth as f32 * want.abs().max(1.0);
                    assert!((got - want).abs() <= bound, "{rows} {depth} {columns}, {lanes}: {got} {want}");
                }
            }
        }
    }
}
