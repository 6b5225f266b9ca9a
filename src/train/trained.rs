//! A network in training, and what it gives for rows that do not train.

use std::time::{Duration, Instant};

use super::checkpoint::PartOfEpoch;
use super::classified::{auc, balanced_accuracy, evaluation};
use super::doubt::Doubt;
use super::epoch_loop::EpochLoop;
use super::events::{ClassScores, Score};
use super::training_data::{Seen, TrainingData};
use super::value_errors::ValueErrors;
use crate::data::{Dataset, TargetsRef, Transform};
use crate::engine::{Engine, Evaluation, Observer};
use crate::error::Result;
use crate::gpu::Span;
use crate::model::{Meaning, Network};

impl PartOfEpoch {
    pub(super) fn score(&self) -> Score {
        let rows = self.rows as f64;
        Score { loss: self.loss / rows, accuracy: self.correct as f64 / rows, values: None, classes: None }
    }
}

/// A network in training, made for what the rows had shown when it began.
pub(super) struct Trained {
    pub(super) network: Network,
    pub(super) transform: Transform,
    pub(super) meaning: Meaning,
    pub(super) seen: Seen,
    pub(super) engine: Box<dyn Engine>,
    pub(super) epochs: EpochLoop,
    pub(super) totals: PartOfEpoch,
    pub(super) epoch_began: Instant,
}

impl Trained {
    /// The epoch whose model the parameters are, where so many have ended: between two epochs the one before.
    pub(super) fn model_epoch(&self, ended: usize) -> usize {
        if self.totals.batches == 0 { ended } else { self.epochs.epoch() }
    }

    /// The time of an epoch that has just ended.
    pub(super) fn end_epoch(&mut self, observer: &Observer) -> Duration {
        let (begin, end) = (self.epoch_began, Instant::now());
        if let Some(recorder) = observer {
            recorder.log().windows.push(Span { begin: recorder.at(begin), end: recorder.at(end) });
        }
        end - begin
    }

    /// The score over some rows, and what speaks against the network there.
    pub(super) fn evaluate(
        &mut self,
        rows: Option<&Dataset>,
        name: &'static str,
        wants_auc: bool,
    ) -> Result<(Option<Score>, Option<Doubt>)> {
        let Some(rows) = rows else { return Ok((None, None)) };
        if let TargetsRef::Values { values, columns } = rows.targets.view() {
            let outputs = self.engine.outputs(&rows.view())?;
            let scale = self.meaning.target_scale.as_ref();
            let errors = ValueErrors::of(self.network.loss(), &outputs, values, columns, scale);
            let doubt = Doubt::of_values(&errors, name);
            return Ok((Some(Score::of_values(errors)), doubt));
        }
        let labels = rows.labels();
        let (evaluation, auc) = if wants_auc {
            let outputs = self.engine.outputs(&rows.view())?;
            (evaluation(&outputs, labels), auc(&outputs, labels))
        } else {
            (self.engine.evaluate(&rows.view())?, None)
        };
        let Evaluation { loss, predictions } = &evaluation;
        let doubt = Doubt::of(labels, predictions, &self.meaning.classes, name);
        let balanced_accuracy = balanced_accuracy(labels, predictions, self.network.outputs());
        let classes = Some(ClassScores { balanced_accuracy, log_loss: *loss, auc });
        Ok((Some(Score { loss: *loss, accuracy: evaluation.accuracy(labels), values: None, classes }), doubt))
    }

    /// Completes the score over some rows by the AUC, if it lacks one. The engine has the parameters of the score.
    pub(super) fn complete(&mut self, score: Option<&mut Score>, rows: Option<&Dataset>) -> Result<()> {
        let classes = score.and_then(|score| score.classes.as_mut()).filter(|classes| classes.auc.is_none());
        if let (Some(classes), Some(rows)) = (classes, rows) {
            classes.auc = auc(&self.engine.outputs(&rows.view())?, rows.labels());
        }
        Ok(())
    }

    /// Whether the loss over the training rows is a finite number.
    pub(super) fn is_finite_on(&mut self, data: &TrainingData) -> Result<bool> {
        match data.view().targets {
            TargetsRef::Classes(_) => Ok(self.engine.evaluate(&data.view())?.loss.is_finite()),
            TargetsRef::Values { .. } => {
                Ok(self.engine.outputs(&data.view())?.iter().all(|value| value.is_finite()))
            }
        }
    }

    /// The same of the training rows, where there are no others. They are only looked at if there is reason for it.
    pub(super) fn doubt_of_training(&mut self, train: &Score, data: &TrainingData) -> Result<Option<Doubt>> {
        if let TargetsRef::Values { values, columns } = data.view().targets {
            let outputs = self.engine.outputs(&data.view())?;
            return Ok(Doubt::of_values(
                // How good they are is the same in any unit.
                &ValueErrors::of(self.network.loss(), &outputs, values, columns, None),
                "training",
            ));
        }
        let labels = data.reader.labels();
        let mut counts = vec![0u64; self.meaning.classes.len()];
        labels.iter().for_each(|label| counts[*label as usize] += 1);
        let most = counts.iter().copied().max().unwrap_or(0) as f64 / labels.len().max(1) as f64;
        if train.accuracy > most + 0.1 * (1.0 - most) {
            return Ok(None);
        }
        let evaluation = self.engine.evaluate(&data.view())?;
        Ok(Doubt::of(labels, &evaluation.predictions, &self.meaning.classes, "training"))
    }
}
