//! Parses the rows of one piece after the other: what each thread that reads a table does.

pub(crate) mod cells;

use std::sync::Arc;

use super::csv_table::CsvTable;
use super::pieces::{At, Piece};
use super::plain_rows::{KnownRows, PlainRows, Values};
use super::records::{Cells, is_blank, row_end};
use super::table::{Missing, Table};
use crate::data::columns::IgnoredBecause;
use crate::data::columns::categories::{Dictionary, MISSING};
use crate::data::columns::classes::Interner;
use crate::data::columns::groups::Groups;
use crate::data::columns::schema::Holds;
use crate::data::dataset::{BLOCK_ROWS, Features};
use crate::data::excerpt::{printable_name, quote};
use crate::error::{DataFault, Error, Result};

/// What is kept from piece to piece. Labels, categories and groups have the numbers in which they came to this parser.
pub(crate) struct RowParser {
    pub table: Arc<CsvTable>,
    pub labels: Interner,
    /// One for each categorical column, in their order.
    pub categories: Vec<Interner>,
    pub groups: Groups,
    /// Whether a value was none of a byte.
    floats: bool,
    /// The first number that was missing.
    pub missing: FirstMissing,
    /// Cells that only all rows can judge, the first of each column; and the columns that have one.
    new_doubts: Vec<Doubt>,
    in_doubt: Vec<bool>,
}

/// A cell that is none of its column as the first rows have it: text among numbers, a number among text, a missing target. All rows decide
/// what the column holds.
pub(crate) struct Doubt {
    pub column: usize,
    /// What is wrong with the cell where nothing comes to its help.
    pub error: Error,
}

impl Doubt {
    /// Whether the row has no target.
    pub(crate) fn is_without_target(&self) -> bool {
        matches!(self.error, Error::Fault { kind: DataFault::NoTarget, .. })
    }
}

/// What a parser knows of numbers that are missing.
#[derive(Default)]
pub(crate) enum FirstMissing {
    /// All were there.
    #[default]
    None,
    /// The first stands in this piece.
    Here(Missing),
    /// In an earlier piece.
    Before,
}

/// What a piece holds.
pub(crate) struct Parsed {
    pub rows: Table,
    /// The groups that came first in these rows.
    pub new_groups: Vec<Option<Box<[u8]>>>,
    pub doubts: Vec<Doubt>,
    pub piece: Arc<Piece>,
    /// What is wrong with the first row that is not there any more.
    pub fault: Option<Error>,
}

impl RowParser {
    pub(crate) fn new(table: Arc<CsvTable>) -> Self {
        let categories = table.columns.inputs.iter().filter(|(_, holds)| *holds == Holds::Categories);
        Self {
            labels: Interner::new("label", 0),
            categories: categories.map(|_| Interner::new("category", MISSING + 1)).collect(),
            groups: Groups::default(),
            floats: false,
            missing: FirstMissing::None,
            new_doubts: Vec::new(),
            in_doubt: vec![false; table.columns.count],
            table,
        }
    }

    /// Parses the rows of a piece, which come after those of all pieces before.
    pub(crate) fn parse(&mut self, piece: &Arc<Piece>, cells: &mut Cells) -> Parsed {
        let values = piece.rows.min(BLOCK_ROWS).saturating_mul(self.table.columns.width());
        let features = Features::with_room(values, self.floats);
        let begins = vec![(Arc::clone(&piece.name), 0)];
        let mut rows = Table { features, begins, ..Table::default() };
        let fault = self.rows(piece, cells, &mut rows).err();
        self.floats = matches!(rows.features, Features::Floats(_));
        if let FirstMissing::Here(missing) = &mut self.missing {
            rows.missing = Some((Some(Arc::clone(&piece.name)), std::mem::take(missing)));
            self.missing = FirstMissing::Before;
        }
        rows.names = self.labels.take_new();
        let new = self.categories.iter_mut().map(Interner::take_new);
        rows.dictionaries = new.map(|labels| Dictionary { labels, label_type: None }).collect();
        let (new_groups, doubts) = (self.groups.take_new(), std::mem::take(&mut self.new_doubts));
        Parsed { rows, new_groups, doubts, piece: Arc::clone(piece), fault }
    }

    /// Leaves it to all rows what a cell of this column is; `error` says what it is by itself.
    fn doubt(&mut self, column: usize, error: impl FnOnce(&Self) -> Error) {
        if !self.in_doubt[column] {
            let error = error(self);
            self.new_doubts.push(Doubt { column, error });
            self.in_doubt[column] = true;
        }
    }

    fn rows(&mut self, piece: &Piece, cells: &mut Cells, rows: &mut Table) -> Result<()> {
        let table = Arc::clone(&self.table);
        let (text, delimiter) = (&piece.text[..], table.dialect.delimiter);
        let plain = PlainRows::new(&table);
        let mut values = Values {
            inputs: vec![0.0; table.columns.width()],
            label: None,
            targets: vec![0.0; table.columns.values.len()],
        };
        let (mut start, mut before) = (0, piece.before);
        while start < text.len() {
            let known = KnownRows {
                table: &table,
                labels: &self.labels,
                categories: &self.categories,
                may_miss: !table.refuses_missing && !matches!(self.missing, FirstMissing::None),
            };
            let end =
                plain.as_ref().and_then(|plain| known.plain_row(plain, text, start, before, &mut values));
            if let Some(end) = end {
                rows.features.extend(&values.inputs);
                rows.numbers.extend(values.label);
                rows.values.extend_from_slice(&values.targets);
                (start, before) = (end, before + 1);
                continue;
            }
            // Each piece ends with a row.
            let Ok(Some(end)) = row_end(text, start, delimiter) else { break };
            if !is_blank(&text[start..end], delimiter) {
                let at = At { row: cells.split(&text[start..=end]), piece, start };
                table.check_cells(&at)?;
                values.inputs.clear();
                self.inputs(&at, &mut values.inputs)?;
                self.others(&table, &at, before, rows)?;
                rows.features.extend(&values.inputs);
                before += 1;
            }
            start = end + 1;
        }
        Ok(())
    }

    /// Appends the inputs of a row.
    fn inputs(&mut self, at: &At<'_>, inputs: &mut Vec<f32>) -> Result<()> {
        let mut categories = 0;
        for (column, holds) in &Arc::clone(&self.table).columns.inputs {
            match holds {
                Holds::Numbers => inputs.push(self.input(at, *column)?),
                Holds::Categories => {
                    inputs.push(self.category(at, categories, *column)? as f32);
                    categories += 1;
                }
                Holds::Dates(parts) => inputs.extend(&self.date(at, *column, *parts)?[..*parts]),
            }
        }
        Ok(())
    }

    /// Parses what a row holds besides inputs.
    fn others(&mut self, table: &CsvTable, at: &At<'_>, before: u64, rows: &mut Table) -> Result<()> {
        self.check_row_numbers(at, before)?;
        rows.numbers.extend(self.label(at)?);
        for column in &table.columns.values {
            rows.values.push(self.value(at, *column)?);
        }
        rows.weights.extend(self.weight(at)?);
        rows.groups.extend(self.group(at)?);
        rows.times.extend(self.time(at)?);
        let id = table.columns.id.map(|id| table.text(at, id)).transpose()?;
        rows.ids.extend(id.map(str::to_owned));
        Ok(())
    }

    /// Checks that the columns which were ignored as row numbers, or as empty, still are.
    fn check_row_numbers(&self, at: &At<'_>, before: u64) -> Result<()> {
        for (column, why) in &self.table.columns.left_out {
            if *why == IgnoredBecause::Empty && !self.table.dialect.is_missing(at.row.cell(*column)) {
                let expected =
                    "no value, as in the first rows (the column has no name; add one to the header)";
                return Err(self.table.cell_error(at, *column, expected));
            }
        }
        for (column, first) in &self.table.columns.counted {
            let expected = first + before as f64;
            let text = str::from_utf8(at.row.cell(*column).trim_ascii()).unwrap_or_default();
            if text.parse() != Ok(expected) {
                let name = self
                    .table
                    .names
                    .as_ref()
                    .map_or_else(|| column.to_string(), |names| printable_name(names[*column].as_bytes()));
                let question = format!(
                    "is column {name} an input? It counts the rows, but not in row {}: expected {expected}, found {}",
                    at.line(),
                    quote(at.row.cell(*column))
                );
                return Err(Error::Undecided { path: at.name().to_owned(), setting: "include", question });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
