//! The epoch loop, which passes rows from the reader to the engine, for all kinds of training.

use flate2::Crc;

use super::checkpoint::TrainedOrder;
use super::shared_data::RunData;
use super::training_data::TrainingData;
use crate::data::rows_at;
use crate::engine::{BatchMetrics, Batches, Engine, Observer, Order, Work, begin};
use crate::error::{Error, Result};

/// Result of a step of the loop.
pub(super) enum Advance {
    /// Metrics of batches that have been trained.
    Batches(Vec<BatchMetrics>),
    /// End of the epoch: the metrics of all its batches have been returned.
    Ended,
}

/// State of the epoch loop.
pub(super) struct EpochLoop {
    seed: u64,
    batch: usize,
    /// Epoch, from 1.
    epoch: usize,
    /// Number of submitted rows of the epoch.
    trained: usize,
    /// Maximum number of rows of the epoch to train.
    limit: Option<usize>,
    /// Order of a later epoch that is trained only in part.
    part: Option<Vec<u32>>,
    /// Number of rows that have been checked.
    checked: Option<usize>,
    /// Order required by a checkpoint.
    expected: Option<TrainedOrder>,
}

impl EpochLoop {
    /// Creates the state before the first epoch, with batches of at most `batch` rows.
    pub fn new(seed: u64, batch: usize) -> Self {
        Self { seed, batch, epoch: 1, trained: 0, limit: None, part: None, checked: None, expected: None }
    }

    /// Returns the epoch, from 1.
    pub fn epoch(&self) -> usize {
        self.epoch
    }

    /// Returns whether no row of the epoch has been submitted.
    pub fn is_at_start(&self) -> bool {
        self.trained == 0
    }

    /// Starts after `epochs` epochs.
    pub fn after_epochs(mut self, epochs: usize) -> Self {
        self.epoch = epochs + 1;
        self
    }

    /// Starts after `rows` rows of its epoch, which were trained in this order.
    pub fn within_epoch(mut self, rows: usize, order: Option<TrainedOrder>) -> Self {
        (self.trained, self.expected) = (rows, order);
        self
    }

    /// Returns the order of the rows submitted in this epoch: the checkpoint's, until the rows for a
    /// comparison have been read.
    pub fn trained_order(&self, data: &TrainingData) -> TrainedOrder {
        self.expected.unwrap_or_else(|| self.own_order(data))
    }

    fn own_order(&self, data: &TrainingData) -> TrainedOrder {
        let (rows, mut sum) = (data.view(), Crc::new());
        let epoch = self.order_epoch(data);
        if self.trained > 0 {
            sum.update(bytemuck::cast_slice(&rows_at(self.seed, epoch, rows.len(), 0..self.trained)));
        }
        // The blocks of a first epoch do not depend on the number of later rows.
        let rows = if epoch > 1 && self.trained > 0 { rows.len() } else { self.trained };
        TrainedOrder {
            seed: self.seed,
            epoch,
            batch: self.batch,
            rows,
            position: self.trained,
            sum: sum.sum(),
        }
    }

    /// Returns the number of the epoch for its order: the first epoch is ordered by blocks, unless all rows
    /// are read before it.
    fn order_epoch(&self, data: &TrainingData) -> usize {
        self.epoch + usize::from(data.is_whole)
    }

    /// Advances to the next epoch.
    pub fn next_epoch(&mut self) {
        (self.epoch, self.trained, self.part) = (self.epoch + 1, 0, None);
    }

    /// Limits this epoch and each following epoch to `rows` rows.
    pub fn limit(&mut self, rows: usize) {
        self.limit = Some(rows);
    }

    /// Ends the epoch after the submitted rows.
    pub fn end(&mut self) {
        self.limit = Some(self.trained);
    }

    /// Continues the epoch: reads in the first epoch, submits, or waits for submitted batches.
    ///
    /// # Errors
    /// Errors of the data and of the engine.
    pub async fn advance(
        &mut self,
        engine: &mut dyn Engine,
        data: &mut RunData,
        observer: &Observer,
    ) -> Result<Advance> {
        loop {
            if self.epoch == 1 && self.checked != Some(data.reader.rows()) {
                self.check(data)?;
            }
            self.check_order(data)?;
            let limit = self.limit.unwrap_or(usize::MAX);
            let ready = self.ready_rows(data).min(limit);
            if self.trained < ready {
                let taken = self.submit(engine, data, ready)?;
                let ended = engine.poll(taken == 0).await?;
                if !ended.is_empty() {
                    return Ok(Advance::Batches(ended));
                }
            } else if self.trained < limit && !data.reader.is_complete() {
                let _reading = begin(observer, Work::Reading);
                data.read_block()?;
            } else {
                let ended = engine.poll(true).await?;
                let is_over = ended.is_empty();
                return Ok(if is_over { Advance::Ended } else { Advance::Batches(ended) });
            }
        }
    }

    /// Checks that the number of rows fits in a u32, and, when all rows are read, that their labels are
    /// classes.
    fn check(&mut self, data: &TrainingData) -> Result<()> {
        if u32::try_from(data.reader.rows()).is_err() {
            return Err(Error::Config(format!("more than {} rows are too many", u32::MAX)));
        }
        if data.reader.is_complete() && !data.is_whole {
            data.reader.check_classes()?;
        }
        self.checked = Some(data.reader.rows());
        Ok(())
    }

    /// Compares the order with the checkpoint's, once the required rows have been read.
    fn check_order(&mut self, data: &TrainingData) -> Result<()> {
        let rows = data.view();
        let is_known = if self.order_epoch(data) > 1 { rows.are_all() } else { rows.len() >= self.trained };
        match self.expected.take_if(|_| is_known) {
            Some(expected) => expected.check(&self.own_order(data)),
            None => Ok(()),
        }
    }

    /// Returns the number of rows that can be trained so far: whole batches, and at the end all.
    fn ready_rows(&self, data: &TrainingData) -> usize {
        let rows = data.reader.rows();
        match data.reader.is_complete() {
            true => rows,
            // The order of a later epoch requires all rows.
            false if self.epoch > 1 => self.trained,
            false => rows - rows % self.batch,
        }
    }

    fn submit(&mut self, engine: &mut dyn Engine, data: &TrainingData, ready: usize) -> Result<usize> {
        let (rows, positions) = (data.view(), self.trained..ready);
        let epoch = self.order_epoch(data);
        let order = if epoch > 1 && ready < rows.len() {
            let part = || rows_at(self.seed, epoch, rows.len(), 0..ready);
            Order::Given(self.part.get_or_insert_with(part))
        } else {
            Order::Epoch { seed: self.seed, epoch }
        };
        let taken = engine.submit(&Batches { rows, order, positions, epoch: self.epoch })?;
        self.trained += taken;
        Ok(taken)
    }
}
