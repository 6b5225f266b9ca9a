//! Rows of a text: their ends and their cells, as defined by the `csv` crate.

use std::borrow::Cow;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use memchr::{memchr, memchr_iter, memchr3, memmem};

/// Splits rows into cells; its memory is reused for every row.
pub(crate) struct Cells {
    reader: Reader,
    delimiter: u8,
    /// The concatenated cells of a row without their quotes, and the end of each.
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// A row split into cells.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    text: &'a [u8],
    ends: &'a [usize],
    /// The first cell that a quote after a backslash ends prematurely: the quote was meant as part of the text.
    pub escaped: Option<usize>,
}

impl Cells {
    pub(crate) fn new(delimiter: u8) -> Self {
        let reader = ReaderBuilder::new().delimiter(delimiter).build();
        let mut cells = Self { reader, delimiter, text: vec![0; 1 << 10], ends: vec![0; 1 << 6] };
        // The parser skips a byte order mark only before the first row; this row is not from the file.
        cells.split(b"\n.\n");
        cells
    }

    /// Splits a row, with its line end, into cells.
    pub(crate) fn split(&mut self, row: &[u8]) -> Row<'_> {
        let row = &*without_padding(row, self.delimiter);
        let (mut at, mut length, mut count) = (0, 0, 0);
        loop {
            let (result, read, written, ended) =
                self.reader.read_record(&row[at..], &mut self.text[length..], &mut self.ends[count..]);
            (at, length, count) = (at + read, length + written, count + ended);
            match result {
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len() + row.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                _ => break,
            }
        }
        let escaped = memmem::find(row, b"\\\"").and_then(|_| escaped(row, self.delimiter));
        Row { text: &self.text[..length], ends: &self.ends[..count], escaped }
    }
}

impl<'a> Row<'a> {
    /// The number of cells.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A cell.
    pub(crate) fn cell(&self, column: usize) -> &'a [u8] {
        let start = column.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[column]]
    }

    /// All cells.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &'a [u8]> {
        (0..self.len()).map(|column| self.cell(column))
    }
}

/// The position of the line end of the row that begins at `start`, if the text contains it.
///
/// # Errors
/// The position of a quote that is not closed.
pub(crate) fn row_end(text: &[u8], start: usize, delimiter: u8) -> Result<Option<usize>, usize> {
    let mut at = start;
    while let Some(found) = memchr3(b'\n', b'\r', b'"', &text[at..]) {
        let place = at + found;
        if text[place] != b'"' {
            return Ok(Some(place));
        }
        at = if opens_cell(text, start, place, delimiter) {
            quoted_end(text, place).ok_or(place)?
        } else {
            place
        } + 1;
    }
    Ok(None)
}

/// Whether the quote at `place` opens a cell, possibly after blanks. Other quotes are ordinary bytes.
fn opens_cell(text: &[u8], row: usize, place: usize, delimiter: u8) -> bool {
    let before = text[row..place].iter().rfind(|byte| !is_padding(**byte, delimiter));
    before.is_none_or(|byte| [delimiter, b'\n', b'\r'].contains(byte))
}

/// Whether a byte may occur between a delimiter and a quote.
pub(crate) fn is_padding(byte: u8, delimiter: u8) -> bool {
    matches!(byte, b' ' | b'\t') && byte != delimiter
}

/// Removes the blanks between delimiters and the quotes that open cells.
pub(crate) fn without_padding(rows: &[u8], delimiter: u8) -> Cow<'_, [u8]> {
    let (mut at, mut copied, mut plain) = (0, 0, Vec::new());
    while let Some(found) = memchr(b'"', &rows[at..]) {
        let place = at + found;
        at = place + 1;
        if !opens_cell(rows, 0, place, delimiter) {
            continue;
        }
        let padding = rows[..place].iter().rev().take_while(|byte| is_padding(**byte, delimiter)).count();
        if padding > 0 {
            plain.extend_from_slice(&rows[copied..place - padding]);
            copied = place;
        }
        let Some(end) = quoted_end(rows, place) else { break };
        at = end + 1;
    }
    if copied == 0 {
        return Cow::Borrowed(rows);
    }
    plain.extend_from_slice(&rows[copied..]);
    Cow::Owned(plain)
}

/// The position of the quote that closes the quote at `open`; two consecutive quotes are an escaped quote.
pub(crate) fn quoted_end(text: &[u8], open: usize) -> Option<usize> {
    let mut at = open + 1;
    loop {
        at += memchr(b'"', &text[at..])?;
        if text.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

/// The first cell of a row that a quote after a backslash ends prematurely.
fn escaped(row: &[u8], delimiter: u8) -> Option<usize> {
    let mut at = 0;
    for column in 0.. {
        if row.get(at) == Some(&b'"') {
            at = quoted_end(row, at)?;
            if row[at - 1] == b'\\'
                && !row.get(at + 1).is_none_or(|next| [delimiter, b'\n', b'\r'].contains(next))
            {
                return Some(column);
            }
        }
        at += memchr(delimiter, &row[at..])? + 1;
    }
    None
}

/// Whether a row, without its line end, is empty or consists of blanks.
#[inline]
pub(crate) fn is_blank(row: &[u8], delimiter: u8) -> bool {
    row.iter().all(may_be_blank) && (row.is_empty() || is_line_of_blanks(row, delimiter))
}

/// Whether a line of such bytes counts as blank.
#[inline]
pub(crate) fn may_be_blank(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || *byte == b'"'
}

#[cold]
fn is_line_of_blanks(row: &[u8], delimiter: u8) -> bool {
    let mut cells = Cells::new(delimiter);
    let row = [row, b"\n"].concat();
    let row = cells.split(&row);
    (row.len() == 1 && !row.cell(0).is_empty() || delimiter.is_ascii_whitespace())
        && row.cells().all(|cell| cell.trim_ascii().is_empty())
}

/// Counts line ends: LF, CR, or both.
pub(crate) fn count_lines(text: &[u8]) -> u64 {
    let feeds = memchr_iter(b'\n', text).count();
    let alone = |at: &usize| text.get(at + 1) != Some(&b'\n');
    let returns = memchr(b'\r', text)
        .map_or(0, |first| memchr_iter(b'\r', &text[first..]).filter(|at| alone(&(first + at))).count());
    (feeds + returns) as u64
}
