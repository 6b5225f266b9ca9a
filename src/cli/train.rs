//! `tinytrain train`.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use tinytrain::Error;
use tinytrain::engine::{Detail, Recorder};
use tinytrain::output::Destination;
use tinytrain::profile::Profile;
use tinytrain::schedule::Measurements;
use tinytrain::train::{Keep, TrainingData, train_on};

use super::folds;
use super::interrupt::Interrupts;
use super::model_file::ModelFile;
use super::opened::{Opened, Places};
use super::table_options::Task;
use super::train_options::Options;
use super::train_report::TrainReport;

/// Trains and saves.
///
/// # Errors
/// Those of the options, the data, the device and the output.
pub fn run(options: &Options, start: Instant) -> anyhow::Result<()> {
    check(options)?;
    if let Some(folds) = options.folds {
        return folds::run(options, folds, start);
    }
    let training = &options.training;
    let profile = options.profile.as_deref().map(Destination::check).transpose()?;
    let model_file = ModelFile::find(options.out.as_deref())?;
    if let Some(file) = profile.as_ref().filter(|file| model_file.is(file)) {
        let found = file.path().display();
        let text = format!("--profile: expected a file of its own, found {found}, where the model goes");
        return Err(Error::Config(text).into());
    }
    let places = Places::of(options)?;
    places.spare("--out", options.out.as_deref())?;
    places.spare("--profile", options.profile.as_deref())?;
    // All readers work while the device opens.
    let Opened { reader, validation, test, known } = places.open(options)?;
    let settings = options.config(known, Measurements::default());
    let (device, mut notices) = options.kernels.device(training, "training", false)?;
    let measured = options.kernels.measured(&device, &mut notices);
    let data = TrainingData::new(reader, validation, test, &settings.data)?;
    let config = options.config(known.of(&data), measured);
    if data.predicts_values() && training.columns.task(training.learning.loss)? == Task::Auto {
        let text = "the target holds numbers that are no classes, so they are predicted as values (regression, loss mse); --task \
                    classification takes them for classes";
        notices.push(text.to_owned());
    }
    let interrupts = Interrupts::watch().context("cannot watch for signals")?;
    let mut report =
        TrainReport::new(options, (&config, known.preset), &data, model_file, notices, interrupts, start);
    let observer = profile.is_some().then(|| Arc::new(Recorder::new(Detail::Stages)));
    let trained = train_on(&config, data, &device, &observer, &mut |event| report.take(event));
    let made = observer.as_ref().zip(trained.as_ref().ok());
    let made = made.map(|(recorder, summary)| Profile::of_training(recorder, summary)).transpose()?;
    report.end(trained)?;
    if let (Some(file), Some(made)) = (profile, made) {
        file.write((made.report.to_json() + "\n").as_bytes())?;
    }
    Ok(())
}

/// Checks whether the options go with one another, as far as that can be told without the data.
///
/// # Errors
/// Of the first that does not.
pub fn check(options: &Options) -> tinytrain::Result<()> {
    let (training, held_out) = (&options.training, &options.held_out);
    if !options.preset_is_open() {
        training.check(training.asked())?;
    }
    options.config(training.asked(), Measurements::default()).validate()?;
    if held_out.patience.is_some() && !held_out.validates() {
        let text =
            "--patience: expected validation data, found neither --validation nor --validation-fraction";
        return Err(Error::Config(text.to_owned()));
    }
    if let Some(option) = held_out.unused().filter(|_| options.folds.is_none()) {
        let text = format!(
            "{option}: expected rows to hold out, found neither --validation-fraction nor --test-fraction"
        );
        return Err(Error::Config(text));
    }
    if held_out.keep() == Some(Keep::Best) && !held_out.validates() {
        let text = "--keep: best needs validation data, found neither --validation nor --validation-fraction";
        return Err(Error::Config(text.to_owned()));
    }
    Ok(())
}
