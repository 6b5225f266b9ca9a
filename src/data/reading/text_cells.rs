//! The cells of one column of a table, counted over all its rows: numbers, and text among them.

use super::csv_table::CsvRows;
use super::pieces::At;
use super::records::Cells;
use crate::data::columns::odd_cells::{MOST_ODD, OddCell, are_odd, odd_cells_error};
use crate::data::dialect::Kind;
use crate::data::excerpt::quote;
use crate::error::Error;

/// The error that names the cells of text in a column, if they are a handful in a long column of numbers. Reads on until that is
/// known, and keeps no rows.
pub(crate) fn odd_cells(rows: CsvRows, column: usize) -> Option<Error> {
    let CsvRows { table, first, mut pieces, .. } = rows;
    let delimiter = table.dialect.delimiter;
    let (mut odd, mut numbers, mut cells) = (Vec::new(), 0, Cells::new(delimiter));
    let mut next = Some(first);
    while let Some(piece) = next {
        for (start, row) in piece.each_row(delimiter) {
            let at = At { row: cells.split(row), piece: &piece, start };
            if at.row.len() != table.columns.count {
                continue;
            }
            let cell = at.row.cell(column);
            match table.dialect.kind(cell) {
                Kind::Text if odd.len() == MOST_ODD => return None,
                Kind::Text => {
                    let (path, place) = (at.name().to_owned(), table.place(&at, column));
                    odd.push(OddCell { path, place, cell: quote(cell) });
                }
                Kind::Number(_) => numbers += 1,
                Kind::Missing => {}
            }
        }
        // What is wrong with a row is said when it is parsed.
        next = pieces.next().unwrap_or_default();
    }
    are_odd(odd.len(), numbers).then(|| odd_cells_error(odd, numbers)).flatten()
}
