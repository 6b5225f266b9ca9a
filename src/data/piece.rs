//! A piece of a table's text, and the memory in which it stands.

use std::path::Path;
use std::sync::Arc;

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
    /// Where each row begins and ends, its line end left out; blank lines are none.
    pub rows: Vec<(usize, usize)>,
    /// Whether a quote stands anywhere.
    pub has_quotes: bool,
    /// Rows of the table before these.
    pub before: u64,
    /// The line of the first byte, counted from 1.
    pub line: u64,
    /// Texts of pieces that are gone.
    pub spare: Spare<Vec<u8>>,
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
}
