//! A member of a sweep, and its results.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::GPU_START;
use crate::error::Result;
use crate::model::Model;
use crate::threads::available;
use crate::train::{Config, Epoch, MetricValue, Score, SharedData};

/// A network to train, once, or once on each of several folds.
#[derive(Clone)]
pub struct Member {
    /// Number of the member.
    pub number: usize,
    /// Its settings.
    pub config: Config,
    /// Training data: one entry for each fold, or one.
    pub data: Vec<Arc<SharedData>>,
    /// Whether it is scored on test rows, as folds are, instead of validation rows.
    pub is_tested: bool,
}

impl Member {
    /// Returns the rows of an epoch, over all folds.
    pub fn rows(&self) -> u64 {
        (0..self.data.len()).map(|fold| self.rows_of(fold)).sum()
    }

    /// Returns the rows of an epoch on a fold.
    pub(super) fn rows_of(&self, fold: usize) -> u64 {
        self.data[fold].training().rows().unwrap_or(0) as u64
    }

    /// Returns the multiply-adds of its training on a fold, to compare members.
    pub(super) fn cost(&self, fold: usize) -> f64 {
        let data = self.data[fold].training();
        let network = self.config.network_for(data, self.config.batch_size);
        let parameters = network.map_or(0, |network| network.parameter_count());
        parameters as f64 * data.rows().unwrap_or(0) as f64 * self.config.epochs as f64
    }
}

/// Returns whether the CPU engine, on `threads` threads or one per core, will have trained these members
/// before a GPU could begin with them, for [`find_device_for`](crate::engine::find_device_for). A GPU
/// compiles kernels for each of their shapes. Returns false if a member has a schedule.
///
/// # Errors
/// See [`Config::plan`].
pub fn is_short(members: &[Member], threads: Option<usize>) -> Result<bool> {
    const STARTS: u32 = 4;
    let time = |member: &Member| {
        let loads = member.data.iter().map(|data| member.config.load(data.training()));
        loads.map(|load| Ok(load?.map_or(Duration::ZERO, |load| load.cpu_time(1)))).sum::<Result<Duration>>()
    };
    let time = members.iter().map(time).sum::<Result<Duration>>()?;
    let threads = threads.unwrap_or_else(available).clamp(1, members.len().max(1));
    let is_free = members.iter().all(|member| member.config.schedule.is_none());
    Ok(is_free && time < threads as u32 * STARTS * GPU_START)
}

/// Final status of a member's training.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialStatus {
    /// Trained to the end.
    Done,
    /// Dropped after this number of epochs, since others were better.
    Dropped(usize),
    /// The sweep's time was over.
    Time,
    /// Training failed, with a readable reason; for example, its loss became infinite.
    Failed(String),
}

/// A member whose training has ended.
#[derive(Debug, Clone)]
pub struct FinishedMember {
    /// Number of the member.
    pub member: usize,
    /// Final status of its training.
    pub status: TrialStatus,
    /// Results on each fold, or on all rows.
    pub runs: Vec<TrainedModel>,
    /// Training time, summed over the folds.
    pub duration: Duration,
}

/// Result of one training.
#[derive(Debug, Clone)]
pub struct TrainedModel {
    /// Epochs of the training.
    pub epochs: Vec<Epoch>,
    /// Epoch of the kept model, counted from 1.
    pub kept: usize,
    /// The kept model.
    pub model: Arc<Model>,
}

impl TrainedModel {
    /// Returns the epoch of the kept model.
    pub fn kept_epoch(&self) -> Option<&Epoch> {
        self.epochs.get(self.kept.checked_sub(1)?)
    }
}

impl FinishedMember {
    /// Returns the member's score: loss and accuracy of the kept model, averaged over the folds. `None` for a
    /// failed member.
    pub fn score(&self, is_tested: bool) -> Option<Score> {
        if matches!(self.status, TrialStatus::Failed(_)) || self.runs.is_empty() {
            return None;
        }
        let kept = self.runs.iter().map(TrainedModel::kept_epoch);
        let scores =
            kept.map(|epoch| if is_tested { epoch?.test.as_ref() } else { epoch?.validation.as_ref() });
        let scores: Vec<&Score> = scores.collect::<Option<_>>()?;
        let mean =
            |of: fn(&Score) -> f64| scores.iter().map(|score| of(score)).sum::<f64>() / scores.len() as f64;
        Some(Score {
            loss: mean(|score| score.loss),
            accuracy: mean(|score| score.accuracy),
            chosen: mean_of_chosen(&scores),
            ..Score::default()
        })
    }
}

/// The mean of the metric that orders trials; `None` for the default, or if a score has none.
fn mean_of_chosen(scores: &[&Score]) -> Option<MetricValue> {
    let all = scores.iter().map(|score| score.chosen).collect::<Option<Vec<MetricValue>>>()?;
    let value = all.iter().map(|chosen| chosen.value).sum::<f64>() / all.len() as f64;
    Some(MetricValue { value, ..*all.first()? })
}
