//! Settings of a run.

use std::collections::BTreeMap;
use std::fmt;

use crate::data::{Scale, Split};
use crate::engine::EngineOptions;
use crate::error::{Error, Result};
use crate::memory::check_memory;
use crate::model::Network;
use crate::schedule::{Measurements, ScheduleKind};
use crate::step::UpdateRule;

/// What is done to the rows of a file before they train.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DataOptions {
    /// How values become inputs.
    pub scale: Scale,
    /// Which rows are left out of training.
    pub split: Split,
}

/// Which model of a run is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The one with the highest accuracy on the validation rows; of equal ones, that with the smallest loss there.
    Best,
    /// The one after the last epoch.
    Last,
}

/// Training rows from which on the defaults do not depend on their number.
const MANY_ROWS: usize = 4096;

/// Everything that decides what a run computes.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Sizes of the hidden layers, first to last; none is softmax regression.
    pub hidden: Vec<usize>,
    /// Passes over the training set.
    pub epochs: usize,
    /// Rows of a batch; the last of an epoch may have fewer.
    pub batch_size: usize,
    /// Step size of stochastic gradient descent.
    pub learning_rate: f32,
    /// Decides the initial weights and the order of the rows.
    pub seed: u64,
    /// How a GPU divides a step into dispatches; nothing leaves it the choice.
    pub schedule: Option<ScheduleKind>,
    /// What is done to the rows first.
    pub data: DataOptions,
    /// Which model is kept: the best if there are validation rows, else the last, unless this says otherwise.
    pub keep: Option<Keep>,
    /// Ends the run when so many epochs in a row have brought nothing better on the validation rows.
    pub patience: Option<usize>,
    /// Tile shapes that were measured; those for the network and the device are taken, where there are any.
    pub measured: Measurements,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            hidden: vec![300, 100],
            epochs: 10,
            batch_size: 64,
            learning_rate: 0.1,
            seed: 1,
            schedule: None,
            data: DataOptions::default(),
            keep: None,
            patience: None,
            measured: Measurements::default(),
        }
    }
}

impl Config {
    /// Epochs for so many training rows: ten, or as many as take 40,960 rows in all. Nothing is known of a table that is
    /// still read, but that it has more than a block of rows.
    pub fn default_epochs(rows: Option<usize>) -> usize {
        let rows = rows.unwrap_or(MANY_ROWS).clamp(1, MANY_ROWS);
        (Self::default().epochs * MANY_ROWS).div_ceil(rows).min(1000)
    }

    /// Rows of a batch for so many training rows: 64 from 2,048 rows on, 32 from 512 on, else 16.
    pub fn default_batch_size(rows: Option<usize>) -> usize {
        match rows {
            Some(..512) => 16,
            Some(..2048) => 32,
            _ => Self::default().batch_size,
        }
    }

    /// What a model's file says of them.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let Self { hidden: _, epochs, batch_size, learning_rate, seed, data, .. } = self;
        let mut settings = vec![
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("epochs", epochs.to_string()),
            ("batch_size", batch_size.to_string()),
            ("learning_rate", learning_rate.to_string()),
            ("seed", seed.to_string()),
        ];
        if !data.split.is_none() {
            settings.push(("validation_fraction", data.split.validation.to_string()));
            settings.push(("test_fraction", data.split.test.to_string()));
        }
        settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// How an engine trains with them, in batches of at most `batch` rows.
    pub fn engine_options(&self, batch: usize) -> EngineOptions {
        let rule = UpdateRule { seed: self.seed, ..UpdateRule::sgd(self.learning_rate) };
        let (schedule, measured) = (self.schedule, self.measured.clone());
        EngineOptions { batch, rule, weighted: false, schedule, measured }
    }

    /// Checks whether all settings are in range.
    ///
    /// # Errors
    /// [`Error::Setting`] for the first that is not.
    pub fn validate(&self) -> Result<()> {
        let bad = |setting, expected: &str, found: &dyn fmt::Display| {
            Err(Error::Setting { setting, expected: expected.to_owned(), found: found.to_string() })
        };
        if self.epochs == 0 {
            return bad("epochs", "1 or more", &self.epochs);
        }
        if self.batch_size == 0 {
            return bad("batch size", "1 or more", &self.batch_size);
        }
        if !(self.learning_rate.is_finite() && self.learning_rate > 0.0) {
            return bad("learning rate", "a finite number above 0", &self.learning_rate);
        }
        let Split { validation, test, .. } = self.data.split;
        for (setting, share) in [("validation fraction", validation), ("test fraction", test)] {
            if !(0.0..1.0).contains(&share) {
                return bad(setting, "a number from 0 to below 1", &share);
            }
        }
        if validation + test >= 1.0 {
            let expected = "less than 1 together with the test fraction";
            return bad("validation fraction", expected, &(validation + test));
        }
        if self.patience == Some(0) {
            return bad("patience", "1 or more", &0);
        }
        if self.hidden.contains(&0) {
            return bad("hidden layers", "layer sizes of 1 or more", &0);
        }
        Ok(())
    }

    /// The network for data of this shape, if it and batches of `batch` rows fit in memory.
    ///
    /// # Errors
    /// [`Error::Config`] for what memory cannot hold; nothing has been allocated then.
    pub fn network(&self, inputs: usize, outputs: usize, batch: usize) -> Result<Network> {
        let sizes: Vec<usize> =
            [inputs].into_iter().chain(self.hidden.iter().copied()).chain([outputs]).collect();
        let network = Network::classifier(&sizes)?;
        // The engine's, and while the model is saved the model's own and three forms of the file's contents.
        let bytes = (network.parameter_count() as u128).saturating_mul(5 * size_of::<f32>() as u128);
        check_memory(bytes, &format!("a {network} network"))?;
        let widths: u128 = sizes.iter().map(|size| *size as u128).sum();
        // Activations and their gradients, f32.
        let bytes = widths.saturating_mul(batch as u128).saturating_mul(2 * size_of::<f32>() as u128);
        check_memory(bytes, &format!("a batch of {batch} rows of a {network} network"))?;
        Ok(network)
    }
}
