//! The order of rows, made by the host.

use std::ops::Range;

use super::{Batches, Order};
use crate::data::{Rows, rows_at};
use crate::error::{Error, Result};

/// The order of an epoch as far as it was asked for, kept while an engine takes it piece by piece.
#[derive(Default)]
pub(crate) struct HostOrder {
    made: Option<(Epoch, Vec<u32>)>,
}

/// Which positions of which epoch.
#[derive(PartialEq)]
struct Epoch {
    seed: u64,
    epoch: usize,
    rows: usize,
    positions: Range<usize>,
}

impl HostOrder {
    /// The rows at the positions of `batches`.
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
                let order = rows_at(seed, epoch, rows, positions.clone());
                self.made.insert((Epoch { seed, epoch, rows, positions: positions.clone() }, order))
            }
        };
        &order[positions.start - made.positions.start..]
    }
}

/// Makes sure that all of `order` are rows which are there: nothing on a device looks.
///
/// # Errors
/// [`Error::Config`] with the first that is not.
pub(crate) fn check_order(rows: &Rows<'_>, order: impl IntoIterator<Item = usize>) -> Result<()> {
    match order.into_iter().find(|row| *row >= rows.len()) {
        Some(row) => Err(Error::Config(format!("row {row} of {} rows cannot be trained on", rows.len()))),
        None => Ok(()),
    }
}
