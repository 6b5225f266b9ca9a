//! Options of `tinytrain train` about its run, which no member of a sweep has.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use tinytrain::settings::text;

use super::checkpoints::Every;
use super::train_options::Options;

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
    #[arg(long, help_heading = RUNS)]
    pub tensorboard: bool,
}
