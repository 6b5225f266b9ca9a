//! Options of `tinytrain train`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tinytrain::data::Reader;
use tinytrain::schedule::Measurements;
use tinytrain::train::{Config, DataOptions, Keep};

use super::args::{self, Format};
use super::table_options::{HELD_OUT, HeldOut};
use super::training::{Kernels, Known, Preset, Training};

/// What is trained and on what, for `train` and for the members of a sweep.
#[derive(Debug, Args)]
pub struct Options {
    /// Passes over the training data. [default: 10; below 4,096 training rows as many as take 40,960 rows in all, 1,000 at most; 256 with --preset table]
    #[arg(long, value_name = "N", value_parser = args::count, allow_hyphen_values = true)]
    pub epochs: Option<usize>,
    /// Ends training after the epoch that reaches this accuracy on the validation data, or else on the training data: a share
    /// of the rows, such as 0.98.
    #[arg(long, value_name = "SHARE", value_parser = args::share, allow_hyphen_values = true)]
    pub target_accuracy: Option<f64>,
    /// Ends training after so much time, such as 60s or 5m; an epoch is broken off then, evaluated and saved.
    #[arg(long, value_name = "TIME", value_parser = args::duration, allow_hyphen_values = true)]
    pub max_time: Option<Duration>,
    /// Measures the AUC after every epoch, too, not only of the model that is kept: it takes a sort of the rows for each class.
    #[arg(long)]
    pub auc_by_epoch: bool,
    #[command(flatten)]
    pub training: Training,
    #[command(flatten)]
    pub kernels: Kernels,
    #[command(flatten)]
    pub held_out: HeldOut,
    /// Trains N times, each time without another part of the rows, on which that network is then tested: says how good each is,
    /// their mean and their deviation, and saves no model. Every fold has the same share of each class; with --group rows of one
    /// group are in one fold; with --time each fold tests on rows later than all that train.
    #[arg(long, help_heading = HELD_OUT, value_name = "N", value_parser = args::two_or_more, allow_hyphen_values = true)]
    pub folds: Option<usize>,
    /// The folder of the run: settings (config.toml), history.csv, model.safetensors, checkpoint.safetensors, log.txt; or a file named
    /// *.safetensors, which takes the model alone, in place of what is there. [default: runs/<time>-<data>]
    #[arg(long, value_name = "DIR-or-FILE")]
    pub out: Option<PathBuf>,
    /// Write a profile of the whole run there, as `tinytrain profile --format json` prints it: where the time of
    /// training goes. Every kernel is timed by itself, which slows a GPU down.
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// How results are written: lines for people, or one JSON object a line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Print no progress and no notices but warnings, and as text only one line at the end: accuracy and model.
    #[arg(long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Tell on standard error what is trained and how: seed, parameters, on a GPU the kernels of a step, their tile
    /// shapes, and whether those are built in or measured.
    #[arg(long)]
    pub verbose: bool,
}

impl Options {
    /// Whether the preset depends on what the data are.
    pub fn preset_is_open(&self) -> bool {
        self.training.preset.is_none() && self.held_out.validates()
    }

    /// What the defaults of settings depend on, as far as a reader of the training data knows before all rows are read; looks at
    /// its first rows if need be.
    ///
    /// # Errors
    /// Those of the data.
    pub fn known(&self, reader: &mut Reader) -> tinytrain::Result<Known> {
        let known = Known { predicts_values: reader.values() > 0, ..self.training.asked() };
        let is_table = self.preset_is_open()
            && reader.schema().is_some()
            && (reader.rows() > 0 || reader.next_block()?)
            && !reader.holds_images();
        Ok(if is_table { Known { preset: Preset::Table, ..known } } else { known })
    }

    /// What the library needs of them to train on such rows.
    pub fn config(&self, known: Known, measured: Measurements) -> Config {
        let config = self.training.config(known, measured);
        let may_end = self.held_out.validates() && self.held_out.keep() != Some(Keep::Last);
        let usual_patience = config.patience.filter(|_| may_end);
        let data = DataOptions { split: self.held_out.split(self.training.seed), ..config.data };
        Config {
            epochs: self.epochs.unwrap_or_else(|| match known.preset {
                Preset::Table => Config::table(config.loss).epochs,
                Preset::Plain => Config::default_epochs(known.rows),
            }),
            data,
            keep: self.held_out.keep(),
            patience: self.held_out.patience.map_or(usual_patience, |patience| patience.0),
            target_accuracy: self.target_accuracy,
            auc_by_epoch: self.auc_by_epoch,
            max_time: self.max_time,
            ..config
        }
    }
}
