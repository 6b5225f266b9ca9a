//! The first steps of a training run, again and again: what a profile looks at.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::data::{Reader, rows_at};
use crate::engine::{BatchMetrics, Device, Engine, EngineKind, Observer, Work, begin};
use crate::error::{Error, Result};
use crate::gpu::Span;
use crate::kernels::Ceilings;
use crate::model::{Network, Parameters};
use crate::schedule::SelectedSchedule;
use crate::train::run::{order_of, ready_rows};
use crate::train::{Config, TrainingData};

/// Opens the training data anew.
pub type Open<'a> = dyn FnMut() -> Result<Reader> + 'a;

/// A network that can be trained from its first step on as often as one likes. Every run has the same steps, in the
/// same buffers and with the same kernels, and gives the same weights.
pub struct Trial<'a> {
    config: &'a Config,
    open: &'a mut Open<'a>,
    engine: Box<dyn Engine>,
    first: Parameters,
    spec: Network,
    rows: usize,
}

impl<'a> Trial<'a> {
    /// Makes the network for the data that `open` gives. All rows of a CSV table are read for that, since a late one may
    /// show more classes; what an IDX file holds is known at once.
    ///
    /// # Errors
    /// Those of the settings, the data and the device.
    pub fn new(config: &'a Config, device: &Device, open: &'a mut Open<'a>) -> Result<Self> {
        config.validate()?;
        let mut data = TrainingData::new(open()?, None, None, &config.data)?;
        if data.rows().is_none() {
            data.make_whole()?;
        }
        let batch = config.batch_size.min(data.rows().unwrap_or(usize::MAX));
        let spec = config.spec(data.reader.inputs(), data.reader.classes().len(), batch)?;
        drop(data);
        device.check(&spec, batch)?;
        let first = Parameters::he_normal(&spec, config.seed);
        let engine = device.engine(first.clone(), &spec, config, batch)?;
        Ok(Self { config, open, engine, first, spec, rows: 0 })
    }

    /// Trains so many steps from the first weights on, reading while it trains, as in training; `listener` is told
    /// what takes how long. One window of its log is the whole run, opening the files included.
    ///
    /// # Errors
    /// Those of the data and the device; [`Error::NonFiniteLoss`] at the first step whose loss is NaN or infinite.
    pub fn run(&mut self, steps: usize, listener: &Observer) -> Result<Duration> {
        self.engine.restart(&self.first)?;
        self.engine.observe(listener.clone());
        let start = Instant::now();
        let reading = begin(listener, Work::Reading);
        let mut data = TrainingData::new((self.open)()?, None, None, &self.config.data)?;
        if data.reader.classes().len() < self.spec.classes() {
            data.make_whole()?;
        }
        drop(reading);
        self.train(&mut data, steps, listener)?;
        let end = Instant::now();
        self.engine.observe(None);
        if let Some(recorder) = listener {
            let span = |(begin, end)| Span { begin: recorder.at(begin), end: recorder.at(end) };
            let mut log = recorder.log();
            log.windows.push(span((start, end)));
            log.reader = data.reader.times().into_iter().map(span).collect();
        }
        Ok(end - start)
    }

    fn train(&mut self, data: &mut TrainingData, steps: usize, listener: &Observer) -> Result<()> {
        let Self { config, engine, spec, rows: seen, .. } = self;
        let (scaling, is_whole) = (data.transform.scaling(), data.is_whole);
        let reader = &mut data.reader;
        *seen = 0;
        let Config { batch_size, seed, learning_rate, .. } = **config;
        let (epoch, batch) = (Cell::new(1), Cell::new(0));
        let mut step = 0;
        let mut sink = |BatchMetrics { loss, rows, .. }| {
            step += 1;
            *seen += rows;
            batch.set(batch.get() + 1);
            if loss.is_finite() {
                return Ok(());
            }
            Err(Error::NonFiniteLoss { loss, step, epoch: epoch.get(), batch: batch.get(), learning_rate })
        };
        let (mut left, mut trained) = (steps, 0);
        loop {
            if reader.classes().len() > spec.classes() || reader.inputs() != spec.inputs() {
                return Err(Error::Config(format!(
                    "{} changed while it was profiled",
                    reader.name().display()
                )));
            }
            let end = ready_rows(reader, batch_size).min(trained + left.saturating_mul(batch_size));
            if end > trained {
                engine.train_epoch(
                    &reader.view(scaling),
                    seed,
                    order_of(1, is_whole),
                    trained..end,
                    &mut sink,
                )?;
            }
            left -= (end - trained).div_ceil(batch_size);
            trained = end;
            if left == 0 || reader.is_complete() {
                break;
            }
            let reading = begin(listener, Work::Reading);
            reader.next_block()?;
            drop(reading);
        }
        while left > 0 {
            engine.finish(&mut sink)?;
            epoch.set(epoch.get() + 1);
            batch.set(0);
            let rows = reader.view(scaling);
            let end = rows.len().min(left.saturating_mul(batch_size));
            if end == rows.len() {
                engine.train_epoch(&rows, seed, order_of(epoch.get(), is_whole), 0..end, &mut sink)?;
            } else {
                engine.train(
                    &rows,
                    &rows_at(seed, order_of(epoch.get(), is_whole), rows.len(), 0..end),
                    &mut sink,
                )?;
            }
            left -= end.div_ceil(batch_size);
        }
        engine.finish(&mut sink)
    }

    /// Rows of all batches of the last run.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What computes.
    pub fn kind(&self) -> EngineKind {
        self.engine.kind()
    }

    /// The device, for people.
    pub fn device(&self) -> String {
        self.engine.device()
    }

    /// How a step is divided into dispatches, where it is.
    pub fn schedule(&self) -> Option<SelectedSchedule> {
        self.engine.schedule()
    }

    /// The weights as the last run left them.
    ///
    /// # Errors
    /// Those of the device.
    pub fn parameters(&mut self) -> Result<Parameters> {
        self.engine.parameters()
    }

    /// What the device can do at most, measured now.
    ///
    /// # Errors
    /// Those of the device.
    pub fn ceilings(&mut self) -> Result<Ceilings> {
        self.engine.ceilings()
    }
}
