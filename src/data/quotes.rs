//! Which bytes of a block of text are quoted.

use super::places::{BLOCK, Blocks};

/// Where quotes and other marks stand in a block: a bit for each of its bytes.
pub(super) struct Quotes {
    /// All of them.
    pub all: u64,
    /// What is quoted, from each quote that opens a cell on up to the byte before the one that closes it.
    pub inside: u64,
    /// Those that are left out. Of two that stand for one the second stays.
    pub left_out: u64,
    /// Delimiters and line ends that are not quoted.
    pub marks: u64,
    /// Quotes that open a cell where none begins, and what stands behind a quote that a backslash may have meant as part of a cell.
    pub faults: u64,
}

/// What stands in front of a block; by default a line end.
pub(super) struct Before {
    /// All ones where it ends inside a quoted cell.
    inside: u64,
    /// 1 where the last byte closes a cell.
    closed: u64,
    /// 1 where a cell begins.
    begun: u64,
    /// 1 where the last byte is a backslash.
    escapes: u64,
    /// 1 where the last byte closes a cell behind a backslash.
    escaped: u64,
}

impl Default for Before {
    fn default() -> Self {
        Self { inside: 0, closed: 0, begun: 1, escapes: 0, escaped: 0 }
    }
}

impl Before {
    /// What the next block has; this stands in front of the one behind it then.
    #[inline(always)]
    pub(super) fn quotes(&mut self, text: &[u8], delimiter: u8, blocks: impl Blocks) -> Quotes {
        let quotes = blocks.places_in(text, [b'"']);
        let marks = blocks.places_in(text, [delimiter, b'\n', b'\r']);
        // From each quote to the one before the next: of two that stand for one the first ends what the second goes on with.
        let inside = up_to_each(quotes) ^ self.inside;
        let (opening, closing) = (quotes & inside, quotes & !inside);
        let marks = marks & !inside;
        let behind_closing = closing << 1 | self.closed;
        let doubled = opening & behind_closing;
        let misplaced = opening & !(doubled | marks << 1 | self.begun);
        let backslashes = blocks.places_in(text, [b'\\']);
        let escaped = closing & (backslashes << 1 | self.escapes);
        // What is no end of the cell shows that it was not meant to end there.
        let cut_off = (escaped << 1 | self.escaped) & !(marks | quotes) & within(text);
        let faults = misplaced | cut_off;
        let last = BLOCK - 1;
        *self = Self {
            inside: (inside >> last).wrapping_neg(),
            closed: closing >> last,
            begun: marks >> last,
            escapes: backslashes >> last,
            escaped: escaped >> last,
        };
        Quotes { all: quotes, inside, left_out: quotes & !doubled, marks, faults }
    }
}

/// A bit for each byte of a block that a text has.
#[inline(always)]
fn within(text: &[u8]) -> u64 {
    if text.len() < BLOCK { !(u64::MAX << text.len()) } else { u64::MAX }
}

/// For each bit whether there is an odd number of ones up to it.
#[inline(always)]
fn up_to_each(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}
