//! The cells of one column of a table, counted over all its rows: numbers, and text among them.

use std::collections::HashSet;

use super::csv_table::CsvRows;
use super::pieces::At;
use super::records::Cells;
use crate::data::columns::classes::MOST_LABELS;
use crate::data::columns::inputs::are_different_mixed;
use crate::data::columns::odd_cells::{MANY_DIFFERENT, MOST_ODD, OddCell, are_odd, odd_cells_error};
use crate::data::dialect::Kind;
use crate::data::excerpt::quote;
use crate::error::Error;

/// The kind of a column of text and numbers.
pub(crate) enum Mixed {
    /// Numbers, in which a handful of cells are mistakes.
    Mistakes(Error),
    /// Nearly all cells are different.
    DifferentTexts,
    Categories,
}

/// Counts the cells of a column of text and numbers, to find its kind; keeps none.
pub(crate) fn mixed_cells(rows: CsvRows, column: usize) -> Mixed {
    let CsvRows { table, first, mut pieces, .. } = rows;
    let delimiter = table.dialect.delimiter;
    let (mut odd, mut numbers, mut cells) = (Vec::new(), 0, Cells::new(delimiter));
    let (mut values, mut texts, mut different) = (HashSet::new(), 0, HashSet::new());
    let mut next = Some(first);
    while let Some(piece) = next {
        for (start, row) in piece.each_row(delimiter) {
            let at = At { row: cells.split(row), piece: &piece, start };
            if at.row.len() != table.columns.count {
                continue;
            }
            let cell = at.row.cell(column);
            let kind = table.dialect.kind(cell);
            match kind {
                Kind::Text if odd.len() <= MOST_ODD => {
                    let (path, place) = (at.name().to_owned(), table.place(&at, column));
                    odd.push(OddCell { path, place, cell: quote(cell) });
                }
                Kind::Number(value) => {
                    numbers += 1;
                    if values.len() < MANY_DIFFERENT {
                        values.insert(value.to_bits());
                    }
                }
                Kind::Text | Kind::Missing => {}
            }
            if kind != Kind::Missing {
                texts += 1;
                if different.len() <= MOST_LABELS {
                    different.insert(Box::<[u8]>::from(cell.trim_ascii()));
                }
            }
        }
        // What is wrong with a row is said when it is parsed.
        next = pieces.next().unwrap_or_default();
    }
    let count = odd.len();
    match odd_cells_error(odd, numbers) {
        Some(error) if are_odd(count, numbers, values.len()) => Mixed::Mistakes(error),
        _ if are_different_mixed(texts, different.len()) => Mixed::DifferentTexts,
        _ => Mixed::Categories,
    }
}
