//! A CSV table whose rows are parsed: its dialect and the columns to read.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::pieces::At;
use crate::data::columns::schema::Schema;
use crate::data::columns::time::date;
use crate::data::columns::{Columns, IgnoredColumn, NumbersAsText};
use crate::data::dialect::notation::Notation;
use crate::data::dialect::{Dialect, Format, Kind};
use crate::data::excerpt::{printable_name, quote};
use crate::data::images::ImageForm;
use crate::error::{DataFault, Error, Place, Result};

/// A CSV table whose columns are known.
pub(crate) struct CsvTable {
    pub names: Option<Vec<String>>,
    pub columns: Columns,
    pub dialect: Dialect,
    /// Maximum number of bytes per row.
    pub row_limit: usize,
    /// Additional markers of missing values.
    pub missing: Vec<String>,
    /// The markers of missing values that are numbers.
    pub missing_numbers: Vec<f32>,
    pub refuses_missing: bool,
    /// Dates consisting of zeros that were read as missing.
    pub zero_dates: Arc<AtomicUsize>,
    /// The form of the rows, if they are an array of images.
    pub image: Option<ImageForm>,
    /// Whether the columns are taken from the table that a model was trained on.
    pub is_like_another: bool,
    /// Whether the decimal mark is taken from the table that a model was trained on.
    pub decimal_is_known: bool,
}

impl CsvTable {
    /// The schema of the table, with which a model reads similar tables.
    pub(crate) fn schema(&self) -> Schema {
        self.columns.schema(self.names.as_deref(), &self.format())
    }

    /// The format of the table.
    pub(crate) fn format(&self) -> Format {
        Format {
            header: Some(self.names.is_some()),
            delimiter: Some(self.dialect.delimiter),
            decimal: Some(self.dialect.numbers.point),
            row_limit: self.row_limit,
            missing: self.missing.clone(),
            replaces_missing: self.dialect.replaces_missing,
        }
    }

    /// The columns that were ignored automatically.
    pub(crate) fn left_out(&self) -> Vec<IgnoredColumn> {
        let left_out = self.columns.left_out.iter();
        left_out.map(|(column, why)| IgnoredColumn { column: self.name_of(*column), why: *why }).collect()
    }

    /// The columns of text that may be meant as numbers.
    pub(crate) fn as_text(&self) -> Vec<NumbersAsText> {
        let as_text = self.columns.as_text.iter();
        as_text
            .map(|(column, as_text)| NumbersAsText { column: self.name_of(*column), ..as_text.clone() })
            .collect()
    }

    /// The name of a column, or else its index.
    pub(crate) fn name_of(&self, column: usize) -> String {
        match &self.names {
            Some(names) if !names[column].is_empty() => names[column].clone(),
            _ => column.to_string(),
        }
    }

    /// The hint for a cell that would be a number with the other decimal mark.
    pub(crate) fn other_mark(&self, cell: &[u8]) -> Option<String> {
        let (mark, other) =
            if self.dialect.numbers.point == b',' { ("comma", b'.') } else { ("point", b',') };
        let other = Dialect { numbers: Notation { point: other, grouped: false }, ..self.dialect.clone() };
        let is_number = |dialect: &Dialect| matches!(dialect.kind(cell), Kind::Number(_));
        let whose = if self.decimal_is_known { "of the training table" } else { "of this table" };
        (!is_number(&self.dialect) && is_number(&other)).then(|| format!("with the decimal {mark} {whose}"))
    }

    /// Checks that a row is as long as the first row.
    pub(crate) fn check_cells(&self, at: &At<'_>) -> Result<()> {
        if let Some(column) = at.row.escaped {
            let expected = "a quote inside a cell written twice, not behind a backslash";
            return Err(self.cell_error(at, column, expected));
        }
        if at.row.len() == self.columns.count {
            return Ok(());
        }
        let expected = format!("{} cells, as many as in the first row", self.columns.count);
        Err(self.row_error(at, expected, at.row.len().to_string()))
    }

    /// A cell as unchanged text, which must be UTF-8.
    pub(crate) fn text<'a>(&self, at: &At<'a>, column: usize) -> Result<&'a str> {
        let text = str::from_utf8(at.row.cell(column));
        text.map_err(|_| self.cell_error(at, column, "text in UTF-8"))
    }

    /// Refuses a row that holds the names of all columns: concatenated files have headers among the rows.
    pub(crate) fn refuse_header(&self, at: &At<'_>) -> Result<()> {
        let is_name = |(cell, name): (&[u8], &String)| cell.trim_ascii() == name.as_bytes();
        match &self.names {
            Some(names) if at.row.cells().zip(names).all(is_name) => {
                let expected = "a row of values (the header is repeated; remove this row)";
                Err(self.row_error(at, expected.to_owned(), "the names of the columns".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Whether this row may be a header of a table whose training table had none: it is the first row and contains
    /// neither a number nor a date.
    pub(crate) fn may_be_header(&self, at: &At<'_>) -> bool {
        let is_value =
            |cell: &[u8]| matches!(self.dialect.kind(cell), Kind::Number(_)) || date(cell).is_some();
        self.is_like_another && self.names.is_none() && at.line() == 1 && !at.row.cells().any(is_value)
    }

    /// Makes an error about a cell of such a row.
    pub(crate) fn header_error(&self, at: &At<'_>, column: usize, what: &str) -> Error {
        let expected = format!("{what}, as in the training table, which has no header");
        self.cell_error(at, column, &expected).with_kind(DataFault::MaybeHeader)
    }

    /// Makes an error about a row.
    pub(crate) fn row_error(&self, at: &At<'_>, expected: String, found: String) -> Error {
        Error::data(at.name(), Place::row(at.line()), expected, found)
    }

    /// Makes an error about a cell of a row.
    pub(crate) fn cell_error(&self, at: &At<'_>, column: usize, expected: &str) -> Error {
        self.error(at.name(), at.line(), column, expected, at.row.cell(column))
    }

    /// The place of a cell.
    pub(crate) fn place(&self, at: &At<'_>, column: usize) -> Place {
        place(at.line(), self.names.as_deref(), column)
    }

    /// Makes an error about a cell.
    pub(crate) fn error(&self, path: &Path, row: u64, column: usize, expected: &str, cell: &[u8]) -> Error {
        cell_error(path, row, self.names.as_deref(), column, expected, cell)
    }
}

fn place(row: u64, names: Option<&[String]>, column: usize) -> Place {
    let name = names.and_then(|names| names.get(column)).map(|name| printable_name(name.as_bytes()).into());
    Place { row: Some(row), column: Some(column + 1), name }
}

pub(super) fn cell_error(
    path: &Path,
    row: u64,
    names: Option<&[String]>,
    column: usize,
    expected: &str,
    cell: &[u8],
) -> Error {
    let place = place(row, names, column);
    Error::data(path, place, expected, quote(cell))
}
