//! CSV: numeric columns, a column of labels where there is one, with or without a header.

use ::csv::{ByteRecord, ErrorKind, ReaderBuilder};

use super::BLOCK_ROWS;
use super::categories::Numbering;
use super::classes::Interner;
use super::columns::{Columns, Header, LeftOut, Run, Schema, Selection};
use super::dataset::Features;
use super::dialect::{Dialect, Format, Kind, SAMPLE_ROWS};
use super::groups::Groups;
use super::number::{Value, show, show_name};
use super::quotes::{QuoteWatch, TooLong};
use super::raw_table::RawTable;
use super::stream::Stream;
use super::table::Chunk;
use crate::error::Place;
use crate::{Error, Result};

/// Few enough that the copy which `QuoteWatch` keeps stays in a near cache too.
const BUFFER_BYTES: usize = 1 << 14;

/// Bytes that are looked at before the first row is read, unless these rows are longer.
const SAMPLE_BYTES: usize = 1 << 18;
const LEAST_SAMPLE_ROWS: usize = 8;

/// Bytes of a row that a column takes at least, on average, where the row is as long as it may be.
const BYTES_A_COLUMN: usize = 16;

/// A CSV table of which the columns are known.
pub(super) struct CsvRows {
    reader: ::csv::Reader<QuoteWatch<Stream>>,
    pub(super) record: ByteRecord,
    /// CsvRows read so far, a header included.
    records: u64,
    names: Option<Vec<String>>,
    pub(super) columns: Columns,
    pub(super) dialect: Dialect,
    /// Whether `record` holds the first row of numbers, which is still to be parsed.
    first_is_pending: bool,
    most_columns: usize,
    pub(super) labels: Interner,
    /// Of the columns of categories, in their order.
    pub(super) numberings: Vec<Numbering>,
    pub(super) groups: Groups,
    /// Cells that stand for a missing value, besides those that always do.
    missing: Vec<String>,
    /// Those of them that are numbers.
    pub(super) missing_numbers: Vec<f32>,
    pub(super) refuses_missing: bool,
    /// Whether the columns are those of the table that a model was trained on.
    pub(super) is_like_another: bool,
    /// Whether the decimal mark is that of this table.
    decimal_is_known: bool,
}

impl CsvRows {
    /// Looks at the first rows and decides how the table is written and which columns are read.
    pub(super) fn open(mut stream: Stream, format: &Format, wanted: &Selection) -> Result<Self> {
        stream.skip_byte_order_mark()?;
        let known = wanted.schema.iter().flat_map(|schema| schema.missing.iter().cloned());
        let format =
            &Format { missing: format.missing.iter().cloned().chain(known).collect(), ..format.clone() };
        let (start, is_whole) =
            stream.peek_rows(SAMPLE_ROWS, LEAST_SAMPLE_ROWS, SAMPLE_BYTES, format.row_limit)?;
        if start.len() > format.row_limit && !start.iter().any(|byte| b"\r\n".contains(byte)) {
            // Not worth the memory that finding out how it is written takes.
            return Err(too_long(&stream, 1, format.row_limit));
        }
        let (mut dialect, sample) = Dialect::find(&start, is_whole, format);
        let known_decimal = wanted.schema.as_ref().and_then(|schema| schema.decimal);
        let decimal_is_known = format.decimal.is_none() && known_decimal.is_some();
        if let Some(known) = known_decimal.filter(|_| decimal_is_known) {
            // One row alone cannot tell a fraction from thousands; the table that a model was trained on has told.
            dialect.decimal = known;
        }
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(dialect.delimiter)
            .buffer_capacity(BUFFER_BYTES)
            .from_reader(QuoteWatch::new(stream, dialect.delimiter, format.row_limit));
        let mut rows = Self {
            reader,
            record: ByteRecord::new(),
            records: 0,
            names: None,
            columns: Columns::default(),
            dialect,
            first_is_pending: true,
            most_columns: (format.row_limit / BYTES_A_COLUMN).max(1),
            labels: Interner::new("label", "labels: classification needs classes"),
            numberings: Vec::new(),
            groups: Groups::default(),
            missing_numbers: format.missing.iter().filter_map(|text| text.trim().parse().ok()).collect(),
            missing: format.missing.clone(),
            refuses_missing: wanted.refuse_missing,
            is_like_another: wanted.schema.is_some(),
            decimal_is_known,
        };
        if !rows.next()? {
            return Err(rows.stream().error(Place::default(), "a table", "an empty file"));
        }
        rows.check_text()?;
        let names: Vec<String> =
            rows.record.iter().map(|cell| String::from_utf8_lossy(cell.trim_ascii()).into_owned()).collect();
        let path = rows.stream().name().to_owned();
        let header = Header {
            path: &path,
            names: Some(&names),
            count: names.len(),
            dialect: rows.dialect.clone(),
            sample: &sample,
        };
        if format.decimal.or(known_decimal).is_none()
            && let Some(number) = sample.doubtful_number(header.dialect.delimiter)
        {
            let question = format!("is {number} a fraction, or are these thousands?");
            return Err(header.undecided("decimal", question));
        }
        let has_header = match format.header {
            Some(said) => said,
            // The names of a model are proof.
            None if wanted.schema.as_ref().is_some_and(|schema| schema.is_named_in(&names)) => true,
            // The rows that a model without names was trained on had none.
            None if wanted.schema.as_ref().is_some_and(Schema::is_unnamed) => false,
            None => sample.has_header(&header.dialect).map_err(|doubt| header.undecided("header", doubt))?,
        };
        let header = Header { names: has_header.then_some(&names), ..header };
        rows.columns = header.columns(wanted)?;
        let categories = rows.columns.runs.iter().filter(|run| matches!(run, Run::Category(_)));
        rows.numberings = categories.map(|_| Numbering::new()).collect();
        if has_header {
            rows.names = Some(names);
            if !rows.next()? {
                return Err(rows.stream().error(Place::default(), "rows of numbers", "only a header"));
            }
        }
        Ok(rows)
    }

    /// Feature columns.
    pub(super) fn inputs(&self) -> usize {
        self.columns.inputs()
    }

    /// What a model must know to read another table like this.
    pub(super) fn schema(&self) -> Schema {
        self.columns.schema(self.names.as_deref(), &self.missing, self.dialect.decimal)
    }

    /// How the table is written.
    pub(super) fn written(&self) -> Format {
        Format {
            header: Some(self.names.is_some()),
            delimiter: Some(self.dialect.delimiter),
            decimal: Some(self.dialect.decimal),
            row_limit: self.reader.get_ref().limit(),
            missing: self.missing.clone(),
        }
    }

    /// The columns that are no inputs, though nobody has said so.
    pub(super) fn left_out(&self) -> Vec<LeftOut> {
        let name = |column: usize| match &self.names {
            Some(names) if !names[column].is_empty() => names[column].clone(),
            _ => column.to_string(),
        };
        self.columns
            .left_out
            .iter()
            .map(|(column, why)| LeftOut { column: name(*column), why: *why })
            .collect()
    }

    /// Reads everything, block by block, until `emit` wants no more.
    pub(super) fn read(mut self, mut emit: impl FnMut(Chunk) -> bool) -> Result<()> {
        let mut floats = false;
        let mut all_rows = 0;
        loop {
            let mut features = Features::with_room(BLOCK_ROWS.saturating_mul(self.inputs()), floats);
            let (mut rows, mut labels, mut ids) = (0, Vec::new(), Vec::new());
            let (mut values, mut weights) = (Vec::new(), Vec::new());
            let (mut groups, mut times) = (Vec::new(), Vec::new());
            while rows < BLOCK_ROWS && (std::mem::take(&mut self.first_is_pending) || self.next()?) {
                self.parse(&mut features)?;
                self.check_row_numbers(all_rows)?;
                all_rows += 1;
                labels.extend(self.label()?);
                for column in &self.columns.values {
                    values.push(self.number(*column, "a value to predict")?);
                }
                weights.extend(self.weight()?);
                groups.extend(self.group()?);
                times.extend(self.time()?);
                ids.extend(self.columns.id.map(|id| String::from_utf8_lossy(&self.record[id]).into_owned()));
                rows += 1;
            }
            floats = matches!(features, Features::Floats(_));
            let new_labels = self.labels.take_new();
            let new_categories = self.numberings.iter_mut().map(Numbering::take_new).collect();
            let chunk =
                Chunk { features, labels, values, weights, groups, times, new_labels, new_categories, ids };
            if rows > 0 && !emit(chunk) || rows < BLOCK_ROWS {
                return Ok(());
            }
        }
    }

    /// Reads everything as it is written.
    pub(super) fn read_raw(mut self) -> Result<RawTable> {
        let mut table = RawTable::new(self.names.clone(), self.columns.count, self.dialect.clone());
        while std::mem::take(&mut self.first_is_pending) || self.next()? {
            self.check_cells()?;
            table.push(self.record.iter())?;
        }
        Ok(table)
    }

    /// Puts the next row into `record`; false at the end of the file.
    fn next(&mut self) -> Result<bool> {
        loop {
            let start = self.reader.position().byte();
            self.reader.get_mut().begin_record(start);
            let found = match self.reader.read_byte_record(&mut self.record) {
                Ok(found) => found,
                Err(error) => return Err(self.parser_fault(error)),
            };
            if let Some(line) = self.reader.get_ref().unclosed() {
                let place = Place::row(line);
                return Err(self.stream().error(
                    place,
                    "a quote that is closed",
                    "the end of the file inside a quoted cell",
                ));
            }
            self.records += u64::from(found);
            self.check_size()?;
            // A line of spaces is as blank as an empty one, which the parser skips by itself.
            let blank = self.dialect.is_blank(&self.record);
            if !(found && blank) {
                return Ok(found);
            }
        }
    }

    /// Appends the features of `record`.
    fn parse(&mut self, features: &mut Features) -> Result<()> {
        self.check_cells()?;
        let mut categories = 0;
        for run in 0..self.columns.runs.len() {
            match self.columns.runs[run].clone() {
                Run::Numbers(columns) => self.parse_features(columns, features)?,
                Run::Category(column) => {
                    features.push(Value::of(self.category(categories, column)?));
                    categories += 1;
                }
            }
        }
        Ok(())
    }

    /// Checks that a row is as long as the first.
    fn check_cells(&self) -> Result<()> {
        if self.record.len() == self.columns.count {
            return Ok(());
        }
        let expected = format!("{} cells, as many as in the first row", self.columns.count);
        Err(self.error(expected, self.record.len().to_string()))
    }

    /// Checks that the columns which were taken for numbers of the rows still are, in data row `row`, counted from 0.
    fn check_row_numbers(&self, row: u64) -> Result<()> {
        for (column, first) in &self.columns.counted {
            let expected = first + row as f64;
            let text = str::from_utf8(self.record[*column].trim_ascii()).unwrap_or_default();
            if text.parse() != Ok(expected) {
                let name = self
                    .names
                    .as_ref()
                    .map_or_else(|| column.to_string(), |names| show_name(names[*column].as_bytes()));
                let question = format!(
                    "is column {name} an input? It counts the rows, but not in row {}: expected {expected}, found {}",
                    self.row(),
                    show(&self.record[*column])
                );
                return Err(Error::Undecided {
                    path: self.stream().name().to_owned(),
                    setting: "only",
                    question,
                });
            }
        }
        Ok(())
    }

    /// Numbers of a row to predict; 0 where targets are labels.
    pub(super) fn values(&self) -> usize {
        self.columns.values.len()
    }

    /// A first row must be text: what is not cannot be told from a header.
    fn check_text(&self) -> Result<()> {
        let is_text = |cell: &[u8]| !cell.contains(&0) && str::from_utf8(cell).is_ok();
        match self.record.iter().position(|cell| !is_text(cell)) {
            Some(column) => Err(self.cell_error(column, "text (UTF-8, without NUL bytes)")),
            None => Ok(()),
        }
    }

    /// Checks the size of a row: one that is whole in the parser's buffer has not been measured before.
    fn check_size(&self) -> Result<()> {
        let limit = self.reader.get_ref().limit();
        if self.record.as_slice().len() > limit {
            return Err(too_long(self.stream(), self.row(), limit));
        }
        if self.record.len() <= self.most_columns {
            return Ok(());
        }
        let found = format!("{}; the limit of a row's bytes can be raised", self.record.len());
        Err(self.error(format!("at most {} columns", self.most_columns), found))
    }

    /// The line on which `record` begins.
    pub(super) fn row(&self) -> u64 {
        let last_line = self.reader.get_ref().line_before(self.reader.position().byte());
        let lines_inside = self.record.as_slice().iter().filter(|byte| **byte == b'\n').count() as u64;
        // Where lines end in a lone CR only the records can be counted.
        (last_line - lines_inside).max(self.records)
    }

    fn error(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        self.stream().error(Place::row(self.row()), expected, found)
    }

    pub(super) fn cell_error(&self, column: usize, expected: &str) -> Error {
        let name = self.names.as_ref().and_then(|names| names.get(column));
        let name = name.map(|name| show_name(name.as_bytes()).into());
        let place = Place { row: Some(self.row()), column: Some(column + 1), name };
        self.stream().error(place, expected, show(&self.record[column]))
    }

    /// What is said of a cell that would be a number with the decimal mark that the table has not.
    pub(super) fn other_mark(&self, cell: &[u8]) -> Option<String> {
        let (mark, other) = if self.dialect.decimal == b',' { ("comma", b'.') } else { ("point", b',') };
        let other = Dialect { decimal: other, ..self.dialect.clone() };
        let is_number = |dialect: &Dialect| matches!(dialect.kind(cell), Kind::Number(_));
        let whose = if self.decimal_is_known { "of the training table" } else { "of this table" };
        (!is_number(&self.dialect) && is_number(&other)).then(|| format!("with the decimal {mark} {whose}"))
    }

    fn parser_fault(&self, error: ::csv::Error) -> Error {
        let text = error.to_string();
        match error.into_kind() {
            ErrorKind::Io(source) if source.get_ref().is_some_and(|source| source.is::<TooLong>()) => {
                too_long(self.stream(), self.records + 1, self.reader.get_ref().limit())
            }
            ErrorKind::Io(source) => self.stream().fault(source),
            _ => self.error("a CSV table", text),
        }
    }

    fn stream(&self) -> &Stream {
        self.reader.get_ref().inner()
    }
}

fn too_long(stream: &Stream, row: u64, limit: usize) -> Error {
    stream.error(Place::row(row), format!("at most {limit} bytes in a row"), "more; the limit can be raised")
}
