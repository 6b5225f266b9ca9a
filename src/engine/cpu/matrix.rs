//! A matrix whose rows are whole vectors.

use std::ops::Range;

use super::aligned::Aligned;
use super::partition::LANES;
use super::view::View;

/// Matrix [rows, width] whose rows are padded after the first `columns` columns.
#[derive(Default)]
pub struct Matrix {
    values: Aligned,
    columns: usize,
    width: usize,
}

impl Matrix {
    /// Returns the length of a row with padding.
    pub fn width_of(columns: usize) -> usize {
        columns.next_multiple_of(LANES).max(LANES)
    }

    /// Resizes to `rows` rows; `columns` is the same at every call. Added rows have their last values, or 0.
    /// Allocates only if `rows` exceeds every earlier number of rows.
    pub fn resize(&mut self, rows: usize, columns: usize) {
        self.columns = columns;
        self.width = Self::width_of(columns);
        self.values.resize(rows * self.width);
    }

    /// Returns the length of a row with padding.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of columns without padding.
    pub fn column_count(&self) -> usize {
        self.columns
    }

    /// Returns the number of rows.
    pub fn row_count(&self) -> usize {
        self.values.len() / self.width
    }

    /// Returns a view without padding.
    pub fn view(&self) -> View<'_> {
        self.padded().columns(0..self.columns)
    }

    /// Returns a view with padding.
    pub fn padded(&self) -> View<'_> {
        View::new(&self.values, self.width)
    }

    /// Returns all numbers, with padding.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Returns all numbers, with padding.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// Returns some rows, with padding.
    pub fn rows(&self, rows: Range<usize>) -> &[f32] {
        &self.values[rows.start * self.width..rows.end * self.width]
    }

    /// Returns some rows, with padding.
    pub fn rows_mut(&mut self, rows: Range<usize>) -> &mut [f32] {
        &mut self.values[rows.start * self.width..rows.end * self.width]
    }

    /// Iterates over the rows, without padding.
    pub fn each_row(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.width).map(|row| &row[..self.columns])
    }

    /// Iterates over the rows, without padding.
    pub fn each_row_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        self.values.chunks_exact_mut(self.width).map(|row| &mut row[..self.columns])
    }

    /// Fills the padding of all rows with zeros.
    pub fn clear_padding(&mut self) {
        let (columns, width) = (self.columns, self.width);
        self.values.chunks_exact_mut(width).for_each(|row| row[columns..].fill(0.0));
    }

    /// Copies the rows `rows` of `from` into the rows from `row` and the columns from `column` on; padding of
    /// `from` becomes padding.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
