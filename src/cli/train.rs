//! `tinytrain train`.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::data::{Reader, data_paths};
use crate::engine::{Detail, Device, DeviceRequest, EngineState, Observer, Recorder};
use crate::error::Error;
use crate::model::Model;
use crate::profile::Profile;
use crate::settings::{DatasetInfo, TrainSettings};
use crate::train::{Checkpoint, Config, End, Event, Run, Summary, TrainingData, load_model, refit};
use toml::Table;

use super::args::Format;
use super::config_file::{check_resume, merged, table};
use super::data_text::{column_lines, read_first_line};
use super::folds;
use super::open_data::{DataPaths, OpenData, refuse_unused_rate};
use super::output::write;
use super::output_place::{OutputPlace, destination};
use super::process::Interrupts;
use super::train_options::{Options, RunOptions, TrainOptions};
use super::train_report::{Setting, TrainReport};
use crate::report::text::grouped;
use crate::runs::{self, CONFIG, RunFolder};

/// Trains and saves a model.
///
/// # Errors
/// Errors of the options, the data, the device and the output.
pub fn run(options: TrainOptions, interrupts: &Interrupts, start: Instant) -> anyhow::Result<()> {
    let own = table(&options)?;
    let resumed = match &options.run.resume {
        Some(run) => {
            check_resume(&own)?;
            Some((RunFolder::open(run)?, runs::checkpoint(run)?))
        }
        None => None,
    };
    let file = resumed.as_ref().map(|(folder, _)| folder.file(CONFIG)).or(options.run.config.clone());
    let options = match file {
        Some(file) => merged(&file, &options)?,
        None => options,
    };
    let given = table(&options)?;
    let TrainOptions { options, run } = &options;
    options.check()?;
    if let Some(folds) = options.folds {
        return folds::run(options, folds, &own, interrupts, start);
    }
    let profile = options.profile.as_deref().map(|path| destination("--profile", path)).transpose()?;
    let (folder, checkpoint) = resumed.unzip();
    let mut checkpoint = checkpoint.flatten();
    let mut output = match folder {
        Some(folder) => OutputPlace::Folder(folder),
        None => OutputPlace::find(options.out.as_deref(), &data_name(options))?,
    };
    match &output {
        OutputPlace::Planned { .. } => {
            options.check_unicode([], "use --out FILE.safetensors to save the model alone")?;
        }
        OutputPlace::Model(file) if run.tensorboard => {
            let found = file.path().display();
            anyhow::bail!(Error::Config(format!(
                "--tensorboard needs a run folder, but --out {found} saves the model alone; use --out DIR to save both"
            )));
        }
        _ => {}
    }
    if let Some(file) = profile.as_ref().filter(|file| output.is(file)) {
        let found = file.path().display();
        anyhow::bail!(Error::Config(format!("--profile: {found} is a file of the run; choose another name")));
    }
    let paths = DataPaths::from_options(options)?.stopped_by(interrupts.flag());
    paths.spare("--out", options.out.as_deref())?;
    paths.spare("--profile", options.profile.as_deref())?;
    for (option, out) in [("--out", &options.out), ("--profile", &options.profile)] {
        let read = run.config.iter().map(|file| (file.as_path(), "which holds the settings"));
        data_paths::spare_files(option, out.as_deref(), read)?;
    }
    let call = TrainRequest { options, run, given: &given, own: &own, paths: &paths, interrupts, start };
    let mut lost = None;
    loop {
        let observer = profile.is_some().then(|| Arc::new(Recorder::new(Detail::Stages)));
        match call.train(&mut output, checkpoint, &observer, lost)? {
            RunOutcome::Reported(made) => {
                if let (Some(file), Some(made)) = (profile, *made) {
                    write(&file, (made.report.to_json() + "\n").as_bytes())?;
                }
                return Ok(());
            }
            RunOutcome::Lost(error) => lost = Some(error),
        }
        // Without a checkpoint, training starts again from the beginning.
        checkpoint = match &output {
            OutputPlace::Folder(folder) => runs::checkpoint(folder.path()).ok().flatten(),
            _ => None,
        };
    }
}

/// A request to train.
struct TrainRequest<'a> {
    options: &'a Options,
    run: &'a RunOptions,
    given: &'a Table,
    /// Options given on the command line.
    own: &'a Table,
    paths: &'a DataPaths,
    interrupts: &'a Interrupts,
    start: Instant,
}

/// Outcome of an attempt to train.
enum RunOutcome {
    /// Training was reported, with a profile if one was made.
    Reported(Box<Option<Profile>>),
    /// The device has failed, and the CPU engine can continue.
    Lost(Error),
}

impl TrainRequest<'_> {
    /// Trains to the end, from a checkpoint if there is one; on the CPU engine if a device was `lost` before.
    fn train(
        &self,
        output: &mut OutputPlace,
        checkpoint: Option<Checkpoint>,
        observer: &Observer,
        lost: Option<Error>,
    ) -> anyhow::Result<RunOutcome> {
        let Self { options, run, paths, interrupts, start, .. } = *self;
        // A resumed run does not need the file, which may have changed.
        let resumed = checkpoint.as_ref().map(|checkpoint| Ok(checkpoint.model.clone()));
        let first = run.init_from.as_deref().map(|path| resumed.unwrap_or_else(|| load_first(path)));
        let first = first.transpose()?;
        let OpenData { mut reader, validation, mut test, settings, info, notice, doubts } =
            paths.open(options, self.own, first.as_ref())?;
        let once_more =
            if run.refit { Some(copies(&settings, &info, &mut reader, &mut test)?) } else { None };
        let (mut data, config) = settings.prepare_for(first.as_ref(), info, reader, validation, test)?;
        // All readers work while the device opens.
        let (device, mut notices) = match lost {
            Some(error) => {
                let from = checkpoint.as_ref().map_or("from the beginning".to_owned(), |checkpoint| {
                    format!("from the checkpoint after step {}", checkpoint.progress.steps)
                });
                (Device::Cpu, vec![format!("{error}; training continues on the CPU engine, {from}")])
            }
            None => {
                let is_short = config.is_short(&data)?;
                match options.kernels.device(&options.training, options.verbose, false, is_short) {
                    Err(error) if run.fallback.is_some() && is_of_device(&error) => {
                        return Ok(RunOutcome::Lost(error));
                    }
                    found => found?,
                }
            }
        };
        notices.extend(notice);
        if config.needs_all_rows() {
            // Notices about columns apply to all rows.
            data.read_rows(usize::MAX)?;
        }
        refuse_unused_rate(self.own, &config, &data)?;
        notices.extend(read_first_line(&data));
        notices.extend(column_lines(&options.training, &data)?);
        if options.format == Format::Text {
            notices.extend(of_validation(&options.training.settings, &settings, &data));
        }
        let setting = Setting { config: &config, preset: settings.preset_for(&info), given: self.given, run };
        let mut report = TrainReport::new(options, setting, &data, output, notices, interrupts, start);
        report.doubt(doubts);
        if let Some(checkpoint) = &checkpoint {
            report = report.resumed_at(checkpoint);
        }
        let trained = Run::new(config.clone(), data, device.clone(), observer.clone())?;
        let mut trained = trained.began_at(start).resumable();
        if let Some(model) = first {
            trained = trained.begin_with(model.parameters, EngineState::default());
        }
        if !run.test_every_epoch {
            trained = trained.tested_at_end();
        }
        if let Some(checkpoint) = checkpoint {
            trained.resume(checkpoint)?;
        }
        let done = drive(&mut trained, &mut report);
        if !interrupts.has_come() && once_more.is_none() {
            // Everything needed to resume is saved.
            interrupts.end_with("interrupted".to_owned());
        }
        let may_fall_back = run.fallback.is_some()
            || options.training.device() == DeviceRequest::Auto && trained.steps() == 0;
        let done = match done {
            Err(error) if may_fall_back && matches!(device, Device::Gpu(_)) && is_of_device(&error) => {
                return Ok(RunOutcome::Lost(error));
            }
            done => done,
        };
        let summary = done.and_then(|()| trained.summary()).and_then(|summary| match once_more {
            Some(rows) => once_more_on(rows, summary, &config, &device, &mut report),
            None => Ok(summary),
        });
        let made = observer.as_ref().zip(summary.as_ref().ok());
        let made = made.map(|(recorder, summary)| Profile::of_training(recorder, summary)).transpose()?;
        report.end(summary)?;
        Ok(RunOutcome::Reported(Box::new(made)))
    }
}

/// Reads the model from which training starts.
fn load_first(path: &Path) -> crate::error::Result<Model> {
    let model = load_model(path)?;
    if model.ensemble.is_some() {
        let found = format!("the ensemble {}", path.display());
        return Err(Error::setting("init-from", "the model of one network", found));
    }
    Ok(model)
}

/// Returns copies of the training and test readers for the refit.
fn copies(
    settings: &TrainSettings,
    info: &DatasetInfo,
    reader: &mut Reader,
    test: &mut Option<Reader>,
) -> crate::error::Result<(Reader, Option<Reader>)> {
    if info.validates || !settings.validates(info) {
        let expected = "training rows held out for validation (--validation-fraction)";
        let found = if info.validates { "rows of a separate file" } else { "none" };
        return Err(Error::setting("refit", expected, found));
    }
    let rows = reader.copied()?;
    let test = test.as_mut().map(Reader::copied).transpose()?;
    Ok((rows, test))
}

/// Trains again on these rows, unless the run was interrupted.
fn once_more_on(
    (reader, test): (Reader, Option<Reader>),
    mut summary: Summary,
    config: &Config,
    device: &Device,
    report: &mut TrainReport<'_>,
) -> crate::error::Result<Summary> {
    if summary.end == End::Interrupted {
        return Ok(summary);
    }
    report.begin_refit(&summary)?;
    match refit(&mut summary, config, reader, test, device, &mut |event| report.show_progress(&event)) {
        Err(Error::Interrupted) => summary.end = End::Interrupted,
        done => report.end_refit(&summary, done)?,
    }
    Ok(summary)
}

/// Handles the events of a run until the last one, with checkpoints at intervals, on interruption, and at the
/// end.
fn drive(run: &mut Run, report: &mut TrainReport<'_>) -> crate::error::Result<()> {
    let mut is_stopped = false;
    while let Some(event) = run.next()? {
        // A run that is killed before its first step can also be resumed.
        let begins = matches!(event, Event::Started(_)) && run.steps() == 0;
        let is_interrupted = match report.take(event) {
            Err(Error::Interrupted) => !is_stopped,
            taken => taken.map(|()| false)?,
        };
        if is_interrupted || begins || !is_stopped && report.is_due(run) {
            report.save_checkpoint(run)?;
        }
        if is_interrupted {
            is_stopped = true;
            run.stop();
        }
    }
    if is_stopped { Ok(()) } else { report.save_checkpoint(run) }
}

/// Returns whether a device caused the error, so that other engines may not have it.
fn is_of_device(error: &Error) -> bool {
    matches!(error, Error::Device(_) | Error::Gpu(_))
}

/// Returns the name of the data for the name of a folder: letters, digits and hyphens.
fn data_name(options: &Options) -> String {
    let stem = options.training.data.first().and_then(|path| path.file_stem()).and_then(|stem| stem.to_str());
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let name: String =
        stem.unwrap_or("mnist").chars().filter(|character| is_plain(*character)).take(32).collect();
    if name.is_empty() || name == "-" { "data".to_owned() } else { name }
}

/// Returns the notice about the validation rows of a table, if none of the options in `asked` decides them.
fn of_validation(asked: &TrainSettings, settings: &TrainSettings, data: &TrainingData) -> Option<String> {
    let fraction = settings.validation_fraction.filter(|_| asked.validation_fraction.is_none())?;
    if fraction == 0.0 {
        let text = "all rows train, as they are few; use --validation-fraction 0.2 to hold some out and keep the best epoch";
        return Some(text.to_owned());
    }
    let validating = grouped(data.held_out_rows()[0] as u64);
    Some(format!(
        "{validating} rows are held out for validation; use --validation-fraction 0 to train on all rows, or --refit to train on all of them afterwards"
    ))
}
