//! Borrowed matrices: slices with strides.

use std::ops::Range;

use super::partition::LANES;
use crate::vectors::vectorized_loops;

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
    /// Creates a view of `values` as rows of `columns` numbers.
    pub fn new(values: &'a [f32], columns: usize) -> Self {
        let rows = values.len().checked_div(columns).unwrap_or(0);
        assert_eq!(values.len(), rows * columns, "a matrix has whole rows");
        Self { values, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// Returns the transpose.
    pub fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Returns some of the rows.
    pub fn rows(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.rows, "the rows are there");
        let values = &self.values[(range.start * self.row_stride).min(self.values.len())..];
        Self { values, rows: range.len(), ..self }
    }

    /// Returns some of the columns.
    pub fn columns(self, range: Range<usize>) -> Self {
        self.transposed().rows(range).transposed()
    }

    /// Returns the slice from the first element on.
    pub fn values(self) -> &'a [f32] {
        self.values
    }

    /// Returns the distance between an element and the one in the next row.
    pub fn row_stride(self) -> usize {
        self.row_stride
    }

    /// Returns the distance between an element and the one in the next column.
    pub fn column_stride(self) -> usize {
        self.column_stride
    }

    /// Returns the number of rows.
    pub fn row_count(self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn column_count(self) -> usize {
        self.columns
    }

    /// Iterates over the rows, whose numbers must be contiguous.
    pub fn each_row(self) -> impl Iterator<Item = &'a [f32]> {
        assert_eq!(self.column_stride, 1, "rows are no columns");
        (0..self.rows).map(move |row| &self.values[row * self.row_stride..][..self.columns])
    }

    /// Returns whether the numbers of a row are contiguous, with further numbers after them up to whole
    /// vectors.
    pub fn has_whole_vectors(self) -> bool {
        self.column_stride == 1
            && self.row_stride.is_multiple_of(LANES)
            && Self { columns: self.columns.next_multiple_of(LANES), ..self }.is_whole()
    }

    /// Returns the columns `columns` of M rows from `first` on, if the numbers of a row are contiguous.
    #[inline(always)]
    pub fn rows_of<const M: usize>(&self, first: usize, columns: Range<usize>) -> Option<[&'a [f32]; M]> {
        if self.column_stride != 1 {
            return None;
        }
        let mut rows = [&self.values[..0]; M];
        for (row, slice) in (first..).zip(&mut rows) {
            *slice = &self.values[row * self.row_stride + columns.start..][..columns.len()];
        }
        Some(rows)
    }

    /// Copies the transpose into the first columns of rows of `width` numbers; the numbers of a row are
    /// contiguous.
    #[inline(always)]
    pub fn transpose_into(&self, to: &mut [f32], width: usize) {
        for first in (0..self.rows).step_by(LANES) {
            let rows = LANES.min(self.rows - first);
            for start in (0..self.columns).step_by(LANES) {
                let columns = LANES.min(self.columns - start);
                let from = |row: usize| &self.values[(first + row) * self.row_stride + start..][..columns];
                if rows < LANES || columns < LANES {
                    for row in 0..rows {
                        for (column, value) in from(row).iter().enumerate() {
                            to[(start + column) * width + first + row] = *value;
                        }
                    }
                    continue;
                }
                // Read and write whole cache lines.
                let mut block = [[0.0; LANES]; LANES];
                for (number, row) in block.iter_mut().enumerate() {
                    row.copy_from_slice(from(number));
                }
                for column in 0..LANES {
                    let mut line = [0.0; LANES];
                    line.iter_mut().zip(&block).for_each(|(to, row)| *to = row[column]);
                    to[(start + column) * width + first..][..LANES].copy_from_slice(&line);
                }
            }
        }
    }

    /// Adds the sum of each column to `sums`, in the order of the rows.
    pub fn add_column_sums(self, sums: &mut [f32]) {
        assert_eq!(self.columns, sums.len(), "a sum for each column");
        vectorized_loops!(for row in self.each_row() {
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        });
    }

    /// Returns whether the last element is within the slice.
    pub fn is_whole(&self) -> bool {
        self.rows == 0
            || self.columns == 0
            || (self.rows - 1) * self.row_stride + (self.columns - 1) * self.column_stride < self.values.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tiles::tests::number;
    use super::*;

    /// Sums rows in order, without the numbers after the columns.
    #[test]
    fn columns_are_summed_in_the_order_of_their_rows() {
        for (rows, columns) in [(0, 1), (1, 3), (3, 16), (65, 17), (257, 65), (17, 100)] {
            let stride = columns + 2 * LANES;
            let values: Vec<f32> = (0..rows * stride.next_multiple_of(LANES)).map(number).collect();
            let view = View::new(&values, stride.next_multiple_of(LANES)).columns(LANES..LANES + columns);
            let begun: Vec<f32> = (0..columns).map(|i| number(5 * i + 1)).collect();
            let mut want = begun.clone();
            for row in view.each_row() {
                want.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
            let mut sums = begun;
            view.add_column_sums(&mut sums);
            assert_eq!(sums, want, "{rows} {columns}");
        }
    }

    #[test]
    fn rows_become_columns() {
        for (rows, columns) in [(1, 1), (3, 17), (17, 5), (80, 10), (5, 100), (35, 50)] {
            let values: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();
            let width = rows + 3;
            let mut transposed = vec![-1.0; columns * width];
            View::new(&values, columns).transpose_into(&mut transposed, width);
            for (column, values) in transposed.chunks(width).enumerate() {
                let want = (0..rows).map(|row| (row * columns + column) as f32).chain([-1.0; 3]);
                assert_eq!(values, want.collect::<Vec<_>>());
            }
        }
    }
}
