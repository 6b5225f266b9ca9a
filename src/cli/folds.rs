//! `tinytrain train --folds`: a cross-validation.

use std::time::Instant;

use anyhow::Context;
use tinytrain::engine::{Description, Device};
use tinytrain::runs::{CrossValidation, FoldResult};
use tinytrain::settings::{DatasetInfo, Preset};
use tinytrain::train::{Config, Event, Started, TrainingData};
use tinytrain::{Error, Result};
use toml::Table;

use super::args::Format;
use super::data_text::{as_text, column_lines, data_line, late_texts, left_out, odd_labels};
use super::fold_text::{FoldTable, fold_fields, summary_fields, summary_line};
use super::interrupt::Interrupts;
use super::opened::{Opened, Places, refuse_unused, refuse_unused_rate};
use super::output::{Console, warn};
use super::text::{grouped, one_class, unknown_cells};
use super::train_options::Options;
use super::train_text::{Chosen, accuracy, plan_line};

/// Trains so many times, and says how good each network is on the rows that were held out of its training. Nothing is saved. The
/// options `own` stand on the command line.
///
/// # Errors
/// Those of the options, the data, the device and the output.
pub fn run(options: &Options, count: usize, own: &Table, start: Instant) -> anyhow::Result<()> {
    if options.out.is_some() {
        let text = "--out: expected no --folds beside it: no model is saved; train without --folds for one";
        return Err(Error::Config(text.to_owned()).into());
    }
    let training = &options.training;
    let opened = Places::of(options)?.open(options)?;
    refuse_unused(own, options, &opened)?;
    let Opened { reader, validation, info, notice, .. } = opened;
    let (device, mut notices) = options.kernels.device(training, "training", false)?;
    let measured = options.kernels.measured(&device, &mut notices);
    notices.extend(notice);
    notices.extend(left_out(reader.left_out()));
    as_text(reader.numbers_as_text()).iter().for_each(|warning| warn(warning));
    let interrupts = Interrupts::watch().context("cannot watch for signals")?;
    let settings = training.settings.clone();
    let mut rows = CrossValidation { reader, validation, settings, info, count, measured };
    let mut folds = Folds { options, own, info, count, device, interrupts, notices, table: None, unknown: 0 };
    let mut console = Console::new(options.quiet, 1);
    let mut results = Vec::new();
    for index in 0..count {
        let result =
            folds.fold(&mut rows, index, &mut console).map_err(|error| in_fold(error, index, count))?;
        folds.tell(&result, &mut console)?;
        results.push(result);
    }
    if folds.unknown > 0 {
        warn(&unknown_cells(folds.unknown, "the rows that were held out of the folds"));
    }
    let Some(table) = &folds.table else { return Ok(()) };
    match options.format {
        Format::Json => console.object(&summary_fields(&results, start.elapsed()))?,
        Format::Text if options.quiet => console.line(&summary_line(&results, None))?,
        Format::Text => {
            table.ends(&results).iter().try_for_each(|line| console.line(line))?;
            console.line(&summary_line(&results, Some(start.elapsed())))?;
        }
    }
    Ok(())
}

/// An error of the library with the fold in which it happened; settings are wrong in every fold alike.
fn in_fold(error: anyhow::Error, index: usize, count: usize) -> anyhow::Error {
    match error.downcast_ref::<Error>() {
        Some(cause) if cause.exit_code() == 3 => {
            let text = format!("{error} (fold {} of {count})", index + 1);
            error.context(text)
        }
        _ => error,
    }
}

/// The folds on their way.
struct Folds<'a> {
    options: &'a Options,
    /// What stands on the command line.
    own: &'a Table,
    /// What the defaults depend on.
    info: DatasetInfo,
    count: usize,
    device: Device,
    interrupts: Interrupts,
    /// To be told when training begins.
    notices: Vec<String>,
    /// The table of folds, once it has a header.
    table: Option<FoldTable>,
    /// Cells of rows that do not train which hold what the rows that train do not.
    unknown: u64,
}

impl Folds<'_> {
    /// What is said of all rows, once.
    fn look_at(&self, data: &TrainingData, console: &Console) -> Result<()> {
        [late_texts(data.late_texts()), odd_labels(data.odd_labels())]
            .concat()
            .iter()
            .for_each(|warning| console.warn(warning));
        column_lines(&self.options.training, data)?.iter().for_each(|line| console.notice(line));
        Ok(())
    }

    fn fold(
        &mut self,
        folds: &mut CrossValidation,
        index: usize,
        console: &mut Console,
    ) -> anyhow::Result<FoldResult> {
        let fold = folds.fold(index)?;
        if index == 0 {
            refuse_unused_rate(self.own, &fold.config, &fold.data)?;
            self.look_at(&fold.data, console)?;
        }
        console.progress().begin(index, self.count, fold.config.epochs);
        let (device, config) = (self.device.clone(), fold.config.clone());
        let result = fold.train(&device, &mut |event| self.take(event, &config, console));
        console.progress().bar.clear();
        match result {
            Err(Error::Interrupted) => {
                let message =
                    format!("interrupted in fold {} of {}; no model is saved", index + 1, self.count);
                Err(self.interrupts.ended(message).into())
            }
            result => Ok(result?),
        }
    }

    fn take(&mut self, event: Event, config: &Config, console: &mut Console) -> Result<()> {
        match event {
            Event::Progress { epoch, rows, total, score } => {
                console.progress().update(epoch, rows, total, score.loss, accuracy(Some(&score), config));
                return if self.interrupts.has_come() { Err(Error::Interrupted) } else { Ok(()) };
            }
            Event::Unknown { cells, .. } => self.unknown += cells,
            Event::OneClass { set, class } => {
                console.warn(&one_class(&class, &format!("the {set} rows of a fold")));
            }
            Event::Started(started) if self.table.is_none() => self.begin(&started, config, console)?,
            Event::Started(_) | Event::Restarted { .. } | Event::Epoch { .. } | Event::Interrupted { .. } => {
            }
        }
        Ok(())
    }

    /// What is trained, as far as it is the same in all folds, and the header of the table.
    fn begin(&mut self, started: &Started, config: &Config, console: &Console) -> Result<()> {
        self.notices.drain(..).for_each(|notice| console.notice(&notice));
        let Started { engine: Description { device, .. }, network, transform, meaning, rows } = started;
        let table = FoldTable::new(config.loss);
        if self.options.format == Format::Text && !self.options.quiet {
            let parameters = grouped(network.parameter_count() as u64);
            let chosen = match self.options.training.settings.preset_for(&self.info) {
                Preset::Table => Chosen::ByPreset,
                Preset::Plain => Chosen::ByRows {
                    epochs: self.options.training.settings.epochs.is_none(),
                    batch_size: self.options.training.settings.batch_size.is_none(),
                },
            };
            console.line(&format!("fold 1 of {}: {}", self.count, data_line(transform, meaning, *rows)))?;
            console.line(&format!("{network} network, {parameters} parameters, on {device}"))?;
            console.line(&plan_line(config, *rows, chosen))?;
            console.line(&table.header())?;
        }
        self.table = Some(table);
        Ok(())
    }

    /// What a fold gave.
    fn tell(&self, result: &FoldResult, console: &mut Console) -> Result<()> {
        if let Some(warning) = &result.warning {
            console.warn(&format!("fold {}: {warning}", result.index + 1));
        }
        match (self.options.format, &self.table) {
            (Format::Json, _) => console.object(&fold_fields(result, self.count)),
            (Format::Text, Some(table)) if !self.options.quiet => console.line(&table.line(result)),
            (Format::Text, _) => Ok(()),
        }
    }
}
