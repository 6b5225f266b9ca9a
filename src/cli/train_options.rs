//! Options of `tinytrain train`: of what is trained, which members of a sweep have, too, and of the run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use tinytrain::evaluate::names_of_data;
use tinytrain::runs::Every;
use tinytrain::settings::{DatasetInfo, HELD_OUT, text};
use tinytrain::train::TrainingData;
use tinytrain::{Error, Result};

use super::args::{self, Format};
use super::training::{Kernels, Training};

const RUNS: &str = "Runs";

/// What trains in place of a device that fails.
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
                        tinytrain train --data table.csv --target class --validation-fraction 0.2\n  \
                        tinytrain train --resume runs/2026-11-23T10-00-00Z-mnist --epochs 20\n\n\
                        Compiled kernels are kept for the next run where the driver allows it, and so is what \
                        `tinytrain tune` measures: in the folder that the environment variable TINYTRAIN_CACHE names \
                        (none if it is empty), else in the user's cache folder.\n\n\
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

/// What a run goes on from, and how it survives.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct RunOptions {
    /// Takes the settings of a run from its config.toml, by which it is repeated; options on the command line win.
    #[arg(long, help_heading = RUNS, value_name = "FILE", conflicts_with = "resume")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Goes on with the run in this folder from its last checkpoint, bit for bit as if it had never ended. Beside it may stand more
    /// --epochs, another --max-time, --patience, --target-accuracy, --device or --threads, and how results are written.
    #[arg(long, help_heading = RUNS, value_name = "DIR")]
    #[serde(skip)]
    pub resume: Option<PathBuf>,
    /// How often a checkpoint is written into the folder of the run, at least: 1epoch, 100steps, 5min. One is written too when the
    /// run ends or is interrupted. [default: 60s]
    #[arg(long, help_heading = RUNS, value_name = "HOW-OFTEN", allow_hyphen_values = true)]
    #[serde(with = "text")]
    pub checkpoint_every: Option<Every>,
    /// Goes on with this engine, from the last checkpoint, when the device is lost, does not open, or has too little memory.
    #[arg(long, help_heading = RUNS, value_enum, value_name = "ENGINE")]
    #[serde(skip)]
    pub fallback: Option<Fallback>,
    /// Writes an event file for TensorBoard into the folder of the run: losses, measures, learning rate and speed of every epoch, and
    /// the settings. `tensorboard --logdir runs` shows all runs.
    #[arg(long, help_heading = RUNS, conflicts_with = "folds")]
    pub tensorboard: bool,
}

/// What is trained and on what, for `train` and for the members of a sweep.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Options {
    #[command(flatten)]
    #[serde(flatten)]
    pub training: Training,
    #[command(flatten)]
    #[serde(flatten)]
    pub kernels: Kernels,
    /// Test data: an IDX file of images, or a table. They are never used to choose anything. [default: the test files of
    /// the folder, if it has any]
    #[arg(long, help_heading = HELD_OUT, value_name = "FILE", conflicts_with = "test_fraction")]
    #[serde(serialize_with = "text::path")]
    pub test: Option<PathBuf>,
    /// Validation data: an IDX file of images, or a table. The model that is best on them is kept.
    #[arg(long, help_heading = HELD_OUT, value_name = "FILE", conflicts_with = "validation_fraction")]
    #[serde(serialize_with = "text::path")]
    pub validation: Option<PathBuf>,
    /// Column of a table whose rows with the same cell are held out together or not at all, such as a person's; it is no input.
    #[arg(long, help_heading = HELD_OUT, value_name = "COLUMN", value_parser = args::column, conflicts_with = "time",
          allow_hyphen_values = true)]
    #[serde(with = "text")]
    pub group: Option<String>,
    /// Column of a table that says when a row is of: the last rows test, those before them validate, and rows of one time stay
    /// together; it is no input. It holds numbers, or dates such as 2026-11-22 or 2026/11/22, also with a time of the day behind a
    /// blank or T: 10:30, 10:30:00 or 10:30:00.5, and an offset from UTC, such as Z or +02:00; without one a time is of UTC.
    #[arg(long, help_heading = HELD_OUT, value_name = "COLUMN", value_parser = args::column, allow_hyphen_values = true)]
    #[serde(with = "text")]
    pub time: Option<String>,
    /// Trains N times, each time without another part of the rows, on which that network is then tested: says how good each is,
    /// their mean and their deviation, and saves no model. Every fold has the same share of each class; with --group rows of one
    /// group are in one fold; with --time each fold tests on rows later than all that train.
    #[arg(long, help_heading = HELD_OUT, value_name = "N", value_parser = args::two_or_more, allow_hyphen_values = true,
          conflicts_with_all = ["test", "test_fraction", "profile"])]
    pub folds: Option<usize>,
    /// The folder of the run: settings (config.toml), history.csv, model.safetensors, checkpoint.safetensors, log.txt; or a file named
    /// *.safetensors, which takes the model alone, in place of what is there. [default: runs/<time>-<data>]
    #[arg(long, value_name = "DIR-or-FILE")]
    #[serde(serialize_with = "text::path")]
    pub out: Option<PathBuf>,
    /// Write a profile of the whole run there, as `tinytrain profile --format json` prints it: where the time of
    /// training goes. Every kernel is timed by itself, which slows a GPU down.
    #[arg(long, value_name = "FILE")]
    #[serde(serialize_with = "text::path")]
    pub profile: Option<PathBuf>,
    /// How results are written: lines for people, or one JSON object a line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    #[serde(skip)]
    pub format: Format,
    /// Print no progress and no notices but warnings, and as text only one line at the end: accuracy and model.
    #[arg(long, conflicts_with = "verbose")]
    #[serde(skip)]
    pub quiet: bool,
    /// Tell on standard error what is trained and how: seed, parameters, on a GPU the kernels of a step, their tile
    /// shapes, and whether those are built in or measured.
    #[arg(long)]
    #[serde(skip)]
    pub verbose: bool,
}

impl Options {
    /// What is known before any row is read.
    pub fn info(&self) -> DatasetInfo {
        DatasetInfo {
            validates: self.validation.is_some(),
            tests: self.test.is_some(),
            ..DatasetInfo::default()
        }
    }

    /// Whether there are rows that can say which model is best.
    pub fn validates(&self) -> bool {
        self.training.settings.validates(&self.info())
    }

    /// Whether rows of the training data are held out.
    pub fn divides(&self) -> bool {
        let settings = &self.training.settings;
        settings.validation_fraction.is_some() || settings.test_fraction.is_some() || self.folds.is_some()
    }

    /// Checks whether the options go with one another, as far as that can be told without the data.
    ///
    /// # Errors
    /// Of the first that does not.
    pub fn check(&self) -> Result<()> {
        self.training.check(self.info())?;
        match self.group.as_ref().map(|_| "group").or(self.time.as_ref().map(|_| "time")) {
            Some(setting) if !self.divides() => {
                let expected = "rows to hold out".to_owned();
                let found = "neither --validation-fraction nor --test-fraction".to_owned();
                Err(Error::Setting { setting, expected, found })
            }
            _ => Ok(()),
        }
    }

    /// Where the rows come from, as far as a model file can tell: names that are text, of files that can be read again.
    pub fn names_of_data(&self, data: &TrainingData) -> BTreeMap<String, String> {
        let mut settings = names_of_data(&self.training.data, self.test.as_deref(), data.file_rows());
        let columns = [("group", &self.group), ("time", &self.time)];
        settings
            .extend(columns.into_iter().filter_map(|(key, column)| Some((key.to_owned(), column.clone()?))));
        settings
    }
}
