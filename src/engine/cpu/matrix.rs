//! A matrix whose rows are whole vectors.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::aligned::Aligned;
use super::partition::LANES;
use super::view::View;
use crate::vectors::{vectorized, vectorized_loops};

/// [rows, width], where the first columns of a row count and those behind them are padding.
#[derive(Default)]
pub struct Matrix {
    values: Aligned,
    columns: usize,
    width: usize,
}

impl Matrix {
    /// Numbers of a row with padding.
    pub fn width_of(columns: usize) -> usize {
        columns.next_multiple_of(LANES).max(LANES)
    }

    /// Makes room for `rows` rows; the number of columns is the same at every call. Rows that are new are what they last were, or 0.
    /// Takes memory only when there are more rows than ever before.
    pub fn resize(&mut self, rows: usize, columns: usize) {
        self.columns = columns;
        self.width = Self::width_of(columns);
        self.values.resize(rows * self.width);
    }

    /// Numbers of a row with padding.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many columns count.
    pub fn column_count(&self) -> usize {
        self.columns
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.values.len() / self.width
    }

    /// Without padding.
    pub fn view(&self) -> View<'_> {
        self.padded().columns(0..self.columns)
    }

    /// With padding.
    pub fn padded(&self) -> View<'_> {
        View::new(&self.values, self.width)
    }

    /// All numbers, with padding.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All numbers, with padding.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// Some rows, with padding.
    pub fn rows(&self, rows: Range<usize>) -> &[f32] {
        &self.values[rows.start * self.width..rows.end * self.width]
    }

    /// Some rows, with padding.
    pub fn rows_mut(&mut self, rows: Range<usize>) -> &mut [f32] {
        &mut self.values[rows.start * self.width..rows.end * self.width]
    }

    /// The rows one by one, without padding.
    pub fn each_row(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.width).map(|row| &row[..self.columns])
    }

    /// The rows one by one, without padding.
    pub fn each_row_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        self.values.chunks_exact_mut(self.width).map(|row| &mut row[..self.columns])
    }

    /// Puts zeros behind the columns of some rows.
    pub fn clear_padding(&mut self, rows: Range<usize>) {
        let (columns, width) = (self.columns, self.width);
        self.rows_mut(rows).chunks_exact_mut(width).for_each(|row| row[columns..].fill(0.0));
    }

    /// Becomes `rows`, with padding, plus `row`.
    pub fn set_to_sums(&mut self, row: &[f32], rows: &[f32]) {
        assert!(row.len() == self.width && rows.len() == self.values.len(), "as many numbers");
        vectorized(SetToSums { to: &mut self.values, row, rows });
    }

    /// Becomes the transpose of a matrix, the numbers of whose rows stand one behind the other.
    pub fn transpose(&mut self, rows: View<'_>) {
        self.resize(rows.column_count(), rows.row_count());
        let width = self.width;
        vectorized_loops!(rows.transpose_into(&mut self.values, width));
    }

    /// Copies the rows `rows` of `from` into the rows from `row` on, as the columns from `column` on; padding of `from`
    /// becomes padding.
    pub fn copy_block(&mut self, row: usize, column: usize, from: &Matrix, rows: Range<usize>) {
        if from.width == self.width {
            return self.rows_mut(row..row + rows.len()).copy_from_slice(from.rows(rows));
        }
        let to = self.values[row * self.width..].chunks_exact_mut(self.width);
        for (to, from) in to.zip(from.rows(rows).chunks_exact(from.width)) {
            to[column..column + from.len()].copy_from_slice(from);
        }
    }
}

// By hand: compilers would make vectors of what stands in one column, as rows are short.
struct SetToSums<'a> {
    to: &'a mut [f32],
    row: &'a [f32],
    rows: &'a [f32],
}

impl WithSimd for SetToSums<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (to, row) = (S::as_mut_simd_f32s(self.to).0, S::as_simd_f32s(self.row).0);
        let values = S::as_simd_f32s(self.rows).0;
        if let [other] = row {
            return to.iter_mut().zip(values).for_each(|(to, value)| *to = simd.add_f32s(*other, *value));
        }
        for (to, values) in to.chunks_exact_mut(row.len()).zip(values.chunks_exact(row.len())) {
            for ((to, value), other) in to.iter_mut().zip(values).zip(row) {
                *to = simd.add_f32s(*other, *value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        for (rows, columns) in [(1, 1), (3, 17), (17, 5), (80, 10), (5, 100), (35, 50)] {
            let (mut from, mut to) = (Matrix::default(), Matrix::default());
            from.resize(rows, columns);
            let numbers = from.each_row_mut().flatten().zip(1..);
            numbers.for_each(|(to, number)| *to = number as f32);
            to.transpose(from.view());
            assert_eq!((to.row_count(), to.column_count()), (columns, rows));
            for (column, values) in to.each_row().enumerate() {
                let want = |row: usize| (row * columns + column + 1) as f32;
                assert_eq!(values, (0..rows).map(want).collect::<Vec<_>>());
            }
            assert!(to.values().chunks(to.width()).all(|row| row[rows..].iter().all(|it| *it == 0.0)));
        }
    }

    #[test]
    fn blocks_become_columns() {
        let (mut left, mut right, mut all) = (Matrix::default(), Matrix::default(), Matrix::default());
        left.resize(3, 16);
        right.resize(3, 2);
        assert_eq!(
            (left.width(), right.width(), Matrix::width_of(17), Matrix::width_of(0)),
            (16, 16, 32, 16)
        );
        left.values_mut().fill(1.0);
        right.each_row_mut().for_each(|row| row.copy_from_slice(&[2.0, 3.0]));
        all.resize(4, 18);
        all.copy_block(1, 0, &left, 1..3);
        all.copy_block(1, 16, &right, 1..3);
        let row = [&[1.0; 16][..], &[2.0, 3.0]].concat();
        let rows: Vec<&[f32]> = all.each_row().collect();
        assert_eq!(rows, [&[0.0; 18][..], &row, &row, &[0.0; 18]]);
        assert!(all.rows(1..2)[18..].iter().all(|padding| *padding == 0.0));
        let (mut copy, two) = (Matrix::default(), &[2.0, 3.0][..]);
        copy.resize(3, 2);
        copy.copy_block(0, 0, &right, 1..3);
        assert_eq!(copy.each_row().collect::<Vec<_>>(), [two, two, &[0.0; 2]]);
    }

    #[test]
    fn a_row_is_added_to_each() {
        for (rows, columns) in [(0, 3), (1, 1), (3, 17), (5, 65)] {
            let width = Matrix::width_of(columns);
            let [row, values] = [1.0, 8.0].map(|step| (0..rows.max(1) * width).map(move |i| i as f32 / step));
            let (row, values): (Vec<f32>, Vec<f32>) =
                (row.take(width).collect(), values.take(rows * width).collect());
            let mut sums = Matrix::default();
            sums.resize(rows, columns);
            sums.set_to_sums(&row, &values);
            let want: Vec<f32> =
                values.iter().zip(row.iter().cycle()).map(|(value, row)| row + value).collect();
            assert_eq!(sums.values(), want);
        }
    }
}
