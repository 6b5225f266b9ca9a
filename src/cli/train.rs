//! `tinytrain train`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use tinytrain::Error;
use tinytrain::data::{Reader, Source};
use tinytrain::engine::{Detail, Recorder};
use tinytrain::output::Destination;
use tinytrain::profile::Profile;
use tinytrain::schedule::Measurements;
use tinytrain::train::{Config, DataOptions, Keep, TrainingData, train_on};

use super::args::{self, Format};
use super::interrupt::Interrupts;
use super::model_file::ModelFile;
use super::places;
use super::table_options::HeldOut;
use super::train_report::TrainReport;
use super::training::{Kernels, Training};

/// Train a network and save it.
///
/// Without options: a 784-300-100-10 network on MNIST, on the best GPU there is, or on the processor.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinytrain train --epochs 3 --device cpu\n  \
                        tinytrain train --data table.csv --target class --validation-fraction 0.2\n\n\
                        Compiled kernels are kept for the next run where the driver allows it, and so is what \
                        `tinytrain tune` measures: in the folder that the environment variable TINYTRAIN_CACHE names \
                        (none if it is empty), else in the user's cache folder.")]
pub struct Options {
    /// Passes over the training data. [default: 10; below 4,096 training rows as many as take 40,960 rows in all, 1,000 at most]
    #[arg(long, value_name = "N", value_parser = args::count, allow_hyphen_values = true)]
    pub epochs: Option<usize>,
    #[command(flatten)]
    pub training: Training,
    #[command(flatten)]
    pub kernels: Kernels,
    #[command(flatten)]
    pub held_out: HeldOut,
    /// Where the model goes, in place of what is there. [default: runs/<time>/model.safetensors]
    #[arg(long, value_name = "FILE")]
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

/// Trains and saves.
///
/// # Errors
/// Those of the options, the data, the device and the output.
pub fn run(options: &Options, start: Instant) -> anyhow::Result<()> {
    let (training, held_out) = (&options.training, &options.held_out);
    let settings = options.config(None, Measurements::default());
    training.check()?;
    settings.validate()?;
    if held_out.patience.is_some() && !held_out.validates() {
        let text =
            "--patience: expected validation data, found neither --validation nor --validation-fraction";
        return Err(Error::Config(text.to_owned()).into());
    }
    if held_out.keep() == Some(Keep::Best) && !held_out.validates() {
        let text = "--keep: best needs validation data, found neither --validation nor --validation-fraction";
        return Err(Error::Config(text.to_owned()).into());
    }
    let profile = options.profile.as_deref().map(Destination::check).transpose()?;
    let model_file = ModelFile::find(options.out.as_deref())?;
    if let Some(file) = profile.as_ref().filter(|file| model_file.is(file)) {
        let found = file.path().display();
        let text = format!("--profile: expected a file of its own, found {found}, where the model goes");
        return Err(Error::Config(text).into());
    }
    let (train, beside) = places::training(training.data.as_deref())?;
    let beside = beside.filter(|_| held_out.test_fraction.is_none());
    let test = held_out.test.as_deref().map(places::test).transpose()?.or(beside);
    let validation = held_out.validation.as_deref().map(places::test).transpose()?;
    let read = [Some(&train), test.as_ref(), validation.as_ref()];
    places::spare_data("--out", options.out.as_deref(), read)?;
    places::spare_data("--profile", options.profile.as_deref(), read)?;
    // All readers work while the device opens.
    let reader = Reader::open(&train, &training.read_options())?;
    let like = training
        .columns
        .written
        .like(reader.schema().cloned(), training.columns.target_like(&reader, training.learning.loss));
    let open = |source: Option<Source>| source.map(|source| Reader::open(&source, &like)).transpose();
    let (validation, test) = (open(validation)?, open(test)?);
    let (device, mut notices) = options.kernels.device(training, "training", false)?;
    let measured = options.kernels.measured(&device, &mut notices);
    let data = TrainingData::new(reader, validation, test, &settings.data)?;
    let config = options.config(data.rows(), measured);
    let interrupts = Interrupts::watch().context("cannot watch for signals")?;
    let mut report = TrainReport::new(options, &config, &data, model_file, notices, interrupts, start);
    let listener = profile.is_some().then(|| Arc::new(Recorder::new(Detail::Stages)));
    let trained = train_on(&config, data, &device, &listener, &mut |event| report.take(event));
    let made = listener.as_ref().zip(trained.as_ref().ok());
    let made = made.map(|(recorder, summary)| Profile::of_training(recorder, summary)).transpose()?;
    report.end(trained)?;
    if let (Some(file), Some(made)) = (profile, made) {
        file.write((made.report.to_json() + "\n").as_bytes())?;
    }
    Ok(())
}

impl Options {
    /// What the library needs of them to train on so many rows, where their number is known.
    fn config(&self, rows: Option<usize>, measured: Measurements) -> Config {
        let config = self.training.config(rows, measured);
        let data = DataOptions { split: self.held_out.split(self.training.seed), ..config.data };
        Config {
            epochs: self.epochs.unwrap_or_else(|| Config::default_epochs(rows)),
            data,
            keep: self.held_out.keep(),
            patience: self.held_out.patience,
            ..config
        }
    }
}
