//! A run that is set aside, is stopped, makes checkpoints, and goes on from them.

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
    /// Lets go of the engine between two epochs, so that a waiting run holds only its parameters and what the
    /// optimizer remembers. The next event begins where it left off, bit for bit.
    ///
    /// # Errors
    /// Those of the device; [`Error::Config`] within an epoch.
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

    /// Goes on from a checkpoint when it begins, bit for bit as the run would have gone on that made it, on the same device.
    /// Call it before the first event. A run whose epochs have all been trained ends at once.
    ///
    /// # Errors
    /// Those of the data; [`Error::Config`] if a setting differs that decides a step. The first event is [`Error::Config`] if the data make
    /// another network.
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

    /// Waits for what the device still does, and gives what the run needs to go on from here; nothing before it has begun.
    ///
    /// # Errors
    /// Those of the device; [`Error::NonFiniteModel`] if a parameter is NaN or infinite.
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

    /// What the optimizer of a run that has ended remembers of the model that is kept, for [`Run::begin_with`]; nothing where rows
    /// validate, as that model may be one before the last.
    ///
    /// # Errors
    /// Those of the device.
    pub fn optimizer_state(&mut self) -> Result<Option<EngineState>> {
        match &mut self.trained {
            Some(trained) if !self.data.validates() => Ok(Some(block(trained.engine.snapshot())?.1)),
            _ => Ok(None),
        }
    }

    /// Waits for what the device still does, and gives the model as it stands; nothing before the run has begun.
    ///
    /// # Errors
    /// Those of the device; [`Error::NonFiniteModel`] if a parameter is NaN or infinite.
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

    /// Whether all training rows have been read.
    fn has_all_rows(&self) -> bool {
        self.data.rows() == Some(self.data.view().len())
    }

    /// The identity of the training rows, if known by now.
    fn trained_rows(&mut self) -> Option<TrainedRows> {
        if self.trained_rows.is_none() && self.has_all_rows() {
            self.trained_rows = Some(TrainedRows::from_rows(&self.data.view()));
        }
        self.trained_rows.or(self.expected)
    }

    /// Compares the training rows with those of the checkpoint, once all are there.
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

    /// Waits for the steps on the device, and reports the model if it would be kept.
    pub(super) async fn interrupt(&mut self, end: End) -> Result<()> {
        self.drain().await?;
        self.end = Some(end);
        let Some(trained) = &mut self.trained else { return Ok(()) };
        // A time limit keeps the model of the last whole epoch, which has figures, if there is one.
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

    /// Waits for what the device still does.
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
