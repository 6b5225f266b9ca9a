//! The cells of a row of a CSV table as features, straight from bytes.

use std::ops::Range;

use super::csv::CsvRows;
use super::dataset::Features;
use super::decimal::{GROUP, NumberForm};
use super::dialect::with_point;
use super::number::{Value, digits, feature, float, small, small_at_end};
use crate::Result;

impl CsvRows {
    /// Appends the features of these columns of the row.
    pub(super) fn parse_features(&self, columns: Range<usize>, features: &mut Features) -> Result<()> {
        match features {
            _ if self.dialect.decimal == b',' || !self.missing_numbers.is_empty() => {}
            Features::Floats(floats) => return self.parse_floats(columns, floats),
            Features::Bytes(bytes) => {
                if self.parse_bytes(columns.clone(), bytes) {
                    return Ok(());
                }
            }
        }
        for column in columns {
            let cell = &self.record[column];
            let value = match self.dialect.decimal {
                b',' => feature(with_point(&String::from_utf8_lossy(cell)).as_bytes()),
                _ => feature(cell),
            };
            match value {
                Ok(value) if !self.missing_numbers.contains(&f32::from(value)) => features.push(value),
                Ok(_) => features.push(Value::Float(self.without_number(column, "a number")?)),
                Err(fault) => features.push(Value::Float(self.without_number(column, fault)?)),
            }
        }
        Ok(())
    }

    /// Appends columns of any numbers.
    fn parse_floats(&self, columns: Range<usize>, floats: &mut Vec<f32>) -> Result<()> {
        let text = self.record.as_slice();
        let mut start = columns.start.checked_sub(1).map_or(0, |before| self.end(before));
        let mut layout = NumberForm::of([0; 8], 0);
        let length = floats.len();
        floats.resize(length + columns.len(), 0.0);
        let floats = &mut floats[length..];
        // Cells from here on were read by `layout`, and are still to be divided.
        let mut run = 0;
        for group in (0..floats.len()).step_by(GROUP) {
            let first = columns.start + group;
            if let Some(floats) = floats[group..].first_chunk_mut()
                && let Some(numbers) = self.equal_cells(first, start, layout)
            {
                *floats = numbers.map(|number| f32::from_bits(number as u32));
                start = self.end(first + GROUP - 1);
                continue;
            }
            for cell in group..floats.len().min(group + GROUP) {
                let column = columns.start + cell;
                let end = self.end(column);
                let last = *text[..end].last_chunk().unwrap_or(&[0; 8]);
                let first = text.get(start).copied().unwrap_or_default();
                match layout.number(last, end - start, first) {
                    Some(number) => floats[cell] = f32::from_bits(number as u32),
                    None => {
                        layout.divide(&mut floats[run..cell]);
                        floats[cell] = self.float(column)?;
                        run = cell + 1;
                        layout = NumberForm::of(last, end - start);
                    }
                }
                start = end;
            }
        }
        layout.divide(&mut floats[run..]);
        Ok(())
    }

    /// A group of cells whose text begins at `start`, if all are as long as the first and `layout` reads them.
    #[inline]
    fn equal_cells(&self, first: usize, start: usize, layout: &NumberForm) -> Option<[i32; GROUP]> {
        let length = self.end(first) - start;
        if self.end(first + GROUP - 1) != start + GROUP * length {
            return None;
        }
        let ends = (1..).map(|cells| start + cells * length);
        let equal = (0..GROUP).zip(ends).fold(true, |all, (cell, end)| all & (self.end(first + cell) == end));
        let text = self.record.as_slice().get((start + length).checked_sub(8)?..)?;
        if equal { layout.group(text, length) } else { None }
    }

    /// A cell that is written unlike the one before it, among the first of its row, or no number; NaN where it is missing.
    #[inline(never)]
    fn float(&self, column: usize) -> Result<f32> {
        float(&self.record[column]).or_else(|fault| self.without_number(column, fault))
    }

    /// Where the text of a cell of `record` ends.
    #[inline]
    fn end(&self, column: usize) -> usize {
        self.record.range(column).expect("the cells of the row were counted").end
    }

    /// Appends columns that are all written as whole numbers from 0 to 255; false, and nothing, for others.
    ///
    /// What most tables are made of, and so without a branch that depends on a cell.
    fn parse_bytes(&self, columns: Range<usize>, bytes: &mut Vec<u8>) -> bool {
        let text = self.record.as_slice();
        let mut start = columns.start.checked_sub(1).map_or(0, |before| self.end(before));
        let mut greatest = 0;
        let length = bytes.len();
        bytes.resize(length + columns.len(), 0);
        for (first, group) in columns.step_by(GROUP).zip(bytes[length..].chunks_mut(GROUP)) {
            // Most pixels are black, and most of those have black neighbours.
            if let Ok(group) = <&mut [u8; GROUP]>::try_from(&mut *group)
                && let Some(digits) = self.single_digits(first, start)
            {
                *group = digits;
                start += GROUP;
                continue;
            }
            for (column, byte) in (first..).zip(group) {
                let end = self.end(column);
                let value = match text[..end].last_chunk() {
                    Some(last) => small_at_end(*last, end - start),
                    None => small(&text[start..end]),
                };
                start = end;
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

    /// A group of cells whose text begins at `start`, if each is a single digit.
    #[inline]
    fn single_digits(&self, first: usize, start: usize) -> Option<[u8; GROUP]> {
        if self.end(first + GROUP - 1) != start + GROUP {
            return None;
        }
        // An empty cell beside one of two digits comes to the same length.
        let single = (0..GROUP).fold(true, |all, cell| all & (self.end(first + cell) == start + cell + 1));
        let text = self.record.as_slice().get(start..)?.first_chunk()?;
        digits(*text).filter(|_| single)
    }
}
