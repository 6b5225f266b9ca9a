//! What was asked for, and the settings of a run that follow from it: as the command line makes them of its options.

use std::time::Duration;

use super::optimizers::OptimizerChoice;
use crate::data::{Reader, Scale, Split};
use crate::error::{Error, Result};
use crate::model::Init;
use crate::schedule::{Measurements, ScheduleKind};
use crate::step::{Activation, Loss, Optimizer, RateFactors, RateSchedule};
use crate::train::{ClassWeights, Clip, Config, DataOptions, InputOptions, Keep, ONE_HOT_CATEGORIES};

/// Settings that the defaults of all others come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// RealMLP-TD-S with periodic embeddings, made for tables with validation rows: see [`Config::table`].
    Table,
    /// A network with ReLU and gradient descent.
    Plain,
}

/// What was asked for; nothing is as the preset says.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    pub preset: Option<Preset>,
    pub hidden: Option<Vec<usize>>,
    pub epochs: Option<usize>,
    pub batch_size: Option<usize>,
    pub activation: Option<Vec<Activation>>,
    pub dropout: Option<Vec<f32>>,
    pub init: Option<Init>,
    pub loss: Option<Loss>,
    pub label_smoothing: Option<f32>,
    pub temperature: Option<bool>,
    pub class_weights: Option<ClassWeights>,
    pub optimizer: Option<OptimizerChoice>,
    pub weight_decay: Option<f32>,
    pub clip_norm: Option<f32>,
    pub lr: Option<f32>,
    pub lr_schedule: Option<RateSchedule>,
    pub lr_gamma: Option<f32>,
    pub lr_every: Option<u64>,
    pub warmup: Option<u64>,
    pub lr_weights: Option<f32>,
    pub lr_biases: Option<f32>,
    pub lr_layers: Option<Vec<f32>>,
    pub lr_embeddings: Option<f32>,
    pub lr_scale: Option<f32>,
    pub ntk: Option<bool>,
    pub seed: Option<u64>,
    pub init_seed: Option<u64>,
    pub schedule: Option<ScheduleKind>,
    pub threads: Option<usize>,
    pub measured: Option<Measurements>,
    pub scale: Option<Scale>,
    pub clip: Option<Clip>,
    pub scale_target: Option<bool>,
    pub embeddings: Option<bool>,
    pub learn_scale: Option<bool>,
    pub one_hot: Option<usize>,
    pub validation_fraction: Option<f64>,
    pub test_fraction: Option<f64>,
    pub keep: Option<Keep>,
    pub patience: Option<Option<usize>>,
    pub target_accuracy: Option<f64>,
    pub auc_by_epoch: bool,
    pub max_time: Option<Duration>,
}

/// What the defaults of settings depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// Training rows, where their number is known.
    pub rows: Option<usize>,
    /// Whether targets are values, not classes.
    pub predicts_values: bool,
    pub preset: Preset,
}

impl Settings {
    /// What is known of rows before all of them are read: a table that is validated has the preset for tables, if none was asked
    /// for.
    ///
    /// # Errors
    /// Those of the data.
    pub fn known(&self, reader: &mut Reader, validates: bool) -> Result<Known> {
        let preset = match self.preset {
            Some(preset) => preset,
            None if validates
                && reader.schema().is_some()
                && (reader.rows() > 0 || reader.next_block()?)
                && !reader.holds_images() =>
            {
                Preset::Table
            }
            None => Preset::Plain,
        };
        Ok(Known { rows: None, predicts_values: reader.values() > 0, preset })
    }

    /// The settings of a run on such rows.
    pub fn config(&self, known: Known) -> Config {
        let Known { rows, predicts_values, preset } = known;
        let asked = self.clone();
        let loss = asked.loss.unwrap_or(if predicts_values { Loss::Mse } else { Loss::CrossEntropy });
        let usual = match preset {
            Preset::Table => Config::table(loss),
            Preset::Plain => Config {
                epochs: Config::default_epochs(rows),
                batch_size: Config::default_batch_size(rows),
                ..Config::plain(loss)
            },
        };
        let (optimizer, rate) = self.optimizer(&usual);
        Config {
            hidden: asked.hidden.unwrap_or(usual.hidden),
            epochs: asked.epochs.unwrap_or(usual.epochs),
            batch_size: asked.batch_size.unwrap_or(usual.batch_size),
            activation: asked.activation.unwrap_or(usual.activation),
            dropout: asked.dropout.unwrap_or(usual.dropout),
            init: asked.init.unwrap_or(usual.init),
            loss,
            label_smoothing: asked.label_smoothing.unwrap_or(usual.label_smoothing),
            temperature: asked.temperature.unwrap_or(usual.temperature),
            class_weights: asked.class_weights.unwrap_or(usual.class_weights),
            optimizer,
            learning_rate: asked.lr.unwrap_or(rate),
            rate_schedule: asked.lr_schedule.unwrap_or(usual.rate_schedule),
            rate_gamma: asked.lr_gamma,
            rate_every: asked.lr_every,
            warmup: asked.warmup.unwrap_or(usual.warmup),
            factors: RateFactors {
                weights: asked.lr_weights.unwrap_or(usual.factors.weights),
                biases: asked.lr_biases.unwrap_or(usual.factors.biases),
                layers: asked.lr_layers.unwrap_or_default(),
                embeddings: asked.lr_embeddings.unwrap_or(usual.factors.embeddings),
                scale: asked.lr_scale.unwrap_or(usual.factors.scale),
                ..RateFactors::default()
            },
            ntk: asked.ntk.unwrap_or(usual.ntk),
            clip_norm: asked.clip_norm,
            seed: asked.seed.unwrap_or(usual.seed),
            init_seed: asked.init_seed,
            schedule: asked.schedule,
            threads: asked.threads,
            data: self.data_options(usual.data, asked.seed.unwrap_or(usual.seed)),
            keep: asked.keep,
            patience: asked.patience.unwrap_or(usual.patience.filter(|_| asked.keep != Some(Keep::Last))),
            target_accuracy: asked.target_accuracy,
            auc_by_epoch: asked.auc_by_epoch,
            max_time: asked.max_time,
            measured: asked.measured.unwrap_or_default(),
        }
    }

    /// The optimizer and its usual learning rate.
    fn optimizer(&self, usual: &Config) -> (Optimizer, f32) {
        let is_another = |choice: &OptimizerChoice| choice.kind() != usual.optimizer.kind;
        let another = self.optimizer.filter(is_another).map(OptimizerChoice::kind);
        let rate = another.map_or(usual.learning_rate, |kind| Config::default_rate(kind, usual.loss));
        let optimizer = match self.optimizer {
            Some(OptimizerChoice::Given(optimizer)) => optimizer,
            _ => another.map_or(usual.optimizer, |kind| kind.defaults()),
        };
        (Optimizer { weight_decay: self.weight_decay.unwrap_or(optimizer.weight_decay), ..optimizer }, rate)
    }

    /// What is done to the rows.
    fn data_options(&self, usual: DataOptions, seed: u64) -> DataOptions {
        DataOptions {
            scale: self.scale.unwrap_or(usual.scale),
            split: Split {
                validation: self.validation_fraction.unwrap_or(0.0),
                test: self.test_fraction.unwrap_or(0.0),
                seed,
                fold: None,
            },
            standardise_targets: self.scale_target.unwrap_or(true),
            clip: self.clip.unwrap_or(usual.clip),
            inputs: InputOptions {
                periodic: self.embeddings.unwrap_or(usual.inputs.periodic),
                scaled: self.learn_scale.unwrap_or(usual.inputs.scaled),
                most_one_hot: self.one_hot.unwrap_or(ONE_HOT_CATEGORIES),
            },
        }
    }

    /// Checks whether the settings of a run, which were made of these, go with one another. `validates` says whether rows that
    /// validate were given; `tests` the same of those that test.
    ///
    /// # Errors
    /// [`Error::Setting`] for the first that does not.
    pub fn check(&self, config: &Config, validates: bool, tests: bool) -> Result<()> {
        let bad = |setting, expected: &str, found: &str| {
            Err(Error::Setting { setting, expected: expected.to_owned(), found: found.to_owned() })
        };
        config.validate()?;
        let shares = [
            ("validation fraction", validates, self.validation_fraction),
            ("test fraction", tests, self.test_fraction),
        ];
        for (setting, are_given, share) in shares {
            if are_given && share.is_some() {
                return bad(
                    setting,
                    "one of both, a share of the training rows or rows of their own",
                    "both",
                );
            }
        }
        let validates = validates || self.validation_fraction.is_some_and(|share| share > 0.0);
        if self.patience.flatten().is_some() && !validates {
            return bad("patience", "validation rows", "none");
        }
        if self.keep == Some(Keep::Best) && !validates {
            return bad("keep", "validation rows to say which model is best", "none");
        }
        let schedule = config.rate_schedule;
        if self.lr_gamma.is_some() && !schedule.uses_gamma() {
            return bad(
                "learning rate gamma",
                "the learning rate schedule step or exponential",
                schedule.name(),
            );
        }
        if self.lr_every.is_some() && schedule != RateSchedule::Step {
            return bad(
                "epochs between learning rate steps",
                "the learning rate schedule step",
                schedule.name(),
            );
        }
        Ok(())
    }
}
