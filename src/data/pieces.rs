//! Divides the text of a table into pieces of whole rows, each of which can be parsed by itself.
//!
//! Quotes are followed from the first byte on, as they may hold line ends. What stands in a row is not looked at.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::BLOCK_ROWS;
use super::lines::lines;
use super::piece::{PIECE_BYTES, Piece, Rows};
use super::places::{Blocks, WithBlocks, in_blocks};
use super::row::Cells;
use super::row_ends::{RowEnds, count_lines, is_blank};
use super::shown::{show_name, some};
use super::spare::Spare;
use super::stream::Stream;
use crate::error::Place;
use crate::{Error, Result};

/// Bytes that are read beyond that at first.
const MORE_BYTES: usize = 1 << 14;

/// Bytes of a row before one has been seen.
const LIKELY_BYTES: usize = 64;

/// Rows may be longer by one in so many bytes than those before.
const LONGER: usize = 32;

/// Bytes of blank lines in front of a row at most.
const MOST_BLANK: usize = 1 << 26;

/// The pieces of a table.
pub(super) struct Pieces {
    stream: Stream,
    name: Arc<Path>,
    /// The files that follow.
    others: VecDeque<PathBuf>,
    /// The first file and its header, which the others have, too.
    header: Option<(Arc<Path>, Vec<String>)>,
    delimiter: u8,
    /// The most bytes of a row.
    limit: usize,
    /// Bytes that have been read; from `filled` on there is room.
    buffer: Vec<u8>,
    filled: usize,
    spare: Spare<Vec<u8>>,
    is_read: bool,
    /// The line of the first byte of `buffer`.
    line: u64,
    /// Whether the byte before it was a CR, of which a LF may be the second half.
    after_return: bool,
    /// Rows so far.
    rows: u64,
    /// Rows so far, header and other files included, and their bytes.
    all: (usize, usize),
    /// What ends the table where it should not end.
    fault: Option<Error>,
    /// Whether a blank line may be a row: in a table of one column, whose only cell is missing there.
    has_one_column: bool,
    /// The first blank line of such a table. At its end there may be some.
    blank_line: Option<u64>,
}

/// See [`Pieces::find_rows`].
struct FindRows<'a> {
    pieces: &'a mut Pieces,
    scan: &'a mut RowEnds,
    most: usize,
}

impl WithBlocks for FindRows<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_blocks(self, blocks: impl Blocks) -> bool {
        self.pieces.find_rows(self.scan, self.most, blocks)
    }
}

impl Pieces {
    /// Of a file, after which others follow.
    pub(super) fn new(stream: Stream, others: &[PathBuf], delimiter: u8, limit: usize) -> Self {
        Self {
            name: stream.name().into(),
            line: stream.first_line(),
            others: others.iter().cloned().collect(),
            header: None,
            stream,
            delimiter,
            limit,
            buffer: Vec::new(),
            filled: 0,
            spare: Spare::default(),
            is_read: false,
            after_return: false,
            rows: 0,
            all: (0, 0),
            fault: None,
            has_one_column: false,
            blank_line: None,
        }
    }

    /// The file, or what stands for it in messages.
    pub(super) fn name(&self) -> &Arc<Path> {
        &self.name
    }

    /// The next row alone; nothing at the end.
    pub(super) fn next_row(&mut self) -> Result<Option<Piece>> {
        self.take_of_all(1)
    }

    /// Counts rows from here on: what came before was a header, which the files that follow have, too.
    pub(super) fn begin_rows(&mut self, header: &[String]) {
        self.rows = 0;
        self.header = Some((Arc::clone(&self.name), header.to_vec()));
    }

    /// Refuses blank lines between rows from here on: the table has one column.
    pub(super) fn refuse_blank_lines(&mut self) {
        self.has_one_column = true;
    }

    /// The next rows, none of which belongs to another block than the first; nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<Piece>> {
        self.take_of_all(BLOCK_ROWS - (self.rows % BLOCK_ROWS as u64) as usize)
    }

    fn take_of_all(&mut self, most: usize) -> Result<Option<Piece>> {
        loop {
            if let Some(piece) = self.take(most)? {
                return Ok(Some(piece));
            }
            let Some(next) = self.others.pop_front() else { return Ok(None) };
            self.open(&next)?;
        }
    }

    /// Goes on with another file, whose header must be that of the first.
    fn open(&mut self, path: &Path) -> Result<()> {
        self.stream = Stream::open_table(path)?;
        self.name = path.into();
        (self.filled, self.is_read, self.after_return) = (0, false, false);
        (self.line, self.blank_line) = (self.stream.first_line(), None);
        let Some((first, names)) = self.header.clone() else { return Ok(()) };
        let before = self.rows;
        let list = |names: &[String]| some(names.iter().map(|name| show_name(name.as_bytes())));
        let expected = format!("the header of {}, {}", first.display(), list(&names));
        let Some(piece) = self.take(1)? else {
            return Err(self.stream.error(Place::default(), expected, "an empty file"));
        };
        self.rows = before;
        let mut cells = Cells::default();
        let first = piece.places()[0];
        let row = cells.of(&piece.text, first, self.delimiter, piece.has_quotes);
        let found: Vec<String> =
            row.cells().map(|cell| String::from_utf8_lossy(cell.trim_ascii()).into_owned()).collect();
        if found == names {
            return Ok(());
        }
        let place = Place::row(piece.line(first.0));
        Err(self.stream.error(place, expected, list(&found)))
    }

    /// The next rows of a file, so many at most.
    fn take(&mut self, most: usize) -> Result<Option<Piece>> {
        if let Some(fault) = self.fault.take() {
            self.is_read = true;
            self.filled = 0;
            return Err(fault);
        }
        if let Some(piece) = self.take_lines(most) {
            return Ok(Some(piece));
        }
        let mut scan = RowEnds::default();
        while !in_blocks(FindRows { pieces: self, scan: &mut scan, most }) {
            if self.is_read {
                self.end(&mut scan);
                break;
            }
            if self.fault.is_some() || !self.read(usize::MAX) {
                break;
            }
        }
        if scan.rows.is_empty() {
            return match self.fault.take() {
                Some(fault) => Err(fault),
                None => Ok(None),
            };
        }
        let mut end = scan.start.min(self.filled);
        // The second half of a line end goes with the first: rows that are lines may follow.
        if self.buffer[..end].ends_with(b"\r") && self.buffer[end..self.filled].starts_with(b"\n") {
            end += 1;
        }
        let lines = (!scan.has_quotes).then_some(scan.lines);
        Ok(Some(self.cut(end, Rows::Places(scan.rows), lines)))
    }

    /// The next rows, where each is a line; nothing where they have to be looked for.
    fn take_lines(&mut self, most: usize) -> Option<Piece> {
        if self.has_one_column {
            return None;
        }
        let wanted = self.likely_bytes(most);
        let lines = loop {
            let lines = lines(&self.buffer[..self.filled], self.delimiter, most)?;
            if lines.rows == most || self.filled >= wanted || self.is_read || !self.read(wanted) {
                break lines;
            }
        };
        // Where all are shorter than a row may be, each is.
        (lines.rows > 0 && self.filled <= self.limit).then(|| {
            let count = (!lines.has_quotes).then_some(lines.rows as u64);
            self.cut(lines.end, Rows::Lines(lines.rows, lines.line_end), count)
        })
    }

    /// About how many bytes the next piece has, if so many rows are left for pieces that are equally long.
    fn likely_bytes(&self, rows: usize) -> usize {
        let bytes = match self.all {
            (0, _) => rows.saturating_mul(LIKELY_BYTES),
            (seen, bytes) => rows.saturating_mul(bytes / seen + 1),
        };
        let bytes = bytes / bytes.div_ceil(PIECE_BYTES).max(1);
        bytes + bytes / LONGER
    }

    /// Finds rows in what has been read; whether they are a piece.
    #[inline(always)]
    fn find_rows(&mut self, scan: &mut RowEnds, most: usize, blocks: impl Blocks) -> bool {
        while let Some(end) = scan.row_end(&self.buffer[..self.filled], self.delimiter, blocks) {
            if end - scan.start > self.limit {
                self.fault = Some(self.too_long(scan.start));
                return true;
            }
            if !self.add_row(scan, end) {
                return true;
            }
            scan.start = end + 1;
            if scan.rows.len() == most || scan.start >= PIECE_BYTES && !scan.rows.is_empty() {
                return true;
            }
        }
        if self.filled - scan.start > self.limit {
            self.fault = Some(self.too_long(scan.start));
            return true;
        }
        // Places within a piece are 32 bits.
        if scan.start > MOST_BLANK && scan.rows.is_empty() {
            let place = Place::row(self.line_of(scan.start));
            self.fault =
                Some(self.stream.error(place, "a row", format!("blank lines, {MOST_BLANK} bytes of them")));
            return true;
        }
        false
    }

    /// The end of the text: of a row that lacks a line end, too.
    fn end(&mut self, scan: &mut RowEnds) {
        if scan.is_quoted() {
            let (expected, found) = ("a quote that is closed", "the end of the file inside a quoted cell");
            let place = Place::row(self.line_of(scan.opened));
            self.fault = Some(self.stream.error(place, expected, found));
            return;
        }
        self.add_row(scan, self.filled);
        scan.start = self.filled;
    }

    /// Adds the row that ends here, if it is no blank line; false if it stands behind a blank line that may be a row, too.
    #[inline(always)]
    fn add_row(&mut self, scan: &mut RowEnds, end: usize) -> bool {
        let row = &self.buffer[scan.start..end];
        let is_row = !row.is_empty() && !is_blank(row, self.delimiter);
        if self.has_one_column {
            let before = end.checked_sub(1).map_or(self.after_return, |at| self.buffer[at] == b'\r');
            let is_half = row.is_empty() && before && self.buffer.get(end) == Some(&b'\n');
            match self.blank_line {
                Some(line) if is_row => {
                    let expected = "a value (in one column a blank line may be a row that misses it: write NA, or remove the line)";
                    self.fault = Some(self.stream.error(Place::row(line), expected, "a blank line"));
                    return false;
                }
                None if !is_row && !is_half && end < self.filled => {
                    self.blank_line = Some(self.line_of(scan.start));
                }
                _ => {}
            }
        }
        if is_row {
            scan.rows.push((scan.start, end));
        }
        true
    }

    /// Reads more: as much as is there, since the rest of a pipe may take its time, and not beyond so many bytes. False where that
    /// fails.
    fn read(&mut self, most: usize) -> bool {
        if self.filled == self.buffer.len() {
            let length = (2 * self.filled).max(PIECE_BYTES + MORE_BYTES);
            self.buffer.resize(length, 0);
        }
        let end = self.buffer.len().min(most.max(self.filled + 1));
        loop {
            match self.stream.read(&mut self.buffer[self.filled..end]) {
                Ok(count) => {
                    self.filled += count;
                    self.is_read = count == 0;
                    return true;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.fault = Some(self.stream.fault(error));
                    return false;
                }
            }
        }
    }

    /// Takes rows out of the buffer, which end there, and have so many lines, unless these are still to be counted.
    fn cut(&mut self, end: usize, rows: Rows, lines: Option<u64>) -> Piece {
        let rest = &self.buffer[end..self.filled];
        let mut buffer = self.spare.take().unwrap_or_default();
        buffer.resize((PIECE_BYTES + MORE_BYTES).max(rest.len()), 0);
        buffer[..rest.len()].copy_from_slice(rest);
        self.filled -= end;
        let mut text = std::mem::replace(&mut self.buffer, buffer);
        text.truncate(end);
        let piece = Piece {
            name: Arc::clone(&self.name),
            // The second half of a line end is no line.
            line: self.line - u64::from(self.after_return && text.first() == Some(&b'\n')),
            text,
            rows,
            has_quotes: lines.is_none(),
            before: self.rows,
            spare: self.spare.clone(),
        };
        self.line = lines.map_or_else(|| piece.line(piece.text.len()), |lines| piece.line + lines);
        self.after_return = piece.text.last() == Some(&b'\r');
        let count = piece.count();
        self.rows += count as u64;
        self.all = (self.all.0 + count, self.all.1 + end);
        piece
    }

    fn line_of(&self, place: usize) -> u64 {
        let second_half = self.after_return && self.buffer.first() == Some(&b'\n');
        self.line - u64::from(second_half) + count_lines(&self.buffer[..place])
    }

    fn too_long(&self, start: usize) -> Error {
        too_long(&self.stream, self.line_of(start), self.limit)
    }
}

/// What is said of a row of more than `limit` bytes.
pub(super) fn too_long(stream: &Stream, row: u64, limit: usize) -> Error {
    stream.error(Place::row(row), format!("at most {limit} bytes in a row"), "more; the limit can be raised")
}

#[cfg(test)]
#[path = "pieces_tests.rs"]
mod tests;
