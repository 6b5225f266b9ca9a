//! What is known of a CSV table before its rows are parsed: how it is written, and which columns are read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::foreign::by_text;
use super::pieces::{At, Piece, Pieces, too_long};
use super::records::Cells;
use super::stream::Stream;
use crate::data::columns::classes::has_leading_zero;
use crate::data::columns::schema::Schema;
use crate::data::columns::time::date;
use crate::data::columns::{Columns, Header, IgnoredColumn, NumbersAsText, Selection};
use crate::data::dialect::notation::Notation;
use crate::data::dialect::{Dialect, Extra, Format, Kind, SAMPLE_ROWS};
use crate::data::excerpt::{printable_name, quote};
use crate::error::{DataFault, Error, Place, Result};

/// Bytes that are looked at before the first row is read, unless these rows are longer.
const SAMPLE_BYTES: usize = 1 << 18;
const LEAST_SAMPLE_ROWS: usize = 8;

/// The most bytes of a row whatever is said; what is read beyond a row is never as long.
const MOST_ROW_BYTES: usize = 1 << 30;

/// Bytes of a row that a column takes at least, on average, where the row is as long as it may be.
const BYTES_A_COLUMN: usize = 16;

/// A CSV table of which the columns are known.
pub(crate) struct CsvTable {
    pub names: Option<Vec<String>>,
    pub columns: Columns,
    pub dialect: Dialect,
    /// The most bytes of a row.
    row_limit: usize,
    /// Cells that stand for a missing value, besides those that always do.
    missing: Vec<String>,
    /// The words for missing values that are numbers.
    pub missing_numbers: Vec<f32>,
    pub refuses_missing: bool,
    /// Dates of zeros that have been read as missing.
    pub zero_dates: Arc<AtomicUsize>,
    /// Whether the columns are those of the table that a model was trained on.
    pub is_like_another: bool,
    /// Whether the decimal mark is that of this table.
    decimal_is_known: bool,
}

/// A table and its rows.
pub(crate) struct CsvRows {
    pub table: CsvTable,
    /// The first row.
    pub first: Piece,
    /// The others.
    pub pieces: Pieces,
    /// About how many bytes a row has.
    pub row_bytes: usize,
    /// Bytes of all rows, where that is known.
    pub length: Option<u64>,
}

/// Rows may be shorter than the first ones by one part in this many: more room than is needed costs nothing, as it is not touched.
const SHORTER: u64 = 16;

impl CsvRows {
    /// How many rows there may be; 0 where the length of the file is not known.
    pub(crate) fn expected_rows(&self) -> usize {
        let rows = self.length.unwrap_or(0) / self.row_bytes.max(1) as u64;
        usize::try_from(rows + rows / SHORTER).unwrap_or(0)
    }

    /// Looks at the first rows and decides how the table is written and which columns are read.
    /// Rows of the `others` follow.
    pub(crate) fn open(
        mut stream: Stream,
        others: &[PathBuf],
        format: &Format,
        wanted: &Selection,
    ) -> Result<Self> {
        stream.skip_preamble()?;
        let (format, wanted) = &stream.hints(format, wanted);
        let known = wanted.schema.iter().flat_map(|schema| schema.missing.iter().cloned());
        let format = &Format {
            missing: format.missing.iter().cloned().chain(known).collect(),
            replaces_missing: format.replaces_missing
                || wanted.schema.as_ref().is_some_and(|schema| schema.replaces_missing),
            delimiter: format.delimiter.or(stream.delimiter),
            row_limit: format.row_limit.min(MOST_ROW_BYTES),
            ..format.clone()
        };
        let (start, is_whole) =
            stream.peek_rows(SAMPLE_ROWS, LEAST_SAMPLE_ROWS, SAMPLE_BYTES, format.row_limit)?;
        if start.len() > format.row_limit && !start.iter().any(|byte| b"\r\n".contains(byte)) {
            // Not worth the memory that finding out how it is written takes.
            return Err(too_long(&stream, 1, format.row_limit));
        }
        if let Some((what, remedy)) = by_text(&start).filter(|_| format.delimiter.is_none()) {
            let found = format!("{what}; {remedy}");
            return Err(Error::data(stream.name(), Place::default(), "a table as text (CSV)", found));
        }
        let (mut dialect, sample) = Dialect::detect(&start, is_whole, format);
        let known_decimal = wanted.schema.as_ref().and_then(|schema| schema.decimal);
        let decimal_is_known = format.decimal.is_none() && known_decimal.is_some();
        if let Some(known) = known_decimal.filter(|_| decimal_is_known) {
            // One row alone cannot tell a fraction from thousands; the table that a model was trained on has told.
            let grouped = dialect.numbers.grouped && dialect.numbers.point == known;
            dialect.numbers = Notation { point: known, grouped };
        }
        let length = stream.length().filter(|_| others.is_empty());
        let row_bytes = start.len() / sample.rows.len().max(1);
        let again = if is_whole && others.is_empty() { None } else { stream.again()? };
        let mut pieces = Pieces::new(stream, others, dialect.delimiter, format.row_limit);
        let path = Arc::clone(&pieces.name);
        let empty = || Error::data(&*path, Place::default(), "a table", "an empty file");
        let first = pieces.next_row()?.ok_or_else(empty)?;
        let names = names(&first, dialect.delimiter, format.row_limit)?;
        let header_cells = names.clone();
        let extra = sample.extra_cell(&dialect).filter(|_| format.header != Some(false));
        let names = match extra {
            Some(extra) => with_extra(names, extra),
            None => names,
        };
        if let Some(width) = sample.width_below_title().filter(|_| extra.is_none()) {
            let expected = format!(
                "{width} cells, as in the rows below (is the first row a title? Remove all rows above the header)"
            );
            let place = Place::row(first.first_line(dialect.delimiter));
            return Err(Error::data(&*path, place, expected, quote(names[0].as_bytes())));
        }
        pieces.has_one_column = names.len() == 1;
        let header = Header {
            path: &path,
            names: Some(&names),
            count: names.len(),
            dialect: dialect.clone(),
            sample: &sample,
            extra,
            is_whole: is_whole && others.is_empty(),
            codes: &[],
            later: &[],
        };
        if format.decimal.or(known_decimal).is_none()
            && let Some(question) = sample.question_of_decimals(&dialect)
        {
            return Err(header.undecided("decimal", question));
        }
        let has_header = match format.header {
            Some(said) => said,
            // The names of a model are proof.
            None if wanted.schema.as_ref().is_some_and(|schema| schema.is_named_in(&names)) => true,
            // The rows that a model without names was trained on had none.
            None if wanted.schema.as_ref().is_some_and(Schema::is_unnamed) => sample.counts_columns(),
            None if extra.is_some() => true,
            None => sample.has_header(&dialect).map_err(|doubt| header.undecided("header", doubt))?,
        };
        let header = Header { names: has_header.then_some(&names), ..header };
        let is_read = again.is_some() && wanted.schema.is_none();
        let (later, codes) = match again {
            Some(again) if wanted.schema.is_none() => {
                later_kinds(Pieces::new(again, others, header.dialect.delimiter, format.row_limit), &header)?
            }
            _ => Default::default(),
        };
        let is_whole = header.is_whole || is_read;
        let mut columns = Header { later: &later, codes: &codes, is_whole, ..header }.columns(wanted)?;
        let is_named = wanted.schema.as_ref().is_some_and(|schema| schema.is_named_in(&names));
        if format.header.is_none() && !is_named && sample.counts_columns() {
            columns.notices.push(format!(
                "the first row holds the numbers 0 to {}, so it is a header; use --header no if it is a row of values",
                names.len() - 1
            ));
        }
        let first = if has_header {
            pieces.begin_rows(&header_cells);
            let row = pieces.next_row()?;
            row.ok_or_else(|| Error::data(&*path, Place::default(), "rows of numbers", "only a header"))?
        } else {
            first
        };
        let table = CsvTable {
            names: has_header.then_some(names),
            columns,
            dialect,
            row_limit: format.row_limit,
            missing_numbers: format.missing.iter().filter_map(|text| text.trim().parse().ok()).collect(),
            missing: format.missing.clone(),
            refuses_missing: wanted.refuse_missing,
            zero_dates: Arc::default(),
            is_like_another: wanted.schema.is_some(),
            decimal_is_known,
        };
        Ok(Self { table, first, pieces, row_bytes, length })
    }
}

impl CsvTable {
    /// What a model must know to read another table like this.
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

    /// Checks that a row is as long as the first.
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

    /// A cell that is kept as it is written, which must be UTF-8.
    pub(crate) fn text<'a>(&self, at: &At<'a>, column: usize) -> Result<&'a str> {
        let text = str::from_utf8(at.row.cell(column));
        text.map_err(|_| self.cell_error(at, column, "text in UTF-8"))
    }

    /// Refuses a row that holds the names of all columns: files that were put together have their headers among the rows.
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

    /// Whether this is a row of names above rows like those of a training table without names: its first, without a number or a date.
    pub(crate) fn may_be_header(&self, at: &At<'_>) -> bool {
        let is_value =
            |cell: &[u8]| matches!(self.dialect.kind(cell), Kind::Number(_)) || date(cell).is_some();
        self.is_like_another && self.names.is_none() && at.line() == 1 && !at.row.cells().any(is_value)
    }

    /// What is wrong with a cell of such a row.
    pub(crate) fn header_error(&self, at: &At<'_>, column: usize, what: &str) -> Error {
        let expected = format!("{what}, as in the training table, which has no header");
        self.cell_error(at, column, &expected).with_kind(DataFault::MaybeHeader)
    }

    /// What is wrong with a row.
    pub(crate) fn row_error(&self, at: &At<'_>, expected: String, found: String) -> Error {
        Error::data(at.name(), Place::row(at.line()), expected, found)
    }

    /// What is wrong with a cell of a row.
    pub(crate) fn cell_error(&self, at: &At<'_>, column: usize, expected: &str) -> Error {
        self.error(at.name(), at.line(), column, expected, at.row.cell(column))
    }

    /// Where a cell stands.
    pub(crate) fn place(&self, at: &At<'_>, column: usize) -> Place {
        place(at.line(), self.names.as_deref(), column)
    }

    /// What is wrong with a cell.
    pub(crate) fn error(&self, path: &Path, row: u64, column: usize, expected: &str, cell: &[u8]) -> Error {
        cell_error(path, row, self.names.as_deref(), column, expected, cell)
    }
}

/// The names of columns that have one cell more than the header.
fn with_extra(mut names: Vec<String>, extra: Extra) -> Vec<String> {
    match extra {
        Extra::RowNames => names.insert(0, String::new()),
        Extra::TrailingDelimiter => names.push(String::new()),
    }
    names
}

fn place(row: u64, names: Option<&[String]>, column: usize) -> Place {
    let name = names.and_then(|names| names.get(column)).map(|name| printable_name(name.as_bytes()).into());
    Place { row: Some(row), column: Some(column + 1), name }
}

fn cell_error(
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

/// The first value of columns that begin empty, and columns of codes.
type LaterRows = (Vec<(usize, Kind)>, Vec<usize>);

/// What the rows behind the first hold: the first value of columns of which these miss every value, and the columns of whole numbers
/// that prove to be codes.
fn later_kinds(mut pieces: Pieces, header: &Header<'_>) -> Result<LaterRows> {
    let is_empty = |column: &usize| header.kinds(*column).all(|kind| kind == Kind::Missing);
    let mut empty: Vec<usize> = (0..header.count).filter(is_empty).collect();
    let delimiter = header.dialect.delimiter;
    let (mut found, mut cells) = (Vec::new(), Cells::new(delimiter));
    let mut numbers: Vec<usize> = (0..header.count).filter(|column| header.may_hold_codes(*column)).collect();
    let mut codes = Vec::new();
    if empty.is_empty() && numbers.is_empty() {
        return Ok((found, codes));
    }
    let mut known = header.sample.rows.len();
    if let Some(names) = header.names {
        pieces.next_row()?;
        pieces.begin_rows(names);
        known -= 1;
    }
    // What is wrong with a row is said when it is parsed.
    while let Ok(Some(piece)) = pieces.next() {
        for (_, row) in piece.each_row(delimiter).skip(known) {
            let row = cells.split(row);
            if row.len() != header.count {
                continue;
            }
            empty.retain(|column| {
                let kind = header.dialect.kind(row.cell(*column));
                found.extend((kind != Kind::Missing).then_some((*column, kind)));
                kind == Kind::Missing
            });
            numbers.retain(|column| {
                let is_number = !has_leading_zero(row.cell(*column));
                codes.extend((!is_number).then_some(*column));
                is_number
            });
        }
        if empty.is_empty() && numbers.is_empty() {
            break;
        }
        known = known.saturating_sub(piece.rows);
    }
    Ok((found, codes))
}

/// The cells of the first row, which must be UTF-8.
fn names(first: &Piece, delimiter: u8, row_limit: usize) -> Result<Vec<String>> {
    let mut cells = Cells::new(delimiter);
    let (start, row) = first.each_row(delimiter).next().unwrap_or_default();
    let row = cells.split(row);
    let (line, most) = (first.line(start), (row_limit / BYTES_A_COLUMN).max(1));
    if row.len() > most {
        let found = format!("{}; use --max-row-bytes to raise the limit", row.len());
        let expected = format!("at most {most} columns");
        return Err(Error::data(&*first.name, Place::row(line), expected, found));
    }
    let is_text = |cell: &[u8]| !cell.contains(&0) && str::from_utf8(cell).is_ok();
    if let Some(column) = row.cells().position(|cell| !is_text(cell)) {
        let expected = "text (UTF-8, without NUL bytes)";
        return Err(cell_error(&first.name, line, None, column, expected, row.cell(column)));
    }
    Ok(row.cells().map(|cell| String::from_utf8_lossy(cell.trim_ascii()).into_owned()).collect())
}
