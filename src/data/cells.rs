//! The cells of a row of a CSV table as features, straight from bytes.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::dataset::Features;
use super::decimal::decimal;
use super::number::{GROUP, Value, digits, feature, float, small, small_at_end};
use super::row::Row;
use super::row_parser::{At, RowParser};
use crate::Result;
use crate::vectors::vectorized;

impl RowParser {
    /// Appends the features of these columns of a row.
    pub(super) fn parse_features(
        &mut self,
        at: &At<'_>,
        columns: Range<usize>,
        features: &mut Features,
    ) -> Result<()> {
        if self.table.missing_numbers.is_empty() {
            match features {
                Features::Floats(floats) => return self.parse_floats(at, columns, floats),
                Features::Bytes(bytes) => {
                    if parse_bytes(at.row, columns.clone(), bytes) {
                        return Ok(());
                    }
                }
            }
        }
        for column in columns {
            let value = match feature(at.row.cell(column), self.table.dialect.numbers) {
                Ok(value) if !self.table.missing_numbers.contains(&f32::from(value)) => value,
                Ok(_) => Value::Float(self.without_number(at, column, "a number")?),
                Err(fault) => Value::Float(self.without_number(at, column, fault)?),
            };
            features.push(value);
        }
        Ok(())
    }

    /// Appends columns of any numbers.
    fn parse_floats(&mut self, at: &At<'_>, columns: Range<usize>, floats: &mut Vec<f32>) -> Result<()> {
        let point = self.table.dialect.numbers.point;
        let mut length = floats.len();
        floats.resize(length + columns.len(), 0.0);
        let mut columns = columns;
        loop {
            let rest =
                Decimals { row: at.row, columns: columns.clone(), point, floats: &mut floats[length..] };
            let read = vectorized(rest);
            columns.start += read;
            let Some(column) = columns.next() else { return Ok(()) };
            floats[length + read] = self.float(at, column)?;
            length += read + 1;
        }
    }

    /// A cell that is longer than most, among the first of its text, or no number; NaN where it is missing.
    #[inline(never)]
    fn float(&mut self, at: &At<'_>, column: usize) -> Result<f32> {
        let found = float(at.row.cell(column), self.table.dialect.numbers);
        found.or_else(|fault| self.without_number(at, column, fault))
    }
}

/// Some columns of a row, and where their values go.
struct Decimals<'a> {
    row: Row<'a>,
    columns: Range<usize>,
    point: u8,
    floats: &'a mut [f32],
}

impl WithSimd for Decimals<'_> {
    type Output = usize;

    /// Reads columns up to one that is no short decimal, and says how many they were.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        let Self { row, columns, point, floats } = self;
        let mut read = 0;
        for (column, float) in columns.zip(floats) {
            let (start, end) = (row.start(column), row.end(column));
            let (Some(last), Some(first)) = (row.text[..end].last_chunk(), row.text.get(start)) else {
                break;
            };
            let Some(value) = decimal(last, *first, end - start, point) else { break };
            *float = value;
            read += 1;
        }
        read
    }
}

/// Appends columns that are all written as whole numbers from 0 to 255; false, and nothing, for others.
///
/// What most tables of images are made of, and so without a branch that depends on a cell.
fn parse_bytes(row: Row<'_>, columns: Range<usize>, bytes: &mut Vec<u8>) -> bool {
    let mut greatest = 0;
    let length = bytes.len();
    bytes.resize(length + columns.len(), 0);
    for (first, group) in columns.step_by(GROUP).zip(bytes[length..].chunks_mut(GROUP)) {
        // Most pixels are black, and most of those have black neighbours.
        if let Ok(group) = <&mut [u8; GROUP]>::try_from(&mut *group)
            && let Some(digits) = single_digits(row, first)
        {
            *group = digits;
            continue;
        }
        for (column, byte) in (first..).zip(group) {
            let (start, end) = (row.start(column), row.end(column));
            let value = match row.text[..end].last_chunk() {
                Some(last) => small_at_end(*last, end - start),
                None => small(&row.text[start..end]),
            };
            let value = value.unwrap_or(u32::MAX);
            greatest = greatest.max(value);
            *byte = value as u8;
        }
    }
    let are_bytes = greatest <= u8::MAX.into();
    if !are_bytes {
        bytes.truncate(length);
    }
    are_bytes
}

/// A group of cells, if each is a single digit.
#[inline]
fn single_digits(row: Row<'_>, first: usize) -> Option<[u8; GROUP]> {
    let start = row.start(first);
    if row.end(first + GROUP - 1) != start + 2 * GROUP - 1 {
        return None;
    }
    // An empty cell beside one of two digits comes to the same length.
    let single = (0..GROUP).fold(true, |all, cell| all & (row.start(first + cell) == start + 2 * cell));
    let text = row.text.get(start..)?.first_chunk()?;
    digits(*text).filter(|_| single)
}
