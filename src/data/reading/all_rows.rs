//! Facts from all rows of a table about columns that its first rows do not decide, or that hold text and numbers.

use std::collections::HashSet;
use std::sync::Arc;

use super::csv_table::CsvTable;
use super::first_rows::FirstRows;
use super::pieces::{At, Piece};
use super::records::Cells;
use crate::data::columns::LaterRows;
use crate::data::columns::classes::MOST_LABELS;
use crate::data::columns::inputs::are_different_mixed;
use crate::data::columns::label_type::has_leading_zero;
use crate::data::columns::odd_cells::{MANY_DIFFERENT, MOST_ODD, OddCell, are_odd, odd_cells_error};
use crate::data::dialect::{Dialect, Kind};
use crate::data::excerpt::quote;
use crate::error::Error;

/// The type of a column of text and numbers.
pub(crate) enum Mixed {
    /// Numbers with a few mistakes.
    Mistakes(Error),
    /// Texts that are different in nearly all cells.
    DifferentTexts,
    Categories,
}

/// The cells of a column of text and numbers.
#[derive(Default)]
struct MixedCells {
    odd: Vec<OddCell>,
    numbers: u64,
    /// The first of the different numbers.
    values: HashSet<u64>,
    present: usize,
    /// The first of the different cells.
    different: HashSet<Box<[u8]>>,
}

impl MixedCells {
    fn add(&mut self, table: &CsvTable, at: &At<'_>, column: usize) {
        let cell = at.row.cell(column);
        match table.dialect.kind(cell) {
            Kind::Missing => return,
            Kind::Text if self.odd.len() <= MOST_ODD => {
                let (path, place) = (at.name().to_owned(), table.place(at, column));
                self.odd.push(OddCell { path, place, cell: quote(cell) });
            }
            Kind::Text => {}
            Kind::Number(value) => {
                self.numbers += 1;
                if self.values.len() < MANY_DIFFERENT {
                    self.values.insert(value.to_bits());
                }
            }
        }
        self.present += 1;
        if self.different.len() <= MOST_LABELS {
            self.different.insert(Box::from(cell.trim_ascii()));
        }
    }

    fn kind(self) -> Mixed {
        let Self { odd, numbers, values, present, different } = self;
        let count = odd.len();
        match odd_cells_error(odd, numbers) {
            Some(error) if are_odd(count, numbers, values.len()) => Mixed::Mistakes(error),
            _ if are_different_mixed(present, different.len()) => Mixed::DifferentTexts,
            _ => Mixed::Categories,
        }
    }
}

/// The types of these columns of text and numbers, judged by all rows of a table.
pub(crate) fn mixed_kinds(table: &CsvTable, pieces: &[Arc<Piece>], columns: &[usize]) -> Vec<Mixed> {
    let mut counted: Vec<MixedCells> = columns.iter().map(|_| MixedCells::default()).collect();
    each_row(pieces, &table.dialect, table.columns.count, |at| {
        for (cells, column) in counted.iter_mut().zip(columns) {
            cells.add(table, at, *column);
        }
        true
    });
    counted.into_iter().map(MixedCells::kind).collect()
}

/// Finds the first value of each column without values in the first rows, and the columns of whole numbers that are
/// codes.
pub(crate) fn later_rows(first_rows: &FirstRows, pieces: &[Arc<Piece>]) -> LaterRows {
    let [mut empty, mut numbers] = first_rows.open_columns();
    let mut later = LaterRows::default();
    each_row(pieces, &first_rows.dialect, first_rows.count(), |at| {
        empty.retain(|column| {
            let kind = first_rows.dialect.kind(at.row.cell(*column));
            later.values.extend((kind != Kind::Missing).then_some((*column, kind)));
            kind == Kind::Missing
        });
        numbers.retain(|column| {
            let is_number = !has_leading_zero(at.row.cell(*column));
            later.codes.extend((!is_number).then_some(*column));
            is_number
        });
        !(empty.is_empty() && numbers.is_empty())
    });
    later
}

/// Passes each row of `count` cells to `show`, as long as it returns true. Errors about other rows follow when these
/// are parsed.
fn each_row(pieces: &[Arc<Piece>], dialect: &Dialect, count: usize, mut show: impl FnMut(&At<'_>) -> bool) {
    let mut cells = Cells::new(dialect.delimiter);
    for piece in pieces {
        for (start, row) in piece.each_row(dialect.delimiter) {
            let at = At { row: cells.split(row), piece, start };
            if at.row.len() == count && !show(&at) {
                return;
            }
        }
    }
}
