//! Cells of text in a column of numbers: a few cells among many numbers, or among numbers that hardly repeat, are
//! mistakes; otherwise the column holds categories.

use std::collections::HashSet;
use std::fmt;

use crate::error::{DataFault, Error, Place};

/// Maximum number of cells of text that count as mistakes.
pub(crate) const MOST_ODD: usize = 10;

/// Minimum quantity of numbers per mistake.
const NUMBERS_EACH: u64 = 100;

/// Counts the different numbers.
pub(crate) fn distinct(numbers: &[f64]) -> usize {
    numbers.iter().map(|number| number.to_bits()).collect::<HashSet<u64>>().len()
}

/// A cell of text among numbers.
pub(crate) struct OddCell {
    /// The file and the place, as in errors.
    pub path: std::path::PathBuf,
    pub place: Place,
    /// The cell, as shown in messages.
    pub cell: String,
}

/// Minimum quantity of numbers per mistake if the numbers hardly repeat.
const DIFFERENT_EACH: u64 = 5;

/// From this quantity on, different numbers are not codes of categories.
pub(crate) const MANY_DIFFERENT: usize = 20;

/// Whether `texts` cells of text are mistakes in a column of `numbers` numbers, `different` of them different (counted
/// at least to [`MANY_DIFFERENT`]): few cells among very many numbers, or among numbers that are not codes.
pub(crate) fn are_odd(texts: usize, numbers: u64, different: usize) -> bool {
    let is_few = |each: u64| numbers >= each * texts as u64;
    let hardly_repeat = different >= MANY_DIFFERENT || 2 * different as u64 > numbers;
    (1..=MOST_ODD).contains(&texts) && (is_few(NUMBERS_EACH) || hardly_repeat && is_few(DIFFERENT_EACH))
}

/// The error that lists these cells of a column with `numbers` numbers; `None` for no cells.
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

/// The first cell that makes a column categories: text among numbers, or a number among text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixedColumn {
    /// The column's name, or else its index.
    pub column: String,
    /// The file.
    pub path: std::path::PathBuf,
    /// The place of the cell in the file.
    pub place: Place,
    /// The cell, as shown in messages.
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
        // Numbers that hardly repeat are not codes.
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
