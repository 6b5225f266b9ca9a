//! The text of a table as pieces, which are kept until all rows have decided its columns.

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
    /// The pieces that have been read, and whether they may be parsed again.
    kept: Vec<Arc<Piece>>,
    keeps: Arc<AtomicBool>,
    /// Bytes of these, and how many of them there is known to be room for.
    bytes: u128,
    room: u128,
    /// How many of the pieces that are kept have been given.
    given: usize,
    /// What ends the text where it should not end, and whether it has been given.
    fault: Option<Error>,
    has_failed: bool,
}

impl Text {
    /// The text of these pieces, before which this one may come.
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
    /// [`Error::Data`] where there is none, and for a fault in it.
    pub(crate) fn begin(&mut self) -> Result<()> {
        if self.first.is_none() && self.kept().is_empty() && self.fault.is_none() {
            let row = self.pieces.next_row()?.map(Arc::new);
            let missing = || Error::data(self.name(), Place::default(), "rows of numbers", "only a header");
            self.first = Some(row.ok_or_else(missing)?);
        }
        Ok(())
    }

    /// The file that is read, or what stands for it in messages.
    pub(crate) fn name(&self) -> &Path {
        &self.pieces.name
    }

    /// Keeps what is read from now on, so that it can be parsed again, until the flag that it returns is cleared. `length` is how many bytes
    /// that is, if it is known.
    ///
    /// # Errors
    /// [`Error::Config`] where memory does not hold it.
    pub(crate) fn keep(&mut self, length: Option<u64>) -> Result<Arc<AtomicBool>> {
        self.keeps.store(true, Ordering::Relaxed);
        self.pieces.are_kept = true;
        self.make_room(length.unwrap_or(0).into())?;
        Ok(Arc::clone(&self.keeps))
    }

    /// The next rows, none of which belongs to another block than the first; nothing at the end.
    ///
    /// # Errors
    /// Those of the file; [`Error::Config`] where memory does not hold what is kept.
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
                // As much again may come.
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

    /// Reads the rest, which [`Text::next`] still gives then, and a fault that ends it.
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

    /// Gives the pieces that are kept once more; false where a fault that ends the text has been given.
    pub(crate) fn begin_again(&mut self) -> bool {
        self.given = 0;
        !self.has_failed
    }

    /// All that is kept.
    pub(crate) fn kept(&self) -> &[Arc<Piece>] {
        &self.kept
    }

    /// Checks whether there is room for so many more bytes.
    fn make_room(&mut self, more: u128) -> Result<()> {
        check_memory(more, &format!("{}: the text of the table", self.name().display()))?;
        self.room = self.bytes + more;
        Ok(())
    }
}
