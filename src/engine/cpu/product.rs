//! Products of the CPU engine: chooses an implementation by size, with the same bits.

use super::packed::add_packed;
use super::partition::LANES;
use super::tiles::{Start, add_product};
use super::view::View;

/// Rows of A from which on copying B pays. In WASM, tiles of copies also need fewer instructions: no stride
/// is added, and offsets are constants.
const PACKED_ROWS: usize = if cfg!(target_arch = "wasm32") { 8 } else { 32 };

/// Numbers of B that fit the nearest caches.
const PACKED_NUMBERS: usize = if cfg!(target_arch = "wasm32") { 0 } else { 1 << 15 };

/// Returns whether B is copied for a product with `rows` rows of A.
fn pays_to_copy(rows: usize, b: View<'_>) -> bool {
    rows >= PACKED_ROWS && b.row_count() * b.column_count() > PACKED_NUMBERS
}

/// Computes C += A B for the columns from `first` on of the rows in `c`, of `width` numbers each. Rows of B
/// are padded with zeros to whole vectors, unless its columns are rows in memory. Zeros may be added to the
/// numbers after the last column of C, up to a whole vector.
///
/// Every number of C is one chain of multiply-adds in the order of the inner dimension, however a product is
/// divided between calls.
pub fn add(c: &mut [f32], width: usize, first: usize, a: View<'_>, b: View<'_>) {
    begin(c, width, first, Start::Sums, a, b);
}

/// Computes C = start + A B like [`add`], in whole vectors of the columns of B: the same bits, in less time.
pub fn begin(c: &mut [f32], width: usize, first: usize, start: Start<'_>, a: View<'_>, b: View<'_>) {
    let c = c.get_mut(first..).unwrap_or_default();
    if b.column_stride() == 1 && !pays_to_copy(a.row_count(), b) {
        return add_product(c, width, start, a, b);
    }
    start.write(c, width, a.row_count(), b.column_count().next_multiple_of(LANES));
    add_packed(c, width, a, b);
}

#[cfg(test)]
mod tests {
    use super::super::tiles::tests::number;
    use super::*;

    /// Plain and transposed, with both implementations: the bits are the same.
    #[test]
    fn both_kinds_and_every_transposition_give_the_same_bits() {
        let (rows, depth, columns) = (35, 259, 9 * LANES);
        let a: Vec<f32> = (0..rows * depth).map(number).collect();
        let b: Vec<f32> = (0..depth * columns).map(|i| number(3 * i)).collect();
        let transposed = |values: &[f32], rows: usize, columns: usize| -> Vec<f32> {
            (0..columns * rows).map(|i| values[i % rows * columns + i / rows]).collect()
        };
        let (a_transposed, b_transposed) = (transposed(&a, rows, depth), transposed(&b, depth, columns));
        let (width, first) = (columns + 2 * LANES, LANES);
        let mut want = vec![0.5; rows * width];
        add_product(&mut want[first..], width, Start::Sums, View::new(&a, depth), View::new(&b, columns));
        assert_eq!(want[first - 1..first + columns + 1].iter().filter(|value| **value == 0.5).count(), 2);
        for a in [View::new(&a, depth), View::new(&a_transposed, rows).transposed()] {
            for b in [View::new(&b, columns), View::new(&b_transposed, depth).transposed()] {
                let mut c = vec![0.5; rows * width];
                add(&mut c, width, first, a, b);
                assert_eq!(c, want);
            }
        }
    }

    #[test]
    fn some_columns_of_each() {
        let a = [9.0, 1.0, 2.0, 9.0, 3.0, 4.0]; // columns 1..3 are [[1, 2], [3, 4]]
        let b = [1.0, 1.0, 0.0, 2.0]; // [2, 2] or its transpose
        let mut c = [7.0; 2 * 2 * LANES]; // 2 rows of 32
        let a = View::new(&a, 3).columns(1..3);
        add(&mut c, 2 * LANES, LANES, a, View::new(&b, 2).transposed());
        assert_eq!(
            [&c[LANES..LANES + 3], &c[3 * LANES..3 * LANES + 3]],
            [[10.0, 11.0, 7.0], [14.0, 15.0, 7.0]]
        );
        assert!(c[..LANES].iter().all(|number| *number == 7.0));
    }
}
