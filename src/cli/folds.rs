//! `tinytrain train --folds`: cross-validation.

use std::time::{Duration, Instant};

use crate::data::{Schema, UnknownCells};
use crate::engine::Device;
use crate::error::{Error, Result};
use crate::runs::figures::{TEST, VALIDATION, by_target, score_fields};
use crate::runs::{CrossValidation, FoldResult, FoldRun};
use crate::settings::Preset;
use crate::step::Loss;
use crate::train::{Config, Event, Score, Started, TrainingData};
use serde_json::{Map, Value};
use toml::Table;

use super::args::Format;
use super::data_text::{as_text, column_lines, left_out, mixed_column_lines, odd_labels, weights_hint};
use super::open_data::{DataPaths, OpenData, refuse_unused_rate};
use super::output::{Console, warn};
use super::process::Interrupts;
use super::train_options::Options;
use super::train_text::{accuracy, started_lines};
use crate::report::text::{loss, number, one_class, percent, seconds, unknown_cells};

/// Runs a cross-validation: trains once per fold and reports the score of each network on its held-out rows.
/// Saves nothing. `own` are the options on the command line.
///
/// # Errors
/// Errors of the options, the data, the device and the output.
pub fn run(
    options: &Options,
    count: usize,
    own: &Table,
    interrupts: &Interrupts,
    start: Instant,
) -> anyhow::Result<()> {
    if options.out.is_some() {
        anyhow::bail!(Error::Config(
            "--out cannot be combined with --folds: cross-validation saves no model; train without --folds to save one"
                .to_owned()
        ));
    }
    let training = &options.training;
    let OpenData { reader, validation, settings, info, notice, doubts, .. } =
        DataPaths::from_options(options)?.open(options, own, None)?;
    let of_columns = [left_out(reader.left_out()), reader.table_notices().to_vec()].concat();
    as_text(reader.numbers_as_text()).iter().for_each(|warning| warn(warning));
    let (preset, weight) = (settings.preset_for(&info), training.columns.weight.as_deref());
    let in_fold = |index: usize| move |error: anyhow::Error| in_fold(error, weight, index, count);
    let mut rows = CrossValidation { reader, validation, settings, info, count };
    // Other folds take about as long.
    let first = rows.fold(0).map_err(|error| in_fold(0)(error.into()))?;
    let is_short = first.config.is_short(&first.data)?;
    let (device, mut notices) = options.kernels.device(training, options.verbose, false, is_short)?;
    notices.extend(notice);
    notices.extend(of_columns);
    let mut folds = Folds {
        options,
        own,
        preset,
        count,
        device,
        notices,
        doubts,
        table: None,
        unknown: UnknownCells::default(),
        schema: None,
    };
    let mut console = Console::new(options.quiet, 1);
    let mut results = Vec::new();
    let mut first = Some(first);
    for index in 0..count {
        interrupts.end_with(format!("interrupted in fold {} of {count}; no model is saved", index + 1));
        let mut train = || {
            let fold = first.take().map_or_else(|| rows.fold(index), Ok)?;
            folds.fold(fold, &mut console)
        };
        let result = train().map_err(in_fold(index))?;
        folds.tell(&result, &mut console)?;
        results.push(result);
    }
    if folds.unknown.count() > 0 {
        let schema = folds.schema.as_ref();
        unknown_cells(&folds.unknown, schema, "the held-out rows of the folds")
            .iter()
            .for_each(|line| warn(line));
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

/// Adds the fold to an error of the library, except to errors of settings, which are the same in every fold.
fn in_fold(error: anyhow::Error, weight: Option<&str>, index: usize, count: usize) -> anyhow::Error {
    match error.downcast_ref::<Error>() {
        Some(cause) if cause.exit_code() == 3 => {
            let text = format!("{error}{} (fold {} of {count})", weights_hint(cause, weight), index + 1);
            error.context(text)
        }
        _ => error,
    }
}

/// State of the cross-validation.
struct Folds<'a> {
    options: &'a Options,
    /// Options on the command line.
    own: &'a Table,
    /// Source of defaults.
    preset: Preset,
    count: usize,
    device: Device,
    /// Notices to print when training begins.
    notices: Vec<String>,
    /// Warnings to print before the notices.
    doubts: Vec<String>,
    /// The table of folds, after its header is printed.
    table: Option<FoldTable>,
    /// Cells of held-out rows with values that no training row contains.
    unknown: UnknownCells,
    /// Columns, if the data are a table.
    schema: Option<Schema>,
}

impl Folds<'_> {
    /// Prints the notices about all rows, once.
    fn look_at(&self, data: &TrainingData, console: &Console) -> Result<()> {
        [mixed_column_lines(data.mixed_columns()), odd_labels(data.odd_labels())]
            .concat()
            .iter()
            .for_each(|warning| console.warn(warning));
        column_lines(&self.options.training, data)?.iter().for_each(|line| console.notice(line));
        Ok(())
    }

    fn fold(&mut self, fold: FoldRun, console: &mut Console) -> anyhow::Result<FoldResult> {
        let index = fold.index;
        if index == 0 {
            refuse_unused_rate(self.own, &fold.config, &fold.data)?;
            self.look_at(&fold.data, console)?;
            self.schema = fold.data.data_schema().schema;
        }
        console.progress().begin(index, self.count, fold.config.epochs);
        let (device, config) = (self.device.clone(), fold.config.clone());
        let result = fold.train(&device, &mut |event| self.take(event, &config, console));
        console.progress().bar.clear();
        Ok(result?)
    }

    fn take(&mut self, event: Event, config: &Config, console: &mut Console) -> Result<()> {
        match event {
            Event::Progress { epoch, rows, total, score } => {
                console.progress().update(epoch, rows, total, score.loss, accuracy(Some(&score), config));
            }
            Event::Unknown { cells, .. } => self.unknown.extend(&cells),
            Event::OneClass { set, class } => {
                console.warn(&one_class(&class, &format!("the {set} rows of a fold")));
            }
            Event::Started(started) if self.table.is_none() => self.begin(&started, config, console)?,
            Event::Started(_) | Event::Epoch { .. } | Event::Interrupted { .. } => {}
        }
        Ok(())
    }

    /// Prints what all folds have in common, and the header of the table.
    fn begin(&mut self, started: &Started, config: &Config, console: &Console) -> Result<()> {
        self.doubts.drain(..).for_each(|doubt| console.warn(&doubt));
        self.notices.drain(..).for_each(|notice| console.notice(&notice));
        let table = FoldTable::new(config.loss);
        if self.options.format == Format::Text && !self.options.quiet {
            let settings = &self.options.training.settings;
            let [data, network, plan] = started_lines(started, config, settings, self.preset);
            console.line(&format!("fold 1 of {}: {data}", self.count))?;
            console.line(&network)?;
            console.line(&plan)?;
            console.line(&table.header())?;
        }
        self.table = Some(table);
        Ok(())
    }

    /// Prints the result of a fold.
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

/// A measure of a fold: name, format, and position.
struct Column {
    name: &'static str,
    show: fn(f64) -> String,
    of: fn(&Score) -> Option<f64>,
}

const OF_CLASSES: [Column; 4] = [
    Column { name: "accuracy", show: percent, of: |score| Some(score.accuracy) },
    Column { name: "balanced", show: percent, of: |score| Some(score.classes?.balanced_accuracy) },
    Column { name: "log loss", show: loss, of: |score| Some(score.classes?.log_loss) },
    Column { name: "AUC", show: loss, of: |score| score.classes?.auc },
];

const OF_VALUES: [Column; 4] = [
    Column { name: "loss", show: loss, of: |score| Some(score.loss) },
    Column { name: "RMSE", show: loss, of: |score| single(score).map(|values| values[0]) },
    Column { name: "MAE", show: loss, of: |score| single(score).map(|values| values[1]) },
    Column {
        name: "R2",
        show: loss,
        of: |score| score.values.as_ref().map(|values| values.r2).filter(|r2| r2.is_finite()),
    },
];

/// Returns RMSE and MAE if there is a single target, since several targets have different units.
fn single(score: &Score) -> Option<[f64; 2]> {
    let values = score.values.as_ref().filter(|values| values.targets.len() == 1)?;
    Some([values.rmse, values.mae])
}

fn columns(of_classes: bool) -> &'static [Column] {
    if of_classes { &OF_CLASSES } else { &OF_VALUES }
}

/// The table of folds, printed line by line. No line is longer than 80 characters.
struct FoldTable {
    columns: &'static [Column],
}

impl FoldTable {
    /// Creates the table for networks with this loss.
    fn new(loss: Loss) -> Self {
        Self { columns: columns(loss.classifies()) }
    }

    /// Returns the names of the columns.
    fn header(&self) -> String {
        let names = self.columns.iter().map(|column| column.name.to_owned());
        row(["fold", "rows", "tested", "epoch"].map(String::from), names, "seconds")
    }

    /// Returns the line of a fold.
    fn line(&self, result: &FoldResult) -> String {
        let FoldResult { index, rows: [rows, tested], epochs: [_, kept], test, duration, .. } = result;
        let figures = self.columns.iter().map(|column| shown((column.of)(test), column.show));
        let numbers = [index + 1, *rows, *tested, *kept].map(|number| number.to_string());
        row(numbers, figures, &number(duration.as_secs_f64(), 2))
    }

    /// Returns mean and deviation of all folds.
    fn ends(&self, results: &[FoldResult]) -> Vec<String> {
        let both: Vec<_> = self.columns.iter().map(|column| (column, spread(results, column.of))).collect();
        let line = |name: &str, of: fn([f64; 2]) -> f64| {
            let figures = both.iter().map(|(column, spread)| shown(spread.map(of), column.show));
            row([name, "", "", ""].map(String::from), figures, "")
        };
        vec![line("mean", |[mean, _]| mean), line("dev.", |[_, deviation]| deviation)]
    }
}

fn shown(value: Option<f64>, show: fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

fn row(numbers: [String; 4], figures: impl Iterator<Item = String>, seconds: &str) -> String {
    let [fold, rows, tested, epoch] = numbers;
    let figures: String = figures.map(|figure| format!(" {figure:>10}")).collect();
    format!("{fold:>4} {rows:>8} {tested:>7} {epoch:>5}{figures} {seconds:>8}").trim_end().to_owned()
}

/// Returns mean and (sample) standard deviation over the folds, or `None` if a fold lacks the measure.
fn spread(results: &[FoldResult], of: impl Fn(&Score) -> Option<f64>) -> Option<[f64; 2]> {
    let values = results.iter().map(|result| of(&result.test)).collect::<Option<Vec<f64>>>()?;
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some([mean, (squares / (count - 1.0)).sqrt()])
}

/// Returns the result for people, with the most informative measure first.
fn summary_line(results: &[FoldResult], duration: Option<Duration>) -> String {
    let of_classes = results.iter().all(|result| result.test.values.is_none());
    let columns = columns(of_classes);
    let column = if of_classes { &columns[0] } else { &columns[3] };
    let figures = match spread(results, column.of) {
        Some([mean, deviation]) => {
            format!("test {} {} ± {}", column.name, (column.show)(mean), (column.show)(deviation))
        }
        None => format!("no {}", column.name),
    };
    let time = duration.map_or_else(String::new, |duration| {
        format!(" in {}; no model is saved; train without --folds to save one", seconds(duration))
    });
    format!("{figures} over {} folds{time}", results.len())
}

/// Returns the fields of a fold for JSON.
fn fold_fields(result: &FoldResult, count: usize) -> Vec<(&'static str, Value)> {
    let FoldResult { index, rows: [rows, tested], epochs: [epochs, kept], .. } = result;
    let mut fields = vec![
        ("event", "fold".into()),
        ("fold", (index + 1).into()),
        ("folds", count.into()),
        ("rows", (*rows).into()),
        ("test_rows", (*tested).into()),
        ("epochs", (*epochs).into()),
        ("kept_epoch", (*kept).into()),
    ];
    fields.extend(score_fields(VALIDATION, result.validation.as_ref()));
    fields.extend(score_fields(TEST, Some(&result.test)));
    fields.extend(by_target(Some(&result.test)));
    fields.extend([
        ("seconds", result.duration.as_secs_f64().into()),
        ("warning", result.warning.clone().into()),
    ]);
    fields
}

/// Returns the fields of all folds for JSON: mean and deviation of every measure that all folds have.
fn summary_fields(results: &[FoldResult], duration: Duration) -> Vec<(&'static str, Value)> {
    let (mut means, mut deviations) = (Map::new(), Map::new());
    for (place, name) in TEST.into_iter().enumerate() {
        let of = |score: &Score| score_fields(TEST, Some(score))[place].1.as_f64();
        let [mean, deviation] = match spread(results, of) {
            Some(both) => both.map(Value::from),
            None => [Value::Null, Value::Null],
        };
        means.insert(name.to_owned(), mean);
        deviations.insert(name.to_owned(), deviation);
    }
    vec![
        ("event", "summary".into()),
        ("folds", results.len().into()),
        ("mean", Value::Object(means)),
        ("deviation", Value::Object(deviations)),
        ("seconds", duration.as_secs_f64().into()),
        ("model", Value::Null),
    ]
}
