//! Products of the CPU engine, by their size: in bits they are the same.

use std::cell::RefCell;
use std::ops::Range;

use super::aligned::Aligned;
use super::packed::add_packed;
use super::partition::{self, LANES, tile_height};
use super::tiles::{Start, add_product};
use super::view::View;

/// Rows of A from which on it pays to copy B. In WASM a tile of copies needs fewer instructions, not only fewer caches: no stride is
/// added, and places are known when it is compiled.
const PACKED_ROWS: usize = if cfg!(target_arch = "wasm32") { 8 } else { 32 };

/// As many numbers of B stay in the nearest caches.
const PACKED_NUMBERS: usize = if cfg!(target_arch = "wasm32") { 0 } else { 1 << 15 };

/// Columns of B up to which vectors of rows of C are less work than vectors of its columns, of which most would be empty.
const NARROW: usize = LANES * 3 / 4;

thread_local! {
    static TRANSPOSED: RefCell<Aligned> = RefCell::default();
}

/// Whether B is copied for a product with A of so many rows.
pub fn pays_to_copy(rows: usize, b: View<'_>) -> bool {
    rows >= PACKED_ROWS && b.row_count() * b.column_count() > PACKED_NUMBERS
}

/// Numbers of B up to which it is read again for each of many tiles of C.
const NEAR: usize = 1 << 12;

/// Tiles of rows of C, of `width` numbers each, that stay in the nearest cache, so that what follows a product with so many numbers of B finds
/// them there; all rows where B is too large for that.
pub fn row_tiles(rows: usize, width: usize, b: usize) -> impl Iterator<Item = Range<usize>> {
    partition::row_tiles(rows, if b <= NEAR { tile_height(width) } else { rows.max(1) })
}

/// C += A B for the columns from `first` on of the rows in `c`, of `width` numbers each. Behind the columns of B stand
/// zeros until rows are whole vectors, or its columns are rows in memory; zeros may be added to what stands in C behind its last column,
/// until that is a whole vector.
///
/// Every number of C is one chain of multiply-adds in the order of the inner dimension, however a product is divided between
/// calls.
pub fn add(c: &mut [f32], width: usize, first: usize, a: View<'_>, b: View<'_>) {
    begin(c, width, first, Start::Sums, a, b);
}

/// As [`add`], but C = start + A B, in whole vectors of the columns of B: with the same bits, in less time.
pub fn begin(c: &mut [f32], width: usize, first: usize, start: Start<'_>, a: View<'_>, b: View<'_>) {
    let c = c.get_mut(first..).unwrap_or_default();
    let is_narrow = b.column_count() <= NARROW
        && b.column_stride() == 1
        && a.row_count() >= LANES
        && a.transposed().has_whole_vectors();
    let is_packed = b.column_stride() != 1 || pays_to_copy(a.row_count(), b);
    if !(is_narrow || is_packed) {
        return add_product(c, width, start, a, b);
    }
    start.write(c, width, a.row_count(), b.column_count().next_multiple_of(LANES));
    if is_narrow {
        add_narrow(c, width, a, b);
    } else {
        add_packed(c, width, a, b);
    }
}

/// C += A B by C' += B'A', where rows of A' are whole vectors.
fn add_narrow(c: &mut [f32], width: usize, a: View<'_>, b: View<'_>) {
    let (rows, columns) = (a.row_count(), b.column_count());
    let stride = rows.next_multiple_of(LANES);
    let mut transposed = TRANSPOSED.take();
    let to = transposed.room(columns * stride);
    to.fill(0.0);
    for (place, row) in c.chunks(width).take(rows).enumerate() {
        row[..columns].iter().zip(to[place..].iter_mut().step_by(stride)).for_each(|(from, to)| *to = *from);
    }
    add_product(to, stride, Start::Sums, b.transposed(), a.transposed());
    for (place, row) in c.chunks_mut(width).take(rows).enumerate() {
        row[..columns].iter_mut().zip(to[place..].iter().step_by(stride)).for_each(|(to, from)| *to = *from);
    }
    TRANSPOSED.set(transposed);
}

#[cfg(test)]
mod tests {
    use super::super::tiles::tests::number;
    use super::*;

    /// As they are and transposed, and by both kinds: the bits are the same.
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

    /// Few columns, of which the vectors are those of rows: the same bits, and nothing is written behind them.
    #[test]
    fn narrow_products_have_the_same_bits() {
        for (rows, depth, columns) in [(48usize, 65, 1), (16, 1, 3), (257, 17, 10), (63, 3, 12)] {
            let width = 2 * LANES;
            let a: Vec<f32> = (0..depth * rows.next_multiple_of(LANES)).map(number).collect();
            let b: Vec<f32> = (0..depth * width).map(|i| number(3 * i)).collect();
            let a = View::new(&a, rows.next_multiple_of(LANES)).columns(0..rows).transposed();
            let b = View::new(&b, width).columns(0..columns);
            let mut c: Vec<f32> = (0..rows * width).map(|i| number(5 * i)).collect();
            let mut want = c.clone();
            add(&mut c, width, LANES, a, b);
            for (i, want) in
                want.iter_mut().enumerate().filter(|(i, _)| (LANES..LANES + columns).contains(&(i % width)))
            {
                for k in 0..depth {
                    let [a, b] = [
                        a.values()[k * a.column_stride() + i / width],
                        b.values()[k * b.row_stride() + i % width - LANES],
                    ];
                    *want = a.mul_add(b, *want);
                }
            }
            let difference = c.iter().zip(&want).map(|(c, want)| (c - want).abs() / want.abs().max(1.0));
            // Without fused multiply-adds each step rounds twice.
            assert!(difference.fold(0.0, f32::max) <= 1e-6 * depth as f32, "{rows} {depth} {columns}");
            let mut tiles: Vec<f32> = (0..rows * width).map(|i| number(5 * i)).collect();
            add_product(&mut tiles[LANES..], width, Start::Sums, a, b);
            let kept = |values: &[f32]| -> Vec<f32> {
                let columns = LANES..LANES + columns;
                let kept = values.iter().enumerate().filter(|(i, _)| columns.contains(&(i % width)));
                kept.map(|(_, value)| *value).collect()
            };
            assert_eq!(kept(&c), kept(&tiles));
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
