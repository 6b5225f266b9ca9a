//! Options of `tinytrain train`: for training, shared with members of a sweep, and for the run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::evaluate::names_of_data;
use crate::report::text::shell_word;
use crate::runs::CheckpointInterval;
use crate::settings::{DatasetInfo, HELD_OUT, text};
use crate::train::TrainingData;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::args::{self, Format};
use super::training::{Kernels, Training};

const RUNS: &str = "Runs";

/// Replacement for a device that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fallback {
    Cpu,
}

/// Train a network and save it.
///
/// Without options: a 784-300-100-10 network on MNIST, on the best GPU there is, or on the processor.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default)]
#[command(after_help = "Examples:\n  tinytrain train --epochs 3 --device cpu\n  \
                        tinytrain train --data table.csv --target class --test-fraction 0.2 --refit\n  \
                        tinytrain train --resume runs/2026-11-23T10-00-00Z-mnist --epochs 20\n\n\
                        Compiled kernels are kept for the next run where the driver allows it: in the folder that the \
                        environment variable TINYTRAIN_CACHE names (none if it is empty), else in the user's cache \
                        folder.\n\n\
                        The CPU engine takes the longest vectors of the processor, or those of as many bits as the \
                        environment variable TINYTRAIN_VECTORS says: 128, 256 or 512.")]
pub struct TrainOptions {
    #[command(flatten)]
    #[serde(flatten)]
    pub options: Options,
    #[command(flatten)]
    #[serde(flatten)]
    pub run: RunOptions,
}

/// Resuming, checkpoints and fallback.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct RunOptions {
    /// Take the settings of this config.toml; options on the command line override them.
    #[arg(long, help_heading = RUNS, value_name = "FILE", conflicts_with = "resume")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Continue the run in this folder from its last checkpoint.
    ///
    /// The result is the same, bit for bit, as without the interruption. --epochs, --max-time, --patience,
    /// --target-accuracy, --test-every-epoch, --device, --threads and the options for output may be changed.
    #[arg(long, help_heading = RUNS, value_name = "DIR")]
    #[serde(skip)]
    pub resume: Option<PathBuf>,
    /// Start from the weights of this model, or of the run in this folder, on other rows or with other settings.
    ///
    /// The model decides the columns, by their names, the scaling, the classes and the layers.
    #[arg(long, help_heading = RUNS, value_name = "FILE-or-DIR", conflicts_with_all = ["resume", "folds", "refit"])]
    #[serde(serialize_with = "text::path")]
    pub init_from: Option<PathBuf>,
    /// Interval between checkpoints: 1epoch, 100steps, 5min. [default: 60s]
    ///
    /// A checkpoint is also written when the run ends or is interrupted.
    #[arg(long, hide_short_help = true, help_heading = RUNS, value_name = "HOW-OFTEN", allow_hyphen_values = true)]
    #[serde(with = "text")]
    pub checkpoint_every: Option<CheckpointInterval>,
    /// Continue on this engine if the device fails, does not open, or lacks memory.
    #[arg(long, hide_short_help = true, help_heading = RUNS, value_enum, value_name = "ENGINE")]
    #[serde(skip)]
    pub fallback: Option<Fallback>,
    /// Train once more on all rows, those held out for validation included, for as many epochs as were best on these.
    #[arg(long, help_heading = HELD_OUT, conflicts_with_all = ["folds", "max_time"])]
    pub refit: bool,
    /// Score the test set after every epoch, not only at the end.
    #[arg(long, hide_short_help = true, help_heading = HELD_OUT, conflicts_with = "folds")]
    pub test_every_epoch: bool,
    /// Write an event file for TensorBoard into the folder of the run.
    #[arg(long, hide_short_help = true, help_heading = RUNS, conflicts_with = "folds")]
    pub tensorboard: bool,
}

/// Options for training and data, of `train` and of members of a sweep.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Options {
    #[command(flatten)]
    #[serde(flatten)]
    pub training: Training,
    #[command(flatten)]
    #[serde(flatten)]
    pub kernels: Kernels,
    /// Test data: a table, an IDX file or a folder of images. [default: the test rows of the data set, if any]
    #[arg(long, help_heading = HELD_OUT, value_name = "FILE", conflicts_with = "test_fraction")]
    #[serde(serialize_with = "text::path")]
    pub test: Option<PathBuf>,
    /// Validation data: as --test. The best model on it is kept. [default: the validation rows of the data set, if any]
    #[arg(long, help_heading = HELD_OUT, value_name = "FILE", conflicts_with = "validation_fraction")]
    #[serde(serialize_with = "text::path")]
    pub validation: Option<PathBuf>,
    /// Column that groups rows: rows of one group are held out together. Not an input.
    #[arg(long, hide_short_help = true, help_heading = HELD_OUT, value_name = "COLUMN", value_parser = args::column, conflicts_with = "time",
          allow_hyphen_values = true)]
    #[serde(with = "text")]
    pub group: Option<String>,
    /// Column with the time of each row: the latest rows are held out. Not an input.
    ///
    /// Numbers, or dates such as 2026-11-22 or 2026/11/22, with an optional time of day (10:30, 10:30:00.5) and UTC
    /// offset (Z, +02:00).
    #[arg(long, hide_short_help = true, help_heading = HELD_OUT, value_name = "COLUMN", value_parser = args::column, allow_hyphen_values = true)]
    #[serde(with = "text")]
    pub time: Option<String>,
    /// Cross-validation with N folds: reports scores, saves no model.
    ///
    /// Folds are stratified by class; with --group a group stays in one fold; with --time a fold is tested on rows
    /// later than its training rows.
    #[arg(long, help_heading = HELD_OUT, value_name = "N", value_parser = args::two_or_more, allow_hyphen_values = true,
          conflicts_with_all = ["test", "test_fraction", "profile"])]
    pub folds: Option<usize>,
    /// Folder of the run, or a file *.safetensors for the model only. [default: runs/<time>-<data>]
    #[arg(long, short, value_name = "DIR-or-FILE")]
    #[serde(serialize_with = "text::path")]
    pub out: Option<PathBuf>,
    /// Write a profile of the run as JSON. Slows a GPU down.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    #[serde(serialize_with = "text::path")]
    pub profile: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    #[serde(skip)]
    pub format: Format,
    /// Print only warnings, and one line at the end.
    #[arg(long, short, conflicts_with = "verbose")]
    #[serde(skip)]
    pub quiet: bool,
    /// Print all settings, and on a GPU the kernels of a step and their tile shapes.
    #[arg(long, short)]
    #[serde(skip)]
    pub verbose: bool,
}

impl Options {
    /// Returns the information known before any row is read.
    pub fn info(&self) -> DatasetInfo {
        DatasetInfo {
            validates: self.validation.is_some(),
            tests: self.test.is_some(),
            in_folds: self.folds.is_some(),
            ..DatasetInfo::default()
        }
    }

    /// Rejects paths of data, and `others` with their options, that are not UTF-8, as files of settings are.
    ///
    /// # Errors
    /// [`Error::Config`] with the way out.
    pub fn check_unicode<'a>(
        &'a self,
        others: impl IntoIterator<Item = (&'a str, &'a PathBuf)>,
        way_out: &str,
    ) -> Result<()> {
        let data = self.training.data.iter().map(|path| ("data", path));
        let held_out = [("test", &self.test), ("validation", &self.validation)].into_iter();
        let held_out = held_out.filter_map(|(option, path)| Some((option, path.as_ref()?)));
        match data.chain(held_out).chain(others).find(|(_, path)| path.to_str().is_none()) {
            Some((option, path)) => Err(Error::Config(format!(
                "--{option}: expected UTF-8, as settings are saved as text, found {}; {way_out}",
                shell_word(path)
            ))),
            None => Ok(()),
        }
    }

    /// Returns whether validation rows select the best model.
    pub fn validates(&self) -> bool {
        self.training.settings.validates(&self.info())
    }

    /// Returns whether rows of the training data are held out.
    pub fn divides(&self) -> bool {
        let settings = &self.training.settings;
        let validates = settings.validation_fraction.is_some_and(|fraction| fraction > 0.0);
        validates || settings.test_fraction.is_some() || self.folds.is_some()
    }

    /// Returns whether rows of the training data may be held out by default.
    fn may_hold_out(&self) -> bool {
        let settings = &self.training.settings;
        settings.validation_fraction.is_none() && self.validation.is_none() && !self.training.data.is_empty()
    }

    /// Checks whether the options can be combined, as far as possible without the data.
    ///
    /// # Errors
    /// For the first conflict.
    pub fn check(&self) -> Result<()> {
        let info = self.info();
        self.training.check(DatasetInfo { validates: info.validates || self.may_hold_out(), ..info })?;
        self.check_held_out(self.may_hold_out())
    }

    /// Checks that rows are held out if an option selects them; `validates` states whether some are held out
    /// by default.
    ///
    /// # Errors
    /// [`Error::Setting`].
    pub fn check_held_out(&self, validates: bool) -> Result<()> {
        match self.group.as_ref().map(|_| "group").or(self.time.as_ref().map(|_| "time")) {
            Some(setting) if !validates && !self.divides() => {
                let expected = "rows to hold out";
                let found = "neither --validation-fraction nor --test-fraction";
                Err(Error::setting(setting, expected, found))
            }
            _ => Ok(()),
        }
    }

    /// Returns the sources of the rows for a model file: only UTF-8 names of files that can be read again.
    pub fn names_of_data(&self, data: &TrainingData) -> BTreeMap<String, String> {
        let mut settings = names_of_data(&self.training.data, self.test.as_deref(), data.file_rows());
        let columns = [("group", &self.group), ("time", &self.time)];
        settings
            .extend(columns.into_iter().filter_map(|(key, column)| Some((key.to_owned(), column.clone()?))));
        settings
    }
}
