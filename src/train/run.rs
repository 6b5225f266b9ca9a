//! A run: from a reader to a trained model, event by event.

mod epoch;
mod refit;
mod resuming;
mod tempering;

pub use self::refit::refit;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::active_run::ActiveRun;
use super::checkpoint::{PartOfEpoch, TrainedOrder, TrainedRows};
use super::config::Config;
use super::epoch_loop::{Advance, EpochLoop};
use super::events::{End, Epoch, Event, Score, Started, Summary};
use super::model_selection::{ModelSelection, SelectedModel};
use super::shared_data::{HeldOutRows, RunData, SharedData};
use super::training_data::TrainingData;
use crate::clock::Instant;
use crate::data::Dataset;
#[cfg(feature = "gpu")]
use crate::engine::verified_engine;
use crate::engine::{Device, Engine, EngineState, Observer};
use crate::error::{Error, Result};
use crate::model::{Model, Parameters};
use crate::threads::block;

/// Maximum time of an evaluation that a run starts after its time limit.
const MOMENT: Duration = Duration::from_millis(500);

/// A run without an engine, between two steps.
struct SuspendedRun {
    parameters: Parameters,
    state: EngineState,
    epoch: PartOfEpoch,
    /// Order in which the rows of the current epoch were trained; `None` between two epochs.
    order: Option<TrainedOrder>,
    /// Model of a checkpoint, for comparison with the data and the settings; `None` for a suspended run,
    /// which keeps both.
    model: Option<Model>,
}

/// Trains a network, starting when enough rows have been read, and evaluates it after every epoch. Call
/// [`Run::next`] until there are no more events. Dropping the run ends it.
pub struct Run {
    config: Config,
    data: RunData,
    device: Device,
    observer: Observer,
    trained: Option<ActiveRun>,
    events: VecDeque<Event>,
    selection: ModelSelection,
    epochs: Vec<Epoch>,
    /// Initial parameters and optimizer state, if not given by the settings.
    first: Option<(Parameters, EngineState)>,
    /// Validation and test rows, once read.
    held_out: Option<Arc<HeldOutRows>>,
    /// State at which a suspended or resumed run starts.
    suspended: Option<Box<SuspendedRun>>,
    /// Identity of the training rows of a checkpoint, until compared.
    expected: Option<TrainedRows>,
    /// Identity of the training rows, once computed.
    trained_rows: Option<TrainedRows>,
    steps: u64,
    first_batch: Option<Instant>,
    /// Whether test rows are evaluated after every epoch, not only for the summary.
    tests_every_epoch: bool,
    /// Test score after the last epoch, until the summary.
    last_test: Option<Score>,
    is_stopped: bool,
    /// Start time for the time limit.
    began: Instant,
    /// Whether starting after the time limit is an error.
    needs_time: bool,
    /// Whether the time limit stops the run within an epoch.
    is_resumable: bool,
    /// Whether the engine is compared with the CPU engine before training.
    #[cfg(feature = "gpu")]
    is_verified: bool,
    /// Wrong results of the comparison, one line each.
    refused: Vec<String>,
    end: Option<End>,
}

impl Run {
    /// Creates a run. An `observer` receives the times of work within epochs, and the performance limits of
    /// the device, measured at the end.
    ///
    /// # Errors
    /// [`Error::Setting`] and [`Error::Config`] for invalid settings.
    pub fn new(config: Config, data: TrainingData, device: Device, observer: Observer) -> Result<Self> {
        Self::with_data(config, RunData::Own(Box::new(data)), device, observer)
    }

    /// Creates a run on data shared with other runs.
    ///
    /// # Errors
    /// As [`Run::new`].
    pub fn shared(config: Config, data: Arc<SharedData>, device: Device) -> Result<Self> {
        Self::with_data(config, RunData::Shared(data), device, None)
    }

    fn with_data(config: Config, data: RunData, device: Device, observer: Observer) -> Result<Self> {
        config.validate()?;
        let selection = ModelSelection::new(config.keep, config.patience, data.validates());
        Ok(Self {
            held_out: data.held_out(),
            config,
            data,
            device,
            observer,
            trained: None,
            events: VecDeque::new(),
            selection,
            epochs: Vec::new(),
            first: None,
            suspended: None,
            expected: None,
            trained_rows: None,
            steps: 0,
            first_batch: None,
            tests_every_epoch: true,
            last_test: None,
            is_stopped: false,
            began: Instant::now(),
            needs_time: false,
            is_resumable: false,
            #[cfg(feature = "gpu")]
            is_verified: false,
            refused: Vec::new(),
            end: None,
        })
    }

    /// Counts the time limit from `began`, not from [`Run::new`]. If the limit is reached before the first
    /// step, the run fails with [`Error::NoTime`].
    #[must_use]
    pub fn began_at(self, began: Instant) -> Self {
        Self { began, needs_time: true, ..self }
    }

    /// Lets the time limit stop the run within an epoch, as [`Run::stop`] does, so that it can resume from a
    /// checkpoint. Otherwise the rows trained so far count as the epoch.
    #[must_use]
    pub fn resumable(self) -> Self {
        Self { is_resumable: true, ..self }
    }

    /// Evaluates the test rows only for the summary, with the kept model.
    #[must_use]
    pub fn tested_at_end(self) -> Self {
        Self { tests_every_epoch: false, ..self }
    }

    /// Sets the initial parameters, for example of an earlier model, and the optimizer state, which is
    /// ignored for a different optimizer and for learning rates that depend on the number of steps.
    /// [`Run::next`] fails if the parameters do not fit the network.
    #[must_use]
    pub fn begin_with(self, parameters: Parameters, state: EngineState) -> Self {
        Self { first: Some((parameters, state)), ..self }
    }

    /// Compares some steps of the device with the CPU engine before training. If results are wrong, another
    /// schedule is used, or finally the CPU engine: see [`Run::refused`].
    #[cfg(feature = "gpu")]
    #[must_use]
    pub fn verified(self) -> Self {
        Self { is_verified: true, ..self }
    }

    /// Returns the wrong results of the device at the start of the run, one line each.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Stops the run between two steps. The last events follow.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Starts or resumes with this engine, which has the network's initial parameters.
    ///
    /// # Errors
    /// As [`Run::next`].
    pub(crate) fn attach_engine(&mut self, engine: Box<dyn Engine>) -> Result<()> {
        block(self.start(Some(engine))).inspect_err(|_| self.end = Some(End::Interrupted))
    }

    /// Releases the engine of a finished run; the kept model remains.
    pub(crate) fn detach_engine(&mut self) {
        self.trained = None;
    }

    /// Sets the duration of the last epoch, if other runs were trained at the same time.
    pub(crate) fn record_duration(&mut self, duration: Duration) {
        if let Some(epoch) = self.epochs.last_mut() {
            epoch.duration = duration;
        }
    }

    /// Returns the epochs that have ended.
    pub fn epochs(&self) -> &[Epoch] {
        &self.epochs
    }

    /// Returns the kept model so far, with its epoch, counted from 1.
    pub fn kept(&self) -> Option<(usize, &Arc<Model>)> {
        self.selection.kept.as_ref().map(|kept| (kept.epoch, &kept.model))
    }

    /// Returns whether the run waits without an engine.
    pub fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// Returns the validation rows, once read.
    pub fn validation(&self) -> Option<&Dataset> {
        self.held_out.as_ref()?[0].as_ref()
    }

    /// Returns why the run has ended, if it has.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// Returns the number of steps since the start of the run.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Continues until the next event. Returns `None` when the run is over, also after an error.
    ///
    /// # Errors
    /// Errors of the data and of the device; [`Error::NonFiniteLoss`] at the first step whose loss is NaN or
    /// infinite.
    #[expect(clippy::should_implement_trait, reason = "an iterator would go on after an error")]
    pub fn next(&mut self) -> Result<Option<Event>> {
        block(self.next_async())
    }

    /// Continues as [`Run::next`] does, for threads that must not block, as in browsers.
    ///
    /// # Errors
    /// As [`Run::next`].
    pub async fn next_async(&mut self) -> Result<Option<Event>> {
        while self.events.is_empty() && self.end.is_none() {
            if let Err(error) = self.advance().await {
                self.end = Some(End::Interrupted);
                return Err(error);
            }
        }
        Ok(self.events.pop_front())
    }

    /// Returns the results of the run. Call this when there are no more events.
    ///
    /// # Errors
    /// [`Error::NonFiniteTest`] if the test rows have no finite loss; [`Error::Interrupted`] if there is no model yet.
    pub fn summary(self) -> Result<Summary> {
        block(self.summary_async())
    }

    /// Returns the same as [`Run::summary`], for threads that must not block.
    ///
    /// # Errors
    /// As [`Run::summary`].
    pub async fn summary_async(mut self) -> Result<Summary> {
        let end = self.end.unwrap_or(End::Interrupted);
        self.temper().await?;
        let Some(SelectedModel { epoch: kept, model, mut warning }) = self.selection.kept.take() else {
            return Err(Error::Interrupted);
        };
        let Some(trained) = &mut self.trained else { return Err(Error::Interrupted) };
        if let Some(epoch) = kept.checked_sub(1) {
            // A run that was resumed after its last epoch has not read these rows.
            let held_out = Self::hold_out(&mut self.held_out, &mut self.data, trained, &mut self.events)?;
            let [validation, test] = &*held_out;
            if kept < self.epochs.len() {
                trained.engine.restore(&model.parameters, &EngineState::default())?;
            }
            let epoch = &mut self.epochs[epoch];
            trained.complete(epoch.validation.as_mut(), validation.as_ref()).await?;
            if epoch.test.is_none() && end != End::Interrupted {
                let (score, of_test) = match self.last_test.take() {
                    Some(score) => (Some(score), None),
                    None => trained.evaluate(test.as_ref(), "test", false).await?,
                };
                (epoch.test, warning) = (score, of_test.or(warning));
            }
            trained.complete(epoch.test.as_mut(), test.as_ref()).await?;
            let loss = epoch.test.as_ref().map_or(0.0, |test| test.loss);
            if !loss.is_finite() && end != End::Interrupted {
                let is_finite = self.tests_every_epoch || trained.is_finite_on(&self.data).await?;
                let path = self.data.test_name.clone();
                return Err(if is_finite {
                    Error::NonFiniteTest { path, loss }
                } else {
                    self.non_finite(kept)
                });
            }
        }
        Ok(Summary {
            epochs: self.epochs,
            kept,
            model: Arc::unwrap_or_clone(model),
            end,
            warning,
            engine: trained.engine.description(),
            first_batch: self.first_batch.unwrap_or_else(Instant::now),
            steps: self.steps,
            ceilings: self.observer.as_ref().map(|_| trained.engine.ceilings()).transpose()?,
        })
    }

    /// Returns whether all rows of the epoch are trained, and evaluating the held-out rows is fast enough.
    fn can_end_epoch(&self) -> bool {
        let Some(ActiveRun { totals, epoch_began, .. }) = &self.trained else { return false };
        let known = self.held_out.as_ref().map(|sets| sets.iter().flatten().map(Dataset::rows).sum());
        let held_out: usize = known.unwrap_or_else(|| self.data.held_out_rows().iter().sum());
        let evaluating = epoch_began.elapsed().mul_f64(held_out as f64 / totals.rows.max(1) as f64);
        self.data.rows() == Some(totals.rows) && evaluating < MOMENT
    }

    async fn advance(&mut self) -> Result<()> {
        if self.trained.is_none() {
            return self.start(None).await;
        }
        self.compare_rows()?;
        if self.is_stopped {
            return self.interrupt(End::Interrupted).await;
        }
        if let Some(limit) =
            self.config.max_time.filter(|_| self.needs_time && self.steps == 0 && self.is_over())
        {
            return Err(Error::NoTime { limit, taken: self.began.elapsed() });
        }
        let Some(trained) = &mut self.trained else { return Ok(()) };
        if trained.epochs.is_at_start() {
            // Excludes the time of the caller after the previous epoch, for example for saving its model.
            trained.epoch_began = Instant::now();
        }
        let advanced = trained.epochs.advance(&mut *trained.engine, &mut self.data, &self.observer);
        let advanced = match advanced.await {
            // The reader was interrupted.
            Err(Error::Interrupted) => {
                self.is_stopped = true;
                return Ok(());
            }
            advanced => advanced?,
        };
        match advanced {
            Advance::Batches(batches) => {
                self.count(&batches)?;
                if self.is_over() {
                    if self.is_resumable && !self.can_end_epoch() {
                        return self.interrupt(End::Time).await;
                    }
                    if let Some(trained) = &mut self.trained {
                        trained.epochs.end();
                    }
                }
                Ok(())
            }
            Advance::Ended => self.end_epoch().await,
        }
    }

    /// Creates the network for the rows so far, and an engine if none is given.
    async fn start(&mut self, engine: Option<Box<dyn Engine>>) -> Result<()> {
        let Self { config, data, .. } = self;
        if let Some(data) = data.own() {
            if config.needs_all_rows() && data.rows().is_none() {
                data.read_all()?;
            }
            data.weigh_classes(&config.class_weights)?;
        }
        self.compare_rows()?;
        let Self { config, data, device, first, .. } = self;
        let (transform, data_schema) = (data.transform.clone(), data.data_schema());
        let (network, options) = config.plan(data, device)?;
        let suspended = self.suspended.take();
        if let Some(SuspendedRun { model: Some(model), .. }) = suspended.as_deref()
            && (model.network != network || model.transform != transform || model.data_schema != data_schema)
        {
            let text = format!(
                "cannot resume: the network or the columns of the checkpoint ({}) differ from those of these data and settings ({network})",
                model.network
            );
            return Err(Error::Config(text));
        }
        let mut engine = match engine {
            Some(engine) => engine,
            None => {
                let (parameters, state) = match first {
                    Some((parameters, state)) if parameters.fits(&network) => {
                        (parameters.clone(), config.continued(state, &network))
                    }
                    Some(_) => {
                        let text = format!("expected parameters of a {network} network, found others");
                        return Err(Error::Config(text));
                    }
                    None => (config.initial_parameters(&network), None),
                };
                #[cfg(feature = "gpu")]
                let mut engine = if self.is_verified {
                    let (engine, refused) =
                        verified_engine(device, &data.view(), &parameters, &network, &options).await?;
                    self.refused = refused;
                    engine
                } else {
                    device.engine_async(&parameters, &network, &options).await?
                };
                #[cfg(not(feature = "gpu"))]
                let mut engine = device.engine_async(&parameters, &network, &options).await?;
                if let Some(state) = state {
                    engine.restore(&parameters, state)?;
                }
                engine
            }
        };
        engine.observe(self.observer.clone());
        if suspended.as_ref().is_none_or(|suspended| suspended.model.is_some()) {
            self.events.push_back(Event::Started(Box::new(Started {
                engine: engine.description(),
                network: network.clone(),
                transform: transform.clone(),
                data_schema: data_schema.clone(),
                rows: data.rows(),
                epochs: config.epochs,
            })));
            if data.unknown.count() > 0 {
                let cells = data.unknown.clone();
                self.events.push_back(Event::Unknown { set: "new training", cells });
            }
        }
        let (mut totals, mut order, now) = (PartOfEpoch::default(), None, Instant::now());
        if let Some(suspended) = suspended {
            engine.restore(&suspended.parameters, &suspended.state)?;
            (totals, order) = (suspended.epoch, suspended.order);
        }
        self.trained = Some(ActiveRun {
            metric: config.metric,
            network,
            transform,
            data_schema,
            settings: config.settings(),
            engine,
            epochs: EpochLoop::new(config.seed, config.batch_size)
                .after_epochs(self.epochs.len())
                .within_epoch(totals.rows, order),
            // Includes the time before the checkpoint.
            epoch_began: now.checked_sub(totals.duration).unwrap_or(now),
            totals,
        });
        // A resumed run may have no epochs left.
        self.end = self.epochs.last().and_then(|epoch| self.end_after_epoch(epoch));
        Ok(())
    }
}
