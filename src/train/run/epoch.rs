//! The batches of an epoch, and its end: evaluation, choice of the kept model, and the decision to end the
//! run.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Run;
use crate::clock::Instant;
use crate::engine::{BatchMetrics, EngineKind};
use crate::error::{Error, Result};
use crate::model::{Model, Parameters};
use crate::train::active_run::ActiveRun;
use crate::train::checkpoint::PartOfEpoch;
use crate::train::class_figures::only_class;
use crate::train::events::{End, Epoch, Event, Score};
use crate::train::shared_data::{HeldOutRows, RunData};
use crate::train::training_data::TESTED_ROWS;

impl Run {
    /// Counts batches. Fails if the loss of one is not finite.
    pub(super) fn count(&mut self, batches: &[BatchMetrics]) -> Result<()> {
        let Some(ActiveRun { epochs, totals, .. }) = &mut self.trained else { return Ok(()) };
        self.first_batch.get_or_insert_with(Instant::now);
        for batch in batches {
            self.steps += 1;
            totals.count(batch, self.steps, epochs.epoch(), self.config.learning_rate)?;
        }
        let (rows, total) = (totals.rows, self.data.rows());
        self.events.push_back(Event::Progress { epoch: epochs.epoch(), rows, total, score: totals.score() });
        Ok(())
    }

    /// Returns the validation and test rows, reading them on the first call.
    pub(super) fn hold_out(
        known: &mut Option<Arc<HeldOutRows>>,
        data: &mut RunData,
        trained: &ActiveRun,
        events: &mut VecDeque<Event>,
    ) -> Result<Arc<HeldOutRows>> {
        if let Some(known) = known {
            return Ok(Arc::clone(known));
        }
        let rows = data.take_held_out(trained.network.columns(), &trained.data_schema, |set, cells| {
            events.push_back(Event::Unknown { set, cells });
        })?;
        for (set, rows) in ["validation", "test"].into_iter().zip(&rows) {
            if let Some(class) = rows.as_ref().and_then(|rows| only_class(rows.labels())) {
                let class = trained.data_schema.classes.name(class).to_owned();
                events.push_back(Event::OneClass { set, class });
            }
        }
        Ok(Arc::clone(known.insert(Arc::new(rows))))
    }

    /// Evaluates the network, reports the epoch, and starts the next.
    pub(super) async fn end_epoch(&mut self) -> Result<()> {
        let is_last = self.epochs.len() + 1 == self.config.epochs;
        // A time limit leaves no time for the warning, which requires an evaluation of all training rows.
        let has_time = self.config.max_time.is_none();
        let Some(trained) = &mut self.trained else { return Ok(()) };
        let duration = trained.end_epoch(&self.observer);
        let held_out = Self::hold_out(&mut self.held_out, &mut self.data, trained, &mut self.events)?;
        let [validation, test] = &*held_out;
        let has_others = validation.is_some() || test.is_some();
        let (validation, of_validation) =
            trained.evaluate(validation.as_ref(), "validation", self.config.temperature).await?;
        // Without validation rows only test rows show whether the last step has ruined the network.
        let is_tested = self.tests_every_epoch || is_last && validation.is_none();
        let (mut test, of_test) =
            trained.evaluate(test.as_ref().filter(|_| is_tested), "test", false).await?;
        let (parameters, number) = (trained.engine.parameters().await?, trained.epochs.epoch());
        let is_finite = |score: &Option<Score>| score.as_ref().is_none_or(|score| score.loss.is_finite());
        if !(is_finite(&validation) && parameters.is_finite()) {
            return Err(self.non_finite(number));
        }
        if !is_finite(&test) && !trained.is_finite_on(&self.data).await? {
            // The training rows have the same problem as the test rows.
            return Err(self.non_finite(number));
        }
        let train = trained.totals.score();
        let warning = match has_others {
            false if is_last && has_time => trained.training_rows_warning(&train, &self.data).await?,
            _ => of_test.or(of_validation),
        };
        if !self.tests_every_epoch {
            self.last_test = test.take();
        }
        let PartOfEpoch { rows, .. } = std::mem::take(&mut trained.totals);
        trained.epochs.next_epoch();
        trained.epoch_began = Instant::now();
        let epoch = Epoch { epoch: number, train, validation, test, duration, rows };
        let before = self.selection.take_last();
        let model = Arc::new(self.model_after(before, parameters, number)?);
        let is_kept = self.selection.offer(&epoch, &model, warning);
        self.epochs.push(epoch.clone());
        self.end = self.end_after_epoch(&epoch);
        self.events.push_back(Event::Epoch { epoch: Box::new(epoch), model, is_kept });
        Ok(())
    }

    /// Returns why the run ends after an epoch, if it does.
    pub(super) fn end_after_epoch(&self, epoch: &Epoch) -> Option<End> {
        let reached = epoch.validation.as_ref().unwrap_or(&epoch.train).accuracy;
        if epoch.epoch >= self.config.epochs {
            Some(End::Done)
        } else if self.config.target_accuracy.is_some_and(|wanted| reached >= wanted) {
            Some(End::Accuracy)
        } else if self.selection.has_lost_patience() {
            Some(End::Patience)
        } else {
            self.is_over().then_some(End::Time)
        }
    }

    /// Returns whether the time limit has been reached.
    pub(super) fn is_over(&self) -> bool {
        self.config.max_time.is_some_and(|most| self.began.elapsed() >= most)
    }

    pub(super) fn model(&self, parameters: Parameters, epoch: usize) -> Result<Model> {
        self.model_after(None, parameters, epoch)
    }

    /// Creates the model after an epoch, reusing most of an earlier model if possible.
    fn model_after(&self, earlier: Option<Model>, parameters: Parameters, epoch: usize) -> Result<Model> {
        let Some(ActiveRun { network, transform, data_schema, settings, engine, .. }) = &self.trained else {
            return Err(Error::Interrupted);
        };
        let description = engine.description();
        let origin = Some(description.origin());
        let mut model = match earlier.filter(|model| model.origin == origin) {
            Some(model) => Model { parameters, ..model },
            None => {
                let (network, transform, data_schema) =
                    (network.clone(), transform.clone(), data_schema.clone());
                let mut settings = settings.clone();
                if description.engine == EngineKind::Gpu {
                    settings.remove("threads");
                }
                Model { network, transform, data_schema, parameters, ensemble: None, origin, settings }
            }
        };
        let tested = self.data.tested_rows().map(|rows| (TESTED_ROWS.to_owned(), rows.sum.to_string()));
        model.settings.extend([("epoch".to_owned(), epoch.to_string())].into_iter().chain(tested));
        Ok(model)
    }

    pub(super) fn non_finite(&self, epoch: usize) -> Error {
        Error::NonFiniteModel { epoch, learning_rate: self.config.learning_rate }
    }
}
