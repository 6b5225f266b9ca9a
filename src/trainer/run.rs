//! The epoch loop: from a reader to a trained model.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::chosen::Chosen;
use super::config::Config;
use super::device::Choice;
use super::engine::{BatchMetrics, Engine, EngineKind};
use super::evaluation::{check_inputs, test_set, unknown_label};
use super::recorder::{Listener, Work, begin};
use super::tiles::Tiles;
use crate::data::{Dataset, Reader, Scaling};
use crate::error::{Error, Result};
use crate::gpu::Span;
use crate::kernels::Ceilings;
use crate::model::{Model, Parameters, Spec};

/// What one epoch gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Epoch {
    /// Number, from 1.
    pub epoch: usize,
    /// Mean loss over the training rows, each as it was when its batch was trained.
    pub train_loss: f64,
    /// Share of training rows classified correctly, likewise.
    pub train_accuracy: f64,
    /// Mean loss over the test rows after the epoch.
    pub test_loss: Option<f64>,
    /// Share of test rows classified correctly after the epoch.
    pub test_accuracy: Option<f64>,
    /// Time of training alone.
    pub duration: Duration,
    /// Training rows.
    pub rows: usize,
}

impl Epoch {
    /// Training rows a second.
    pub fn samples_per_second(&self) -> f64 {
        self.rows as f64 / self.duration.as_secs_f64().max(1e-9)
    }
}

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// Training begins.
    Started {
        /// What computes.
        engine: EngineKind,
        /// The device, for people.
        device: &'a str,
        /// The network.
        spec: &'a Spec,
        /// How table values become inputs.
        scaling: Scaling,
        /// How a step is divided into dispatches, where it is.
        schedule: Option<&'a Chosen>,
        /// Tile shapes, where there are any.
        tiles: Option<&'a Tiles>,
        /// Those dispatches in words.
        dispatches: &'a [String],
    },
    /// Some batches more have been trained.
    Progress {
        /// The epoch, from 1.
        epoch: usize,
        /// Its rows trained so far.
        rows: usize,
        /// Its rows in all, where that is known.
        total: Option<usize>,
        /// Mean loss over the rows so far.
        loss: f64,
        /// Share of them classified correctly.
        accuracy: f64,
    },
    /// A later row showed that the first ones had misled: everything is read first, then training starts again.
    Restarted {
        /// What was found.
        reason: &'a str,
    },
    /// An epoch has ended. Whoever wants to keep the model saves it now.
    Epoch {
        /// Its figures.
        epoch: &'a Epoch,
        /// The model after it.
        model: &'a Model,
    },
}

/// Takes the events of a run. An error ends the run.
pub type Report<'a> = dyn FnMut(Event<'_>) -> Result<()> + 'a;

/// What a run gave.
#[derive(Debug)]
pub struct Summary {
    /// All epochs.
    pub epochs: Vec<Epoch>,
    /// The model after the last.
    pub model: Model,
    /// What computed.
    pub engine: EngineKind,
    /// The device, for people.
    pub device: String,
    /// When the first batch was known to be trained.
    pub first_batch: Instant,
    /// How a step was divided into dispatches, where it was.
    pub schedule: Option<Chosen>,
    /// Steps of all epochs.
    pub steps: u64,
    /// What the device can do at most, if somebody was told what took how long.
    pub ceilings: Option<Ceilings>,
}

/// Trains a network on what `reader` delivers, starting when its first block is there, and tests it on `test` after
/// every epoch.
///
/// # Errors
/// Those of the data, of the device and of `report`; [`Error::NonFiniteLoss`] at the first step whose loss is NaN or
/// infinite.
pub fn train(
    config: &Config,
    reader: Reader,
    test: Option<Reader>,
    device: &Choice,
    report: &mut Report<'_>,
) -> Result<Summary> {
    train_timed(config, reader, test, device, &None, report)
}

/// As [`train`]; `listener` is told what takes how long in the epochs, and the device's ceilings are measured at the
/// end for it.
///
/// # Errors
/// As [`train`].
pub fn train_timed(
    config: &Config,
    mut reader: Reader,
    mut test: Option<Reader>,
    device: &Choice,
    listener: &Listener,
    report: &mut Report<'_>,
) -> Result<Summary> {
    config.validate()?;
    if let Some(test) = &test {
        check_inputs(test.name(), test.inputs(), reader.inputs())?;
    }
    while reader.next_block()? && reader.rows() < config.batch_size {}
    // What is wrong with a small test set shows before an epoch has been spent; of IDX the labels are known already.
    if let Some(test) = &mut test
        && test.total_rows().is_none()
    {
        test.next_block()?;
    }
    if let (Some(test), Some(_)) = (&test, reader.total_rows())
        && test.classes() > reader.classes()
    {
        let found = format!("label {}", test.classes() - 1);
        return Err(unknown_label(test.name(), found, reader.classes()));
    }
    let mut started = Run::start(config, &reader, device, listener, report)?;
    let (mut run, mut totals) = match started.first_epoch(&mut reader, report)? {
        Some(totals) => (started, totals),
        None => {
            // Its memory is free for the network that takes its place.
            drop(started);
            if let Some(recorder) = listener {
                recorder.take();
            }
            reader.read_to_end()?;
            let mut again = Run::start(config, &reader, device, listener, report)?;
            let totals = again.first_epoch(&mut reader, report)?.ok_or_else(|| {
                Error::Config("the data changed its shape after it was wholly read".to_owned())
            })?;
            (again, totals)
        }
    };
    let test = test.take().map(|test| test_set(test, &run.spec, run.scaling)).transpose()?;
    let mut epochs = Vec::new();
    loop {
        let (epoch, model) = run.end_epoch(&totals, test.as_ref())?;
        report(Event::Epoch { epoch: &epoch, model: &model })?;
        epochs.push(epoch);
        if epochs.len() == config.epochs {
            let (engine, device) = (run.engine.kind(), run.engine.device());
            let first_batch = run.first_batch.unwrap_or_else(Instant::now);
            let schedule = run.engine.schedule();
            let ceilings = listener.as_ref().map(|_| run.engine.ceilings()).transpose()?;
            let steps = run.steps;
            return Ok(Summary { epochs, model, engine, device, first_batch, schedule, steps, ceilings });
        }
        totals = run.later_epoch(epochs.len() + 1, &reader, report)?;
    }
}

/// Sums over the batches of an epoch.
#[derive(Default)]
struct Totals {
    epoch: usize,
    batches: u64,
    rows: usize,
    loss: f64,
    correct: u64,
    duration: Duration,
}

/// A run in progress.
struct Run<'a> {
    config: &'a Config,
    spec: Spec,
    scaling: Scaling,
    engine: Box<dyn Engine>,
    steps: u64,
    first_batch: Option<Instant>,
    listener: &'a Listener,
}

impl<'a> Run<'a> {
    /// Makes the network for what the reader has shown so far.
    fn start(
        config: &'a Config,
        reader: &Reader,
        device: &Choice,
        listener: &'a Listener,
        report: &mut Report<'_>,
    ) -> Result<Self> {
        let batch = config.batch_size.min(reader.total_rows().unwrap_or(usize::MAX));
        let spec = config.spec(reader.inputs(), reader.classes(), batch)?;
        let scaling = reader.scaling();
        device.check(&spec, batch)?;
        let parameters = Parameters::he_normal(&spec, config.seed);
        let mut engine = device.engine(parameters, &spec, config, batch)?;
        engine.tell(listener.clone());
        report(Event::Started {
            engine: engine.kind(),
            device: &engine.device(),
            spec: &spec,
            scaling,
            schedule: engine.schedule().as_ref(),
            tiles: engine.tiles().as_ref(),
            dispatches: &engine.describe(),
        })?;
        Ok(Self { config, spec, scaling, engine, steps: 0, first_batch: None, listener })
    }

    /// Trains on blocks as they arrive. Nothing when a later block shows that the network has the wrong shape.
    fn first_epoch(&mut self, reader: &mut Reader, report: &mut Report<'_>) -> Result<Option<Totals>> {
        let start = Instant::now();
        let mut totals = Totals { epoch: 1, ..Totals::default() };
        let mut trained = 0;
        loop {
            if u32::try_from(reader.rows()).is_err() {
                return Err(Error::Config(format!("more than {} rows are too many", u32::MAX)));
            }
            if let Some(reason) = self.outdated(reader) {
                report(Event::Restarted { reason: &reason })?;
                return Ok(None);
            }
            let ready = ready_rows(reader, self.config.batch_size);
            self.train(reader, trained..ready, &mut totals, report)?;
            trained = ready;
            if reader.is_complete() {
                break;
            }
            let _reading = begin(self.listener, Work::Reading);
            reader.next_block()?;
        }
        self.finish(reader.total_rows(), &mut totals, report)?;
        totals.duration = self.elapsed(start);
        Ok(Some(totals))
    }

    /// What the reader has learnt that the network was not made for.
    fn outdated(&self, reader: &Reader) -> Option<String> {
        if reader.classes() != self.spec.classes() {
            let (seen, now) = (self.spec.classes(), reader.classes());
            return Some(format!("the first rows show {seen} classes, later ones {now}"));
        }
        let form = |scaling| if scaling == Scaling::Bytes { "bytes" } else { "plain numbers" };
        (reader.scaling() != self.scaling).then(|| {
            format!("the first rows hold {}, the whole table {}", form(self.scaling), form(reader.scaling()))
        })
    }

    fn later_epoch(&mut self, epoch: usize, reader: &Reader, report: &mut Report<'_>) -> Result<Totals> {
        let start = Instant::now();
        let mut totals = Totals { epoch, ..Totals::default() };
        self.train(reader, 0..reader.rows(), &mut totals, report)?;
        self.finish(reader.total_rows(), &mut totals, report)?;
        totals.duration = self.elapsed(start);
        Ok(totals)
    }

    /// The time of an epoch that has just ended.
    fn elapsed(&self, start: Instant) -> Duration {
        let end = Instant::now();
        if let Some(recorder) = self.listener {
            recorder.log().windows.push(Span { begin: recorder.at(start), end: recorder.at(end) });
        }
        end - start
    }

    /// Trains on these positions of the order of the epoch that `totals` counts.
    fn train(
        &mut self,
        reader: &Reader,
        positions: Range<usize>,
        totals: &mut Totals,
        report: &mut Report<'_>,
    ) -> Result<()> {
        let Self { engine, steps, first_batch, config, scaling, .. } = self;
        let (total, epoch) = (reader.total_rows(), totals.epoch);
        engine.train_epoch(&reader.view(*scaling), config.seed, epoch, positions, &mut |batch| {
            count(batch, config, steps, first_batch, totals, total, report)
        })
    }

    fn finish(&mut self, total: Option<usize>, totals: &mut Totals, report: &mut Report<'_>) -> Result<()> {
        let Self { engine, steps, first_batch, config, .. } = self;
        engine.finish(&mut |batch| count(batch, config, steps, first_batch, totals, total, report))
    }

    /// Tests the network and takes it from the device.
    fn end_epoch(&mut self, totals: &Totals, test: Option<&Dataset>) -> Result<(Epoch, Model)> {
        let tested = test.map(|test| Ok((self.engine.evaluate(&test.view())?, test))).transpose()?;
        let parameters = self.engine.parameters()?;
        let tested_well = tested.as_ref().is_none_or(|(evaluation, _)| evaluation.loss.is_finite());
        if !(tested_well && parameters.is_finite()) {
            let learning_rate = self.config.learning_rate;
            return Err(Error::NonFiniteModel { epoch: totals.epoch, learning_rate });
        }
        let rows = totals.rows as f64;
        let epoch = Epoch {
            epoch: totals.epoch,
            train_loss: totals.loss / rows,
            train_accuracy: totals.correct as f64 / rows,
            test_loss: tested.as_ref().map(|(evaluation, _)| evaluation.loss),
            test_accuracy: tested.as_ref().map(|(evaluation, test)| evaluation.accuracy(&test.labels)),
            duration: totals.duration,
            rows: totals.rows,
        };
        let (spec, scaling, origin) = (self.spec.clone(), self.scaling, Some(self.engine.origin()));
        Ok((epoch, Model { spec, scaling, parameters, origin }))
    }
}

/// Rows that the first epoch can train so far: whole batches, and at the end all.
pub(super) fn ready_rows(reader: &Reader, batch_size: usize) -> usize {
    let rest = if reader.is_complete() { 0 } else { reader.rows() % batch_size };
    reader.rows() - rest
}

/// Counts one batch, and ends the run if its loss is no number.
fn count(
    batch: BatchMetrics,
    config: &Config,
    steps: &mut u64,
    first_batch: &mut Option<Instant>,
    totals: &mut Totals,
    total: Option<usize>,
    report: &mut Report<'_>,
) -> Result<()> {
    first_batch.get_or_insert_with(Instant::now);
    *steps += 1;
    totals.batches += 1;
    if !batch.loss.is_finite() {
        return Err(Error::NonFiniteLoss {
            loss: batch.loss,
            step: *steps,
            epoch: totals.epoch,
            batch: totals.batches,
            learning_rate: config.learning_rate,
        });
    }
    totals.rows += batch.rows;
    totals.loss += batch.loss;
    totals.correct += batch.correct;
    report(Event::Progress {
        epoch: totals.epoch,
        rows: totals.rows,
        total,
        loss: totals.loss / totals.rows as f64,
        accuracy: totals.correct as f64 / totals.rows as f64,
    })
}
