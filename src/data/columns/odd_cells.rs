//! Cells of text in a column of numbers: a handful of them among many numbers, or among different ones, are mistakes; else the column
//! holds categories.

use std::collections::HashSet;
use std::fmt;

use crate::error::{DataFault, Error, Place};

/// The most cells of text that are slips.
pub(crate) const MOST_ODD: usize = 10;

/// Numbers for each cell of text, at least, where these are slips.
const NUMBERS_EACH: u64 = 100;

/// How many of these numbers are different.
pub(crate) fn distinct(numbers: &[f64]) -> usize {
    numbers.iter().map(|number| number.to_bits()).collect::<HashSet<u64>>().len()
}

/// A cell of text among numbers.
pub(crate) struct OddCell {
    /// The file and the place, as in errors.
    pub path: std::path::PathBuf,
    pub place: Place,
    /// The cell, as messages show it.
    pub cell: String,
}

/// Numbers for each cell of text, at least, where the numbers hardly repeat.
const DIFFERENT_EACH: u64 = 5;

/// The number of different numbers from which they are not codes of categories.
pub(crate) const MANY_DIFFERENT: usize = 20;

/// Whether so many cells of text are slips in a column of so many numbers, so many of them different (counted to [`MANY_DIFFERENT`] at
/// least): few cells among very many numbers, or among numbers that are no codes.
pub(crate) fn are_odd(texts: usize, numbers: u64, different: usize) -> bool {
    let is_few = |each: u64| numbers >= each * texts as u64;
    let hardly_repeat = different >= MANY_DIFFERENT || 2 * different as u64 > numbers;
    (1..=MOST_ODD).contains(&texts) && (is_few(NUMBERS_EACH) || hardly_repeat && is_few(DIFFERENT_EACH))
}

/// The error that names these cells of a column of so many numbers; nothing where there are none.
pub(crate) fn odd_cells_error(cells: Vec<OddCell>, numbers: u64) -> Option<Error> {
    let mut cells = cells.into_iter();
    let OddCell { path, place, cell } = cells.next()?;
    let others = cells.map(|other| {
        let file = if other.path == path { String::new() } else { format!("{}, ", other.path.display()) };
        let row = other.place.row.unwrap_or_default();
        format!("{} in {file}row {row}", other.cell)
    });
    let others: Vec<String> = others.collect();
    let also = if others.is_empty() { String::new() } else { format!(" (and {})", others.join(", ")) };
    let expected = format!("a number, as in {numbers} other rows");
    let error = Error::data(path, place, expected, cell + &also);
    Some(error.with_kind(DataFault::TextAndNumbers))
}

/// The first cell that has made categories of a column: text among numbers, or a number among text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixedColumn {
    /// The column's name, or else its index.
    pub column: String,
    /// The file.
    pub path: std::path::PathBuf,
    /// Where the cell stands in it.
    pub place: Place,
    /// The cell, as messages show it.
    pub cell: String,
}

impl fmt::Display for MixedColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, path, place, cell } = self;
        let row = place.row.unwrap_or_default();
        let path = path.display();
        write!(
            f,
            "column {column} holds numbers and text ({cell} in {path}, row {row}), so its cells are categories"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handful_in_a_long_column_is_odd() {
        for (texts, numbers, expected) in [
            (0, 1000, false),
            (1, 99, false),
            (1, 100, true),
            (3, 299, false),
            (3, 300, true),
            (10, 1000, true),
            (11, 1_000_000, false),
        ] {
            assert_eq!(are_odd(texts, numbers, 2), expected, "{texts} of {numbers}");
        }
        // Numbers that hardly repeat are no codes.
        assert!(are_odd(1, 64, 64) && are_odd(1, 9, 9) && are_odd(10, 50, 20) && are_odd(1, 6, 4));
        assert!(!are_odd(2, 8, 8) && !are_odd(11, 600, 600) && !are_odd(1, 60, 19) && !are_odd(3, 14, 14));
    }

    #[test]
    fn all_of_them_are_named() {
        let odd = |path: &str, row, cell: &str| OddCell {
            path: path.into(),
            place: Place { row: Some(row), column: Some(2), name: Some("b".into()) },
            cell: format!("{cell:?}"),
        };
        let said = |cells| odd_cells_error(cells, 900).unwrap().to_string();
        assert!(odd_cells_error(Vec::new(), 900).is_none());
        assert_eq!(
            said(vec![odd("t.csv", 7, "x")]),
            "t.csv, row 7, column 2 (b): expected a number, as in 900 other rows, found \"x\""
        );
        assert_eq!(
            said(vec![odd("t.csv", 7, "x"), odd("t.csv", 9, "y"), odd("u.csv", 3, "x")]),
            "t.csv, row 7, column 2 (b): expected a number, as in 900 other rows, found \"x\" (and \"y\" in row 9, \"x\" in u.csv, row 3)"
        );
    }
}
