//! Repetition of the first steps of training, for profiles.

use std::time::Duration;

use super::config::Config;
use super::epoch_loop::{Advance, EpochLoop};
use super::shared_data::RunData;
use super::training_data::TrainingData;
use crate::clock::Instant;
use crate::data::Reader;
use crate::engine::{BatchMetrics, Description, Device, Engine, EngineState, Observer, Work, begin};
use crate::error::{Error, Result};
use crate::model::{Network, Parameters};
use crate::threads::block;
use crate::timing::Ceilings;
use crate::timing::Span;

/// Opens the training data from the start.
pub type OpenReader<'a> = dyn FnMut() -> Result<Reader> + 'a;

/// A network that can be trained from its first step repeatedly. All runs have the same steps, buffers and
/// kernels, and result in the same weights.
pub struct RepeatedSteps<'a> {
    config: &'a Config,
    open: &'a mut OpenReader<'a>,
    engine: Box<dyn Engine>,
    first: Parameters,
    network: Network,
    rows: usize,
}

impl<'a> RepeatedSteps<'a> {
    /// Creates the network for the data of `open`.
    ///
    /// # Errors
    /// Errors of the settings, the data and the device.
    pub fn new(config: &'a Config, device: &Device, open: &'a mut OpenReader<'a>) -> Result<Self> {
        config.validate()?;
        let mut data = TrainingData::new(open()?, None, None, &config.data)?;
        if config.needs_all_rows() {
            data.read_all()?;
        }
        data.weigh_classes(&config.class_weights)?;
        let (network, options) = config.plan(&data, device)?;
        drop(data);
        let first = config.initial_parameters(&network);
        let engine = device.engine(&first, &network, &options)?;
        Ok(Self { config, open, engine, first, network, rows: 0 })
    }

    /// Trains `steps` steps from the initial weights, reading during training as usual; `observer` records
    /// the times. One window of its log is the whole run, including the opening of files.
    ///
    /// # Errors
    /// Errors of the data and the device; [`Error::NonFiniteLoss`] at the first step whose loss is NaN or
    /// infinite.
    pub fn run(&mut self, steps: usize, observer: &Observer) -> Result<Duration> {
        self.engine.restore(&self.first, &EngineState::default())?;
        self.engine.observe(observer.clone());
        let start = Instant::now();
        let reading = begin(observer, Work::Reading);
        let mut data = TrainingData::new((self.open)()?, None, None, &self.config.data)?;
        if self.config.needs_all_rows() {
            data.read_all()?;
        }
        data.weigh_classes(&self.config.class_weights)?;
        drop(reading);
        let mut data = RunData::Own(Box::new(data));
        self.train(&mut data, steps, observer)?;
        let end = Instant::now();
        self.engine.observe(None);
        if let Some(recorder) = observer {
            let span = |(begin, end)| Span { begin: recorder.at(begin), end: recorder.at(end) };
            let mut log = recorder.log();
            log.windows.push(span((start, end)));
            log.reader = data.reader.times().into_iter().map(span).collect();
        }
        Ok(end - start)
    }

    fn train(&mut self, data: &mut RunData, steps: usize, observer: &Observer) -> Result<()> {
        let Self { config, engine, network, rows: seen_rows, .. } = self;
        let Config { batch_size, seed, learning_rate, .. } = **config;
        let changed = |data: &TrainingData| {
            Err(Error::Config(format!("{} changed while it was profiled", data.name().display())))
        };
        if data.outputs() != network.outputs() || data.inputs() != network.columns() {
            return changed(data);
        }
        *seen_rows = 0;
        let mut epochs = EpochLoop::new(seed, batch_size);
        epochs.limit(steps.saturating_mul(batch_size));
        let (mut done, mut batch) = (0, 0);
        loop {
            match block(epochs.advance(&mut **engine, data, observer))? {
                Advance::Batches(batches) => {
                    for BatchMetrics { loss, rows, .. } in batches {
                        (done, batch) = (done + 1, batch + 1);
                        *seen_rows += rows;
                        if !loss.is_finite() {
                            let (step, epoch) = (done as u64, epochs.epoch());
                            return Err(Error::NonFiniteLoss { loss, step, epoch, batch, learning_rate });
                        }
                    }
                }
                Advance::Ended if done >= steps => return Ok(()),
                Advance::Ended => {
                    batch = 0;
                    epochs.next_epoch();
                    epochs.limit((steps - done).saturating_mul(batch_size));
                }
            }
        }
    }

    /// Returns the number of rows in the batches of the last run.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns a description of the engine.
    pub fn description(&self) -> Description {
        self.engine.description()
    }

    /// Returns the weights after the last run.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn parameters(&mut self) -> Result<Parameters> {
        block(self.engine.parameters())
    }

    /// Measures the performance limits of the device.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn ceilings(&mut self) -> Result<Ceilings> {
        self.engine.ceilings()
    }
}
