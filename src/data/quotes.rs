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
    /// Quotes that open a cell where none begins.
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
}

impl Default for Before {
    fn default() -> Self {
        Self { inside: 0, closed: 0, begun: 1 }
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
        let faults = opening & !(doubled | marks << 1 | self.begun);
        let last = BLOCK - 1;
        *self =
            Self { inside: (inside >> last).wrapping_neg(), closed: closing >> last, begun: marks >> last };
        Quotes { all: quotes, inside, left_out: quotes & !doubled, marks, faults }
    }
}

/// For each bit whether there is an odd number of ones up to it.
#[inline(always)]
fn up_to_each(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}
