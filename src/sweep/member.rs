//! A member of a sweep, and what has become of it.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::GPU_START;
use crate::error::Result;
use crate::model::Model;
use crate::threads::available;
use crate::train::{Config, Epoch, Score, SharedData};

/// A network that is to be trained, once, or once on each of several folds.
#[derive(Clone)]
pub struct Member {
    /// By which it is known.
    pub number: usize,
    /// Its settings.
    pub config: Config,
    /// What it trains on: one for each fold, or one.
    pub data: Vec<Arc<SharedData>>,
    /// Whether it is judged by the rows that test, as folds are, not by those that validate.
    pub is_tested: bool,
}

impl Member {
    /// Rows of an epoch, over all folds.
    pub fn rows(&self) -> u64 {
        (0..self.data.len()).map(|fold| self.rows_of(fold)).sum()
    }

    /// Rows of an epoch on a fold.
    pub(super) fn rows_of(&self, fold: usize) -> u64 {
        self.data[fold].training().rows().unwrap_or(0) as u64
    }

    /// Multiply-adds of its training on a fold, to compare members by.
    pub(super) fn cost(&self, fold: usize) -> f64 {
        let data = self.data[fold].training();
        let network = self.config.network_for(data, self.config.batch_size);
        let parameters = network.map_or(0, |network| network.parameter_count());
        parameters as f64 * data.rows().unwrap_or(0) as f64 * self.config.epochs as f64
    }
}

/// Whether the CPU engine, on so many threads or one for each core, will have trained these members before a GPU could begin with them:
/// [`find_device_for`](crate::engine::find_device_for) asks. A GPU compiles for each of their shapes. Not where one has a schedule.
///
/// # Errors
/// As [`Config::plan`].
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

/// How the training of a member has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialStatus {
    /// Trained to the end.
    Done,
    /// Dropped after this number of epochs, as others were better.
    Dropped(usize),
    /// The time of the sweep was over.
    Time,
    /// It could not be trained on: why, in words. Its loss may have become infinite.
    Failed(String),
}

/// A member that is trained no more.
#[derive(Debug, Clone)]
pub struct FinishedMember {
    /// The number of the member.
    pub member: usize,
    /// How its training has ended.
    pub status: TrialStatus,
    /// What it gave on each fold, or on all rows.
    pub runs: Vec<TrainedModel>,
    /// Time of training, summed over the folds.
    pub duration: Duration,
}

/// What one training gave.
#[derive(Debug, Clone)]
pub struct TrainedModel {
    /// Its epochs.
    pub epochs: Vec<Epoch>,
    /// The epoch after which the model was kept, counted from 1.
    pub kept: usize,
    /// The model.
    pub model: Arc<Model>,
}

impl TrainedModel {
    /// The epoch after which the model was kept.
    pub fn kept_epoch(&self) -> Option<&Epoch> {
        self.epochs.get(self.kept.checked_sub(1)?)
    }
}

impl FinishedMember {
    /// What the member is judged by: loss and accuracy of the model that was kept, the mean over the folds. Nothing of one that has
    /// failed.
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
            values: None,
            classes: None,
        })
    }
}
