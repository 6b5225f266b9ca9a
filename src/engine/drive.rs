//! Blocking calls, built on non-blocking ones.

use std::ops::Range;

use super::{BatchMetrics, Batches, Engine, Order, block};
use crate::data::Rows;
use crate::error::Result;

/// Receives the metrics of batches, in the order of training. An error ends training.
pub type Sink<'a> = dyn FnMut(BatchMetrics) -> Result<()> + 'a;

/// Training with calls that return when everything is submitted.
pub trait Drive {
    /// Trains on `batches`. `sink` receives the metrics of finished batches; metrics of the others come with
    /// a later call.
    ///
    /// # Errors
    /// Errors of the device and of `sink`.
    fn drive(&mut self, batches: Batches<'_>, sink: &mut Sink<'_>) -> Result<()>;

    /// Waits until all submitted batches are trained and `sink` has received their metrics.
    ///
    /// # Errors
    /// Errors of the device and of `sink`.
    fn finish(&mut self, sink: &mut Sink<'_>) -> Result<()>;

    /// Trains on the rows of `order`, in that order.
    ///
    /// # Errors
    /// See [`Drive::drive`].
    fn train(&mut self, rows: &Rows<'_>, order: &[u32], sink: &mut Sink<'_>) -> Result<()> {
        self.drive(
            Batches { rows: *rows, order: Order::Given(order), positions: 0..order.len(), epoch: 1 },
            sink,
        )
    }

    /// Trains on the rows at `positions` of an epoch's order.
    ///
    /// # Errors
    /// See [`Drive::drive`].
    fn train_epoch(
        &mut self,
        rows: &Rows<'_>,
        seed: u64,
        epoch: usize,
        positions: Range<usize>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        self.drive(Batches { rows: *rows, order: Order::Epoch { seed, epoch }, positions, epoch }, sink)
    }
}

impl<E: Engine + ?Sized> Drive for E {
    fn drive(&mut self, mut batches: Batches<'_>, sink: &mut Sink<'_>) -> Result<()> {
        while !batches.positions.is_empty() {
            let taken = self.submit(&batches)?;
            batches.positions.start += taken;
            block(self.poll(taken == 0))?.into_iter().try_for_each(&mut *sink)?;
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        loop {
            let ended = block(self.poll(true))?;
            if ended.is_empty() {
                return Ok(());
            }
            ended.into_iter().try_for_each(&mut *sink)?;
        }
    }
}
