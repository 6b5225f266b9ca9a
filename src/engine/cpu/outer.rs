//! Products with a short inner dimension: rows of C are sums of few rows of B, which stay in registers.

use pulp::{Simd, WithSimd};

use super::partition::{LANES, by_length, runs};
use super::view::View;
use crate::vectors::vectorized;

/// Columns of A at most.
pub const MOST: usize = 4;

/// Vectors of a row of C that are computed at once: so many of each row of B fill half the registers.
const fn width(lanes: usize) -> usize {
    if lanes == LANES { 4 } else { 2 }
}

/// C = A B for [`add_product`](super::tiles::add_product), which has checked the shapes: with the bits that tiles give. A has 1 to [`MOST`]
/// columns, and rows whose numbers stand one behind the other.
pub fn multiply(c: &mut [f32], stride: usize, a: View<'_>, b: View<'_>) {
    vectorized(Multiply { c, stride, a, b });
}

struct Multiply<'a> {
    c: &'a mut [f32],
    stride: usize,
    a: View<'a>,
    b: View<'a>,
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (depth, vectors) = (self.a.column_count(), self.b.column_count().div_ceil(LANES));
        for run in runs(vectors * (LANES / S::F32_LANES), width(S::F32_LANES)) {
            by_length!(run.len(), width(S::F32_LANES), N => {
                by_length!(depth, MOST, K => self.run::<S, K, N>(simd, run.start));
            });
        }
    }
}

impl Multiply<'_> {
    /// The vectors `at..at + N` of all rows, for K columns of A.
    #[inline(always)]
    fn run<S: Simd, const K: usize, const N: usize>(&mut self, simd: S, at: usize) {
        let (values, b_stride) = (S::as_simd_f32s(self.b.values()).0, self.b.row_stride() / S::F32_LANES);
        let mut b = [[simd.splat_f32s(0.0); N]; K];
        for (k, b) in b.iter_mut().enumerate() {
            b.copy_from_slice(&values[k * b_stride + at..][..N]);
        }
        let c = &mut S::as_mut_simd_f32s(self.c).0[at..];
        for (c, a) in c.chunks_mut(self.stride / S::F32_LANES).zip(self.a.each_row()) {
            let mut sums = [simd.splat_f32s(0.0); N];
            for (a, b) in a[..K].iter().zip(&b) {
                let a = simd.splat_f32s(*a);
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = simd.mul_add_e_f32s(a, *b, *sum);
                }
            }
            c[..N].copy_from_slice(&sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tiles::tests::number;
    use super::super::tiles::{Start, add_product};
    use super::*;

    /// With the vectors of this processor the bits of tiles; nothing is written elsewhere.
    #[test]
    fn rows_have_the_bits_of_tiles() {
        for (rows, depth, columns) in [(1, 1, 1usize), (3, 2, 17), (65, 3, 100), (257, 4, 63), (17, 2, 300)] {
            let (width, first) = (columns.next_multiple_of(LANES) + 2 * LANES, LANES);
            let a: Vec<f32> = (0..rows * LANES).map(number).collect();
            let b: Vec<f32> = (0..depth * width).map(|i| number(3 * i)).collect();
            let a = View::new(&a, LANES).columns(1..1 + depth);
            let b = View::new(&b, width).columns(LANES..LANES + columns);
            let mut want = vec![7.0; rows * width];
            Start::Zeros.write(&mut want[first..], width, rows, columns.next_multiple_of(LANES));
            add_product(&mut want[first..], width, Start::Sums, a, b);
            let mut got = vec![7.0; rows * width];
            multiply(&mut got[first..], width, a, b);
            assert_eq!(got, want, "{rows} {depth} {columns}");
            fn with<S: Simd>(simd: S, mut c: Vec<f32>, stride: usize, [a, b]: [View<'_>; 2]) -> Vec<f32> {
                simd.vectorize(Multiply { c: &mut c[LANES..], stride, a, b });
                c
            }
            // Those without fused multiply-adds round each step twice.
            for got in [
                with(pulp::Scalar, vec![7.0; rows * width], width, [a, b]),
                with(pulp::Scalar128b, vec![7.0; rows * width], width, [a, b]),
                with(pulp::Scalar256b, vec![7.0; rows * width], width, [a, b]),
                with(pulp::Scalar512b, vec![7.0; rows * width], width, [a, b]),
            ] {
                for (got, want) in got.iter().zip(&want) {
                    assert!((got - want).abs() <= 1e-6 * want.abs().max(1.0), "{rows} {depth} {columns}");
                }
            }
        }
    }
}
