//! A piece of a table's text, and the memory in which it stands.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use memchr::{memchr, memchr_iter, memrchr};

use super::row_ends::count_lines;
use super::spare::Spare;

/// A piece ends with the row in which it comes to so many bytes: few enough for a near cache, and so many that handing it
/// to another thread costs nothing.
pub(super) const PIECE_BYTES: usize = 1 << 18;

/// Some rows of a table, as text.
pub(super) struct Piece {
    /// The file, or what stands for it in messages.
    pub name: Arc<Path>,
    pub text: Vec<u8>,
    pub rows: Rows,
    /// Whether a quote may stand anywhere.
    pub has_quotes: bool,
    /// Rows of the table before these.
    pub before: u64,
    /// The line of the first byte, counted from 1.
    pub line: u64,
    /// Texts of pieces that are gone.
    pub spare: Spare<Vec<u8>>,
}

/// The rows of a piece.
pub(super) enum Rows {
    /// Where each begins and ends, its line end left out; blank lines are none.
    Places(Vec<(usize, usize)>),
    /// So many rows, each of which is a line that ends with so many bytes: no line end is quoted.
    Lines(usize, usize),
}

/// Some of the rows of a piece that follow one another, at least one.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    /// Where each begins and ends, its line end left out.
    Places(&'a [(usize, usize)]),
    /// All lines from this place up to that one, behind a line end, each of which is a row.
    Lines(usize, usize),
}

/// See [`Piece::parts`].
struct Parts<'a> {
    piece: &'a Piece,
    bytes: usize,
    /// Where the rest begins: the number of a row where places are known, or else a place in the text.
    rest: usize,
}

impl Drop for Piece {
    fn drop(&mut self) {
        // That of a row as long as no other one is not kept.
        if self.text.capacity() <= 2 * PIECE_BYTES {
            self.spare.put(std::mem::take(&mut self.text));
        }
    }
}

impl Piece {
    /// The line of the byte at this place.
    pub(super) fn line(&self, place: usize) -> u64 {
        self.line + count_lines(&self.text[..place])
    }

    /// How many rows there are.
    pub(super) fn count(&self) -> usize {
        match &self.rows {
            Rows::Places(places) => places.len(),
            Rows::Lines(rows, _) => *rows,
        }
    }

    /// Where each row begins and ends, its line end left out.
    pub(super) fn places(&self) -> Cow<'_, [(usize, usize)]> {
        match &self.rows {
            Rows::Places(places) => places.into(),
            Rows::Lines(..) => self.places_of_lines(0, self.text.len()).collect(),
        }
    }

    /// The same of some rows that are lines, with their line ends at these places.
    pub(super) fn places_of_lines(&self, start: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
        let line_end = self.line_end();
        memchr_iter(b'\n', &self.text[start..end]).scan(start, move |begin, feed| {
            let behind = start + feed + 1;
            Some((std::mem::replace(begin, behind), behind - line_end))
        })
    }

    /// Bytes with which rows that are lines end; 1 for other rows.
    pub(super) fn line_end(&self) -> usize {
        match self.rows {
            Rows::Places(_) => 1,
            Rows::Lines(_, line_end) => line_end,
        }
    }

    /// The rows in parts of about so many bytes.
    pub(super) fn parts(&self, bytes: usize) -> impl Iterator<Item = Part<'_>> {
        Parts { piece: self, bytes, rest: 0 }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        let Self { piece, bytes, rest: start } = *self;
        match &piece.rows {
            Rows::Places(places) => {
                let rows = (bytes * places.len() / piece.text.len().max(1)).max(1);
                self.rest = places.len().min(start + rows);
                (start < self.rest).then(|| Part::Places(&places[start..self.rest]))
            }
            Rows::Lines(..) => {
                let rest = &piece.text[start..];
                let last = memrchr(b'\n', &rest[..rest.len().min(bytes)]);
                // One line that is longer.
                self.rest = start + last.or_else(|| memchr(b'\n', rest)).map_or(0, |last| last + 1);
                (start < self.rest).then_some(Part::Lines(start, self.rest))
            }
        }
    }
}
