//! What `tinytrain train` saves and tells while it trains.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::data::Schema;
use crate::error::{Error, Result};
use crate::model::{Model, Origin};
use crate::settings::Preset;
use crate::train::{
    Checkpoint, Config, End, Epoch, Event, Keep, Progress, Run, Started, Summary, TrainingData,
};
use anyhow::Context;
use toml::Table as Given;

use super::args::Format;
use super::config_file;
use super::data_text::{as_text, left_out, mixed_column_lines, odd_labels, weights_hint};
use super::output::Console;
use super::output_place::OutputPlace;
use super::process::Interrupts;
use super::train_options::{Options, RunOptions};
use super::train_text::{
    Table, accuracy, details, end_text, epoch_fields, reached, started_fields, started_lines, summary_fields,
};
use crate::report::text::{counted, one_class, shell_word, unknown_cells};
use crate::runs::{CONFIG, CheckpointClock, EventLog, MODEL};

/// How long a model that is kept may wait to be written, where that takes less than a tenth of it; else ten times as long.
const MODEL_INTERVAL: Duration = Duration::from_secs(1);

/// What is trained, and with which settings.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    pub config: &'a Config,
    pub preset: Preset,
    pub given: &'a Given,
    pub run: &'a RunOptions,
}

/// Takes the events of a run.
pub struct TrainReport<'a> {
    options: &'a Options,
    config: &'a Config,
    preset: Preset,
    given: &'a Given,
    run: &'a RunOptions,
    start: Instant,
    console: Console,
    /// Notices to print when training begins: a run that fails before prints one line.
    notices: Vec<String>,
    /// Warnings, printed then too.
    warnings: Vec<String>,
    /// What the model file says besides what the library knows.
    settings: BTreeMap<String, String>,
    /// The columns of the table of epochs, once it has a header.
    table: Option<Table>,
    validates: bool,
    tests: bool,
    /// Whether a line of the table had a star.
    has_star: bool,
    /// The columns, of a table.
    schema: Option<Schema>,
    output: &'a mut OutputPlace,
    saved: Option<Saved>,
    /// The model that is kept, until it is written.
    unsaved: Option<Arc<Model>>,
    /// When a model was written last, and how long that took.
    written: Option<(Instant, Duration)>,
    clock: CheckpointClock,
    /// What TensorBoard reads, if that is wanted.
    events: Option<EventLog<'a>>,
    /// Whether the folder holds what it holds from the beginning on.
    has_begun: bool,
    /// The progress at the checkpoint from which the run continues.
    progress: Option<Progress>,
    /// What it was trained on until then.
    origin: Option<Origin>,
    interrupts: &'a Interrupts,
}

struct Saved {
    what: String,
    path: PathBuf,
}

/// A model that is kept: the best where validation data say which is.
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

    /// An empty report, which begins with `notices`.
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
            tests: data.tests(),
            has_star: false,
            schema: data.data_schema().schema,
            output,
            saved: None,
            unsaved: None,
            written: None,
            clock: CheckpointClock::new(run.checkpoint_every.unwrap_or_default(), 0, 0),
            events: None,
            has_begun: false,
            progress: None,
            origin: None,
            interrupts,
        }
    }

    /// The report of a run that continues from this checkpoint.
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
        self.progress = Some(checkpoint.progress.clone());
        self
    }

    /// Whether it is time for a checkpoint.
    pub fn is_due(&mut self, run: &Run) -> bool {
        matches!(self.output, OutputPlace::Folder(_)) && self.clock.is_due(run.steps(), run.epochs().len())
    }

    /// Writes a checkpoint into the folder of the run, if it has one.
    ///
    /// # Errors
    /// Those of the device and of the folder.
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

    /// Makes the folder of the run, with all that it holds before an epoch has ended.
    fn begin(&mut self, started: &Started) -> Result<()> {
        // From here on there is something to save first.
        self.interrupts.ask();
        let Self { config, preset, given, run, .. } = *self;
        if let Some(folder) = self.output.folder()?
            && !std::mem::replace(&mut self.has_begun, true)
        {
            let settings = config_file::settings(given, config, preset)?;
            folder.write(CONFIG, config_file::contents(&settings).as_bytes())?;
            let epochs: &[Epoch] = self.progress.as_ref().map_or(&[], |progress| &progress.epochs);
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
        // On the processor the number of threads changes no bit.
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

    /// Saves and prints what belongs to an event.
    ///
    /// # Errors
    /// When the model cannot be saved, or standard output cannot be written to; [`Error::Interrupted`] when a signal has come.
    pub fn take(&mut self, event: Event) -> Result<()> {
        match &event {
            Event::Progress { .. } => return self.show_progress(&event),
            Event::Epoch { epoch, model, is_kept } => {
                if let OutputPlace::Folder(folder) = &self.output {
                    folder.add(epoch, self.config.loss.of_classes())?;
                }
                if let Some(events) = &mut self.events {
                    events.add(epoch)?;
                }
                if *is_kept {
                    self.keep(model, kept_model(epoch.epoch, self.validates, self.config))?;
                    // To sync a file takes longer than some epochs.
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

    /// Takes a model in the place of the one before. It is written at the latest with a checkpoint and at the end.
    fn keep(&mut self, model: &Arc<Model>, what: String) -> Result<()> {
        self.saved = Some(Saved { what, path: self.output.model_path()? });
        self.unsaved = Some(Arc::clone(model));
        Ok(())
    }

    /// Writes the model that is kept, unless it is written.
    fn write_model(&mut self) -> Result<()> {
        let Some(model) = self.unsaved.take() else { return Ok(()) };
        let mut model = Arc::unwrap_or_clone(model);
        model.settings.extend(self.settings.clone());
        let begun = Instant::now();
        self.output.save(&model)?;
        self.written = Some((Instant::now(), begun.elapsed()));
        Ok(())
    }

    /// Saves the model of a run whose network is to be trained once more, and says so.
    ///
    /// # Errors
    /// When the model cannot be saved, or standard output cannot be written to.
    pub fn begin_refit(&mut self, summary: &Summary) -> Result<()> {
        self.keep(&Arc::new(summary.model.clone()), kept_model(summary.kept, self.validates, self.config))?;
        self.write_model()?;
        if self.options.format == Format::Json {
            return self.console.object(&[("event", "refit".into()), ("epochs", summary.kept.into())]);
        }
        let epochs = counted(summary.kept as u64, "epoch", "epochs");
        self.console.notice(&format!("training once more, the rows that validated included: {epochs}"));
        Ok(())
    }

    /// Shows how far a run, or a refit, has come.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when a signal has come.
    pub fn show_progress(&mut self, event: &Event) -> Result<()> {
        if let Event::Progress { epoch, rows, total, score } = event {
            let accuracy = accuracy(Some(score), self.config);
            self.console.progress().update(*epoch, *rows, *total, score.loss, accuracy);
        }
        if self.interrupts.has_come() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Takes the model of a refit, if there is one.
    ///
    /// # Errors
    /// That of the refit, and when the model cannot be saved.
    pub fn end_refit(&mut self, summary: &Summary, done: Result<()>) -> Result<()> {
        done?;
        self.keep(&Arc::new(summary.model.clone()), "the model of all rows".to_owned())
    }

    /// Prints the end of a run.
    ///
    /// # Errors
    /// What ended the run before its time, and where the last model is.
    pub fn end(mut self, trained: Result<Summary>) -> anyhow::Result<()> {
        self.console.progress().bar.clear();
        if let Ok(Summary { model, .. }) = &trained
            && model.settings.contains_key("temperature")
        {
            // What was written before is the model as the run goes on from it.
            self.unsaved = Some(Arc::new(model.clone()));
        }
        let written = self.write_model();
        if let Err(unwritable @ Error::Output(_)) = trained {
            return Err(unwritable.into());
        }
        let trained = written.and(trained);
        let events = self.events.take().map_or(Ok(()), |events| events.end(&trained));
        let saved = self.saved.take();
        let told = match (trained, saved) {
            (Ok(Summary { end: End::Interrupted, .. }), Some(Saved { what, path })) => {
                let goes_on = match &self.output {
                    OutputPlace::Folder(folder) => {
                        format!("; continue with tinytrain train --resume {}", shell_word(folder.path()))
                    }
                    _ => String::new(),
                };
                let message = format!("interrupted; {what} is saved at {}{goes_on}", path.display());
                Err(self.interrupts.ended(message).into())
            }
            (Ok(summary), Some(Saved { path, .. })) => self.summary(&summary, &path).map_err(Into::into),
            (Err(error), saved) => {
                let hint = weights_hint(&error, self.options.training.columns.weight.as_deref());
                let kept = saved.filter(|saved| saved.path.is_file() && self.output.is_in_place());
                let kept = kept.map(|Saved { what, path }| format!("; {what} is kept at {}", path.display()));
                let message = format!("{error}{hint}{}", kept.unwrap_or_default());
                Err(error).context(message)
            }
            (Ok(_), None) => Ok(()),
        };
        // The result comes first: it is there, whatever became of the event file.
        told.and(Ok(events?))
    }

    /// What has no effect, and what `--verbose` adds.
    fn tell_details(&self, started: &Started) {
        let lines = details(started, self.config, self.preset, self.options.verbose);
        lines.iter().for_each(|line| self.console.notice(line));
    }

    /// Prints what belongs to an event.
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
                    self.has_star |= line.contains('*');
                    self.console.line(&line)
                }
                _ => Ok(()),
            },
            (Event::Unknown { .. } | Event::OneClass { .. }, true) => self.console.json(event),
            _ => Ok(()),
        }
    }

    /// Prints what a run gave, whose model is saved at `path`.
    fn summary(&self, summary: &Summary, path: &Path) -> Result<()> {
        let times = [self.start.elapsed(), summary.first_batch.duration_since(self.start)];
        let name = path.to_string_lossy();
        if let Some(warning) = &summary.warning {
            self.console.warn(&format!(
                "{warning}; try another --lr or --scale, or more --epochs, or check whether the inputs can predict the target"
            ));
        }
        if self.options.format == Format::Json {
            return self.console.object(&summary_fields(summary, times, &name));
        }
        let (reached, targets) = reached(summary, self.config.loss);
        if self.options.quiet {
            return self.console.line(&format!("{reached}, model {name}"));
        }
        if self.has_star {
            self.console.line("* best so far on the validation rows")?;
        }
        self.console.line(&(reached + &end_text(summary, times, self.options.verbose)))?;
        targets.iter().try_for_each(|line| self.console.line(line))?;
        self.console.line(&format!("wrote {}", shell_word(path)))?;
        if let (End::Time, OutputPlace::Folder(folder)) = (summary.end, &*self.output) {
            let folder = shell_word(folder.path());
            self.console
                .line(&format!("continue the run: tinytrain train --resume {folder} --max-time TIME"))?;
        }
        let data = self.data_option();
        self.console.line(&format!("evaluate the model: tinytrain eval --model {}{data}", shell_word(path)))
    }

    /// The option by which `tinytrain eval` finds the data, where the model file cannot tell.
    fn data_option(&self) -> String {
        let is_known = ["data", "data_parts"].iter().any(|key| self.settings.contains_key(*key));
        if is_known && !self.settings.contains_key("unnamed_test_data") {
            return String::new();
        }
        let data = self.options.test.as_ref().map_or(&self.options.training.data[..], std::slice::from_ref);
        let data: Vec<String> =
            data.iter().filter(|data| *data != Path::new("-")).map(|data| shell_word(data)).collect();
        format!(" --data {}", if data.is_empty() { "FILE".to_owned() } else { data.join(" ") })
    }
}
