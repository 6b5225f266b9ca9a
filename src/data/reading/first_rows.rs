//! The first rows of a CSV table, from which its dialect and the likely types of its columns are derived.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::csv_table::{CsvTable, cell_error};
use super::foreign::by_text;
use super::options::ReadOptions;
use super::pieces::{Piece, Pieces, too_long};
use super::records::Cells;
use super::stream::Stream;
use super::table::has_pixels;
use super::text::Text;
use crate::data::columns::schema::{Holds, Schema};
use crate::data::columns::{Header, LaterRows, Selection, Target};
use crate::data::dialect::notation::Notation;
use crate::data::dialect::{Dialect, Extra, Format, Kind, SAMPLE_ROWS, Sample};
use crate::data::excerpt::quote;
use crate::data::images::ImageForm;
use crate::error::{Error, Place, Result};

/// Bytes to examine before the first row is parsed, or more if the first rows are longer.
const SAMPLE_BYTES: usize = 1 << 18;
const LEAST_SAMPLE_ROWS: usize = 8;

/// Upper bound of the limit on bytes per row; reads beyond the end of a row are shorter than this.
const MOST_ROW_BYTES: usize = 1 << 30;

/// Minimum average number of bytes per column in a row of the maximum length.
const BYTES_A_COLUMN: usize = 16;

/// Reserve for tables whose other rows are shorter than the first ones: one part in this many. Too large an estimate
/// costs nothing, because unused memory is not touched.
const SHORTER: u64 = 16;

/// The first rows of a table, and the requested columns and format.
pub(crate) struct FirstRows {
    /// The name of the file as shown in messages; the first name if there are several files.
    pub path: Arc<Path>,
    /// The cells of the first row, and a name for the additional cell of the other rows, if there is one.
    names: Vec<String>,
    has_header: bool,
    pub dialect: Dialect,
    sample: Sample,
    extra: Option<Extra>,
    /// Whether these rows are the whole table.
    are_all: bool,
    format: Format,
    /// The form of the rows in the file, if they are an array of images.
    image: Option<ImageForm>,
    /// Whether rows and columns of images are swapped.
    transpose: bool,
    /// The columns to read.
    pub wanted: Selection,
    /// Whether the decimal mark is known from the table that a model was trained on.
    decimal_is_known: bool,
    /// Average number of bytes per row.
    pub row_bytes: usize,
    /// Bytes of the whole table, if known.
    pub length: Option<u64>,
}

impl FirstRows {
    /// Examines the first rows of a table, which the files `others` continue, and detects its dialect. Also returns the
    /// text of the table after the header.
    ///
    /// # Errors
    /// [`Error::Data`] if the file is not a table; [`Error::Undecided`] for an ambiguous dialect.
    pub(crate) fn open(
        mut stream: Stream,
        others: &[PathBuf],
        options: &ReadOptions,
    ) -> Result<(Self, Text)> {
        stream.skip_preamble()?;
        let (format, wanted, image) = stream.hints(&options.format, &options.columns);
        let known = wanted.schema.iter().flat_map(|schema| schema.missing.iter().cloned());
        let format = Format {
            missing: format.missing.iter().cloned().chain(known).collect(),
            replaces_missing: format.replaces_missing
                || wanted.schema.as_ref().is_some_and(|schema| schema.replaces_missing),
            delimiter: format.delimiter.or(stream.delimiter),
            row_limit: format.row_limit.min(MOST_ROW_BYTES),
            ..format
        };
        let (start, is_whole) =
            stream.peek_rows(SAMPLE_ROWS, LEAST_SAMPLE_ROWS, SAMPLE_BYTES, format.row_limit)?;
        if start.len() > format.row_limit && !start.iter().any(|byte| b"\r\n".contains(byte)) {
            // Detecting the dialect of such a row would need too much memory.
            return Err(too_long(&stream, 1, format.row_limit));
        }
        if let Some((what, remedy)) = by_text(&start).filter(|_| format.delimiter.is_none()) {
            let found = format!("{what}; {remedy}");
            return Err(Error::data(stream.name(), Place::default(), "a table as text (CSV)", found));
        }
        let (mut dialect, sample) = Dialect::detect(&start, is_whole, &format);
        let known_decimal = wanted.schema.as_ref().and_then(|schema| schema.decimal);
        let decimal_is_known = format.decimal.is_none() && known_decimal.is_some();
        if let Some(known) = known_decimal.filter(|_| decimal_is_known) {
            // A single row does not distinguish fractions from thousands; the table that a model was trained on does.
            let grouped = dialect.numbers.grouped && dialect.numbers.point == known;
            dialect.numbers = Notation { point: known, grouped };
        }
        let length = stream.length().filter(|_| others.is_empty());
        let row_bytes = start.len() / sample.rows.len().max(1);
        let mut pieces = Pieces::new(stream, others, dialect.delimiter, format.row_limit);
        let path = Arc::clone(&pieces.name);
        let empty = || Error::data(&*path, Place::default(), "a table", "an empty file");
        let first = pieces.next_row()?.ok_or_else(empty)?;
        let header_cells = names(&first, dialect.delimiter, format.row_limit)?;
        let extra = sample.extra_cell(&dialect).filter(|_| format.header != Some(false));
        let names = match extra {
            Some(extra) => with_extra(header_cells.clone(), extra),
            None => header_cells.clone(),
        };
        if let Some(width) = sample.width_below_title().filter(|_| extra.is_none()) {
            let expected = format!(
                "{width} cells, as in the rows below (is the first row a title? Remove all rows above the header)"
            );
            let place = Place::row(first.first_line(dialect.delimiter));
            return Err(Error::data(&*path, place, expected, quote(names[0].as_bytes())));
        }
        pieces.has_one_column = names.len() == 1;
        let undecided = |setting, question| Error::Undecided { path: path.to_path_buf(), setting, question };
        if format.decimal.or(known_decimal).is_none()
            && let Some(question) = sample.question_of_decimals(&dialect)
        {
            return Err(undecided("decimal", question));
        }
        let has_header = match format.header {
            Some(said) => said,
            // The names of a model prove a header.
            None if wanted.schema.as_ref().is_some_and(|schema| schema.is_named_in(&names)) => true,
            // The model was trained on a table without a header.
            None if wanted.schema.as_ref().is_some_and(Schema::is_unnamed) => sample.counts_columns(),
            None if extra.is_some() => true,
            None => sample.has_header(&dialect).map_err(|doubt| undecided("header", doubt))?,
        };
        let first = if has_header {
            pieces.begin_rows(&header_cells);
            None
        } else {
            Some(first)
        };
        let are_all = is_whole && others.is_empty();
        let first_rows = Self {
            path,
            names,
            has_header,
            dialect,
            sample,
            extra,
            are_all,
            format,
            image,
            transpose: options.images.transpose,
            wanted,
            decimal_is_known,
            row_bytes,
            length,
        };
        Ok((first_rows, Text::new(first, pieces)))
    }

    fn header<'a>(&'a self, later: &'a LaterRows) -> Header<'a> {
        Header {
            path: &self.path,
            names: self.has_header.then_some(&self.names),
            count: self.names.len(),
            dialect: self.dialect.clone(),
            sample: &self.sample,
            extra: self.extra,
            later,
        }
    }

    /// The table with the columns found in these rows and in `later`, the facts about later rows.
    ///
    /// # Errors
    /// [`Error::Data`] for missing columns; [`Error::Undecided`] for an ambiguous target.
    pub(crate) fn table(&self, later: &LaterRows) -> Result<CsvTable> {
        let Self { format, wanted, names, .. } = self;
        let mut columns = self.header(later).columns(wanted)?;
        let width = columns.width();
        let mut image = self.image.filter(|form| form.values() == width);
        if self.transpose {
            let form = image.or(ImageForm::square(width)).ok_or_else(|| {
                Error::setting("transpose", "images of n x n pixels", format!("{width} input columns"))
            })?;
            if wanted.schema.is_none() {
                let inputs = form.transposition().into_iter().map(|input| columns.inputs[input]);
                columns.inputs = inputs.collect();
            }
            image = image.map(ImageForm::transposed);
        }
        let is_named = wanted.schema.as_ref().is_some_and(|schema| schema.is_named_in(names));
        if format.header.is_none() && !is_named && self.sample.counts_columns() {
            columns.notices.push(format!(
                "the first row holds the numbers 0 to {}, so it is a header; use --header no if it is a row of values",
                names.len() - 1
            ));
        }
        Ok(CsvTable {
            names: self.has_header.then(|| names.clone()),
            columns,
            dialect: self.dialect.clone(),
            row_limit: format.row_limit,
            missing_numbers: format.missing.iter().filter_map(|text| text.trim().parse().ok()).collect(),
            missing: format.missing.clone(),
            refuses_missing: wanted.refuse_missing,
            zero_dates: Arc::default(),
            image,
            is_like_another: wanted.schema.is_some(),
            decimal_is_known: self.decimal_is_known,
        })
    }

    /// Cells per row.
    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// Whether the table may lack a header because the model's table had none and the format does not settle it.
    pub(crate) fn may_lack_header(&self) -> bool {
        self.format.header.is_none() && self.wanted.schema.as_ref().is_some_and(Schema::is_unnamed)
    }

    /// The columns that the first rows do not decide: empty ones, and possible codes.
    pub(crate) fn open_columns(&self) -> [Vec<usize>; 2] {
        if self.are_all || self.wanted.schema.is_some() {
            return Default::default();
        }
        let later = LaterRows::default();
        let header = self.header(&later);
        let is_empty = |column: &usize| header.kinds(*column).all(|kind| kind == Kind::Missing);
        let may_hold_codes = |column: &usize| header.may_hold_codes(*column);
        let columns = 0..header.count;
        [columns.clone().filter(is_empty).collect(), columns.filter(may_hold_codes).collect()]
    }

    /// Whether rows are to be predicted with the columns of a model, which are fixed.
    pub(crate) fn are_to_predict(&self) -> bool {
        self.wanted.schema.is_some() && self.wanted.target == Target::Absent
    }

    /// Whether the rows may be images: a label and pixels, and nothing else.
    pub(crate) fn may_be_pixels(&self, table: &CsvTable) -> bool {
        let (columns, wanted) = (&table.columns, &self.wanted);
        let others = [columns.weight, columns.group, columns.time, columns.id];
        has_pixels(columns.width(), table.image)
            && columns.inputs.iter().all(|(_, holds)| *holds == Holds::Numbers)
            && columns.target.is_some()
            && wanted.schema.is_none()
            && others.iter().all(Option::is_none)
            && !(columns.folds_labels || columns.drops_missing_target)
    }

    /// The estimated number of rows; 0 if the length of the file is unknown.
    pub(crate) fn expected_rows(&self) -> usize {
        let rows = self.length.unwrap_or(0) / self.row_bytes.max(1) as u64;
        usize::try_from(rows + rows / SHORTER).unwrap_or(0)
    }
}

/// The names of the columns, with a name for the additional cell.
fn with_extra(mut names: Vec<String>, extra: Extra) -> Vec<String> {
    match extra {
        Extra::RowNames => names.insert(0, String::new()),
        Extra::TrailingDelimiter => names.push(String::new()),
    }
    names
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
