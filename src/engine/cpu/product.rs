//! Matrix products of the CPU engine: slices in front of the `gemm` crate.

use std::ops::Range;

use gemm::{Parallelism, gemm};

/// A row-major matrix or its transpose.
#[derive(Clone, Copy)]
pub struct View<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> View<'a> {
    /// `values` as a matrix of rows of `columns` numbers.
    pub fn new(values: &'a [f32], columns: usize) -> Self {
        let rows = values.len().checked_div(columns).unwrap_or(0);
        assert_eq!(values.len(), rows * columns, "a matrix has whole rows");
        Self { values, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// Its transpose.
    pub fn t(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Some of its rows.
    pub fn rows(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.rows, "the rows are there");
        let values = &self.values[(range.start * self.row_stride).min(self.values.len())..];
        Self { values, rows: range.len(), ..self }
    }

    /// Some of its columns.
    pub fn columns(self, range: Range<usize>) -> Self {
        self.t().rows(range).t()
    }

    /// From the first of its elements on.
    pub fn values(self) -> &'a [f32] {
        self.values
    }

    /// From an element to the one in the next row.
    pub fn row_stride(self) -> usize {
        self.row_stride
    }

    /// Adds the sum of each column to `sums`.
    pub fn add_column_sums(self, sums: &mut [f32]) {
        assert!(self.columns == sums.len() && self.column_stride == 1, "a sum for each column");
        for row in self.values.chunks(self.row_stride.max(1)).take(self.rows) {
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += value;
            }
        }
    }

    /// Whether the last element lies within the slice.
    fn is_whole(&self) -> bool {
        self.rows == 0
            || self.columns == 0
            || (self.rows - 1) * self.row_stride + (self.columns - 1) * self.column_stride < self.values.len()
    }
}

/// C = A B, or with `add` C = C + A B; C row-major and whole. On the calling thread.
pub fn multiply(c: &mut [f32], a: View<'_>, b: View<'_>, add: bool) {
    multiply_columns(c, b.columns, 0, a, b, add);
}

/// The same for some columns of a wider matrix: C is the columns from `first` on of the rows in `c`, of `width` each.
pub fn multiply_columns(c: &mut [f32], width: usize, first: usize, a: View<'_>, b: View<'_>, add: bool) {
    assert_eq!(a.columns, b.rows, "inner dimensions of a product agree");
    assert_eq!(c.len(), a.rows * width, "C has the product's rows");
    assert!(first + b.columns <= width, "C has the product's columns");
    assert!(a.is_whole() && b.is_whole(), "the operands are whole");
    if c.is_empty() || b.columns == 0 {
        return;
    }
    if a.columns == 0 {
        let rows = c.chunks_exact_mut(width).filter(|_| !add);
        return rows.for_each(|row| row[first..first + b.columns].fill(0.0));
    }
    // SAFETY: the assertions prove that every element that `gemm` reads or writes, i.e. those at row * row stride +
    // column * column stride, lies within its slice; c is borrowed mutably, so it overlaps with neither a nor b.
    #[expect(unsafe_code, reason = "gemm takes pointers")]
    unsafe {
        gemm(
            a.rows,
            b.columns,
            a.columns,
            c[first..].as_mut_ptr(),
            1,
            width as isize,
            add,
            a.values.as_ptr(),
            a.column_stride as isize,
            a.row_stride as isize,
            b.values.as_ptr(),
            b.column_stride as isize,
            b.row_stride as isize,
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
    fn every_transposition_and_accumulation() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]; // [2, 3]
        let b = [1.0, 0.0, 2.0, 1.0, 0.0, 3.0]; // [3, 2]
        let a_transposed = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
        let b_transposed = [1.0, 2.0, 0.0, 0.0, 1.0, 3.0];
        for a in [View::new(&a, 3), View::new(&a_transposed, 2).t()] {
            for b in [View::new(&b, 2), View::new(&b_transposed, 3).t()] {
                let mut c = [10.0; 4];
                multiply(&mut c, a, b, false);
                assert_eq!(c, [5.0, 11.0, 14.0, 23.0]);
                multiply(&mut c, a, b, true);
                assert_eq!(c, [10.0, 22.0, 28.0, 46.0]);
            }
        }
    }

    #[test]
    fn nothing_to_sum_is_zero() {
        let (a, b) = (View::new(&[1.0, 2.0], 1).columns(0..0), View::new(&[], 3));
        let mut c = [7.0; 8]; // 2 rows of 4
        multiply_columns(&mut c, 4, 1, a, b, true);
        assert_eq!(c, [7.0; 8]);
        multiply_columns(&mut c, 4, 1, a, b, false);
        assert_eq!(c, [7.0, 0.0, 0.0, 0.0, 7.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn some_columns_of_each() {
        let a = [9.0, 1.0, 2.0, 9.0, 3.0, 4.0]; // columns 1..3 are [[1, 2], [3, 4]]
        let b = [1.0, 1.0, 0.0, 2.0];
        let mut c = [7.0; 8]; // 2 rows of 4
        let a = View::new(&a, 3).columns(1..3);
        multiply_columns(&mut c, 4, 1, a, View::new(&b, 2), false);
        assert_eq!(c, [7.0, 1.0, 5.0, 7.0, 7.0, 3.0, 11.0, 7.0]);
        let mut sums = [10.0, 20.0];
        a.add_column_sums(&mut sums);
        assert_eq!(sums, [14.0, 26.0]);
    }
}
