//! State of a run, from which training resumes with the same results.

use std::path::Path;
use std::time::Duration;

use flate2::Crc;
use serde::{Deserialize, Serialize};

use super::config::settings::Settings;
use super::events::Score;
use super::{Epoch, TrainingWarning, exact};
use crate::data::{Dataset, Features, Rows, TargetsRef};
use crate::engine::{BatchMetrics, EngineState};
use crate::error::{Error, Place, Result, excerpt};
use crate::model::{Contents, Model, Parameters};
use crate::step::OptimizerKind;

/// Names of tensors other than the weights: of the optimizer, followed by a number, and of the kept model.
const OPTIMIZER: &str = "optimizer";
const KEPT: &str = "kept";

/// Limit of steps, and of rows of an epoch, which prevents overflow when counting continues.
const MOST_STEPS: u64 = 1 << 53;

/// A run between two steps. The file is a model file with the weights after the last step, the state of the
/// optimizer (`optimizer1.w1`, ...) and the kept model (`kept.w1`, ...).
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// The network after the last step.
    pub model: Model,
    /// State of the optimizer.
    pub state: EngineState,
    /// Parameters of the kept model, if an epoch has ended.
    pub kept: Option<Parameters>,
    /// Progress of the run.
    pub progress: Progress,
}

/// Progress of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Steps since the start of the run.
    pub steps: u64,
    /// Complete epochs.
    pub epochs: Vec<Epoch>,
    /// Sums over the current epoch.
    pub epoch: PartOfEpoch,
    /// Epoch of the kept model, counted from 1, and the warning about that model.
    pub kept: Option<(usize, Option<TrainingWarning>)>,
    /// Order of the trained rows of the current epoch; `None` for a model that is not resumed.
    pub order: Option<TrainedOrder>,
    /// Settings that decide a step, by the names of their options; empty for a model that is not resumed.
    pub settings: Settings,
    /// Identity of the training rows, if all had been read.
    pub rows: Option<TrainedRows>,
}

/// Identity of the training rows of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainedRows {
    /// Number of rows.
    pub count: usize,
    /// CRC-32 of the values, targets and weights in memory.
    pub sum: u32,
}

/// Identity of the order in which rows of an epoch were trained: a run that resumes within an epoch has to
/// continue the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainedOrder {
    /// Seed of the order.
    pub seed: u64,
    /// Epoch as counted by [`rows_at`](crate::data::rows_at): after epoch 1, the order is over all rows.
    pub epoch: usize,
    /// Rows of a batch.
    pub batch: usize,
    /// Number of ordered rows.
    pub rows: usize,
    /// Number of trained positions.
    pub position: usize,
    /// CRC-32 of the row numbers at these positions.
    pub sum: u32,
}

impl TrainedOrder {
    /// Compares with the order of the resumed run.
    ///
    /// # Errors
    /// [`Error::Config`] if they differ.
    pub(super) fn check(&self, now: &Self) -> Result<()> {
        if self == now {
            return Ok(());
        }
        let words = |order: &Self| {
            let Self { seed, epoch, batch, rows, position, sum } = order;
            format!(
                "seed {seed}, epoch {epoch}, batches of {batch}, {position} of {rows} rows, check sum {sum:08x}"
            )
        };
        Err(Error::Config(format!(
            "cannot resume: the checkpoint used another order of rows ({}) than this run would ({}); start the run again",
            words(self),
            words(now)
        )))
    }
}

impl TrainedRows {
    /// Computes the identity of a complete data set.
    pub fn from_rows(rows: &Rows<'_>) -> Self {
        let mut sum = Crc::new();
        match rows.features {
            Features::Bytes(bytes) => sum.update(bytes),
            Features::Floats(floats) => sum.update(bytemuck::cast_slice(floats)),
        }
        match rows.targets {
            TargetsRef::Classes(classes) => sum.update(bytemuck::cast_slice(classes)),
            TargetsRef::Values { values, .. } => sum.update(bytemuck::cast_slice(values)),
        }
        sum.update(bytemuck::cast_slice(rows.weights));
        Self { count: rows.len(), sum: sum.sum() }
    }

    /// Computes the identity of held-out rows, without their weights.
    pub fn from_held_out(rows: &Dataset) -> Self {
        Self::from_rows(&Rows { weights: &[], ..rows.view() })
    }
}

/// Sums over the trained batches of an epoch.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PartOfEpoch {
    /// Number of batches.
    pub batches: u64,
    /// Number of rows, which is the position in the epoch.
    pub rows: usize,
    /// Sum of the losses of the rows.
    #[serde(with = "exact")]
    pub loss: f64,
    /// Number of correctly classified rows.
    pub correct: u64,
    /// Training time, up to the checkpoint.
    pub duration: Duration,
}

impl Progress {
    /// Returns whether the counts are possible for an engine that has done `step` steps.
    fn is_sound(&self, step: u64) -> bool {
        let PartOfEpoch { batches, rows, loss, correct, .. } = &self.epoch;
        let is_of_order = |order: &TrainedOrder| {
            let of_rows = |rows: usize| (rows as u64).div_ceil(order.batch.max(1) as u64);
            let steps = self.epochs.iter().map(|epoch| of_rows(epoch.rows)).chain([*batches]);
            steps.fold(0, u64::saturating_add) == self.steps
                && *batches == of_rows(*rows)
                && *rows == order.position
        };
        let kept = self.kept.as_ref().map(|(epoch, _)| epoch);
        self.epochs
            .iter()
            .zip(1..)
            .all(|(epoch, number)| epoch.epoch == number && epoch.train.loss.is_finite())
            && kept.is_none_or(|epoch| (1..=self.epochs.len()).contains(epoch))
            && self.order.as_ref().is_none_or(is_of_order)
            && (*batches..=MOST_STEPS).contains(&self.steps)
            && self.steps == step
            && *batches <= *rows as u64
            && *correct <= *rows as u64
            && self.rows.map_or(*rows as u64 <= MOST_STEPS, |all| *rows <= all.count)
            && loss.is_finite()
    }
}

impl Checkpoint {
    /// Returns the contents of the file.
    ///
    /// # Errors
    /// As [`Model::to_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let progress = serde_json::to_value((self.state.step, &self.progress));
        let progress =
            progress.map_err(|error| Error::Config(format!("cannot write a checkpoint: {error}")))?;
        let optimizer = (1..).zip(&self.state.optimizer);
        let mut states: Vec<(String, &Parameters)> =
            optimizer.map(|(number, state)| (format!("{OPTIMIZER}{number}"), state)).collect();
        states.extend(self.kept.iter().map(|kept| (KEPT.to_owned(), kept)));
        self.model.to_bytes_with(&states, Some(progress))
    }

    /// Reads the contents of a file; `path` is used in messages.
    ///
    /// # Errors
    /// [`Error::Data`] if the contents are not a checkpoint or are incomplete.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        let Contents { model, states, progress } = Model::from_bytes_with(bytes, path)?;
        let bad =
            |found: String| Error::data(path, Place::default(), "a checkpoint of a run", excerpt(&found));
        let progress = progress.ok_or_else(|| bad("a model".to_owned()))?;
        let (step, progress): (u64, Progress) =
            serde_json::from_value(progress).map_err(|error| bad(error.to_string()))?;
        let (mut kept, mut optimizer) = (None, Vec::new());
        for (name, parameters) in states {
            match name == KEPT {
                true => kept = Some(parameters),
                false if name == format!("{OPTIMIZER}{}", optimizer.len() + 1) => optimizer.push(parameters),
                false => return Err(bad(format!("numbers called {name:?}"))),
            }
        }
        if kept.is_some() != progress.kept.is_some() {
            return Err(bad("no weights of the model that is kept".to_owned()));
        }
        if kept.as_ref().is_some_and(|kept| !kept.is_finite()) {
            return Err(bad("NaN or infinite weights of the model that is kept".to_owned()));
        }
        let kind = model.settings.get("optimizer").and_then(|kind| kind.parse::<OptimizerKind>().ok());
        if kind.is_none_or(|kind| kind.states() != optimizer.len()) {
            return Err(bad(format!(
                "the state of another optimizer ({} values per parameter)",
                optimizer.len()
            )));
        }
        if !progress.is_sound(step) {
            return Err(bad("counts that contradict each other".to_owned()));
        }
        Ok(Self { model, state: EngineState { step, optimizer }, kept, progress })
    }
}

impl PartOfEpoch {
    /// Adds the metrics of a batch, trained by this step of the run.
    ///
    /// # Errors
    /// [`Error::NonFiniteLoss`] if the loss is NaN or infinite.
    pub(super) fn count(
        &mut self,
        &BatchMetrics { rows, loss, correct }: &BatchMetrics,
        step: u64,
        epoch: usize,
        learning_rate: f32,
    ) -> Result<()> {
        self.batches += 1;
        if !loss.is_finite() {
            return Err(Error::NonFiniteLoss { loss, step, epoch, batch: self.batches, learning_rate });
        }
        self.rows += rows;
        self.loss += loss;
        self.correct += correct;
        Ok(())
    }

    pub(super) fn score(&self) -> Score {
        let rows = self.rows as f64;
        Score { loss: self.loss / rows, accuracy: self.correct as f64 / rows, ..Score::default() }
    }
}
