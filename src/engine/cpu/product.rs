//! Products of the CPU engine, by their size.

use gemm_common::Parallelism;
use gemm_f32::gemm::f32::get_gemm_fn;

use super::tiles::add_product;
use super::view::View;

/// Which products a network's layers take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Products {
    /// Those without packing, of what fits the nearest caches.
    Small,
    /// Those of the `gemm-f32` crate, which packs. Its sums depend on how the inner dimension is divided between calls, not on
    /// how rows and columns are.
    Large,
}

/// Rows of a batch over which one product of the `gemm-f32` crate sums.
const WHOLE_ROWS: usize = 64;

impl Products {
    /// Where batches are divided by rows, so many of them stay together: sums over rows are made of their sums.
    pub fn whole_rows(self) -> usize {
        match self {
            Products::Small => 1,
            Products::Large => WHOLE_ROWS,
        }
    }

    /// C += X'D, where the rows of X and D are rows of a batch from a multiple of [`Products::whole_rows`] on.
    pub fn add_over_rows(self, c: &mut [f32], width: usize, x: View<'_>, delta: View<'_>) {
        if self == Products::Small {
            return self.add(c, width, 0, x.t(), delta);
        }
        for first in (0..x.row_count()).step_by(WHOLE_ROWS) {
            let rows = first..x.row_count().min(first + WHOLE_ROWS);
            self.add(c, width, 0, x.rows(rows.clone()).t(), delta.rows(rows));
        }
    }

    /// C += A B for the columns from `first` on of the rows in `c`, of `width` each. Rows of B are whole vectors.
    pub fn add(self, c: &mut [f32], width: usize, first: usize, a: View<'_>, b: View<'_>) {
        match self {
            Products::Small => add_product(c.get_mut(first..).unwrap_or_default(), width, a, b),
            Products::Large => add_packed(c, width, first, a, b),
        }
    }
}

/// C += A B for some columns of a wider matrix: C is the columns from `first` on of the rows in `c`, of `width` each. On
/// the calling thread.
pub fn add_packed(c: &mut [f32], width: usize, first: usize, a: View<'_>, b: View<'_>) {
    let (rows, inner, columns) = (a.row_count(), a.column_count(), b.column_count());
    assert_eq!(inner, b.row_count(), "inner dimensions of a product agree");
    assert_eq!(c.len(), rows * width, "C has the product's rows");
    assert!(first + columns <= width, "C has the product's columns");
    assert!(a.is_whole() && b.is_whole(), "the operands are whole");
    if c.is_empty() || columns == 0 || inner == 0 {
        return;
    }
    // SAFETY: the assertions prove that every element that `gemm` reads or writes, i.e. those at row * row stride +
    // column * column stride, lies within its slice; c is borrowed mutably, so it overlaps with neither a nor b.
    #[expect(unsafe_code, reason = "gemm takes pointers")]
    unsafe {
        // Of the transposes, C' += B'A': the function takes columns of C for the longer way in memory.
        get_gemm_fn()(
            columns,
            rows,
            inner,
            c[first..].as_mut_ptr(),
            width as isize,
            1,
            true,
            b.values().as_ptr(),
            b.row_stride() as isize,
            b.column_stride() as isize,
            a.values().as_ptr(),
            a.row_stride() as isize,
            a.column_stride() as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transposition() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]; // [2, 3]
        let b = [1.0, 0.0, 2.0, 1.0, 0.0, 3.0]; // [3, 2]
        let a_transposed = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
        let b_transposed = [1.0, 2.0, 0.0, 0.0, 1.0, 3.0];
        for a in [View::new(&a, 3), View::new(&a_transposed, 2).t()] {
            for b in [View::new(&b, 2), View::new(&b_transposed, 3).t()] {
                let mut c = [10.0; 4];
                add_packed(&mut c, 2, 0, a, b);
                assert_eq!(c, [15.0, 21.0, 24.0, 33.0]);
            }
        }
    }

    #[test]
    fn nothing_to_sum_changes_nothing() {
        let (a, b) = (View::new(&[1.0, 2.0], 1).columns(0..0), View::new(&[], 3));
        let mut c = [7.0; 8]; // 2 rows of 4
        add_packed(&mut c, 4, 1, a, b);
        assert_eq!(c, [7.0; 8]);
    }

    #[test]
    fn some_columns_of_each() {
        let a = [9.0, 1.0, 2.0, 9.0, 3.0, 4.0]; // columns 1..3 are [[1, 2], [3, 4]]
        let b = [1.0, 1.0, 0.0, 2.0];
        let mut c = [7.0; 8]; // 2 rows of 4
        let a = View::new(&a, 3).columns(1..3);
        add_packed(&mut c, 4, 1, a, View::new(&b, 2));
        assert_eq!(c, [7.0, 8.0, 12.0, 7.0, 7.0, 10.0, 18.0, 7.0]);
        let mut sums = [10.0, 20.0];
        a.add_column_sums(&mut sums);
        assert_eq!(sums, [14.0, 26.0]);
    }

    /// Columns of a wider matrix, by both.
    #[test]
    fn both_sizes_give_the_same() {
        let (a, b): (Vec<f32>, Vec<f32>) = ((0..35).map(|i| i as f32).collect(), vec![0.5; 7 * 16]);
        let results = [Products::Small, Products::Large].map(|products| {
            let mut c = vec![1.0; 5 * 48];
            products.add(&mut c, 48, 16, View::new(&a, 7), View::new(&b, 16));
            c
        });
        assert_eq!(results[0], results[1]);
        assert_eq!(results[0][48 + 15..48 + 17], [1.0, 1.0 + 35.0]);
    }
}
