//! The epoch loop: from a reader to a trained model.

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::data::{Dataset, Reader, Transform};
use crate::engine::{BatchMetrics, Device, Engine, Observer, Work, begin};
use crate::error::{Error, Result};
use crate::gpu::Span;
use crate::model::{Meaning, Model, Network, Parameters};
use crate::train::keeper::{Keeper, Kept};
use crate::train::training_data::{HeldOut, TrainingData};
use crate::train::{Config, Doubt, End, Epoch, Event, Report, Score, Summary};

/// Trains a network on what `reader` delivers, and tests it on `test` after every epoch: [`train_on`] with the data
/// options of the settings and without a listener.
///
/// # Errors
/// As [`train_on`].
pub fn train(
    config: &Config,
    reader: Reader,
    test: Option<Reader>,
    device: &Device,
    report: &mut Report<'_>,
) -> Result<Summary> {
    config.validate()?;
    let data = TrainingData::new(reader, None, test, &config.data)?;
    train_on(config, data, device, &None, report)
}

/// Trains a network, starting when enough rows are there, and evaluates it after every epoch. `listener` is told what
/// takes how long in the epochs, and the device's ceilings are measured at the end for it.
///
/// # Errors
/// Those of the data, of the device and of `report`; [`Error::NonFiniteLoss`] at the first step whose loss is NaN or
/// infinite.
pub fn train_on(
    config: &Config,
    mut data: TrainingData,
    device: &Device,
    listener: &Observer,
    report: &mut Report<'_>,
) -> Result<Summary> {
    config.validate()?;
    let mut started = Run::start(config, &data, device, listener, report)?;
    let mut totals = Totals { epoch: 1, ..Totals::default() };
    let mut first = started.first_epoch(&mut data, &mut totals, report);
    let mut run = match first {
        Ok(false) => {
            // Its memory is free for the network that takes its place.
            drop(started);
            if let Some(recorder) = listener {
                recorder.take();
            }
            data.make_whole()?;
            let mut again = Run::start(config, &data, device, listener, report)?;
            totals = Totals { epoch: 1, ..Totals::default() };
            first = again.first_epoch(&mut data, &mut totals, report);
            again
        }
        _ => started,
    };
    let mut keeper = Keeper::new(config.keep, config.patience, data.validates());
    let mut trained = first.map(|_| ());
    let mut held_out = None;
    let mut epochs = Vec::new();
    let end = loop {
        if let Err(Error::Interrupted) = trained {
            run.interrupt(&mut totals, &mut keeper, report)?;
            break End::Interrupted;
        }
        trained?;
        if held_out.is_none() {
            let rows = |held_out: Option<HeldOut>| {
                held_out.map(|rows| rows.rows(run.spec.inputs(), &data.transform, &run.meaning)).transpose()
            };
            held_out = Some([rows(data.validation.take())?, rows(data.test.take())?]);
        }
        let [validation, test] = held_out.as_ref().expect("it was made just now");
        let last = epochs.len() + 1 == config.epochs;
        let (epoch, model, doubt) =
            run.end_epoch(&totals, validation.as_ref(), test.as_ref(), &data, last)?;
        let is_kept = keeper.take(&epoch, &model, doubt);
        report(Event::Epoch { epoch: &epoch, model: &model, is_kept })?;
        epochs.push(epoch);
        if last {
            break End::Done;
        }
        if keeper.has_lost_patience() {
            break End::Patience;
        }
        totals = Totals { epoch: epochs.len() + 1, ..Totals::default() };
        trained = run.later_epoch(&data, &mut totals, report);
    };
    if let (Some(loss), End::Done | End::Patience) = (run.bad_test, end) {
        return Err(Error::NonFiniteTest { path: data.test_name.clone(), loss });
    }
    let Some(Kept { epoch: kept, model, doubt }) = keeper.kept else { return Err(Error::Interrupted) };
    Ok(Summary {
        epochs,
        kept,
        model,
        end,
        doubt,
        engine: run.engine.kind(),
        device: run.engine.device(),
        first_batch: run.first_batch.unwrap_or_else(Instant::now),
        schedule: run.engine.schedule(),
        steps: run.steps,
        ceilings: listener.as_ref().map(|_| run.engine.ceilings()).transpose()?,
    })
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

impl Totals {
    fn score(&self) -> Score {
        let rows = self.rows as f64;
        Score { loss: self.loss / rows, accuracy: self.correct as f64 / rows }
    }
}

/// A run in progress.
struct Run<'a> {
    config: &'a Config,
    spec: Network,
    transform: Transform,
    meaning: Meaning,
    has_bytes: bool,
    engine: Box<dyn Engine>,
    steps: u64,
    first_batch: Option<Instant>,
    /// The last loss over the test rows that was no finite number.
    bad_test: Option<f64>,
    listener: &'a Observer,
}

impl<'a> Run<'a> {
    /// Makes the network for what the rows so far have shown.
    fn start(
        config: &'a Config,
        data: &TrainingData,
        device: &Device,
        listener: &'a Observer,
        report: &mut Report<'_>,
    ) -> Result<Self> {
        let (transform, meaning) = (data.transform.clone(), data.meaning());
        let batch = config.batch_size.min(data.rows().unwrap_or(usize::MAX));
        let spec = config.spec(data.reader.inputs(), meaning.classes.len(), batch)?;
        device.check(&spec, batch)?;
        let parameters = Parameters::he_normal(&spec, config.seed);
        let mut engine = device.engine(parameters, &spec, config, batch)?;
        engine.observe(listener.clone());
        report(Event::Started {
            engine: engine.kind(),
            device: &engine.device(),
            spec: &spec,
            transform: &transform,
            meaning: &meaning,
            rows: data.rows(),
            schedule: engine.schedule().as_ref(),
            tiles: engine.tiles().as_ref(),
            dispatches: &engine.describe(),
        })?;
        let has_bytes = data.reader.has_bytes();
        let (steps, first_batch, bad_test) = (0, None, None);
        Ok(Self {
            config,
            spec,
            transform,
            meaning,
            has_bytes,
            engine,
            steps,
            first_batch,
            bad_test,
            listener,
        })
    }

    /// Trains on blocks as they arrive. False when a later block shows that the network has the wrong shape.
    fn first_epoch(
        &mut self,
        data: &mut TrainingData,
        totals: &mut Totals,
        report: &mut Report<'_>,
    ) -> Result<bool> {
        let start = Instant::now();
        let mut trained = 0;
        loop {
            if u32::try_from(data.reader.rows()).is_err() {
                return Err(Error::Config(format!("more than {} rows are too many", u32::MAX)));
            }
            if let Some(reason) = data.outdated(&self.meaning, self.has_bytes) {
                report(Event::Restarted { reason: &reason })?;
                return Ok(false);
            }
            let ready = ready_rows(&data.reader, self.config.batch_size);
            self.train(data, trained..ready, totals, report)?;
            trained = ready;
            if data.reader.is_complete() {
                break;
            }
            let _reading = begin(self.listener, Work::Reading);
            data.reader.next_block()?;
        }
        if !data.is_whole {
            data.reader.check_classes()?;
        }
        self.finish(data.rows(), totals, report)?;
        totals.duration = self.elapsed(start);
        Ok(true)
    }

    fn later_epoch(
        &mut self,
        data: &TrainingData,
        totals: &mut Totals,
        report: &mut Report<'_>,
    ) -> Result<()> {
        let start = Instant::now();
        self.train(data, 0..data.reader.rows(), totals, report)?;
        self.finish(data.rows(), totals, report)?;
        totals.duration = self.elapsed(start);
        Ok(())
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
        data: &TrainingData,
        positions: Range<usize>,
        totals: &mut Totals,
        report: &mut Report<'_>,
    ) -> Result<()> {
        let Self { engine, steps, first_batch, config, transform, .. } = self;
        let (rows, order) = (data.reader.view(transform.scaling()), order_of(totals.epoch, data.is_whole));
        engine.train_epoch(&rows, config.seed, order, positions, &mut |batch| {
            count(batch, config, steps, first_batch, totals, rows.total, report)
        })
    }

    fn finish(&mut self, total: Option<usize>, totals: &mut Totals, report: &mut Report<'_>) -> Result<()> {
        let Self { engine, steps, first_batch, config, .. } = self;
        engine.finish(&mut |batch| count(batch, config, steps, first_batch, totals, total, report))
    }

    /// After an interruption: waits for what the device still does, and tells of the model if it would be kept.
    fn interrupt(&mut self, totals: &mut Totals, keeper: &mut Keeper, report: &mut Report<'_>) -> Result<()> {
        self.finish(None, totals, &mut |_| Ok(()))?;
        if !keeper.keeps_last() {
            return Ok(());
        }
        let parameters = self.engine.parameters()?;
        if !parameters.is_finite() {
            return Err(self.non_finite(totals.epoch));
        }
        let model = self.model(parameters, totals.epoch);
        report(Event::Interrupted { epoch: totals.epoch, steps: self.steps, model: &model })?;
        keeper.kept = Some(Kept { epoch: 0, model, doubt: None });
        Ok(())
    }

    /// Evaluates the network and takes it from the device.
    fn end_epoch(
        &mut self,
        totals: &Totals,
        validation: Option<&Dataset>,
        test: Option<&Dataset>,
        data: &TrainingData,
        is_last: bool,
    ) -> Result<(Epoch, Model, Option<Doubt>)> {
        let mut doubt = None;
        let classes = &self.meaning.classes;
        let mut evaluate = |rows: Option<&Dataset>, name| {
            rows.map(|rows| {
                let evaluation = self.engine.evaluate(&rows.view())?;
                doubt = Doubt::of(&rows.labels, &evaluation.predictions, classes, name);
                Ok(Score { loss: evaluation.loss, accuracy: evaluation.accuracy(&rows.labels) })
            })
            .transpose()
        };
        let validation = evaluate(validation, "validation")?;
        let test = evaluate(test, "test")?;
        let parameters = self.engine.parameters()?;
        let is_finite = |score: Option<Score>| score.is_none_or(|score| score.loss.is_finite());
        if !(is_finite(validation) && parameters.is_finite()) {
            return Err(self.non_finite(totals.epoch));
        }
        if !is_finite(test) && !self.engine.evaluate(&data.view())?.loss.is_finite() {
            // Not the fault of the test rows alone.
            return Err(self.non_finite(totals.epoch));
        }
        self.bad_test = test.filter(|test| !test.loss.is_finite()).map(|test| test.loss);
        let train = totals.score();
        if is_last && validation.is_none() && test.is_none() {
            doubt = self.doubt_of_training(train, data)?;
        }
        let (rows, duration) = (totals.rows, totals.duration);
        let epoch = Epoch { epoch: totals.epoch, train, validation, test, duration, rows };
        Ok((epoch, self.model(parameters, totals.epoch), doubt))
    }

    /// The same of the training rows, where there are no others. They are only looked at if there is reason for it.
    fn doubt_of_training(&mut self, train: Score, data: &TrainingData) -> Result<Option<Doubt>> {
        let labels = data.reader.labels();
        let mut counts = vec![0u64; self.meaning.classes.len()];
        labels.iter().for_each(|label| counts[*label as usize] += 1);
        let most = counts.iter().copied().max().unwrap_or(0) as f64 / labels.len().max(1) as f64;
        if train.accuracy > most + 0.1 * (1.0 - most) {
            return Ok(None);
        }
        let evaluation = self.engine.evaluate(&data.reader.view(self.transform.scaling()))?;
        Ok(Doubt::of(labels, &evaluation.predictions, &self.meaning.classes, "training"))
    }

    fn model(&self, parameters: Parameters, epoch: usize) -> Model {
        let Self { spec, transform, meaning, config, .. } = self;
        let (spec, transform, meaning) = (spec.clone(), transform.clone(), meaning.clone());
        let mut settings = config.settings();
        settings.insert("epoch".to_owned(), epoch.to_string());
        Model { spec, transform, meaning, parameters, origin: Some(self.engine.origin()), settings }
    }

    fn non_finite(&self, epoch: usize) -> Error {
        Error::NonFiniteModel { epoch, learning_rate: self.config.learning_rate }
    }
}

/// Which order an epoch takes: the first one keeps to blocks, unless all rows are there before it begins.
pub(crate) fn order_of(epoch: usize, is_whole: bool) -> usize {
    epoch + usize::from(is_whole)
}

/// Rows that the first epoch can train so far: whole batches, and at the end all.
pub(crate) fn ready_rows(reader: &Reader, batch_size: usize) -> usize {
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
    report(Event::Progress { epoch: totals.epoch, rows: totals.rows, total, score: totals.score() })
}
