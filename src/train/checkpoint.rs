//! What a run needs to go on as if it had never ended.

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

/// The names of the numbers beside the weights: of the optimizer, followed by a number, and of the model that is kept.
const OPTIMIZER: &str = "optimizer";
const KEPT: &str = "kept";

/// More steps, or rows of an epoch, than any machine trains: counts that go on from here do not overflow.
const MOST_STEPS: u64 = 1 << 53;

/// A run between two steps. As a file it is a model file, whose weights are those after the last step; beside them stand what the
/// optimizer remembers (`optimizer1.w1`, ...) and the model that is kept so far (`kept.w1`, ...).
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// The network as the last step left it.
    pub model: Model,
    /// What the optimizer remembers.
    pub state: EngineState,
    /// The parameters of the model that is kept so far, if an epoch has ended.
    pub kept: Option<Parameters>,
    /// How far the run has come.
    pub progress: Progress,
}

/// How far a run has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Steps since the run began.
    pub steps: u64,
    /// The whole epochs.
    pub epochs: Vec<Epoch>,
    /// What the epoch has given that the run is in.
    pub epoch: PartOfEpoch,
    /// The epoch of the model that is kept, counted from 1, and what speaks against that model.
    pub kept: Option<(usize, Option<TrainingWarning>)>,
    /// The order in which the rows of this part of the epoch were trained; nothing of a model that no run continues with.
    pub order: Option<TrainedOrder>,
    /// The settings that decide a step, by the names of their options; none of a model that no run continues with.
    pub settings: Settings,
    /// What the training rows were, where all had been read.
    pub rows: Option<TrainedRows>,
}

/// The identity of the training rows of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainedRows {
    /// How many.
    pub count: usize,
    /// The CRC-32 of their values, targets and weights as they stand in memory.
    pub sum: u32,
}

/// The identity of the order in which rows of an epoch were trained: a run that continues within an epoch has to take the
/// rest of the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainedOrder {
    /// The seed.
    pub seed: u64,
    /// The epoch as [`rows_at`](crate::data::rows_at) counts it: behind the first, the order is over all rows.
    pub epoch: usize,
    /// Rows of a batch.
    pub batch: usize,
    /// Rows over which the order was made.
    pub rows: usize,
    /// Positions that were trained.
    pub position: usize,
    /// The CRC-32 of the row numbers at these positions.
    pub sum: u32,
}

impl TrainedOrder {
    /// Compares with the order of the run that goes on.
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
    /// The identity of a complete data set.
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

    /// The identity of held-out rows, without their weights.
    pub fn from_held_out(rows: &Dataset) -> Self {
        Self::from_rows(&Rows { weights: &[], ..rows.view() })
    }
}

/// Sums over the batches of an epoch that have been trained.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PartOfEpoch {
    /// Batches.
    pub batches: u64,
    /// Rows: the position in the epoch.
    pub rows: usize,
    /// The sum of their losses.
    #[serde(with = "exact")]
    pub loss: f64,
    /// Rows that were classified correctly.
    pub correct: u64,
    /// Time that they took, up to the checkpoint.
    pub duration: Duration,
}

impl Progress {
    /// Whether its counts are those of some run, whose engine has done `step` steps.
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
    /// The file's contents.
    ///
    /// # Errors
    /// Those of [`Model::to_bytes`].
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

    /// Reads the contents of a file; `path` stands in messages.
    ///
    /// # Errors
    /// [`Error::Data`] if it is no checkpoint or not whole.
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
    /// Counts a batch: what this step of the epoch gave.
    ///
    /// # Errors
    /// [`Error::NonFiniteLoss`].
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
