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
use super::events::{End, Epoch, Event, Started, Summary};
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

/// The longest work that a run begins when its time is over.
const MOMENT: Duration = Duration::from_millis(500);

/// A run without an engine, between two steps.
struct SuspendedRun {
    parameters: Parameters,
    state: EngineState,
    epoch: PartOfEpoch,
    /// In which order the rows of this part of the epoch were trained; nothing between two epochs.
    order: Option<TrainedOrder>,
    /// What the rows of a checkpoint made of the data and the settings; nothing where both are the same still.
    model: Option<Model>,
}

/// Trains a network, starting when enough rows are there, and evaluates it after every epoch. Ask for its events until
/// there is none. Dropping it ends it.
pub struct Run {
    config: Config,
    data: RunData,
    device: Device,
    observer: Observer,
    trained: Option<ActiveRun>,
    events: VecDeque<Event>,
    selection: ModelSelection,
    epochs: Vec<Epoch>,
    /// What to begin with, if not with the parameters that the settings give.
    first: Option<(Parameters, EngineState)>,
    /// The rows to validate and to test on, once they are read.
    held_out: Option<Arc<HeldOutRows>>,
    /// Where it goes on when it begins, or was set aside.
    suspended: Option<Box<SuspendedRun>>,
    /// What the training rows of a checkpoint were, until all are there to compare.
    expected: Option<TrainedRows>,
    /// What identifies the training rows, once computed.
    trained_rows: Option<TrainedRows>,
    steps: u64,
    first_batch: Option<Instant>,
    /// The last loss over the test rows that was no finite number.
    bad_test: Option<f64>,
    is_stopped: bool,
    /// When it began, as far as time is limited.
    began: Instant,
    /// Whether it must not begin when its time is over.
    needs_time: bool,
    /// Whether it stops within an epoch when its time is over.
    is_resumable: bool,
    /// Whether the engine is compared with the CPU engine before it trains.
    #[cfg(feature = "gpu")]
    is_verified: bool,
    /// What was refused then, a line each.
    refused: Vec<String>,
    end: Option<End>,
}

impl Run {
    /// A run that has not begun. `observer` receives what takes how long in the epochs, and the device's ceilings are
    /// measured at the end for it.
    ///
    /// # Errors
    /// [`Error::Setting`] and [`Error::Config`] for settings that cannot be.
    pub fn new(config: Config, data: TrainingData, device: Device, observer: Observer) -> Result<Self> {
        Self::with_data(config, RunData::Own(Box::new(data)), device, observer)
    }

    /// A run that has not begun, on data that others train on, too.
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
            bad_test: None,
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

    /// Counts the time of the run from here, not from [`Run::new`]. If it is over before the first step, that is an error:
    /// [`Error::NoTime`].
    #[must_use]
    pub fn began_at(self, began: Instant) -> Self {
        Self { began, needs_time: true, ..self }
    }

    /// When its time is over within an epoch, the run stops there, as [`Run::stop`] does it, so that it can continue from a checkpoint.
    /// Otherwise the rows that were trained so far count as the epoch.
    #[must_use]
    pub fn resumable(self) -> Self {
        Self { is_resumable: true, ..self }
    }

    /// Begins with these parameters, as of a model that was trained before, and with what the optimizer remembered then; nothing of
    /// another optimizer, or where the learning rate depends on the number of steps. Where they are not those of the network that
    /// settings and rows give, [`Run::next`] says so.
    #[must_use]
    pub fn begin_with(self, parameters: Parameters, state: EngineState) -> Self {
        Self { first: Some((parameters, state)), ..self }
    }

    /// Before it trains, its device takes some steps that are compared with those of the CPU engine. Another schedule takes the place of
    /// one that is computed wrongly, or in the end the CPU engine: [`Run::refused`] says so.
    #[cfg(feature = "gpu")]
    #[must_use]
    pub fn verified(self) -> Self {
        Self { is_verified: true, ..self }
    }

    /// What a device computed wrongly when the run began, a line each.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Stops the run between two steps: the next events are its last.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Begins, or goes on if it was set aside, with this engine for its network, which has its first parameters.
    ///
    /// # Errors
    /// As [`Run::next`].
    pub(crate) fn attach_engine(&mut self, engine: Box<dyn Engine>) -> Result<()> {
        block(self.start(Some(engine))).inspect_err(|_| self.end = Some(End::Interrupted))
    }

    /// Lets go of the engine of a run that has ended: what it has kept stays.
    pub(crate) fn detach_engine(&mut self) {
        self.trained = None;
    }

    /// The last epoch took so long, as far as the run is concerned: while it was trained, others were, too.
    pub(crate) fn record_duration(&mut self, duration: Duration) {
        if let Some(epoch) = self.epochs.last_mut() {
            epoch.duration = duration;
        }
    }

    /// The epochs that have ended.
    pub fn epochs(&self) -> &[Epoch] {
        &self.epochs
    }

    /// The model that is kept so far, with the epoch after which it was taken, counted from 1.
    pub fn kept(&self) -> Option<(usize, &Arc<Model>)> {
        self.selection.kept.as_ref().map(|kept| (kept.epoch, &kept.model))
    }

    /// Whether it waits without an engine.
    pub fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// Why the run has ended, if it has.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// Steps since it began.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Goes on until there is something to tell. Nothing when the run is over, also after an error.
    ///
    /// # Errors
    /// Those of the data and of the device; [`Error::NonFiniteLoss`] at the first step whose loss is NaN or infinite.
    #[expect(clippy::should_implement_trait, reason = "an iterator would go on after an error")]
    pub fn next(&mut self) -> Result<Option<Event>> {
        block(self.next_async())
    }

    /// As [`Run::next`], for threads that must not wait, such as those of a browser.
    ///
    /// # Errors
    /// As there.
    pub async fn next_async(&mut self) -> Result<Option<Event>> {
        while self.events.is_empty() && self.end.is_none() {
            if let Err(error) = self.advance().await {
                self.end = Some(End::Interrupted);
                return Err(error);
            }
        }
        Ok(self.events.pop_front())
    }

    /// What the run gave. Call it when there are no more events.
    ///
    /// # Errors
    /// [`Error::NonFiniteTest`] if the test rows have no finite loss; [`Error::Interrupted`] if there is no model yet.
    pub fn summary(self) -> Result<Summary> {
        block(self.summary_async())
    }

    /// As [`Run::summary`], for threads that must not wait.
    ///
    /// # Errors
    /// As there.
    pub async fn summary_async(mut self) -> Result<Summary> {
        let end = self.end.unwrap_or(End::Interrupted);
        if let (Some(loss), End::Done | End::Patience | End::Accuracy | End::Time) = (self.bad_test, end) {
            return Err(Error::NonFiniteTest { path: self.data.test_name.clone(), loss });
        }
        self.temper().await?;
        let Some(SelectedModel { epoch: kept, model, warning }) = self.selection.kept else {
            return Err(Error::Interrupted);
        };
        let Some(trained) = &mut self.trained else { return Err(Error::Interrupted) };
        if let Some(epoch) = kept.checked_sub(1) {
            // One that was resumed behind its last epoch has not read them yet.
            let held_out = Self::hold_out(&mut self.held_out, &mut self.data, trained, &mut self.events)?;
            let [validation, test] = &*held_out;
            if kept < self.epochs.len() {
                trained.engine.restore(&model.parameters, &EngineState::default())?;
            }
            let epoch = &mut self.epochs[epoch];
            trained.complete(epoch.validation.as_mut(), validation.as_ref()).await?;
            trained.complete(epoch.test.as_mut(), test.as_ref()).await?;
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

    /// Whether all rows of the epoch are trained, and the held-out rows will be evaluated in a moment.
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
            // What the caller did with the epoch before, as to save its model, is none of its time.
            trained.epoch_began = Instant::now();
        }
        let advanced = trained.epochs.advance(&mut *trained.engine, &mut self.data, &self.observer);
        let advanced = match advanced.await {
            // The reader waits for rows no longer.
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

    /// Makes the network for what the rows so far have shown; without an engine for it, that, too.
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
            // As if the run had never ended.
            epoch_began: now.checked_sub(totals.duration).unwrap_or(now),
            totals,
        });
        // One that was resumed may have nothing more to train.
        self.end = self.epochs.last().and_then(|epoch| self.end_after_epoch(epoch));
        Ok(())
    }
}
