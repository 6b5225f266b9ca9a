//! What a run tells while it goes on, and what it gives in the end.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Instant;
use crate::data::{Transform, UnknownCells};
use crate::engine::Description;
use crate::error::Result;
use crate::model::{DataSchema, Model, Network};
use crate::timing::Ceilings;
use crate::train::{MetricValue, TrainingWarning, ValueErrors, exact};

/// Loss and accuracy over some rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Mean loss.
    #[serde(with = "exact")]
    pub loss: f64,
    /// Share of the rows classified correctly; 0 where targets are values.
    #[serde(with = "exact")]
    pub accuracy: f64,
    /// Measures of predicted values, over rows that did not train.
    pub values: Option<ValueErrors>,
    /// Measures of predicted classes, over rows that did not train.
    pub classes: Option<ClassScores>,
    /// The metric that chooses models; `None` for the default.
    pub chosen: Option<MetricValue>,
}

/// Measures of predicted classes over some rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClassScores {
    /// The mean recall of the classes that occur.
    #[serde(with = "exact")]
    pub balanced_accuracy: f64,
    /// The mean of -log of the probability of the right class.
    #[serde(with = "exact")]
    pub log_loss: f64,
    /// The probability that a row of a class has a higher probability of it than a row of another, the mean over the classes
    /// that occur. It is measured for the model that is kept, when the run is over, or after every epoch, if
    /// requested; there is none for rows of one class, and for more than 100 classes.
    pub auc: Option<f64>,
}

impl Score {
    /// Whether this score is better than another: by the chosen metric; by default and if they are equal, by the accuracy of classes,
    /// then by the loss.
    pub fn is_better_than(&self, other: &Self) -> bool {
        let chosen = self.chosen.zip(other.chosen).map(|(own, other)| (own.quality(), other.quality()));
        let qualities = chosen.filter(|(own, other)| own != other);
        // The accuracy of predicted values is always the same.
        let (own, others) = qualities.unwrap_or((self.accuracy, other.accuracy));
        own > others || own == others && self.loss < other.loss
    }

    /// The score of predicted values.
    pub(super) fn of_values(errors: ValueErrors) -> Self {
        Self { loss: errors.loss, values: Some(errors), ..Self::default() }
    }
}

/// What one epoch gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Number, from 1.
    pub epoch: usize,
    /// Over the training rows, each as it was when its batch was trained.
    pub train: Score,
    /// Over the validation rows after the epoch.
    pub validation: Option<Score>,
    /// Over the test rows after the epoch.
    pub test: Option<Score>,
    /// Time of training alone.
    pub duration: Duration,
    /// Training rows.
    pub rows: usize,
}

impl Epoch {
    /// Training rows per second.
    pub fn samples_per_second(&self) -> f64 {
        self.rows as f64 / self.duration.as_secs_f64().max(1e-9)
    }
}

/// What is known when training begins.
#[derive(Debug, Clone)]
pub struct Started {
    /// What computes, and how.
    pub engine: Description,
    /// The network.
    pub network: Network,
    /// How values become inputs.
    pub transform: Transform,
    /// The meaning of inputs and outputs.
    pub data_schema: DataSchema,
    /// Training rows, where that is known.
    pub rows: Option<usize>,
    /// Epochs at most.
    pub epochs: usize,
}

/// What happens during a run.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Training begins.
    #[serde(skip)]
    Started(Box<Started>),
    /// Some batches more have been trained.
    #[serde(skip)]
    Progress {
        /// The epoch, from 1.
        epoch: usize,
        /// Its rows trained so far.
        rows: usize,
        /// Its rows in all, where that is known.
        total: Option<usize>,
        /// Over the rows so far.
        score: Score,
    },
    /// Rows that do not train hold a category that no training row holds, or miss a value where no training row does.
    Unknown {
        /// `validation` or `test`.
        set: &'static str,
        /// How many cells of which columns do.
        cells: UnknownCells,
    },
    /// Rows that do not train are all of one class: what is measured over them says little, and they have no AUC.
    OneClass {
        /// `validation` or `test`.
        set: &'static str,
        /// The class.
        class: String,
    },
    /// An epoch has ended.
    #[serde(skip)]
    Epoch {
        /// Its figures.
        epoch: Box<Epoch>,
        /// The model after it.
        model: Arc<Model>,
        /// Whether it is the one to keep, as far as the run has come. Whoever wants to keep it saves it now.
        is_kept: bool,
    },
    /// The run was stopped within an epoch, and the last model would be kept: this one.
    #[serde(skip)]
    Interrupted {
        /// The epoch, from 1.
        epoch: usize,
        /// Steps since the start of the run.
        steps: u64,
        /// The model after the last of them.
        model: Arc<Model>,
    },
}

/// Takes the events of a run. An error ends the run; [`Error::Interrupted`](crate::Error::Interrupted) stops it between two
/// steps and lets it tell how far it came.
pub type OnEvent<'a> = dyn FnMut(Event) -> Result<()> + 'a;

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All epochs were trained.
    Done,
    /// As many epochs as patience lasts gave no better model.
    Patience,
    /// The target accuracy was reached.
    Accuracy,
    /// Its time was over, perhaps within an epoch.
    Time,
    /// It was stopped.
    Interrupted,
}

/// What a run gave.
#[derive(Debug)]
pub struct Summary {
    /// All whole epochs, and the last one whose time was over within it.
    pub epochs: Vec<Epoch>,
    /// The epoch after which the model was kept, counted from 1; 0 for one that was interrupted before its end.
    pub kept: usize,
    /// The model that was kept.
    pub model: Model,
    /// Why the run ended.
    pub end: End,
    /// Why the model may be of no use.
    pub warning: Option<TrainingWarning>,
    /// What computed, and how.
    pub engine: Description,
    /// When the first batch was known to be trained.
    pub first_batch: Instant,
    /// Steps of all epochs.
    pub steps: u64,
    /// What the device can do at most, if an observer received what took how long.
    pub ceilings: Option<Ceilings>,
}

impl Summary {
    /// The figures of the epoch whose model was kept.
    pub fn kept_epoch(&self) -> Option<&Epoch> {
        self.epochs.get(self.kept.checked_sub(1)?)
    }
}
