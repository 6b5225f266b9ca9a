//! Output of `tinytrain train` while it trains: saved files and printed lines.

mod ending;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::data::Schema;
use crate::error::{Error, Result};
use crate::model::{Model, Origin};
use crate::settings::Preset;
use crate::train::{Checkpoint, Config, Epoch, Event, Keep, Progress, Run, Started, TrainingData};
use toml::Table as Given;

use super::args::Format;
use super::config_file;
use super::data_text::{as_text, left_out, mixed_column_lines, odd_labels};
use super::output::{Console, Look};
use super::output_place::OutputPlace;
use super::process::Interrupts;
use super::train_options::{Options, RunOptions};
use super::train_text::{Table, accuracy, details, epoch_fields, started_fields, started_lines};
use crate::report::text::{counted, one_class, unknown_cells};
use crate::runs::{CONFIG, CheckpointClock, EventLog, MODEL};

/// Minimum interval between writes of a kept model, if writing takes less than a tenth of it; otherwise ten
/// times the time of writing.
const MODEL_INTERVAL: Duration = Duration::from_secs(1);

/// Configuration of the training, and its source.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    pub config: &'a Config,
    pub preset: Preset,
    pub given: &'a Given,
    pub run: &'a RunOptions,
}

/// Handles the events of a run.
pub struct TrainReport<'a> {
    options: &'a Options,
    config: &'a Config,
    preset: Preset,
    given: &'a Given,
    run: &'a RunOptions,
    start: Instant,
    console: Console,
    /// Notices to print when training begins: a run that fails earlier prints one line.
    notices: Vec<String>,
    /// Warnings, also printed when training begins.
    warnings: Vec<String>,
    /// Settings in the model file besides the library's.
    settings: BTreeMap<String, String>,
    /// Columns of the table of epochs, after its header is printed.
    table: Option<Table>,
    validates: bool,
    tests: bool,
    /// Whether a line of the table had a star.
    has_star: bool,
    /// Columns, if the data are a table.
    schema: Option<Schema>,
    output: &'a mut OutputPlace,
    saved: Option<Saved>,
    /// The kept model, until it is written.
    unsaved: Option<Arc<Model>>,
    /// Time of the last write of a model, and its duration.
    written: Option<(Instant, Duration)>,
    clock: CheckpointClock,
    /// Events for TensorBoard, if wanted.
    events: Option<EventLog<'a>>,
    /// Whether the folder has its initial files.
    has_begun: bool,
    /// Epochs of the history.
    epochs: Vec<Epoch>,
    /// Progress at the checkpoint from which the run continues.
    progress: Option<Progress>,
    /// Origin of the training up to the checkpoint.
    origin: Option<Origin>,
    interrupts: &'a Interrupts,
}

struct Saved {
    what: String,
    path: PathBuf,
}

/// Describes a kept model: the best one if validation data select it.
fn kept_model(epoch: usize, validates: bool, config: &Config) -> String {
    match validates && config.keep != Some(Keep::Last) {
        true => format!("the best model, epoch {epoch},"),
        false => format!("the model after epoch {epoch}"),
    }
}

impl<'a> TrainReport<'a> {
    /// Adds warnings, printed when training begins.
    pub fn doubt(&mut self, warnings: Vec<String>) {
        self.warnings.extend(warnings);
    }

    /// Creates an empty report, which begins with `notices`.
    pub fn new(
        options: &'a Options,
        setting: Setting<'a>,
        data: &TrainingData,
        output: &'a mut OutputPlace,
        mut notices: Vec<String>,
        interrupts: &'a Interrupts,
        start: Instant,
    ) -> Self {
        let Setting { config, preset, given, run } = setting;
        let console = Console::new(options.quiet, config.epochs).of_lasting("training");
        notices.extend(left_out(data.left_out()));
        notices.extend_from_slice(data.table_notices());
        notices.extend(data.center().map(|center| {
            format!(
                "images are not dark: inputs are (value - {center}) / 255; use --scale bytes to divide only"
            )
        }));
        Self {
            options,
            config,
            preset,
            given,
            run,
            start,
            console,
            notices,
            warnings: [
                as_text(data.numbers_as_text()),
                mixed_column_lines(data.mixed_columns()),
                odd_labels(data.odd_labels()),
            ]
            .concat(),
            settings: options.names_of_data(data),
            table: None,
            validates: data.validates(),
            tests: data.tests() && run.test_every_epoch,
            has_star: false,
            schema: data.data_schema().schema,
            output,
            saved: None,
            unsaved: None,
            written: None,
            clock: CheckpointClock::new(run.checkpoint_every.unwrap_or_default(), 0, 0),
            events: None,
            has_begun: false,
            epochs: Vec::new(),
            progress: None,
            origin: None,
            interrupts,
        }
    }

    /// Returns the report of a run that continues from this checkpoint.
    #[must_use]
    pub fn resumed_at(mut self, checkpoint: &Checkpoint) -> Self {
        let Progress { steps, epochs, kept, .. } = &checkpoint.progress;
        if let OutputPlace::Folder(folder) = &*self.output {
            self.clock =
                CheckpointClock::new(self.run.checkpoint_every.unwrap_or_default(), *steps, epochs.len());
            self.saved = kept.as_ref().map(|(epoch, _)| Saved {
                what: kept_model(*epoch, self.validates, self.config),
                path: folder.file(MODEL),
            });
        }
        self.origin = checkpoint.model.origin.clone();
        self.epochs.clone_from(epochs);
        self.progress = Some(checkpoint.progress.clone());
        self
    }

    /// Returns whether a checkpoint is due.
    pub fn is_due(&mut self, run: &Run) -> bool {
        matches!(self.output, OutputPlace::Folder(_)) && self.clock.is_due(run.steps(), run.epochs().len())
    }

    /// Writes a checkpoint into the folder of the run, if it has one.
    ///
    /// # Errors
    /// Errors of the device and of the folder.
    pub fn save_checkpoint(&mut self, run: &mut Run) -> Result<()> {
        self.write_model()?;
        if let OutputPlace::Folder(folder) = &mut self.output
            && let Some(mut checkpoint) = run.checkpoint()?
        {
            checkpoint.model.settings.extend(self.settings.clone());
            folder.write_checkpoint(&checkpoint.to_bytes()?, run.steps())?;
        }
        Ok(())
    }

    /// Creates the folder of the run, with all files that exist before the first epoch ends.
    fn begin(&mut self, started: &Started) -> Result<()> {
        // Signals must now be handled by saving first.
        self.interrupts.ask();
        let Self { config, preset, given, run, .. } = *self;
        if let Some(folder) = self.output.folder()?
            && !std::mem::replace(&mut self.has_begun, true)
        {
            let settings = config_file::settings(given, config, preset)?;
            folder.write(CONFIG, config_file::contents(&settings).as_bytes())?;
            let epochs = &self.epochs;
            folder.begin_history(epochs, config.loss.of_classes())?;
            self.console.log_to(folder.log()?);
            if run.tensorboard {
                self.events = Some(EventLog::begin(folder, config, &settings, epochs, started.rows)?);
            }
        }
        if let Some(events) = &mut self.events {
            events.set_rows(started.rows);
        }
        if let Some(Progress { steps, epochs, kept, .. }) = &self.progress {
            let done = counted(epochs.len() as u64, "epoch", "epochs");
            let last = config.patience.zip(kept.as_ref()).map(|(patience, (kept, _))| kept + patience);
            self.notices.push(if last.is_some_and(|last| epochs.len() >= last) {
                format!("the run ended by --patience after {done}; a larger one resumes it")
            } else if epochs.len() >= config.epochs {
                format!("the run ended after {done}; a larger --epochs resumes it")
            } else {
                format!("the run continues after {done}, at step {steps}")
            });
        }
        let now = started.engine.origin();
        // On the CPU the number of threads does not affect results.
        if let Some(before) = self.origin.take()
            && before != now
            && (before.schedule.is_some() || now.schedule.is_some())
        {
            self.notices.push(format!(
                "it was trained on {} before, or with another schedule or other tile shapes: it continues, but results may differ by rounding",
                before.device
            ));
        }
        Ok(())
    }

    /// Saves and prints the results of an event.
    ///
    /// # Errors
    /// If the model cannot be saved, or standard output cannot be written to; [`Error::Interrupted`] after a
    /// signal.
    pub fn take(&mut self, event: Event) -> Result<()> {
        match &event {
            Event::Progress { .. } => return self.show_progress(&event),
            Event::Epoch { epoch, model, is_kept } => {
                if let OutputPlace::Folder(folder) = &self.output {
                    folder.add(epoch, self.config.loss.of_classes())?;
                    self.epochs.push(Epoch::clone(epoch));
                }
                if let Some(events) = &mut self.events {
                    events.add(epoch)?;
                }
                if *is_kept {
                    self.keep(model, kept_model(epoch.epoch, self.validates, self.config))?;
                    // Syncing a file takes longer than some epochs.
                    if self.written.is_none_or(|(end, took)| end.elapsed() >= MODEL_INTERVAL.max(10 * took)) {
                        self.write_model()?;
                    }
                }
            }
            Event::Interrupted { epoch, steps, model } => {
                self.keep(model, format!("the model after step {steps}, in epoch {epoch}"))?;
                return self.write_model();
            }
            Event::Started(started) => {
                self.begin(started)?;
                self.warnings.drain(..).for_each(|warning| self.console.warn(&warning));
                for notice in self.notices.drain(..) {
                    self.console.notice(&notice);
                }
            }
            Event::OneClass { set, class } => {
                self.console.warn(&one_class(class, &format!("the {set} rows")));
            }
            Event::Unknown { set, cells } => {
                let lines = unknown_cells(cells, self.schema.as_ref(), &format!("the {set} rows"));
                lines.iter().for_each(|line| self.console.warn(line));
            }
        }
        self.tell(&event)
    }

    /// Replaces the kept model. It is written at the latest with a checkpoint and at the end.
    fn keep(&mut self, model: &Arc<Model>, what: String) -> Result<()> {
        self.saved = Some(Saved { what, path: self.output.model_path()? });
        self.unsaved = Some(Arc::clone(model));
        Ok(())
    }

    /// Writes the kept model, unless it is already written.
    fn write_model(&mut self) -> Result<()> {
        let Some(model) = self.unsaved.take() else { return Ok(()) };
        let mut model = Arc::unwrap_or_clone(model);
        model.settings.extend(self.settings.clone());
        let begun = Instant::now();
        self.output.save(&model)?;
        self.written = Some((Instant::now(), begun.elapsed()));
        Ok(())
    }

    /// Shows the progress of a run, or of a refit.
    ///
    /// # Errors
    /// [`Error::Interrupted`] after a signal.
    pub fn show_progress(&mut self, event: &Event) -> Result<()> {
        if let Event::Progress { epoch, rows, total, score } = event {
            let accuracy = accuracy(Some(score), self.config);
            self.console.progress().update(*epoch, *rows, *total, score.loss, accuracy);
        }
        if self.interrupts.has_come() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Prints settings without effect, and the details of `--verbose`.
    fn tell_details(&self, started: &Started) {
        let lines = details(started, self.config, self.preset, self.options.verbose);
        lines.iter().for_each(|line| self.console.notice(line));
    }

    /// Prints the lines of an event.
    fn tell(&mut self, event: &Event) -> Result<()> {
        let is_json = self.options.format == Format::Json;
        if !is_json && self.options.quiet {
            return Ok(());
        }
        match (event, is_json) {
            (Event::Started(started), true) => {
                self.tell_details(started);
                self.console.object(&started_fields(started, self.config, self.preset))
            }
            (Event::Started(started), false) => {
                let settings = &self.options.training.settings;
                let lines = started_lines(started, self.config, settings, self.preset);
                lines.iter().try_for_each(|line| self.console.line(line))?;
                self.tell_details(started);
                if self.table.is_none() {
                    let table = Table::new(self.validates, self.tests, self.config);
                    self.console.line(&table.header())?;
                    self.table = Some(table);
                }
                Ok(())
            }
            (Event::Epoch { epoch, is_kept, .. }, true) => {
                self.console.object(&epoch_fields(epoch, self.config, *is_kept))
            }
            (Event::Epoch { epoch, is_kept, .. }, false) => match &self.table {
                Some(table) if table.shows(epoch.epoch) => {
                    let line = table.line(epoch, *is_kept);
                    let is_best = line.contains('*');
                    self.has_star |= is_best;
                    self.console.line_with(if is_best { Look::Best } else { Look::Plain }, &line)
                }
                _ => Ok(()),
            },
            (Event::Unknown { .. } | Event::OneClass { .. }, true) => self.console.json(event),
            _ => Ok(()),
        }
    }
}
