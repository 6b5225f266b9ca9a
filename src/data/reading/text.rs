//! The text of a table as pieces, which are kept until all rows have determined the columns.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::pieces::{Piece, Pieces};
use crate::error::{Error, Place, Result};
use crate::memory::check_memory;

/// The pieces of a table, from its first row on.
pub(crate) struct Text {
    pieces: Pieces,
    first: Option<Arc<Piece>>,
    /// The pieces read so far, and whether they are kept for parsing again.
    kept: Vec<Arc<Piece>>,
    keeps: Arc<AtomicBool>,
    /// Bytes of the kept pieces, and the number of bytes known to fit into memory.
    bytes: u128,
    room: u128,
    /// The number of kept pieces already returned.
    given: usize,
    /// The error that ends the text prematurely, and whether it has been returned.
    fault: Option<Error>,
    has_failed: bool,
}

impl Text {
    /// The text of these pieces, preceded by `first`, if any.
    pub(crate) fn new(first: Option<Piece>, pieces: Pieces) -> Self {
        let first = first.map(Arc::new);
        Self {
            pieces,
            first,
            kept: Vec::new(),
            keeps: Arc::default(),
            bytes: 0,
            room: 0,
            given: 0,
            fault: None,
            has_failed: false,
        }
    }

    /// Reads the first row.
    ///
    /// # Errors
    /// [`Error::Data`] if there is no row, and for a fault in it.
    pub(crate) fn begin(&mut self) -> Result<()> {
        if self.first.is_none() && self.kept().is_empty() && self.fault.is_none() {
            let row = self.pieces.next_row()?.map(Arc::new);
            let missing = || Error::data(self.name(), Place::default(), "rows of numbers", "only a header");
            self.first = Some(row.ok_or_else(missing)?);
        }
        Ok(())
    }

    /// The name of the file, as shown in messages.
    pub(crate) fn name(&self) -> &Path {
        &self.pieces.name
    }

    /// Keeps all text read from now on, so that it can be parsed again, until the returned flag is cleared. `length` is
    /// the number of bytes to be read, if known.
    ///
    /// # Errors
    /// [`Error::Config`] if memory cannot hold the text.
    pub(crate) fn keep(&mut self, length: Option<u64>) -> Result<Arc<AtomicBool>> {
        self.keeps.store(true, Ordering::Relaxed);
        self.pieces.are_kept = true;
        self.make_room(length.unwrap_or(0).into())?;
        Ok(Arc::clone(&self.keeps))
    }

    /// The next rows, all within one block; `None` at the end.
    ///
    /// # Errors
    /// Errors of the file; [`Error::Config`] if memory cannot hold the kept text.
    pub(crate) fn next(&mut self) -> Result<Option<Arc<Piece>>> {
        if let Some(piece) = self.kept.get(self.given) {
            self.given += 1;
            return Ok(Some(Arc::clone(piece)));
        }
        let fault = self.fault.take().map_or(Ok(()), Err);
        let piece = fault.and_then(|()| match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => Ok(self.pieces.next()?.map(Arc::new)),
        });
        let piece = piece.inspect_err(|_| self.has_failed = true)?;
        let Some(piece) = piece else { return Ok(None) };
        if self.keeps.load(Ordering::Relaxed) {
            self.bytes += piece.text.len() as u128;
            if self.bytes > self.room {
                // The rest may be as long as the text so far.
                self.make_room(self.bytes)?;
            }
            self.kept.push(Arc::clone(&piece));
            self.given += 1;
        } else {
            (self.kept, self.given) = (Vec::new(), 0);
            self.pieces.are_kept = false;
        }
        Ok(Some(piece))
    }

    /// Reads the rest, including a fault that ends it; [`Text::next`] still returns both.
    pub(crate) fn read_all(&mut self) {
        let given = self.given;
        loop {
            match self.next() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(fault) => {
                    (self.fault, self.has_failed) = (Some(fault), false);
                    break;
                }
            }
        }
        self.given = given;
    }

    /// Restarts with the first kept piece; false if a fault that ends the text has been returned.
    pub(crate) fn begin_again(&mut self) -> bool {
        self.given = 0;
        !self.has_failed
    }

    /// The kept pieces.
    pub(crate) fn kept(&self) -> &[Arc<Piece>] {
        &self.kept
    }

    /// Checks that memory can hold `more` bytes.
    fn make_room(&mut self, more: u128) -> Result<()> {
        check_memory(more, &format!("{}: the text of the table", self.name().display()))?;
        self.room = self.bytes + more;
        Ok(())
    }
}
