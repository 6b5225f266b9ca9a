//! Settings of a run.

mod plan;
mod preset;
pub(super) mod settings;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::{DataOptions, Metric};
use crate::data::Split;
use crate::error::Result;
use crate::model::Init;
use crate::named::named;
use crate::step::ScheduleKind;
use crate::step::{
    Activation, Augment, Loss, Optimizer, OptimizerKind, RateFactors, RateSchedule, Rates, UpdateRule, demand,
};

/// Choice of the model that a run keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The model with the best metric on the validation rows.
    Best,
    /// The model after the last epoch.
    Last,
}

named!(Keep { Best = "best", Last = "last" });

/// Weights of the classes in the loss.
#[derive(Debug, Clone, PartialEq)]
pub enum ClassWeights {
    /// Equal weights.
    None,
    /// rows / (classes x rows of the class), so that all classes have the same total weight.
    Balanced,
    /// One weight per class, in their order.
    Given(Vec<f32>),
}

/// Number of training rows above which the defaults are constant.
const MANY_ROWS: usize = 4096;

/// Number of training rows from which the preset for tables has its greatest learning rate.
const LARGE_ROWS: usize = 16_384;

/// Settings that decide the result of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Config {
    /// Sizes of the hidden layers, first to last; empty for softmax regression.
    pub hidden: Vec<usize>,
    /// Number of passes over the training set.
    pub epochs: usize,
    /// Rows of a batch; the last batch of an epoch may have fewer.
    pub batch_size: usize,
    /// Activation of the hidden layers: one for all, or one for each.
    pub activation: Vec<Activation>,
    /// Dropout: share of the outputs of hidden layers that a step sets to 0, one for all or one for each.
    pub dropout: Vec<f32>,
    /// Distribution of the initial weights.
    #[serde(serialize_with = "as_text")]
    pub init: Init,
    /// Loss function, which decides whether targets are classes, values, or labels of 0 or 1.
    pub loss: Loss,
    /// Share of the target probability that is distributed over all classes equally.
    pub label_smoothing: f32,
    /// Whether the outputs of a classifier are divided by its temperature, the number that minimises the loss
    /// on the validation rows, if there are any.
    #[serde(skip)]
    pub temperature: bool,
    /// Random distortions of images in training.
    #[serde(skip_serializing_if = "Augment::is_none")]
    pub augment: Augment,
    /// Weights of the classes in the loss.
    #[serde(serialize_with = "as_text")]
    pub class_weights: ClassWeights,
    /// Optimizer with its settings.
    #[serde(flatten)]
    pub optimizer: Optimizer,
    /// Maximum learning rate of the run.
    #[serde(rename = "lr")]
    pub learning_rate: f32,
    /// Schedule of the learning rate.
    #[serde(rename = "lr_schedule")]
    pub rate_schedule: RateSchedule,
    /// Factor of rate schedules that have one; `None` for its default.
    #[serde(rename = "lr_gamma")]
    pub rate_gamma: Option<f32>,
    /// Epochs between two steps of the rate; `None` for a third of all.
    #[serde(rename = "lr_every")]
    pub rate_every: Option<u64>,
    /// Number of steps in which the learning rate first rises from 0.
    pub warmup: u64,
    /// Factors of the learning rate of weights, biases and layers.
    #[serde(rename = "lr_factors", serialize_with = "as_text")]
    pub factors: RateFactors,
    /// Whether the learning rate of each layer's weights is divided as if the network multiplied them by 1 /
    /// sqrt(inputs): by sqrt(inputs) for optimizers that normalise gradients, otherwise by the inputs (the
    /// neural tangent parametrisation, A. Jacot, F. Gabriel, C. Hongler, 2018).
    pub ntk: bool,
    /// Maximum norm of all gradients together: larger gradients are scaled down.
    pub clip_norm: Option<f32>,
    /// Seed of the held-out rows, the order of the rows, and the initial weights.
    pub seed: u64,
    /// Seed of the initial weights and of dropout, instead of `seed`.
    pub init_seed: Option<u64>,
    /// Division of a step into GPU dispatches; `None` for automatic.
    pub schedule: Option<ScheduleKind>,
    /// Maximum threads of the CPU engine; `None` for one per core.
    pub threads: Option<usize>,
    /// Preparation of the rows.
    #[serde(flatten)]
    pub data: DataOptions,
    /// Choice of the kept model; `None` for the best if there are validation rows, else the last.
    pub keep: Option<Keep>,
    /// Number of epochs without improvement on the validation rows after which the run ends.
    #[serde(skip)]
    pub patience: Option<usize>,
    /// Accuracy on the validation rows, or else on the training rows, after which the run ends.
    #[serde(skip)]
    pub target_accuracy: Option<f64>,
    /// Metric on the validation rows that selects the kept model and defines improvement; by default the
    /// accuracy of classes, then the loss.
    pub metric: Option<Metric>,
    /// Time limit from the start of the run, which can end it within an epoch.
    #[serde(skip)]
    pub max_time: Option<Duration>,
}

fn as_text<S: Serializer>(value: &impl Display, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(value)
}

impl Default for Config {
    fn default() -> Self {
        Self {
            hidden: vec![300, 100],
            epochs: 10,
            batch_size: 64,
            activation: vec![Activation::Relu],
            dropout: vec![0.0],
            init: Init::HE,
            loss: Loss::CrossEntropy,
            label_smoothing: 0.0,
            temperature: true,
            augment: Augment::default(),
            class_weights: ClassWeights::None,
            optimizer: OptimizerKind::Sgd.defaults(),
            learning_rate: OptimizerKind::Sgd.default_rate(),
            rate_schedule: RateSchedule::Constant,
            rate_gamma: None,
            rate_every: None,
            warmup: 0,
            factors: RateFactors::default(),
            ntk: false,
            clip_norm: None,
            seed: 1,
            init_seed: None,
            schedule: None,
            threads: None,
            data: DataOptions::default(),
            keep: None,
            patience: None,
            target_accuracy: None,
            metric: None,
            max_time: None,
        }
    }
}

impl Config {
    /// Returns the default number of epochs for a number of training rows: 10, or enough for 40,960 rows in
    /// total. An unknown number, of a table that is still being read, counts as large.
    pub fn default_epochs(rows: Option<usize>) -> usize {
        let rows = rows.unwrap_or(MANY_ROWS).clamp(1, MANY_ROWS);
        (Self::default().epochs * MANY_ROWS).div_ceil(rows).min(1000)
    }

    /// Returns the default learning rate: the optimizer's default, and for values at most 0.01, since the
    /// slope of a squared error is unbounded.
    pub fn default_rate(optimizer: OptimizerKind, loss: Loss) -> f32 {
        let rate = optimizer.default_rate();
        if loss.classifies() { rate } else { rate.min(0.01) }
    }

    /// Returns the default batch size for a number of training rows: 64 from 2,048 rows on, 32 from 512 on,
    /// else 16.
    pub fn default_batch_size(rows: Option<usize>) -> usize {
        match rows {
            Some(..512) => 16,
            Some(..2048) => 32,
            _ => Self::default().batch_size,
        }
    }

    /// Returns the settings by name, and the program version, as entries of a model file.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let version = ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        let settings = settings::object(self).into_iter().filter(|(_, value)| !value.is_null());
        settings.map(|(name, value)| (name, settings::text(&value))).chain([version]).collect()
    }

    /// Returns the update rule, for batches of at most `batch` of `rows` rows, if known.
    pub fn rule(&self, batch: usize, rows: Option<usize>) -> UpdateRule {
        let epoch_steps = rows.map_or(0, |rows| rows.div_ceil(batch.max(1)) as u64);
        let rates = Rates::new(self.rate_schedule, self.learning_rate, epoch_steps, self.epochs as u64);
        let rates = Rates {
            gamma: self.rate_gamma.unwrap_or(rates.gamma),
            every: self.rate_every.unwrap_or(rates.every),
            warmup: self.warmup,
            ..rates
        };
        UpdateRule {
            optimizer: self.optimizer,
            rates,
            factors: self.factors.clone(),
            clip_norm: self.clip_norm,
            label_smoothing: self.label_smoothing,
            seed: self.initial_seed(),
        }
    }

    /// Returns the seed of the initial weights.
    pub fn initial_seed(&self) -> u64 {
        self.init_seed.unwrap_or(self.seed)
    }

    /// Returns whether the number of rows, or all labels, must be known before training starts.
    pub fn needs_all_rows(&self) -> bool {
        self.rate_schedule.needs_steps() || self.class_weights != ClassWeights::None
    }

    /// Checks that all settings are in range.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::error::Error::Setting) for the first setting out of range.
    pub fn validate(&self) -> Result<()> {
        let of_classes = self.loss.of_classes();
        demand(self.epochs > 0, "epochs", "1 or more", 0)?;
        demand(self.threads != Some(0), "threads", "1 or more", 0)?;
        demand(self.batch_size > 0, "batch-size", "1 or more", 0)?;
        // Settings must be valid for any number of rows.
        self.rule(self.batch_size, Some(u32::MAX as usize)).validate()?;
        let hidden = self.hidden.len();
        for (setting, values) in [("activation", self.activation.len()), ("dropout", self.dropout.len())] {
            let expected = format!("one for all hidden layers, or one for each of {hidden}");
            demand(values == 1 || values == hidden, setting, &expected, format!("{values} values"))?;
        }
        self.augment.validate()?;
        for share in &self.dropout {
            demand((0.0..1.0).contains(share), "dropout", "a number from 0 to below 1", share)?;
        }
        let factors = self.factors.layers.len();
        let expected = format!("at most one factor for each of {} layers", hidden + 1);
        demand(factors <= hidden + 1, "lr-factors", &expected, factors)?;
        let smoothing = self.label_smoothing;
        demand(of_classes || smoothing == 0.0, "label-smoothing", "0 with a loss of values", smoothing)?;
        let weighs = self.class_weights != ClassWeights::None;
        demand(of_classes || !weighs, "class-weights", "none with a loss of values", "some")?;
        if let ClassWeights::Given(weights) = &self.class_weights {
            for weight in weights {
                let fits = weight.is_finite() && *weight >= 0.0;
                demand(fits, "class-weights", "finite numbers of 0 or more", weight)?;
            }
            let is_some = weights.iter().any(|weight| *weight > 0.0);
            demand(is_some, "class-weights", "a number above 0 among them", "none")?;
        }
        let Split { validation, test, .. } = self.data.split;
        for (setting, share) in [("validation-fraction", validation), ("test-fraction", test)] {
            demand((0.0..1.0).contains(&share), setting, "a number from 0 to below 1", share)?;
        }
        let expected = "less than 1 together with the test fraction";
        demand(validation + test < 1.0, "validation-fraction", expected, validation + test)?;
        demand(self.patience != Some(0), "patience", "1 or more", 0)?;
        if let Some(metric) = self.metric {
            let classifies = self.loss.classifies();
            demand(metric.of_classes() == classifies, "metric", &Metric::names(classifies), metric)?;
        }
        if let Some(accuracy) = self.target_accuracy {
            demand(of_classes, "target-accuracy", "a loss of classes", self.loss)?;
            demand((0.0..=1.0).contains(&accuracy), "target-accuracy", "a number from 0 to 1", accuracy)?;
        }
        demand(!self.hidden.contains(&0), "hidden", "layer sizes of 1 or more", 0)
    }
}
