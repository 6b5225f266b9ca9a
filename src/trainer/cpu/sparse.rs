//! The inputs of a batch: all of them, or only those that are not zero.

use crate::data::{Features, Rows, Scaling};

/// Below this share of non-zero inputs it pays to skip the zeros.
const SPARSE_SHARE: f64 = 0.4;

/// Rows that are looked at to find out.
const SAMPLE_ROWS: usize = 256;

/// A number and where it stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// Column of the row, or row of the column.
    pub index: u32,
    /// The number.
    pub value: f32,
}

/// Lists of the numbers that are not zero, one list a row or one a column.
#[derive(Debug, Default)]
pub struct Sparse {
    starts: Vec<u32>,
    entries: Vec<Entry>,
}

impl Sparse {
    /// The entries of one row or column, in order.
    pub fn list(&self, number: usize) -> &[Entry] {
        &self.entries[self.starts[number] as usize..self.starts[number + 1] as usize]
    }

    fn clear(&mut self) {
        self.starts.clear();
        self.starts.push(0);
        self.entries.clear();
    }

    fn end_list(&mut self) {
        self.starts.push(self.entries.len() as u32);
    }

    /// Makes `self` the columns of a matrix from its rows.
    fn transpose(&mut self, rows: &Sparse, columns: usize) {
        self.starts.clear();
        self.starts.resize(columns + 1, 0);
        for entry in &rows.entries {
            self.starts[entry.index as usize + 1] += 1;
        }
        for column in 0..columns {
            self.starts[column + 1] += self.starts[column];
        }
        self.entries.resize(rows.entries.len(), Entry { index: 0, value: 0.0 });
        // `starts[c]` walks to the end of column c, which is the start of column c + 1 ...
        for row in 0..rows.starts.len() - 1 {
            for entry in rows.list(row) {
                let place = &mut self.starts[entry.index as usize];
                self.entries[*place as usize] = Entry { index: row as u32, value: entry.value };
                *place += 1;
            }
        }
        // ... so all starts are one column too far.
        self.starts.copy_within(..columns, 1);
        self.starts[0] = 0;
    }
}

/// The inputs of some rows.
#[derive(Debug, Default)]
pub struct Inputs {
    /// How many rows.
    pub rows: usize,
    /// [rows, inputs], unless they are sparse.
    pub dense: Vec<f32>,
    /// The numbers of each row and of each column that are not zero, if they are sparse.
    pub sparse: Option<(Sparse, Sparse)>,
}

/// Whether so many inputs are zero that skipping them pays, by the first rows.
pub fn is_sparse(rows: &Rows<'_>) -> bool {
    let values = rows.inputs * rows.len().min(SAMPLE_ROWS);
    let non_zero = match rows.features {
        Features::Bytes(bytes) => bytes[..values].iter().filter(|value| **value != 0).count(),
        Features::Floats(floats) => floats[..values].iter().filter(|value| **value != 0.0).count(),
    };
    (non_zero as f64) < SPARSE_SHARE * values as f64
}

impl Inputs {
    /// Takes the rows that `order` names. Memory is only taken when they need more than ever before.
    pub fn gather(&mut self, rows: &Rows<'_>, order: &[u32], sparse: bool) {
        let width = rows.inputs;
        self.rows = order.len();
        if !sparse {
            self.sparse = None;
        } else if self.sparse.is_none() {
            self.sparse = Some(Default::default());
        }
        let range = |row: &u32| *row as usize * width..(*row as usize + 1) * width;
        match (rows.features, rows.scaling) {
            (Features::Bytes(bytes), scaling) => {
                let scale = match scaling {
                    Scaling::Bytes => |byte: u8| f32::from(byte) / 255.0,
                    Scaling::AsIs => f32::from,
                };
                self.take(width, order.iter().map(|row| &bytes[range(row)]), scale);
            }
            (Features::Floats(floats), Scaling::Bytes) => {
                self.take(width, order.iter().map(|row| &floats[range(row)]), |value| value / 255.0);
            }
            (Features::Floats(floats), Scaling::AsIs) => {
                self.take(width, order.iter().map(|row| &floats[range(row)]), |value| value);
            }
        }
    }

    fn take<'a, T: Copy + PartialEq + Default + 'a>(
        &mut self,
        width: usize,
        rows: impl Iterator<Item = &'a [T]>,
        scale: impl Fn(T) -> f32,
    ) {
        let Some((by_row, by_column)) = &mut self.sparse else {
            self.dense.clear();
            self.dense.extend(rows.flatten().map(|value| scale(*value)));
            return;
        };
        by_row.clear();
        for row in rows {
            for (group, values) in row.chunks(8).enumerate() {
                // Most groups of pixels are empty.
                if values.iter().all(|value| *value == T::default()) {
                    continue;
                }
                for (value, index) in values.iter().zip(8 * group as u32..) {
                    if *value != T::default() {
                        by_row.entries.push(Entry { index, value: scale(*value) });
                    }
                }
            }
            by_row.end_list();
        }
        by_column.transpose(by_row, width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(list: &[Entry]) -> Vec<(u32, f32)> {
        list.iter().map(|entry| (entry.index, entry.value)).collect()
    }

    #[test]
    fn rows_and_columns_hold_what_is_not_zero() {
        let mut values = vec![0u8; 3 * 11];
        for (row, column, value) in [(0, 10, 255), (1, 0, 51), (1, 9, 102), (2, 0, 204)] {
            values[11 * row + column] = value;
        }
        let features = Features::Bytes(values);
        let rows = Rows {
            inputs: 11,
            features: &features,
            labels: &[0, 1, 0],
            scaling: Scaling::Bytes,
            total: Some(3),
        };
        assert!(is_sparse(&rows));
        let mut inputs = Inputs::default();
        // Twice: nothing of the first time may be left.
        for order in [&[0u32, 0, 0][..], &[2, 1, 0, 1]] {
            inputs.gather(&rows, order, true);
        }
        let (by_row, by_column) = inputs.sparse.as_ref().unwrap();
        assert_eq!(entries(by_row.list(0)), [(0, 0.8)]);
        assert_eq!(entries(by_row.list(1)), [(0, 0.2), (9, 0.4)]);
        assert_eq!(entries(by_row.list(2)), [(10, 1.0)]);
        assert_eq!(entries(by_column.list(0)), [(0, 0.8), (1, 0.2), (3, 0.2)]);
        assert_eq!(entries(by_column.list(9)), [(1, 0.4), (3, 0.4)]);
        assert_eq!(entries(by_column.list(10)), [(2, 1.0)]);
        assert!((1..9).all(|column| by_column.list(column).is_empty()));
        inputs.gather(&rows, &[1], false);
        assert_eq!(inputs.dense, [0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.4, 0.0]);
    }
}
