//! A network in training, and its evaluation on validation and test rows.

use std::collections::BTreeMap;
use std::time::Duration;

use super::checkpoint::PartOfEpoch;
use super::class_figures::class_figures;
use super::classified::{accuracy, auc, balanced_accuracy, evaluation};
use super::epoch_loop::EpochLoop;
use super::events::{ClassScores, Score};
use super::label_scores::{label_probabilities, label_score};
use super::metric::Metric;
use super::training_data::TrainingData;
use super::training_warning::TrainingWarning;
use super::value_errors::ValueErrors;
use crate::clock::Instant;
use crate::data::{Dataset, TargetScale, TargetsRef, Transform};
use crate::engine::{Engine, Evaluation, Observer};
use crate::error::Result;
use crate::model::{DataSchema, Network};
use crate::step::Loss;
use crate::timing::Span;

/// A network in training, for the columns and classes found at the start.
pub(super) struct ActiveRun {
    pub(super) network: Network,
    pub(super) transform: Transform,
    pub(super) data_schema: DataSchema,
    /// Settings of the run, as stored in models.
    pub(super) settings: BTreeMap<String, String>,
    pub(super) engine: Box<dyn Engine>,
    /// Metric that selects the model, if not the default.
    pub(super) metric: Option<Metric>,
    pub(super) epochs: EpochLoop,
    pub(super) totals: PartOfEpoch,
    pub(super) epoch_began: Instant,
}

impl ActiveRun {
    /// Returns the epoch of the current parameters; between two epochs, the last of the `ended` epochs.
    pub(super) fn model_epoch(&self, ended: usize) -> usize {
        if self.totals.batches == 0 { ended } else { self.epochs.epoch() }
    }

    /// Returns the duration of an epoch that has just ended, and records it for the observer.
    pub(super) fn end_epoch(&mut self, observer: &Observer) -> Duration {
        let (begin, end) = (self.epoch_began, Instant::now());
        if let Some(recorder) = observer {
            recorder.log().windows.push(Span { begin: recorder.at(begin), end: recorder.at(end) });
        }
        end - begin
    }

    /// Computes the score over some rows, with a warning if the network is not useful for them. The log loss
    /// that selects models is computed with the best temperature, if `is_calibrated`.
    pub(super) async fn evaluate(
        &mut self,
        rows: Option<&Dataset>,
        name: &'static str,
        is_calibrated: bool,
    ) -> Result<(Option<Score>, Option<TrainingWarning>)> {
        let Some(rows) = rows else { return Ok((None, None)) };
        let counts = rows.view().counts();
        if let TargetsRef::Values { values, columns } = rows.targets.view() {
            let outputs = self.engine.outputs(&rows.view()).await?;
            let scale = self.data_schema.target_scale.as_ref();
            let errors = self.errors(&outputs, values, columns, scale, &counts);
            let warning = self.warning(&errors, name);
            if self.network.loss().of_labels() {
                return Ok((Some(label_score(&outputs, values, columns, &counts, self.metric)), warning));
            }
            let chosen = self.metric.and_then(|metric| metric.with(metric.of_errors(&errors)));
            return Ok((Some(Score { chosen, ..Score::of_values(errors) }), warning));
        }
        let labels = rows.labels();
        // Engines evaluate rows without weights only.
        let (evaluation, chosen) = if self.metric.is_some() || !rows.weights.is_empty() {
            let outputs = self.engine.outputs(&rows.view()).await?;
            let found = evaluation(&outputs, labels, &counts);
            let measure = if is_calibrated { Metric::of_calibrated } else { Metric::of_outputs };
            let chosen = self.metric.and_then(|it| it.with(measure(it, &outputs, &found, labels, &counts)));
            (found, chosen)
        } else {
            (self.engine.evaluate(&rows.view()).await?, None)
        };
        let auc = chosen.filter(|chosen| chosen.metric == Metric::Auc).map(|chosen| chosen.value);
        let Evaluation { loss, predictions } = &evaluation;
        let warning =
            TrainingWarning::for_predictions(labels, predictions, &counts, &self.data_schema.classes, name);
        let balanced_accuracy = balanced_accuracy(labels, predictions, &counts, self.network.outputs());
        let classes = Some(ClassScores { balanced_accuracy, log_loss: *loss, auc });
        let accuracy = accuracy(labels, predictions, &counts);
        Ok((Some(Score { loss: *loss, accuracy, values: None, classes, chosen }), warning))
    }

    /// Returns the warning for predicted values, or for the median among quantiles, if any.
    fn warning(&self, errors: &ValueErrors, name: &'static str) -> Option<TrainingWarning> {
        let levels = self.network.loss().levels();
        let are_central = levels.is_none_or(|levels| levels.level(levels.middle()) == 0.5);
        are_central.then(|| TrainingWarning::for_values(errors, name)).flatten()
    }

    /// Returns the errors of predicted values, or of the probabilities of labels, against values, all [rows, columns].
    fn errors(
        &self,
        outputs: &[f32],
        values: &[f32],
        columns: usize,
        scale: Option<&TargetScale>,
        counts: &[f64],
    ) -> ValueErrors {
        let loss = self.network.loss();
        if loss.of_labels() {
            let shares: Vec<f32> =
                label_probabilities(outputs).into_iter().map(|share| share as f32).collect();
            return ValueErrors::from_outputs(Loss::Mse, &shares, values, columns, None, counts);
        }
        ValueErrors::from_outputs(loss, outputs, values, columns, scale, counts)
    }

    /// Adds the AUC to the score over some rows, if it is missing. The engine must hold the parameters of the
    /// score.
    pub(super) async fn complete(&mut self, score: Option<&mut Score>, rows: Option<&Dataset>) -> Result<()> {
        let is_missing =
            |classes: &&mut ClassScores| classes.auc.is_none() && self.network.loss().of_classes();
        let classes = score.and_then(|score| score.classes.as_mut()).filter(is_missing);
        if let (Some(classes), Some(rows)) = (classes, rows) {
            classes.auc =
                auc(&self.engine.outputs(&rows.view()).await?, rows.labels(), &rows.view().counts());
        }
        Ok(())
    }

    /// Returns whether the training loss, or every predicted value, is finite.
    pub(super) async fn is_finite_on(&mut self, data: &TrainingData) -> Result<bool> {
        match data.view().targets {
            TargetsRef::Classes(_) => Ok(self.engine.evaluate(&data.view()).await?.loss.is_finite()),
            TargetsRef::Values { .. } => {
                Ok(self.engine.outputs(&data.view()).await?.iter().all(|value| value.is_finite()))
            }
        }
    }

    /// Returns the warning for the training rows, if there are no other rows. Evaluates the rows only if the
    /// training score suggests a warning.
    pub(super) async fn training_rows_warning(
        &mut self,
        train: &Score,
        data: &TrainingData,
    ) -> Result<Option<TrainingWarning>> {
        let counts = data.counts();
        if let TargetsRef::Values { values, columns } = data.view().targets {
            let outputs = self.engine.outputs(&data.view()).await?;
            // Independent of the unit of the values.
            let errors = self.errors(&outputs, values, columns, None, &counts);
            return Ok(self.warning(&errors, "training"));
        }
        let labels = data.reader.labels();
        let classes = &self.data_schema.classes;
        let figures = class_figures(labels, labels, &counts, classes.len());
        let most = figures.iter().map(|class| class.samples).fold(0.0, f64::max) / labels.len().max(1) as f64;
        // The training accuracy ignores row weights.
        if !data.has_row_weights() && train.accuracy > most + 0.1 * (1.0 - most) {
            return Ok(None);
        }
        let evaluation = self.engine.evaluate(&data.view()).await?;
        Ok(TrainingWarning::for_predictions(labels, &evaluation.predictions, &counts, classes, "training"))
    }
}
