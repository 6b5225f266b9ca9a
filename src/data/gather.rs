//! Adds what threads have parsed to the table, in the order of the file.
//!
//! Whoever waits for rows lends its table to the threads that parse. Each adds what is ready when it has parsed a piece, from the
//! caches of its own core, so that no other thread has to run for it.

use std::path::PathBuf;

use super::BLOCK_ROWS;
use super::merge::Merger;
use super::row_parser::Parsed;
use super::table::{Chunk, Room, Table};
use crate::Result;

/// What somebody waits for.
pub(super) struct Wanted {
    /// Whether it is all rows that are left, or those up to the end of a block.
    pub all: bool,
    /// The file, in messages.
    pub name: PathBuf,
    /// Values of a row.
    pub inputs: usize,
    /// Rows that the whole table may have; 0 where that is not known, or not all of them are kept.
    pub expected: usize,
    /// Rows of the whole data set, where that is known: behind the last of them the end of the file is still to be looked at.
    pub known: Option<usize>,
}

/// What a thread has made of a piece.
pub(super) struct Done {
    pub thread: usize,
    pub parsed: Parsed,
}

/// What takes pieces in their order.
pub(super) struct Gatherer {
    merger: Merger,
    lent: Option<Lent>,
}

/// A table that somebody waits for.
struct Lent {
    table: Table,
    wanted: Wanted,
    fault: Result<()>,
}

impl Wanted {
    /// Adds rows to a table; whether all that are wanted are there.
    pub(super) fn add(&self, table: &mut Table, chunk: Chunk) -> Result<bool> {
        let rows = chunk.features.len() / self.inputs;
        table.append(chunk, &Room { name: &self.name, rows, expected: self.expected })?;
        let rows = table.features.len() / self.inputs;
        Ok(!self.all && rows.is_multiple_of(BLOCK_ROWS) && self.known != Some(rows))
    }
}

impl Gatherer {
    pub(super) fn new(merger: Merger) -> Self {
        Self { merger, lent: None }
    }

    /// Takes a table, to which rows are to be added.
    pub(super) fn lend(&mut self, table: Table, wanted: Wanted) {
        self.lent = Some(Lent { table, wanted, fault: Ok(()) });
    }

    /// Gives the table back, and what is wrong with the row behind its last one.
    pub(super) fn give_back(&mut self) -> Option<(Table, Result<()>)> {
        self.lent.take().map(|lent| (lent.table, lent.fault))
    }

    /// Adds the next piece; whether nobody waits any more.
    pub(super) fn add(&mut self, done: Result<Done>) -> bool {
        let Self { merger, lent } = self;
        let Some(Lent { table, wanted, fault }) = lent else { return true };
        let added = done.and_then(|Done { thread, parsed }| wanted.add(table, merger.merge(thread, parsed)?));
        added.unwrap_or_else(|error| {
            *fault = Err(error);
            true
        })
    }
}
