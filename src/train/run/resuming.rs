//! Suspending, stopping, checkpointing and resuming of runs.

use std::sync::Arc;

use super::{Run, SuspendedRun};
use crate::engine::EngineState;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::threads::block;
use crate::train::checkpoint::{Checkpoint, PartOfEpoch, Progress, TrainedRows};
use crate::train::config::settings::check_fixed;
use crate::train::events::{End, Event};
use crate::train::model_selection::SelectedModel;

impl Run {
    /// Releases the engine between two epochs, so that a suspended run holds only its parameters and the
    /// state of the optimizer. Resumes at the next event with bitwise equal results.
    ///
    /// # Errors
    /// Errors of the device; [`Error::Config`] within an epoch.
    pub fn suspend(&mut self) -> Result<()> {
        let Some(trained) = &mut self.trained else { return Ok(()) };
        if trained.totals.batches > 0 {
            return Err(Error::Config("a run is set aside between two epochs".to_owned()));
        }
        let (parameters, state) = block(trained.engine.snapshot())?;
        let epoch = PartOfEpoch::default();
        self.suspended = Some(Box::new(SuspendedRun { parameters, state, epoch, order: None, model: None }));
        self.trained = None;
        Ok(())
    }

    /// Sets a checkpoint from which the run starts, with bitwise equal results on the same device. Call this
    /// before the first event. If all epochs have been trained, the run ends immediately.
    ///
    /// # Errors
    /// [`Error::Config`] if a setting that decides a step differs. The first event is [`Error::Config`] if
    /// the data result in a different network.
    pub fn resume(&mut self, checkpoint: Checkpoint) -> Result<()> {
        let Checkpoint { model, state, kept, progress } = checkpoint;
        check_fixed(&progress.settings, &self.config.fixed_settings())?;
        let kept = progress.kept.zip(kept).map(|((epoch, warning), parameters)| {
            let mut model = Model { parameters, ..model.clone() };
            model.settings.insert("epoch".to_owned(), epoch.to_string());
            SelectedModel { epoch, model: Arc::new(model), warning }
        });
        self.selection.resume(&progress.epochs, kept);
        self.expected = progress.rows;
        (self.steps, self.epochs) = (progress.steps, progress.epochs);
        let parameters = model.parameters.clone();
        let (epoch, order) = (progress.epoch, progress.order);
        self.suspended = Some(Box::new(SuspendedRun { parameters, state, epoch, order, model: Some(model) }));
        Ok(())
    }

    /// Waits for the device, and returns a checkpoint of the run; `None` before training has started.
    ///
    /// # Errors
    /// Errors of the device; [`Error::NonFiniteModel`] if a parameter is NaN or infinite.
    pub fn checkpoint(&mut self) -> Result<Option<Checkpoint>> {
        block(self.drain())?;
        let Some(trained) = &mut self.trained else { return Ok(None) };
        let (parameters, state) = block(trained.engine.snapshot())?;
        let order = trained.epochs.trained_order(&self.data);
        if (state.step, order.position) != (self.steps, trained.totals.rows) {
            return Err(Error::Config(format!(
                "cannot make a checkpoint: the device has done {} steps and taken {} rows of the epoch, {} steps and {} rows were counted",
                state.step, order.position, self.steps, trained.totals.rows
            )));
        }
        let number = trained.model_epoch(self.epochs.len());
        let epoch = PartOfEpoch { duration: trained.epoch_began.elapsed(), ..trained.totals.clone() };
        if !parameters.is_finite() {
            return Err(self.non_finite(number));
        }
        let rows = self.trained_rows();
        let kept = self.selection.kept.as_ref().filter(|kept| kept.epoch > 0);
        let progress = Progress {
            steps: self.steps,
            epochs: self.epochs.clone(),
            epoch,
            order: Some(order),
            settings: self.config.fixed_settings(),
            kept: kept.map(|kept| (kept.epoch, kept.warning.clone())),
            rows,
        };
        let kept = kept.map(|kept| kept.model.parameters.clone());
        Ok(Some(Checkpoint { model: self.model(parameters, number)?, state, kept, progress }))
    }

    /// Returns the optimizer state of the kept model of a finished run, for [`Run::begin_with`]; `None` with
    /// validation rows, as the kept model may be earlier than the last.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn optimizer_state(&mut self) -> Result<Option<EngineState>> {
        match &mut self.trained {
            Some(trained) if !self.data.validates() => Ok(Some(block(trained.engine.snapshot())?.1)),
            _ => Ok(None),
        }
    }

    /// Waits for the device, and returns the current model; `None` before training has started.
    ///
    /// # Errors
    /// Errors of the device; [`Error::NonFiniteModel`] if a parameter is NaN or infinite.
    pub async fn current_async(&mut self) -> Result<Option<Model>> {
        self.drain().await?;
        let Some(trained) = &mut self.trained else { return Ok(None) };
        let (parameters, number) =
            (trained.engine.parameters().await?, trained.model_epoch(self.epochs.len()));
        if !parameters.is_finite() {
            return Err(self.non_finite(number));
        }
        self.model(parameters, number).map(Some)
    }

    /// Returns whether all training rows have been read.
    fn has_all_rows(&self) -> bool {
        self.data.rows() == Some(self.data.view().len())
    }

    /// Returns the identity of the training rows, if known.
    fn trained_rows(&mut self) -> Option<TrainedRows> {
        if self.trained_rows.is_none() && self.has_all_rows() {
            self.trained_rows = Some(TrainedRows::from_rows(&self.data.view()));
        }
        self.trained_rows.or(self.expected)
    }

    /// Compares the training rows with the checkpoint's, once all have been read.
    pub(super) fn compare_rows(&mut self) -> Result<()> {
        if self.expected.is_none() || !self.has_all_rows() {
            return Ok(());
        }
        let (Some(then), Some(now)) = (self.expected.take(), self.trained_rows()) else { return Ok(()) };
        if then.count != now.count {
            let text = format!("expected the {} training rows of the run, found {}", then.count, now.count);
            return Err(Error::Config(text));
        }
        if then != now {
            let text = format!(
                "expected the {} training rows of the run, found other rows: the data or their scaling have changed",
                then.count
            );
            return Err(Error::Config(text));
        }
        Ok(())
    }

    /// Waits for the device, and reports the model if it is to be kept.
    pub(super) async fn interrupt(&mut self, end: End) -> Result<()> {
        self.drain().await?;
        self.end = Some(end);
        let Some(trained) = &mut self.trained else { return Ok(()) };
        // A time limit keeps the model of the last complete epoch, which has scores, if there is one.
        if !self.selection.keeps_last() || end == End::Time && self.selection.kept.is_some() {
            return Ok(());
        }
        let epoch = trained.model_epoch(self.epochs.len());
        let parameters = trained.engine.parameters().await?;
        if !parameters.is_finite() {
            return Err(self.non_finite(epoch));
        }
        let model = Arc::new(self.model(parameters, epoch)?);
        self.events.push_back(Event::Interrupted { epoch, steps: self.steps, model: Arc::clone(&model) });
        self.selection.kept = Some(SelectedModel { epoch: 0, model, warning: None });
        Ok(())
    }

    /// Waits for submitted steps.
    async fn drain(&mut self) -> Result<()> {
        while let Some(trained) = &mut self.trained {
            let batches = trained.engine.poll(true).await?;
            if batches.is_empty() {
                break;
            }
            self.count(&batches)?;
        }
        Ok(())
    }
}
