//! Divides the text of a table into pieces of whole rows, which can be parsed independently.
//!
//! Quotes are tracked from the first byte on, because quoted cells may contain line ends. Cells are not parsed here.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::records::{Cells, Row, count_lines, is_blank, row_end};
use super::stream::Stream;
use crate::data::dataset::BLOCK_ROWS;
use crate::data::excerpt::{list_some, printable_name};
use crate::error::{Error, Place, Result};
use crate::memory::prefer_large_pages;

/// A piece ends with the row in which it reaches this many bytes: few enough for a near cache, and enough to make the
/// transfer to another thread negligible. Unit tests use small pieces.
pub(crate) const PIECE_BYTES: usize = if cfg!(test) { 1 << 8 } else { 1 << 18 };

/// Initial number of bytes read beyond that, and minimum space for a read.
const MORE_BYTES: usize = 1 << 14;

/// Maximum size of the memory that pieces share: large enough that kept text is on large pages, which the system
/// provides much faster.
const CHUNK_BYTES: usize = 1 << 23;

/// Some rows of a table as text; the last row also has a line end.
pub(crate) struct Piece {
    /// The name of the file as shown in messages.
    pub name: Arc<Path>,
    pub text: Bytes,
    /// The number of rows. Blank lines between rows do not count.
    pub rows: usize,
    /// Rows of the table before these.
    pub before: u64,
    /// The line of the first byte, counted from 1.
    line: u64,
}

impl Piece {
    /// The line of the byte at `place`.
    pub(crate) fn line(&self, place: usize) -> u64 {
        self.line + count_lines(&self.text[..place])
    }

    /// The line of the first row.
    pub(crate) fn first_line(&self, delimiter: u8) -> u64 {
        self.line(self.each_row(delimiter).next().map_or(0, |(start, _)| start))
    }

    /// The start of each row, and its text with its line end.
    pub(crate) fn each_row(&self, delimiter: u8) -> impl Iterator<Item = (usize, &[u8])> {
        let mut start = 0;
        let lines = std::iter::from_fn(move || {
            let begin = start;
            let end = row_end(&self.text, begin, delimiter).ok()??;
            start = end + 1;
            Some((begin, &self.text[begin..start]))
        });
        lines.filter(move |(_, line)| !is_blank(&line[..line.len() - 1], delimiter))
    }
}

/// A row and its place.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub row: Row<'a>,
    pub piece: &'a Piece,
    /// The start of the row in the piece.
    pub start: usize,
}

impl At<'_> {
    /// The name of the file as shown in messages.
    pub(crate) fn name(&self) -> &Path {
        &self.piece.name
    }

    /// The line on which the row begins.
    pub(crate) fn line(&self) -> u64 {
        self.piece.line(self.start)
    }
}

/// The pieces of a table.
pub(crate) struct Pieces {
    stream: Stream,
    /// The name of the file as shown in messages.
    pub name: Arc<Path>,
    /// The following files.
    others: VecDeque<PathBuf>,
    /// The first file and its header, which the following files share.
    header: Option<(Arc<Path>, Vec<String>)>,
    delimiter: u8,
    /// Maximum number of bytes per row.
    limit: usize,
    /// The bytes read, followed by free space from `filled` on. Earlier pieces share this memory.
    buffer: BytesMut,
    filled: usize,
    /// Size of the next memory that pieces share.
    chunk: usize,
    /// Whether pieces are kept; each memory is then twice as large as the previous one.
    pub are_kept: bool,
    is_read: bool,
    /// The line of the first byte of `buffer`.
    line: u64,
    /// Number of rows so far.
    rows: u64,
    /// The error that ends the table prematurely.
    fault: Option<Error>,
    /// Whether a blank line may be a row: the table has one column, whose cell is missing there. Blank lines between
    /// rows are refused.
    pub has_one_column: bool,
    /// The first blank line of such a table. Blank lines at the end are permitted.
    blank_line: Option<u64>,
}

impl Pieces {
    /// The pieces of a file and of the files that follow it.
    pub(crate) fn new(mut stream: Stream, others: &[PathBuf], delimiter: u8, limit: usize) -> Self {
        if delimiter == b' ' {
            stream.squeeze_blanks();
        }
        Self {
            name: stream.name().into(),
            line: stream.first_line(),
            others: others.iter().cloned().collect(),
            header: None,
            stream,
            delimiter,
            limit,
            buffer: BytesMut::new(),
            filled: 0,
            chunk: PIECE_BYTES + MORE_BYTES,
            are_kept: false,
            is_read: false,
            rows: 0,
            fault: None,
            has_one_column: false,
            blank_line: None,
        }
    }

    /// A piece of the next row only; `None` at the end.
    pub(crate) fn next_row(&mut self) -> Result<Option<Piece>> {
        self.take_from_files(1)
    }

    /// Starts counting rows here, after a header, which the following files share.
    pub(crate) fn begin_rows(&mut self, header: &[String]) {
        self.rows = 0;
        self.header = Some((Arc::clone(&self.name), header.to_vec()));
    }

    /// The next rows, all within one block; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Piece>> {
        self.take_from_files(BLOCK_ROWS - (self.rows % BLOCK_ROWS as u64) as usize)
    }

    fn take_from_files(&mut self, most: usize) -> Result<Option<Piece>> {
        loop {
            if let Some(piece) = self.take(most)? {
                return Ok(Some(piece));
            }
            let Some(next) = self.others.pop_front() else { return Ok(None) };
            self.open(&next)?;
        }
    }

    /// Continues with another file, which must have the header of the first file.
    fn open(&mut self, path: &Path) -> Result<()> {
        self.stream = Stream::open_table(path)?;
        if self.delimiter == b' ' {
            self.stream.squeeze_blanks();
        }
        self.name = path.into();
        (self.filled, self.is_read) = (0, false);
        (self.line, self.blank_line) = (self.stream.first_line(), None);
        let Some((first, names)) = self.header.clone() else { return Ok(()) };
        let before = self.rows;
        let list = |names: &[String]| list_some(names.iter().map(|name| printable_name(name.as_bytes())));
        let expected = format!("the header of {}, {}", first.display(), list(&names));
        let Some(piece) = self.take(1)? else {
            return Err(self.stream.error(Place::default(), expected, "an empty file"));
        };
        self.rows = before;
        let mut cells = Cells::new(self.delimiter);
        let found = piece.each_row(self.delimiter).next().map(|(start, row)| {
            let cells = cells.split(row);
            let names = cells.cells().map(|cell| String::from_utf8_lossy(cell.trim_ascii()).into_owned());
            (start, names.collect::<Vec<String>>())
        });
        let (start, found) = found.unwrap_or_default();
        if found == names {
            return Ok(());
        }
        Err(self.stream.error(Place::row(piece.line(start)), expected, list(&found)))
    }

    /// The next rows of a file, at most `most`.
    fn take(&mut self, most: usize) -> Result<Option<Piece>> {
        let (mut rows, mut end) = (0, 0);
        while rows < most && (rows == 0 || end < PIECE_BYTES) {
            match self.row(end) {
                Ok(Some((next, is_row))) => {
                    end = next;
                    rows += usize::from(is_row);
                    if rows == 0 && end >= PIECE_BYTES {
                        // Blank lines are dropped.
                        self.cut(end, 0);
                        end = 0;
                    }
                }
                Ok(None) if self.is_read => match self.fault.take() {
                    Some(fault) if rows == 0 => return Err(fault),
                    fault => {
                        self.fault = fault;
                        break;
                    }
                },
                Ok(None) => self.read(),
                // Rows before a fault are delivered first.
                Err(_) if rows > 0 => break,
                Err(fault) => {
                    (self.filled, self.is_read) = (0, true);
                    return Err(fault);
                }
            }
        }
        Ok((rows > 0).then(|| self.cut(end, rows)))
    }

    /// The position after the line end of the line that begins at `start`, and whether the line is a row; `None` if the
    /// end of the line has not been read yet.
    fn row(&mut self, start: usize) -> Result<Option<(usize, bool)>> {
        let text = &self.buffer[..self.filled];
        let found = row_end(text, start, self.delimiter);
        let length = found.ok().flatten().unwrap_or(self.filled) - start;
        if length > self.limit {
            return Err(too_long(&self.stream, self.line_of(start), self.limit));
        }
        let end = match found {
            // A LF may follow.
            Ok(Some(end)) if self.is_read || text[end..] != *b"\r" => end,
            Err(opened) if self.is_read && self.fault.is_none() => {
                let (expected, found) =
                    ("a quote that is closed", "the end of the file inside a quoted cell");
                return Err(self.stream.error(Place::row(self.line_of(opened)), expected, found));
            }
            _ => return Ok(None),
        };
        let next = end + 1 + usize::from(text[end..].starts_with(b"\r\n"));
        let is_row = !is_blank(&text[start..end], self.delimiter);
        match self.blank_line {
            Some(line) if is_row => {
                let expected = "a value (a blank line may be a missing value: write NA, or remove the line)";
                return Err(self.stream.error(Place::row(line), expected, "a blank line"));
            }
            None if self.has_one_column && !is_row => self.blank_line = Some(self.line_of(start)),
            _ => {}
        }
        Ok(Some((next, is_row)))
    }

    /// Reads more available bytes: the rest of a pipe may arrive later. Adds a line end to the last line of a text.
    fn read(&mut self) {
        if self.buffer.len() - self.filled < MORE_BYTES {
            let mut chunk = zeros(self.chunk.max(2 * self.filled + MORE_BYTES));
            chunk[..self.filled].copy_from_slice(&self.buffer[..self.filled]);
            self.buffer = chunk;
            self.chunk =
                if self.are_kept { (2 * self.chunk).min(CHUNK_BYTES) } else { PIECE_BYTES + MORE_BYTES };
        }
        let end = self.buffer.len().min(self.filled + PIECE_BYTES + MORE_BYTES);
        match self.stream.read(&mut self.buffer[self.filled..end]) {
            Ok(0) => {
                self.is_read = true;
                if self.filled > 0 && !b"\r\n".contains(&self.buffer[self.filled - 1]) {
                    self.buffer[self.filled] = b'\n';
                    self.filled += 1;
                }
            }
            Ok(count) => self.filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => (self.fault, self.is_read) = (Some(self.stream.fault(error)), true),
        }
    }

    /// Takes `rows` rows, which end at `end`, out of the buffer.
    fn cut(&mut self, end: usize, rows: usize) -> Piece {
        let text = self.buffer.split_to(end).freeze();
        self.filled -= end;
        let piece = Piece { name: Arc::clone(&self.name), text, rows, before: self.rows, line: self.line };
        self.line += count_lines(&piece.text);
        self.rows += rows as u64;
        piece
    }

    fn line_of(&self, place: usize) -> u64 {
        self.line + count_lines(&self.buffer[..place])
    }
}

/// Zeroed memory, on large pages if the system supports them.
fn zeros(bytes: usize) -> BytesMut {
    let mut memory = vec![0; bytes];
    prefer_large_pages(&mut memory);
    // No other value shares this memory.
    Bytes::from(memory).try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]))
}

/// The error for a row of more than `limit` bytes.
pub(crate) fn too_long(stream: &Stream, row: u64, limit: usize) -> Error {
    stream.error(
        Place::row(row),
        format!("at most {limit} bytes in a row"),
        "more; use --max-row-bytes to raise the limit",
    )
}

#[cfg(test)]
#[path = "pieces_tests.rs"]
mod tests;
