//! `tinytrain train`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use tinytrain::Error;
use tinytrain::data::Reader;
use tinytrain::output::Destination;
use tinytrain::profile::Profile;
use tinytrain::trainer::{self, Config, Detail, Measurements, Recorder};

use super::args::{self, Format};
use super::model_file::ModelFile;
use super::places;
use super::train_report::TrainReport;
use super::training::{Kernels, Training};

/// Train a network and save it.
///
/// Without options: a 784-300-100-10 network on MNIST, on the best GPU there is, or on the processor.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinytrain train --epochs 3 --device cpu\n  \
                        tinytrain train --data table.csv --label-column class --hidden 32,16 --out model.safetensors\n\n\
                        Compiled kernels are kept for the next run where the driver allows it, and so is what \
                        `tinytrain tune` measures: in the folder that the environment variable TINYTRAIN_CACHE names \
                        (none if it is empty), else in the user's cache folder.")]
pub struct Options {
    /// Passes over the training data.
    #[arg(long, value_name = "N", default_value_t = Config::default().epochs, value_parser = args::count,
          allow_hyphen_values = true)]
    pub epochs: usize,
    #[command(flatten)]
    pub training: Training,
    #[command(flatten)]
    pub kernels: Kernels,
    /// Test data: an IDX file of images, or a CSV table. [default: the test files of the folder, if it has any]
    #[arg(long, value_name = "FILE")]
    pub test: Option<PathBuf>,
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
    /// Print no progress and no notices, and as text only one line at the end: accuracy and model.
    #[arg(long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Tell on standard error what is trained and how: seed, parameters, scaling, on a GPU the kernels of a step, their
    /// tile shapes, and whether those are built in or measured.
    #[arg(long)]
    pub verbose: bool,
}

/// Trains and saves.
///
/// # Errors
/// Those of the options, the data, the device and the output.
pub fn run(options: &Options, start: Instant) -> anyhow::Result<()> {
    let Training { data, label_column, .. } = &options.training;
    options.training.config(options.epochs, Measurements::default()).validate()?;
    let profile = options.profile.as_deref().map(Destination::check).transpose()?;
    let model_file = ModelFile::find(options.out.as_deref())?;
    if let Some(file) = profile.as_ref().filter(|file| model_file.is(file)) {
        let found = file.path().display();
        let text = format!("--profile: expected a file of its own, found {found}, where the model goes");
        return Err(Error::Config(text).into());
    }
    let (train, beside) = places::training(data.as_deref())?;
    let test = options.test.as_deref().map(places::test).transpose()?.or(beside);
    places::spare_data("--out", options.out.as_deref(), [Some(&train), test.as_ref()])?;
    places::spare_data("--profile", options.profile.as_deref(), [Some(&train), test.as_ref()])?;
    let label_column = label_column.as_ref();
    // Both readers work while the device opens.
    let reader = Reader::open(&train, &places::read_options(label_column, true))?;
    let test =
        test.map(|test| Reader::open(&test, &places::read_options(label_column, false))).transpose()?;
    let (device, mut notices) = options.kernels.device(&options.training, "training", false)?;
    let config = options.training.config(options.epochs, options.kernels.measured(&device, &mut notices));
    let mut report = TrainReport::new(options, model_file, notices, start);
    let listener = profile.is_some().then(|| Arc::new(Recorder::new(Detail::Stages)));
    let trained =
        trainer::train_timed(&config, reader, test, &device, &listener, &mut |event| report.take(event));
    let made = listener.as_ref().zip(trained.as_ref().ok());
    let made = made.map(|(recorder, summary)| Profile::of_training(recorder, summary)).transpose()?;
    report.end(trained)?;
    if let (Some(file), Some(made)) = (profile, made) {
        file.write((made.report.to_json() + "\n").as_bytes())?;
    }
    Ok(())
}
