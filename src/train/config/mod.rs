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
    Activation, Loss, Optimizer, OptimizerKind, RateFactors, RateSchedule, Rates, UpdateRule, demand,
};

/// Which model of a run is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The model with the best metric on the validation rows.
    Best,
    /// The one after the last epoch.
    Last,
}

named!(Keep { Best = "best", Last = "last" });

/// How much rows of each class count in the loss.
#[derive(Debug, Clone, PartialEq)]
pub enum ClassWeights {
    /// All alike.
    None,
    /// rows / (classes x rows of the class), so that every class counts as much as every other.
    Balanced,
    /// One number for each class, in their order.
    Given(Vec<f32>),
}

/// Training rows from which on the defaults do not depend on their number.
const MANY_ROWS: usize = 4096;

/// Everything that decides what a run computes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Config {
    /// Sizes of the hidden layers, first to last; none is softmax regression.
    pub hidden: Vec<usize>,
    /// Passes over the training set.
    pub epochs: usize,
    /// Rows of a batch; the last of an epoch may have fewer.
    pub batch_size: usize,
    /// Activation of the hidden layers: one for all, or one for each.
    pub activation: Vec<Activation>,
    /// Share of the outputs that is left out of a step behind the hidden layers: one for all, or one for each.
    pub dropout: Vec<f32>,
    /// How the first weights are drawn.
    #[serde(serialize_with = "as_text")]
    pub init: Init,
    /// What the network is trained for; it decides whether targets are classes or values.
    pub loss: Loss,
    /// Share of its probability that a class gives to all classes alike.
    pub label_smoothing: f32,
    /// Whether a model that was trained with label smoothing is divided by its temperature: the number that lessens the loss on the
    /// validation rows most, where there are any.
    #[serde(skip)]
    pub temperature: bool,
    /// How much rows of each class count in the loss.
    #[serde(serialize_with = "as_text")]
    pub class_weights: ClassWeights,
    /// How gradients change the parameters.
    #[serde(flatten)]
    pub optimizer: Optimizer,
    /// Learning rate, the largest of the run.
    #[serde(rename = "lr")]
    pub learning_rate: f32,
    /// How the learning rate changes during the run.
    #[serde(rename = "lr_schedule")]
    pub rate_schedule: RateSchedule,
    /// Factor of the rate schedules that have one; nothing is their usual one.
    #[serde(rename = "lr_gamma")]
    pub rate_gamma: Option<f32>,
    /// Epochs from one step of the rate to the next; nothing is a third of all.
    #[serde(rename = "lr_every")]
    pub rate_every: Option<u64>,
    /// Steps over which the learning rate rises from 0 first.
    pub warmup: u64,
    /// Factors of the learning rate of weights, biases and layers.
    #[serde(flatten)]
    pub factors: RateFactors,
    /// Whether the learning rate of each layer's weights is divided as if they were multiplied by 1 / sqrt(inputs) in the
    /// network: by sqrt(inputs) for optimizers that divide gradients by their size, else by the inputs (the neural tangent
    /// parametrisation, A. Jacot, F. Gabriel, C. Hongler, 2018).
    pub ntk: bool,
    /// Largest norm of all gradients together: larger ones are scaled down to it.
    pub clip_norm: Option<f32>,
    /// Decides which rows are held out, the order of the rows, and the initial weights.
    pub seed: u64,
    /// Decides the initial weights, and which units dropout leaves out, in place of `seed`.
    pub init_seed: Option<u64>,
    /// How a GPU divides a step into dispatches; nothing leaves it the choice.
    pub schedule: Option<ScheduleKind>,
    /// Most threads of the CPU engine; nothing is one for each core.
    pub threads: Option<usize>,
    /// What is done to the rows first.
    #[serde(flatten)]
    pub data: DataOptions,
    /// Which model is kept: the best if there are validation rows, else the last, unless this says otherwise.
    pub keep: Option<Keep>,
    /// Ends the run after this many epochs in a row without improvement on the validation rows.
    #[serde(skip)]
    pub patience: Option<usize>,
    /// Ends the run after the epoch that reaches it on the validation rows, or else on the training rows.
    #[serde(skip)]
    pub target_accuracy: Option<f64>,
    /// Metric on the validation rows that decides which model is kept and when a run ends for lack of improvement; by default the accuracy
    /// of classes, then the loss.
    pub metric: Option<Metric>,
    /// Ends the run this long after its start, within an epoch, too.
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
    /// The default epochs for a number of training rows: ten, or as many as take 40,960 rows in all. Nothing is known of a table that is
    /// still read, but that it has more than a block of rows.
    pub fn default_epochs(rows: Option<usize>) -> usize {
        let rows = rows.unwrap_or(MANY_ROWS).clamp(1, MANY_ROWS);
        (Self::default().epochs * MANY_ROWS).div_ceil(rows).min(1000)
    }

    /// The default learning rate: the usual one of an optimizer, and for values at most 0.01, since a
    /// squared error has no bound on its slope.
    pub fn default_rate(optimizer: OptimizerKind, loss: Loss) -> f32 {
        let rate = optimizer.default_rate();
        if loss.of_classes() { rate } else { rate.min(0.01) }
    }

    /// The default batch size for a number of training rows: 64 from 2,048 rows on, 32 from 512 on, else 16.
    pub fn default_batch_size(rows: Option<usize>) -> usize {
        match rows {
            Some(..512) => 16,
            Some(..2048) => 32,
            _ => Self::default().batch_size,
        }
    }

    /// The settings as entries of a model file, by their names, and the version of the program.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let version = ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        let settings = settings::object(self).into_iter().filter(|(_, value)| !value.is_null());
        settings.map(|(name, value)| (name, settings::text(&value))).chain([version]).collect()
    }

    /// The update rule, for batches of at most `batch` of `rows` rows, if known.
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

    /// What decides the initial weights.
    pub fn initial_seed(&self) -> u64 {
        self.init_seed.unwrap_or(self.seed)
    }

    /// Whether the number of rows, or all labels, must be known before training starts.
    pub fn needs_all_rows(&self) -> bool {
        self.rate_schedule.needs_steps() || self.class_weights != ClassWeights::None
    }

    /// Checks whether all settings are in range.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::error::Error::Setting) for the first that is not.
    pub fn validate(&self) -> Result<()> {
        let of_classes = self.loss.of_classes();
        demand(self.epochs > 0, "epochs", "1 or more", 0)?;
        demand(self.threads != Some(0), "threads", "1 or more", 0)?;
        demand(self.batch_size > 0, "batch-size", "1 or more", 0)?;
        // How many rows there are is nothing that a setting has to know.
        self.rule(self.batch_size, Some(u32::MAX as usize)).validate()?;
        let hidden = self.hidden.len();
        for (setting, values) in [("activation", self.activation.len()), ("dropout", self.dropout.len())] {
            let expected = format!("one for all hidden layers, or one for each of {hidden}");
            demand(values == 1 || values == hidden, setting, &expected, format!("{values} values"))?;
        }
        for share in &self.dropout {
            demand((0.0..1.0).contains(share), "dropout", "a number from 0 to below 1", share)?;
        }
        let factors = self.factors.layers.len();
        let expected = format!("one factor for each of {} layers at most", hidden + 1);
        demand(factors <= hidden + 1, "lr-layers", &expected, format!("{factors} values"))?;
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
            demand(metric.of_classes() == of_classes, "metric", &Metric::names(of_classes), metric)?;
        }
        if let Some(accuracy) = self.target_accuracy {
            demand(of_classes, "target-accuracy", "a loss of classes", self.loss)?;
            demand((0.0..=1.0).contains(&accuracy), "target-accuracy", "a number from 0 to 1", accuracy)?;
        }
        demand(!self.hidden.contains(&0), "hidden", "layer sizes of 1 or more", 0)
    }
}
