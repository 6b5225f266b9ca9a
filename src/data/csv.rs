//! CSV: a label column and any number of numeric columns, with or without a header.

use std::ops::Range;

use ::csv::{ByteRecord, ErrorKind, ReaderBuilder};

use super::BLOCK_ROWS;
use super::dataset::Features;
use super::decimal::Layout;
use super::number::{GROUP, digits, feature, float, is_number, label, show, show_name, small, small_at_end};
use super::quotes::QuoteWatch;
use super::reader::{LabelColumn, ReadOptions};
use super::stream::Stream;
use super::table::Chunk;
use crate::error::Place;
use crate::{Error, Result};

/// Few enough that the copy which `QuoteWatch` keeps stays in a near cache too.
const BUFFER_BYTES: usize = 1 << 14;

/// A CSV table of which the first row has been read.
pub(super) struct Rows {
    reader: ::csv::Reader<QuoteWatch<Stream>>,
    record: ByteRecord,
    /// Rows read so far, a header included.
    records: u64,
    header: Option<Vec<String>>,
    columns: usize,
    label_column: usize,
    /// Whether `record` holds the first row of numbers, which is still to be parsed.
    first_is_pending: bool,
    needs_two_classes: bool,
}

impl Rows {
    /// Reads the first row and decides whether it is a header.
    pub(super) fn open(mut stream: Stream, options: &ReadOptions) -> Result<Self> {
        stream.skip_byte_order_mark()?;
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(BUFFER_BYTES)
            .from_reader(QuoteWatch::new(stream));
        let mut rows = Self {
            reader,
            record: ByteRecord::new(),
            records: 0,
            header: None,
            columns: 0,
            label_column: 0,
            first_is_pending: true,
            needs_two_classes: options.needs_two_classes,
        };
        if !rows.next()? {
            return Err(rows.stream().error(Place::default(), "a table", "an empty file"));
        }
        rows.columns = rows.record.len();
        rows.check_text()?;
        if rows.record.iter().any(|cell| !cell.trim_ascii().is_empty() && !is_number(cell)) {
            rows.header = Some(rows.record.iter().map(|cell| show_name(cell.trim_ascii())).collect());
        }
        rows.label_column = rows.find_label_column(&options.label_column)?;
        if rows.columns < 2 {
            let expected = "a label column and at least one column of numbers, separated by commas";
            return Err(rows.error(expected, "only one column"));
        }
        if rows.header.is_some() && !rows.next()? {
            return Err(rows.stream().error(Place::default(), "rows of numbers", "only a header"));
        }
        Ok(rows)
    }

    /// Feature columns.
    pub(super) fn inputs(&self) -> usize {
        self.columns - 1
    }

    /// Reads everything, block by block, until `emit` wants no more.
    pub(super) fn read(mut self, mut emit: impl FnMut(Chunk) -> bool) -> Result<()> {
        let mut floats = false;
        let mut first_label = None;
        let mut several_labels = false;
        loop {
            let mut features = Features::with_room(BLOCK_ROWS.saturating_mul(self.inputs()), floats);
            let mut labels = Vec::with_capacity(BLOCK_ROWS);
            while labels.len() < BLOCK_ROWS && (std::mem::take(&mut self.first_is_pending) || self.next()?) {
                let label = self.parse(&mut features)?;
                several_labels |= *first_label.get_or_insert(label) != label;
                labels.push(label);
            }
            let ended = labels.len() < BLOCK_ROWS;
            if let (true, true, false, Some(label)) =
                (ended, self.needs_two_classes, several_labels, first_label)
            {
                let found = format!("only label {label}");
                return Err(self.stream().error(Place::default(), "labels of two or more classes", found));
            }
            floats = matches!(features, Features::Floats(_));
            if !labels.is_empty() && !emit(Chunk { features, labels }) || ended {
                return Ok(());
            }
        }
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
            // A line of spaces is as blank as an empty one, which the parser skips by itself.
            let blank = self.record.len() == 1
                && !self.record[0].is_empty()
                && self.record[0].trim_ascii().is_empty();
            if !(found && blank) {
                return Ok(found);
            }
        }
    }

    /// Appends the features of `record` and returns its label.
    fn parse(&self, features: &mut Features) -> Result<u32> {
        if self.record.len() != self.columns {
            let expected = format!("{} cells, as many as in the first row", self.columns);
            return Err(self.error(expected, format!("{}", self.record.len())));
        }
        let column = self.label_column;
        self.parse_features(0..column, features)?;
        let label = label(&self.record[column]).map_err(|expected| self.cell_error(column, expected))?;
        self.parse_features(column + 1..self.columns, features)?;
        Ok(label)
    }

    fn parse_features(&self, columns: Range<usize>, features: &mut Features) -> Result<()> {
        match features {
            Features::Floats(floats) => return self.parse_floats(columns, floats),
            Features::Bytes(bytes) => {
                if self.parse_bytes(columns.clone(), bytes) {
                    return Ok(());
                }
            }
        }
        for column in columns {
            let value = feature(&self.record[column]);
            features.push(value.map_err(|expected| self.cell_error(column, expected))?);
        }
        Ok(())
    }

    /// Appends columns of any numbers.
    fn parse_floats(&self, columns: Range<usize>, floats: &mut Vec<f32>) -> Result<()> {
        let text = self.record.as_slice();
        let mut start = columns.start.checked_sub(1).map_or(0, |before| self.end(before));
        let mut layout = Layout::of([0; 8], 0);
        let length = floats.len();
        floats.resize(length + columns.len(), 0.0);
        let floats = &mut floats[length..];
        // Cells from here on were read by `layout`, and are still to be divided.
        let mut run = 0;
        for group in (0..floats.len()).step_by(GROUP) {
            let first = columns.start + group;
            if let Some(floats) = floats[group..].first_chunk_mut()
                && let Some(numbers) = self.equal_cells(first, start, layout)
            {
                *floats = numbers.map(|number| f32::from_bits(number as u32));
                start = self.end(first + GROUP - 1);
                continue;
            }
            for cell in group..floats.len().min(group + GROUP) {
                let column = columns.start + cell;
                let end = self.end(column);
                let last = *text[..end].last_chunk().unwrap_or(&[0; 8]);
                let first = text.get(start).copied().unwrap_or_default();
                match layout.number(last, end - start, first) {
                    Some(number) => floats[cell] = f32::from_bits(number as u32),
                    None => {
                        layout.divide(&mut floats[run..cell]);
                        floats[cell] = self.float(column)?;
                        run = cell + 1;
                        layout = Layout::of(last, end - start);
                    }
                }
                start = end;
            }
        }
        layout.divide(&mut floats[run..]);
        Ok(())
    }

    /// A group of cells whose text begins at `start`, if all are as long as the first and `layout` reads them.
    #[inline]
    fn equal_cells(&self, first: usize, start: usize, layout: &Layout) -> Option<[i32; GROUP]> {
        let length = self.end(first) - start;
        if self.end(first + GROUP - 1) != start + GROUP * length {
            return None;
        }
        let ends = (1..).map(|cells| start + cells * length);
        let equal = (0..GROUP).zip(ends).fold(true, |all, (cell, end)| all & (self.end(first + cell) == end));
        let text = self.record.as_slice().get((start + length).checked_sub(8)?..)?;
        if equal { layout.group(text, length) } else { None }
    }

    /// A cell that is written unlike the one before it, among the first of its row, or no number.
    #[inline(never)]
    fn float(&self, column: usize) -> Result<f32> {
        float(&self.record[column]).map_err(|expected| self.cell_error(column, expected))
    }

    /// Where the text of a cell of `record` ends.
    #[inline]
    fn end(&self, column: usize) -> usize {
        self.record.range(column).expect("the cells of the row were counted").end
    }

    /// Appends columns that are all written as whole numbers from 0 to 255; false, and nothing, for others.
    ///
    /// What most tables are made of, and so without a branch that depends on a cell.
    fn parse_bytes(&self, columns: Range<usize>, bytes: &mut Vec<u8>) -> bool {
        let text = self.record.as_slice();
        let mut start = columns.start.checked_sub(1).map_or(0, |before| self.end(before));
        let mut greatest = 0;
        let length = bytes.len();
        bytes.resize(length + columns.len(), 0);
        for (first, group) in columns.step_by(GROUP).zip(bytes[length..].chunks_mut(GROUP)) {
            // Most pixels are black, and most of those have black neighbours.
            if let Ok(group) = <&mut [u8; GROUP]>::try_from(&mut *group)
                && let Some(digits) = self.single_digits(first, start)
            {
                *group = digits;
                start += GROUP;
                continue;
            }
            for (column, byte) in (first..).zip(group) {
                let end = self.end(column);
                let value = match text[..end].last_chunk() {
                    Some(last) => small_at_end(*last, end - start),
                    None => small(&text[start..end]),
                };
                start = end;
                let value = value.unwrap_or(u32::MAX);
                greatest = greatest.max(value);
                *byte = value as u8;
            }
        }
        let are_bytes = greatest <= u8::MAX.into();
        if !are_bytes {
            bytes.truncate(length);
        }
        are_bytes
    }

    /// A group of cells whose text begins at `start`, if each is a single digit.
    #[inline]
    fn single_digits(&self, first: usize, start: usize) -> Option<[u8; GROUP]> {
        if self.end(first + GROUP - 1) != start + GROUP {
            return None;
        }
        // An empty cell beside one of two digits comes to the same length.
        let single = (0..GROUP).fold(true, |all, cell| all & (self.end(first + cell) == start + cell + 1));
        let text = self.record.as_slice().get(start..)?.first_chunk()?;
        digits(*text).filter(|_| single)
    }

    /// A first row must be text: what is not cannot be told from a header.
    fn check_text(&self) -> Result<()> {
        let is_text = |cell: &[u8]| !cell.contains(&0) && str::from_utf8(cell).is_ok();
        match self.record.iter().position(|cell| !is_text(cell)) {
            Some(column) => Err(self.cell_error(column, "text (UTF-8, without NUL bytes)")),
            None => Ok(()),
        }
    }

    fn find_label_column(&self, wanted: &LabelColumn) -> Result<usize> {
        let LabelColumn::Named(wanted) = wanted else { return Ok(0) };
        let wanted = wanted.trim();
        if self.header.is_some()
            && let Some(column) = self.record.iter().position(|cell| cell.trim_ascii() == wanted.as_bytes())
        {
            return Ok(column);
        }
        match wanted.parse::<usize>() {
            Ok(column) if column < self.columns => return Ok(column),
            _ => {}
        }
        let expected = format!("a label column {}", show(wanted.as_bytes()));
        let found = match &self.header {
            Some(names) if names.len() <= 8 => format!("the columns {}", names.join(", ")),
            Some(names) => format!("{} columns: {}, ...", names.len(), names[..8].join(", ")),
            None => format!("no header, and columns 0 to {}", self.columns - 1),
        };
        Err(self.error(expected, found))
    }

    /// The line on which `record` begins.
    fn row(&self) -> u64 {
        let last_line = self.reader.get_ref().line_before(self.reader.position().byte());
        let lines_inside = self.record.as_slice().iter().filter(|byte| **byte == b'\n').count() as u64;
        // Where lines end in a lone CR only the records can be counted.
        (last_line - lines_inside).max(self.records)
    }

    fn error(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        self.stream().error(Place::row(self.row()), expected, found)
    }

    fn cell_error(&self, column: usize, expected: &str) -> Error {
        let name = self.header.as_ref().and_then(|names| names.get(column)).map(|name| name.as_str().into());
        let place = Place { row: Some(self.row()), column: Some(column + 1), name };
        self.stream().error(place, expected, show(&self.record[column]))
    }

    fn parser_fault(&self, error: ::csv::Error) -> Error {
        let text = error.to_string();
        match error.into_kind() {
            ErrorKind::Io(source) => self.stream().fault(source),
            _ => self.error("a CSV table", text),
        }
    }

    fn stream(&self) -> &Stream {
        self.reader.get_ref().inner()
    }
}
