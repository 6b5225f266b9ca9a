//! Order of rows, computed by the host.

use std::ops::Range;
use std::sync::mpsc::Receiver;

use super::{Batches, Order};
use crate::data::{BLOCK_ROWS, Rows, rows_at};
use crate::error::{Error, Result};

/// Order of an epoch as far as it has been requested, kept while an engine reads it in pieces.
#[derive(Default)]
pub(crate) struct HostOrder {
    made: Option<(Epoch, Vec<u32>)>,
    /// Order of the next epoch, which another thread computes.
    next: Option<(Epoch, Receiver<Vec<u32>>)>,
}

/// Positions of an epoch.
#[derive(Clone, PartialEq)]
struct Epoch {
    seed: u64,
    epoch: usize,
    rows: usize,
    positions: Range<usize>,
}

impl HostOrder {
    /// Returns the rows at the positions of `batches`.
    pub fn rows<'a>(&'a mut self, batches: &Batches<'a>) -> &'a [u32] {
        let positions = batches.positions.clone();
        let (seed, epoch) = match batches.order {
            Order::Given(order) => return &order[positions],
            Order::Epoch { seed, epoch } => (seed, epoch),
        };
        let rows = batches.rows.len();
        let holds = |(made, _): &(Epoch, Vec<u32>)| {
            (made.seed, made.epoch, made.rows, made.positions.end) == (seed, epoch, rows, positions.end)
                && made.positions.start <= positions.start
        };
        let (made, order) = match self.made.take().filter(holds) {
            Some(made) => self.made.insert(made),
            None => {
                let wanted = Epoch { seed, epoch, rows, positions: positions.clone() };
                let next = self.next.take_if(|(next, _)| *next == wanted);
                let order = next.and_then(|(_, order)| order.recv().ok());
                let order = order.unwrap_or_else(|| rows_at(seed, epoch, rows, positions.clone()));
                self.made.insert((wanted, order))
            }
        };
        &order[positions.start - made.positions.start..]
    }

    /// Starts computing the order of the epoch after `batches` on a separate thread, while a device trains.
    #[cfg(feature = "gpu")]
    pub fn prefetch(&mut self, batches: &Batches<'_>) {
        let Order::Epoch { seed, epoch } = batches.order else { return };
        let rows = batches.rows.len();
        if !batches.rows.are_all() || rows < BLOCK_ROWS || self.next.is_some() {
            return;
        }
        let next = Epoch { seed, epoch: epoch + 1, rows, positions: 0..rows };
        let (sender, receiver) = std::sync::mpsc::channel();
        let make = move || {
            // The receiver is gone if training has ended.
            let _ = sender.send(rows_at(seed, epoch + 1, rows, 0..rows));
        };
        // Without a thread the order is computed when it is needed.
        if crate::threads::spawn("order", "makes the order of an epoch", make).is_ok() {
            self.next = Some((next, receiver));
        }
    }
}

/// Checks that the order of an epoch needs no rows that are still to be read: the order of the first epoch is
/// computed block by block, the order of a later one over all rows.
///
/// # Errors
/// [`Error::Config`] if rows are missing.
pub(crate) fn check_epoch(batches: &Batches<'_>) -> Result<()> {
    let Order::Epoch { epoch, .. } = batches.order else { return Ok(()) };
    let (rows, end) = (&batches.rows, batches.positions.end);
    let known = match epoch {
        _ if rows.are_all() => rows.len(),
        1 => rows.len() / BLOCK_ROWS * BLOCK_ROWS,
        _ => 0,
    };
    if end <= known {
        return Ok(());
    }
    Err(Error::Config(format!(
        "cannot train row {end} of epoch {epoch}: the order of its rows is not known yet, {} of {} rows have been read",
        rows.len(),
        rows.total.map_or("an unknown number of".to_owned(), |total| total.to_string()),
    )))
}

/// Returns the error for a snapshot that was requested while steps are in flight.
pub(crate) fn unpolled() -> Error {
    Error::Config("cannot take a snapshot of an engine while steps are on their way".to_owned())
}

/// Checks that all rows in `order` exist, since devices do not.
///
/// # Errors
/// [`Error::Config`] with the first row that does not exist.
pub(crate) fn check_order(rows: &Rows<'_>, order: impl IntoIterator<Item = usize>) -> Result<()> {
    match order.into_iter().find(|row| *row >= rows.len()) {
        Some(row) => Err(Error::Config(format!("row {row} of {} rows cannot be trained on", rows.len()))),
        None => Ok(()),
    }
}
