//! Text output of `tinytrain train`: length of the training, the table of epochs, and the result.

use std::time::Duration;

use crate::engine::{Description, EngineKind};
use crate::model::Model;
use crate::runs::figures::{TEST, VALIDATION, by_target, score_fields};
use crate::schedule::SelectedPlan;
use crate::settings::{Preset, TrainSettings};
use crate::step::{Loss, OptimizerKind, RateSchedule};
use crate::train::{Config, End, Epoch, Metric, Score, Started, Summary, TargetErrors};
use serde_json::Value;

use super::config_file::{table, words};
use super::data_text::data_line;
use crate::report::evaluation::errors_text;
use crate::report::text::{counted, grouped, loss, percent, rate, seconds};

/// Maximum number of lines of the table of epochs, except the first and the last.
const MOST_LINES: usize = 50;

/// Returns the lines printed at the start.
pub fn started_lines(
    started: &Started,
    config: &Config,
    settings: &TrainSettings,
    preset: Preset,
) -> [String; 3] {
    let Started { engine, network, transform, data_schema, rows, .. } = started;
    let parameters = grouped(network.parameter_count() as u64);
    let Config { epochs, batch_size, learning_rate, optimizer, rate_schedule, .. } = config;
    let epochs = counted(*epochs as u64, "epoch", "epochs");
    let steps = rows.map_or_else(String::new, |rows| {
        format!(" of {}", counted(rows.div_ceil(*batch_size) as u64, "step", "steps"))
    });
    let batch = counted(*batch_size as u64, "row", "rows");
    let by_rows = match (preset, settings.epochs, settings.batch_size) {
        (Preset::Table, ..) => " (--preset table)",
        (Preset::Digits, ..) => " (--preset digits)",
        (_, None, None) => " (chosen for this table size)",
        (_, None, Some(_)) => " (epochs chosen for this table size)",
        (_, Some(_), None) => " (batch size chosen for this table size)",
        (_, Some(_), Some(_)) => "",
    };
    let optimizer = match optimizer.kind {
        OptimizerKind::Sgd => String::new(),
        kind => format!("{kind}, "),
    };
    let schedule = match rate_schedule {
        RateSchedule::Constant => String::new(),
        schedule => format!(" ({schedule})"),
    };
    [
        data_line(transform, data_schema, *rows),
        format!("{network} network, {parameters} parameters, on {}", engine.device),
        format!(
            "{epochs}{steps}, batches of {batch}{by_rows}, {optimizer}learning rate {learning_rate}{schedule}"
        ),
    ]
}

/// The table of epochs, printed line by line, so that it cannot adapt to its widest cell. No line is longer
/// than 80 characters.
pub struct Table {
    validates: bool,
    tests: bool,
    /// Number of epochs of the whole run.
    epochs: usize,
    loss: Loss,
    /// The metric that chooses the best epoch, printed instead of the validation loss.
    metric: Option<Metric>,
}

impl Table {
    /// Creates a table with columns for validation rows and test rows, if there are any.
    pub fn new(validates: bool, tests: bool, &Config { epochs, loss, metric, .. }: &Config) -> Self {
        let metric = metric.filter(|metric| *metric != Metric::Accuracy);
        Self { validates, tests, epochs, loss, metric }
    }

    /// Returns whether the table has a line for an epoch: the first, the last, and a limited number in
    /// between.
    pub fn shows(&self, epoch: usize) -> bool {
        epoch == 1 || epoch == self.epochs || epoch.is_multiple_of(self.epochs.div_ceil(MOST_LINES))
    }

    /// Returns the names of the columns.
    pub fn header(&self) -> String {
        let classifies = self.loss.classifies();
        let validation = match (self.validates, classifies) {
            (true, true) => ["val loss", "val acc"],
            (true, false) => ["val loss", "val R2"],
            (false, _) => ["", ""],
        };
        let [loss, accuracy] = validation;
        let loss = match self.metric {
            Some(Metric::BalancedAccuracy) => "val bacc",
            Some(Metric::F1) => "val F1",
            Some(Metric::Auc) => "val AUC",
            Some(Metric::AveragePrecision) => "val AP",
            Some(Metric::Rmse) => "val RMSE",
            Some(Metric::Mae) => "val MAE",
            None | Some(Metric::LogLoss | Metric::Accuracy | Metric::R2) => loss,
        };
        self.columns([
            "epoch",
            "train loss",
            if self.loss.of_classes() { "train acc" } else { "" },
            loss,
            accuracy,
            "test loss",
            if classifies { "test acc" } else { "test R2" },
            "rows/s",
        ])
    }

    /// Returns the line of an epoch, with a star after an epoch whose validation score is the best so far.
    pub fn line(&self, epoch: &Epoch, is_kept: bool) -> String {
        let cell = |score: &Option<Score>, text: fn(&Score) -> String| {
            score.as_ref().map_or_else(|| "-".to_owned(), text)
        };
        let of_loss: fn(&Score) -> String = |score| loss(score.loss);
        let of_metric: fn(&Score) -> String =
            |score| loss(score.chosen.map_or(score.loss, |chosen| chosen.value));
        let of_accuracy: fn(&Score) -> String = |score| match &score.values {
            Some(values) if values.r2.is_nan() => "-".to_owned(),
            Some(values) => loss(values.r2),
            None => percent(score.accuracy),
        };
        let star = if self.validates && is_kept { "*" } else { "" };
        self.columns([
            &epoch.epoch.to_string(),
            &loss(epoch.train.loss),
            &if self.loss.of_classes() { percent(epoch.train.accuracy) } else { String::new() },
            &cell(&epoch.validation, if self.metric.is_some() { of_metric } else { of_loss }),
            &(cell(&epoch.validation, of_accuracy) + star),
            &cell(&epoch.test, of_loss),
            &cell(&epoch.test, of_accuracy),
            &rate(epoch.samples_per_second()),
        ])
    }

    fn columns(&self, cells: [&str; 8]) -> String {
        let [epoch, train_loss, train, val_loss, val, test_loss, test, speed] = cells;
        let mut line = format!("{epoch:>5}  {train_loss:>10}");
        if self.loss.of_classes() {
            line += &format!("  {train:>9}");
        }
        if self.validates {
            line += &format!("  {val_loss:>8}  {val:>9}");
        }
        if self.tests {
            line += &format!("  {test_loss:>9}  {test:>9}");
        }
        line + &format!("  {speed:>11}")
    }
}

/// Returns the training accuracy, if targets are classes.
pub fn accuracy(score: Option<&Score>, config: &Config) -> Option<f64> {
    score.map(|score| score.accuracy).filter(|_| config.loss.of_classes())
}

/// Returns the measures of the kept model's predicted values: a line, and one more for each of several
/// targets.
fn value_figures(epoch: &Epoch, names: &[String]) -> (String, Vec<String>) {
    let (set, score) = match (&epoch.test, &epoch.validation) {
        (Some(test), _) => ("test", test),
        (None, Some(validation)) => ("validation", validation),
        (None, None) => return (format!("train loss {}", loss(epoch.train.loss)), Vec::new()),
    };
    let Some(errors) = &score.values else { return (set.to_owned(), Vec::new()) };
    let line = format!("{set} {}", errors_text(errors));
    let target = |(name, target): (&String, &TargetErrors)| {
        let r2 = if target.r2.is_finite() { format!(", R2 {}", loss(target.r2)) } else { String::new() };
        format!("{name}: {set} RMSE {}, MAE {}{r2}", loss(target.rmse), loss(target.mae))
    };
    let targets = if errors.targets.len() > 1 { &errors.targets[..] } else { &[] };
    (line, names.iter().zip(targets).map(target).collect())
}

/// Returns settings without effect, and the details of `--verbose`.
pub fn details(started: &Started, config: &Config, preset: Preset, is_verbose: bool) -> Vec<String> {
    let Started { engine, network, transform, .. } = started;
    let Description { engine, device, schedule, dispatches, .. } = engine;
    let mut lines = Vec::new();
    if *engine == EngineKind::Gpu && config.threads.is_some() {
        lines.push("--threads has no effect on a GPU".to_owned());
    }
    if !is_verbose {
        return lines;
    }
    if preset != Preset::Plain {
        let spelled = TrainSettings::spelled(config, preset);
        let spelled = TrainSettings { preset: None, seed: None, validation_fraction: None, ..spelled };
        let options = table(&spelled).map(|spelled| words(&spelled)).unwrap_or_default();
        let options: String =
            options.iter().map(|option| format!(" {}", option.replacen('=', " ", 1))).collect();
        lines.push(format!("--preset {preset} sets{options}"));
    }
    let parameters = grouped(network.parameter_count() as u64);
    lines.push(format!("seed {}, {parameters} parameters, inputs scaled: {transform}", config.seed));
    if *engine == EngineKind::Cpu {
        let threads = config.threads.map(|threads| format!("at most {threads} (--threads)"));
        let threads = threads.unwrap_or_else(|| "one per core where that is faster".to_owned());
        lines.push(format!("{device}, {threads}"));
    }
    if let Some(SelectedPlan { kind, reason }) = schedule {
        let because = reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        lines.push(format!("a step of the {kind} schedule{because}:"));
    }
    lines.extend((1..).zip(dispatches).map(|(number, dispatch)| format!("{number:>4}. {dispatch}")));
    lines
}

/// Returns the result of a run: a line, and one more for each of several targets.
pub fn reached(summary: &Summary, loss: Loss) -> (String, Vec<String>) {
    let Some(epoch) = summary.kept_epoch() else { return ("not evaluated".to_owned(), Vec::new()) };
    if !loss.classifies() {
        let Model { data_schema, network, .. } = &summary.model;
        return value_figures(epoch, &data_schema.value_names(network));
    }
    let (set, score) = match (&epoch.test, &epoch.validation) {
        (Some(test), _) => ("test", test),
        (None, Some(validation)) => ("validation", validation),
        (None, None) if loss.of_labels() => return value_figures(epoch, &[]),
        (None, None) => ("train", &epoch.train),
    };
    (format!("{set} accuracy {}", percent(score.accuracy)), Vec::new())
}

/// Returns the end of the line with the result: the best epoch, the reason of the run's end, and its time.
pub fn end_text(summary: &Summary, [total, first]: [Duration; 2], is_verbose: bool) -> String {
    let all = summary.epochs.len();
    let epochs = match summary.kept {
        kept if kept > 0 && kept < all => format!("best epoch {kept} of {all}"),
        _ => counted(all as u64, "epoch", "epochs"),
    };
    let end = match summary.end {
        End::Patience => ", stopped early",
        End::Accuracy => ", target accuracy reached",
        End::Time if summary.steps == 1 => ", time limit reached: one step takes longer than the limit",
        End::Time => ", time limit reached",
        End::Done | End::Interrupted => "",
    };
    let has_test = summary.kept_epoch().is_none_or(|epoch| epoch.test.is_some());
    let no_test = if has_test { "" } else { ", no test data" };
    let first = if is_verbose { format!(", first batch after {}", seconds(first)) } else { String::new() };
    format!(" ({epochs}{end}{no_test}) in {}{first}", seconds(total))
}

/// Returns the result as fields of a JSON object, with the name of the model.
pub fn summary_fields<'a>(
    summary: &Summary,
    [total, first]: [Duration; 2],
    model: &str,
) -> Vec<(&'a str, Value)> {
    let kept = summary.kept_epoch();
    let test = kept.and_then(|epoch| epoch.test.as_ref());
    let mut fields = vec![
        ("event", "summary".into()),
        ("epochs", summary.epochs.len().into()),
        ("kept_epoch", summary.kept.into()),
    ];
    fields.extend(score_fields(VALIDATION, kept.and_then(|epoch| epoch.validation.as_ref())));
    fields.extend(score_fields(TEST, test));
    fields.extend(by_target(test));
    fields.extend([
        ("seconds", total.as_secs_f64().into()),
        ("first_batch_seconds", first.as_secs_f64().into()),
        ("engine", summary.engine.engine.to_string().into()),
        ("device", summary.engine.device.as_str().into()),
        ("warning", summary.warning.as_ref().map(ToString::to_string).into()),
        ("model", model.into()),
    ]);
    fields
}

/// Returns the description of a training as fields of a JSON object.
pub fn started_fields(started: &Started, config: &Config, preset: Preset) -> Vec<(&'static str, Value)> {
    let Started { engine, network, transform, data_schema, rows, .. } = started;
    let Description { engine, device, schedule, .. } = engine;
    let target = data_schema.schema.as_ref().and_then(|schema| schema.target.as_ref());
    let target = target.map(|target| match &target.name {
        Some(name) => Value::from(name.as_str()),
        None => target.position.into(),
    });
    vec![
        ("event", "start".into()),
        ("engine", engine.to_string().into()),
        ("device", device.as_str().into()),
        ("layers", network.sizes().into()),
        ("parameters", network.parameter_count().into()),
        ("scaling", transform.to_string().into()),
        ("target", target.into()),
        ("classes", data_schema.classes.names().to_vec().into()),
        ("rows", (*rows).into()),
        ("preset", preset.to_string().into()),
        ("epochs", config.epochs.into()),
        ("seed", config.seed.into()),
        ("batch_size", config.batch_size.into()),
        ("metric", config.metric.map(Metric::name).into()),
        ("optimizer", config.optimizer.kind.to_string().into()),
        // The decimal fraction that the user wrote, not the digits of its binary neighbour.
        ("learning_rate", config.learning_rate.to_string().parse::<f64>().ok().into()),
        ("schedule", schedule.as_ref().map(|schedule| schedule.kind.to_string()).into()),
    ]
}

/// Returns an epoch as fields of a JSON object.
pub fn epoch_fields(epoch: &Epoch, config: &Config, is_kept: bool) -> Vec<(&'static str, Value)> {
    let mut fields = vec![
        ("event", "epoch".into()),
        ("epoch", epoch.epoch.into()),
        ("train_loss", epoch.train.loss.into()),
        ("train_accuracy", accuracy(Some(&epoch.train), config).into()),
    ];
    fields.extend(score_fields(VALIDATION, epoch.validation.as_ref()));
    fields.extend(score_fields(TEST, epoch.test.as_ref()));
    let chosen = epoch.validation.as_ref().and_then(|score| score.chosen);
    fields.extend([
        ("validation_metric", chosen.map(|chosen| chosen.value).into()),
        ("seconds", epoch.duration.as_secs_f64().into()),
        ("samples_per_second", epoch.samples_per_second().into()),
        ("kept", is_kept.into()),
    ]);
    fields
}
