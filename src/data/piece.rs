//! A piece of a table's text, and the memory in which it stands.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::row_ends::count_lines;

/// A piece ends with the row in which it comes to so many bytes: few enough for a near cache, and so many that handing it
/// to another thread costs nothing.
pub(super) const PIECE_BYTES: usize = 1 << 19;

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
    pub buffers: Buffers,
}

/// Memory of pieces that are gone, to be read into again: what is new would have to be mapped and filled with zeros first.
#[derive(Clone, Default)]
pub(super) struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

impl Buffers {
    /// So many bytes, whatever they are.
    pub(super) fn take(&self, length: usize) -> Vec<u8> {
        let mut buffer = self.lock().pop().unwrap_or_default();
        buffer.resize(length, 0);
        buffer
    }

    fn put(&self, buffer: Vec<u8>) {
        // That of a row as long as no other one is not kept.
        if buffer.capacity() <= 2 * PIECE_BYTES {
            self.lock().push(buffer);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.buffers.put(std::mem::take(&mut self.text));
    }
}

impl Piece {
    /// The line of the byte at this place.
    pub(super) fn line(&self, place: usize) -> u64 {
        self.line + count_lines(&self.text[..place])
    }
}
