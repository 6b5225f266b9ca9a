//! What `tinytrain train` saves and tells while it trains.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use serde_json::Value;
use tinytrain::Error;
use tinytrain::trainer::{Chosen, Epoch, Event, Summary, Tiles};

use super::args::Format;
use super::model_file::ModelFile;
use super::output::{Console, Unwritable};
use super::text::{counted, grouped, loss, percent, seconds, shell_option, shell_word};
use super::train::Options;

/// Takes the events of a run.
pub struct TrainReport<'a> {
    options: &'a Options,
    start: Instant,
    console: Console,
    /// To be told when training begins: a run that fails before has one line to say.
    notices: Vec<String>,
    model_file: ModelFile,
    saved: Option<Saved>,
    /// Why the run was ended from here.
    unwritable: Option<Unwritable>,
}

struct Saved {
    epoch: usize,
    path: PathBuf,
}

impl<'a> TrainReport<'a> {
    /// Nothing told yet. `notices` are to be told first.
    pub fn new(options: &'a Options, model_file: ModelFile, notices: Vec<String>, start: Instant) -> Self {
        let console = Console::new(options.quiet, options.epochs);
        Self { options, start, console, notices, model_file, saved: None, unwritable: None }
    }

    /// Saves and prints what belongs to an event.
    ///
    /// # Errors
    /// When the model cannot be saved, or standard output cannot be written to; a reader of it that went away is no
    /// reason to end.
    pub fn take(&mut self, event: Event<'_>) -> tinytrain::Result<()> {
        if let Event::Progress { epoch, rows, total, loss, accuracy } = event {
            self.console.progress().update(epoch, rows, total, loss, accuracy);
            return Ok(());
        }
        if let Event::Epoch { epoch, model } = &event {
            self.console.progress().clear();
            let path = self.model_file.save(model)?;
            self.saved = Some(Saved { epoch: epoch.epoch, path });
        }
        if let Event::Started { .. } = &event {
            for notice in self.notices.drain(..) {
                self.console.notice(&notice);
            }
        }
        let printed = match self.options.format {
            Format::Json => self.json(&event),
            Format::Text => self.text(&event),
        };
        if let Err(unwritable) = &printed
            && unwritable.is_unread()
        {
            self.console.mute();
            self.console.notice("standard output is closed; training goes on without it");
            return Ok(());
        }
        printed.map_err(|unwritable| {
            // The library's errors have no place for this one.
            let message = unwritable.to_string();
            self.unwritable = Some(unwritable);
            Error::Config(message)
        })
    }

    /// Prints the end of a run.
    ///
    /// # Errors
    /// What ended the run before its time, and where the last model is.
    pub fn end(mut self, trained: tinytrain::Result<Summary>) -> anyhow::Result<()> {
        self.console.progress().clear();
        if let Some(unwritable) = self.unwritable {
            return Err(unwritable.into());
        }
        match (trained, self.saved.take()) {
            (Ok(summary), Some(Saved { path, .. })) => {
                match self.summary(&summary, &path.to_string_lossy(), path.as_path()) {
                    Err(unwritable) if unwritable.is_unread() => Ok(()),
                    printed => Ok(printed?),
                }
            }
            (Err(error), Some(Saved { epoch, path })) if path.is_file() => {
                let message = format!("{error}; the model after epoch {epoch} stays at {}", path.display());
                Err(error).context(message)
            }
            (trained, _) => Ok(trained.map(|_| ())?),
        }
    }

    fn json(&self, event: &Event<'_>) -> Result<(), Unwritable> {
        let options = self.options;
        if let Event::Started { .. } = event {
            self.details(event);
        }
        match event {
            Event::Progress { .. } => Ok(()),
            Event::Started { engine, device, spec, scaling, schedule, tiles, .. } => self.console.object(&[
                ("event", "start".into()),
                ("engine", engine.to_string().into()),
                ("device", (*device).into()),
                ("layers", spec.sizes().to_vec().into()),
                ("parameters", spec.parameter_count().into()),
                ("scaling", scaling.to_string().into()),
                ("seed", options.training.seed.into()),
                ("batch_size", options.training.batch_size.into()),
                ("learning_rate", decimal(options.training.lr)),
                ("schedule", schedule.map(|schedule| schedule.kind.to_string()).into()),
                ("tuning", tiles.map(|tiles| tiles.tuning.to_string()).into()),
                ("tuning_source", tiles.map(|tiles| tiles.source.to_string()).into()),
            ]),
            Event::Restarted { reason } => {
                self.console.object(&[("event", "restart".into()), ("reason", (*reason).into())])
            }
            Event::Epoch { epoch, .. } => self.console.object(&[
                ("event", "epoch".into()),
                ("epoch", epoch.epoch.into()),
                ("train_loss", epoch.train_loss.into()),
                ("train_accuracy", epoch.train_accuracy.into()),
                ("test_loss", epoch.test_loss.into()),
                ("test_accuracy", epoch.test_accuracy.into()),
                ("seconds", epoch.duration.as_secs_f64().into()),
                ("samples_per_second", epoch.samples_per_second().into()),
            ]),
        }
    }

    fn text(&mut self, event: &Event<'_>) -> Result<(), Unwritable> {
        if self.options.quiet {
            return Ok(());
        }
        match event {
            Event::Progress { .. } => Ok(()),
            Event::Started { device, spec, .. } => {
                let parameters = grouped(spec.parameter_count() as u64);
                self.console.line(&format!("{spec} network, {parameters} parameters, on {device}"))?;
                self.details(event);
                self.console.line(&columns([
                    "epoch",
                    "train loss",
                    "train accuracy",
                    "test loss",
                    "test accuracy",
                    "seconds",
                    "samples/s",
                ]))
            }
            Event::Restarted { reason } => {
                self.console.progress().clear();
                self.console.notice(&format!("{reason}: training starts again"));
                Ok(())
            }
            Event::Epoch { epoch, .. } => self.console.line(&epoch_line(epoch)),
        }
    }

    /// What `--verbose` adds.
    fn details(&self, event: &Event<'_>) {
        if let (true, Event::Started { spec, scaling, schedule, tiles, dispatches, .. }) =
            (self.options.verbose, event)
        {
            let parameters = grouped(spec.parameter_count() as u64);
            self.console.notice(&format!(
                "seed {}, {parameters} parameters, inputs scaled by {scaling}",
                self.options.training.seed
            ));
            if let Some(Tiles { tuning, source }) = tiles {
                self.console.notice(&format!("{source} tile shapes: {tuning}"));
            }
            if let Some(Chosen { kind, reason }) = schedule {
                let because = reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
                self.console.notice(&format!("a step of the {kind} schedule{because}:"));
            }
            for (number, dispatch) in (1..).zip(*dispatches) {
                self.console.notice(&format!("{number:>4}. {dispatch}"));
            }
        }
    }

    fn summary(&self, summary: &Summary, name: &str, path: &std::path::Path) -> Result<(), Unwritable> {
        let (total, first) = (self.start.elapsed(), summary.first_batch.duration_since(self.start));
        let last = summary.epochs.last();
        let test_accuracy = last.and_then(|epoch| epoch.test_accuracy);
        if self.options.format == Format::Json {
            return self.console.object(&[
                ("event", "summary".into()),
                ("epochs", summary.epochs.len().into()),
                ("test_accuracy", test_accuracy.into()),
                ("seconds", total.as_secs_f64().into()),
                ("first_batch_seconds", first.as_secs_f64().into()),
                ("engine", summary.engine.to_string().into()),
                ("device", summary.device.as_str().into()),
                ("model", name.into()),
            ]);
        }
        let accuracy = match (test_accuracy, last) {
            (Some(accuracy), _) => format!("test accuracy {}", percent(accuracy)),
            (None, Some(epoch)) => format!("train accuracy {} (no test data)", percent(epoch.train_accuracy)),
            (None, None) => "no epoch".to_owned(),
        };
        if self.options.quiet {
            return self.console.line(&format!("{accuracy}, model {name}"));
        }
        let epochs = counted(summary.epochs.len() as u64, "epoch", "epochs");
        self.console.line(&format!(
            "{accuracy} after {epochs} in {}, first batch after {}",
            seconds(total),
            seconds(first)
        ))?;
        self.console.line(&format!("model: {name}"))?;
        self.console.line(&format!(
            "evaluate it: tinytrain eval --model {}{}",
            shell_word(path),
            self.data_options()
        ))
    }

    /// The options by which `tinytrain eval` finds the same data.
    fn data_options(&self) -> String {
        let mut text = String::new();
        if let Some(data) = self.options.test.as_ref().or(self.options.training.data.as_ref()) {
            text += &format!(" --data {}", shell_word(data));
        }
        if let Some(tinytrain::data::LabelColumn::Named(column)) = &self.options.training.label_column {
            text += &format!(" {}", shell_option("--label-column", column));
        }
        text
    }
}

/// The decimal fraction that the user wrote, not the digits of its binary neighbour.
fn decimal(value: f32) -> Value {
    value.to_string().parse::<f64>().ok().into()
}

fn epoch_line(epoch: &Epoch) -> String {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    columns([
        &epoch.epoch.to_string(),
        &loss(epoch.train_loss),
        &percent(epoch.train_accuracy),
        &or_dash(epoch.test_loss.map(loss)),
        &or_dash(epoch.test_accuracy.map(percent)),
        &format!("{:.2}", epoch.duration.as_secs_f64()),
        &grouped(epoch.samples_per_second() as u64),
    ])
}

/// One line of the table of epochs, which grows line by line and so cannot wait for its widest cell.
fn columns(cells: [&str; 7]) -> String {
    let [epoch, train_loss, train_accuracy, test_loss, test_accuracy, seconds, speed] = cells;
    format!(
        "{epoch:>5}  {train_loss:>10}  {train_accuracy:>14}  {test_loss:>10}  {test_accuracy:>13}  {seconds:>8}  \
         {speed:>11}"
    )
}
