//! Events and results of a run.

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
    /// Share of correctly classified rows, or the mean of this share over labels of 0 or 1; 0 if targets are values, and
    /// over training rows with such labels.
    #[serde(with = "exact")]
    pub accuracy: f64,
    /// Metrics of predicted values, over validation or test rows.
    pub values: Option<ValueErrors>,
    /// Metrics of predicted classes or labels, over validation or test rows.
    pub classes: Option<ClassScores>,
    /// Metric that selects the model; `None` for the default.
    pub chosen: Option<MetricValue>,
}

/// Metrics of predicted classes over some rows; for labels of 0 or 1 the means over the labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClassScores {
    /// Mean recall of the classes that occur.
    #[serde(with = "exact")]
    pub balanced_accuracy: f64,
    /// Mean of -log of the probability of the true class.
    #[serde(with = "exact")]
    pub log_loss: f64,
    /// Probability that a row of a class has a higher probability of the class than a row of another, as the
    /// mean over the classes that occur. Computed for the kept model at the end, or after every epoch on
    /// request; `None` for rows of one class, and for more than 100 classes.
    pub auc: Option<f64>,
}

impl Score {
    /// Returns whether this score is better than another: by the chosen metric; by default and for ties, by
    /// the accuracy of classes, then by the loss.
    pub fn is_better_than(&self, other: &Self) -> bool {
        let chosen = self.chosen.zip(other.chosen).map(|(own, other)| (own.quality(), other.quality()));
        let qualities = chosen.filter(|(own, other)| own != other);
        // The accuracy of predicted values is constant.
        let (own, others) = qualities.unwrap_or((self.accuracy, other.accuracy));
        own > others || own == others && self.loss < other.loss
    }

    /// Returns the score of predicted values.
    pub(super) fn of_values(errors: ValueErrors) -> Self {
        Self { loss: errors.loss, values: Some(errors), ..Self::default() }
    }
}

/// Results of one epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Epoch number, from 1.
    pub epoch: usize,
    /// Score over the training rows, each computed before the update of its batch.
    pub train: Score,
    /// Score over the validation rows after the epoch.
    pub validation: Option<Score>,
    /// Score over the test rows after the epoch; with [`Run::tested_at_end`](super::Run::tested_at_end) of the
    /// kept model only, in the summary.
    pub test: Option<Score>,
    /// Time of training, without evaluation.
    pub duration: Duration,
    /// Number of training rows.
    pub rows: usize,
}

impl Epoch {
    /// Returns the number of training rows per second.
    pub fn samples_per_second(&self) -> f64 {
        self.rows as f64 / self.duration.as_secs_f64().max(1e-9)
    }
}

/// Information available when training starts.
#[derive(Debug, Clone)]
pub struct Started {
    /// Description of the engine.
    pub engine: Description,
    /// The network.
    pub network: Network,
    /// Conversion of values to inputs.
    pub transform: Transform,
    /// The meaning of inputs and outputs.
    pub data_schema: DataSchema,
    /// Number of training rows, if known.
    pub rows: Option<usize>,
    /// Maximum number of epochs.
    pub epochs: usize,
}

/// Event of a run.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Training starts.
    #[serde(skip)]
    Started(Box<Started>),
    /// More batches have been trained.
    #[serde(skip)]
    Progress {
        /// Epoch, from 1.
        epoch: usize,
        /// Trained rows of the epoch.
        rows: usize,
        /// Rows of the whole epoch, if known.
        total: Option<usize>,
        /// Score over the rows so far.
        score: Score,
    },
    /// Validation or test rows have categories that no training row had, or missing values in columns without
    /// any in training rows.
    Unknown {
        /// `validation` or `test`.
        set: &'static str,
        /// Number of these cells by column.
        cells: UnknownCells,
    },
    /// All validation or test rows are of one class: their metrics mean little, and there is no AUC.
    OneClass {
        /// `validation` or `test`.
        set: &'static str,
        /// Name of the class.
        class: String,
    },
    /// An epoch has ended.
    #[serde(skip)]
    Epoch {
        /// Results of the epoch.
        epoch: Box<Epoch>,
        /// The model after the epoch.
        model: Arc<Model>,
        /// Whether the model is the one to keep so far. Save it now to keep it.
        is_kept: bool,
    },
    /// The run was stopped within an epoch, and would keep the last model, which is this one.
    #[serde(skip)]
    Interrupted {
        /// Epoch, from 1.
        epoch: usize,
        /// Steps since the start of the run.
        steps: u64,
        /// The model after the last step.
        model: Arc<Model>,
    },
}

/// Callback for the events of a run. An error ends the run; [`Error::Interrupted`](crate::Error::Interrupted)
/// stops it between two steps, after which the run sends its last events.
pub type OnEvent<'a> = dyn FnMut(Event) -> Result<()> + 'a;

/// Reason for the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All epochs were trained.
    Done,
    /// [`Config::patience`](crate::train::Config::patience) epochs brought no improvement.
    Patience,
    /// The target accuracy was reached.
    Accuracy,
    /// The time limit was reached, possibly within an epoch.
    Time,
    /// The run was stopped.
    Interrupted,
}

/// Results of a run.
#[derive(Debug)]
pub struct Summary {
    /// All complete epochs, and the last epoch if the time limit ended it.
    pub epochs: Vec<Epoch>,
    /// Epoch of the kept model, counted from 1; 0 for a model saved when the run was stopped.
    pub kept: usize,
    /// The kept model.
    pub model: Model,
    /// Reason for the end of the run.
    pub end: End,
    /// Warning that the model may not be useful.
    pub warning: Option<TrainingWarning>,
    /// Description of the engine.
    pub engine: Description,
    /// Time at which the first batch was known to be trained.
    pub first_batch: Instant,
    /// Number of steps of all epochs.
    pub steps: u64,
    /// Performance limits of the device, if an observer recorded the work.
    pub ceilings: Option<Ceilings>,
}

impl Summary {
    /// Returns the results of the kept model's epoch.
    pub fn kept_epoch(&self) -> Option<&Epoch> {
        self.epochs.get(self.kept.checked_sub(1)?)
    }
}
