//! The cells of a row of a CSV table as features, straight from bytes.

use std::ops::Range;

use super::dataset::Features;
use super::decimal::{CELLS, Decimals};
use super::known::together;
use super::notation::ReadAs;
use super::number::{GROUP, Value, digits, feature, float, small, small_at_end};
use super::places::{Blocks, WithBlocks, in_blocks};
use super::row::Row;
use super::row_parser::{At, RowParser};
use crate::Result;

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
        for columns in together(columns) {
            let (first, length, count) = (columns.start, floats.len(), columns.len());
            let mut numbers = [0.0; CELLS];
            let (row, read_as, decimals) = (at.row, self.read_as(), &mut self.decimals);
            let mut others = in_blocks(Read { row, columns, read_as, decimals, numbers: &mut numbers });
            floats.extend_from_slice(&numbers[..count]);
            while others != 0 {
                let place = others.trailing_zeros() as usize;
                floats[length + place] = self.float(at, first + place)?;
                others &= others - 1;
            }
        }
        Ok(())
    }

    /// A cell that is longer than most, among the first of its text, or no number; NaN where it is missing.
    #[inline(never)]
    pub(super) fn float(&mut self, at: &At<'_>, column: usize) -> Result<f32> {
        let found = float(at.row.cell(column), self.table.dialect.numbers);
        found.or_else(|fault| self.without_number(at, column, fault))
    }
}

/// Columns of a row to be read together.
struct Read<'a> {
    row: Row<'a>,
    columns: Range<usize>,
    read_as: ReadAs,
    decimals: &'a mut Decimals,
    numbers: &'a mut [f32; CELLS],
}

impl WithBlocks for Read<'_> {
    type Output = u32;

    /// A bit for each column that is no short decimal.
    #[inline(always)]
    fn with_blocks(self, blocks: impl Blocks) -> u32 {
        let Self { row, columns, read_as, decimals, numbers } = self;
        let bounds = row.bounds(columns.start);
        blocks.decimals(decimals, row.text, bounds, columns.len(), read_as, numbers)
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

#[cfg(test)]
mod tests {
    use super::super::places::in_all_blocks;
    use super::super::row::Cells;
    use super::*;

    /// Numbers of up to so many characters, with a point at any place or none, and things that are no numbers.
    fn texts(count: usize, most: usize) -> Vec<String> {
        let step = |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        let text = |(state, place): (u64, usize)| {
            let digits = (state >> (place % 50)).to_string();
            let (whole, rest) = digits.split_at(place % (digits.len() + 1));
            let sign = if place.is_multiple_of(3) { "-" } else { "" };
            let mut text =
                if rest.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") };
            text.truncate(most);
            if place % 41 == 40 {
                ["", "x", "1.2.3", "-", ".", "1e5", "+1"][place % 7].to_owned()
            } else {
                text
            }
        };
        std::iter::successors(Some(1), step).take(count).zip(1..).map(text).collect()
    }

    struct ReadAll<'a>(Row<'a>, usize, bool);

    impl WithBlocks for ReadAll<'_> {
        type Output = Vec<Option<f32>>;

        /// What was read; nothing of others.
        #[inline(always)]
        fn with_blocks(self, blocks: impl Blocks) -> Self::Output {
            let Self(row, columns, empty) = self;
            let read_as = ReadAs { point: b'.', empty };
            let (mut decimals, mut numbers) = (Decimals::new(), [0.0; CELLS]);
            let (decimals, room) = (&mut decimals, &mut numbers);
            let others =
                Read { row, columns: 0..columns, read_as, decimals, numbers: room }.with_blocks(blocks);
            assert_eq!(u64::from(others) >> columns, 0);
            let numbers = numbers[..columns].iter().enumerate();
            numbers.map(|(cell, number)| (others >> cell & 1 == 0).then_some(*number)).collect()
        }
    }

    #[test]
    fn what_stands_among_the_first_characters_of_a_text_is_left_to_others() {
        for (text, first, expected) in [
            ("in front of all of it,1.5,-2,7", 22, [Some(1.5), Some(-2.0), Some(7.0)]),
            ("25,99,3", 0, [None; 3]),
            ("25,9999999999.5,3", 0, [None, None, Some(3.0)]),
            ("in front of all of it,-8,12345678901234567,-1234567890123456", 22, [Some(-8.0), None, None]),
        ] {
            let mut cells = Cells::default();
            let row = cells.of(text.as_bytes(), (first, text.len()), b',', false);
            for empty in [false, true] {
                for (kind, found) in in_all_blocks(|| ReadAll(row, 3, empty)) {
                    assert_eq!(found, expected, "{text} {kind}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_what_the_standard_library_says_with_vectors_of_any_length() {
        for (most, columns) in [(8, 1), (8, 7), (8, 32), (9, 8), (16, 3), (16, 17), (20, 31), (30, 9)] {
            let (mut cells, mut counts) = (Cells::default(), [0; 3]);
            // With as much text behind them as vectors take, and without it.
            for (place, row) in texts(80 * columns, most).chunks(columns).enumerate() {
                let behind = "1,2,".repeat(place % 2 * 40);
                let text = format!("in front of them,{}\n{behind}", row.join(","));
                let of_text = (17, text.len() - 1 - behind.len());
                let of_text = cells.of(text.as_bytes(), of_text, b',', false);
                let empty = place % 4 < 2;
                for ((kind, read), count) in
                    in_all_blocks(|| ReadAll(of_text, columns, empty)).iter().zip(&mut counts)
                {
                    for (cell, number) in row.iter().zip(read) {
                        if cell.is_empty() {
                            assert_eq!(number.is_some_and(f32::is_nan), empty);
                            continue;
                        }
                        let expected: Option<f32> = cell.parse().ok().filter(|_| !cell.contains(['e', '+']));
                        match (expected, number) {
                            (Some(expected), Some(number)) => {
                                assert_eq!(number.to_bits(), (expected + 0.0).to_bits(), "{cell} {kind}");
                                *count += 1;
                            }
                            // What is hard to read is left to others.
                            (Some(_), None) => assert!(cell.len() > 7, "{cell} {kind}"),
                            (None, number) => assert_eq!(*number, None, "{cell} {kind}"),
                        }
                    }
                }
            }
            let least = if most > 16 { 4 } else { 60 };
            let are_read = |count: &usize| *count == 0 || *count >= least * columns;
            assert!(counts[0] > 0 && counts.iter().all(are_read), "{counts:?} {most} {columns}");
        }
    }
}
