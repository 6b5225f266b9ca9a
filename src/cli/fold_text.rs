//! What a cross-validation says: of each fold, and of all.

use std::time::Duration;

use serde_json::{Map, Value};
use tinytrain::runs::FoldResult;
use tinytrain::step::Loss;
use tinytrain::train::Score;

use super::text::{loss, percent, seconds};
use tinytrain::runs::figures::{TEST, VALIDATION, by_target, score_fields};

/// A measure of a fold: its name for people, how it is shown, and where it stands.
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

/// RMSE and MAE where there is a single target: several have units of their own.
fn single(score: &Score) -> Option<[f64; 2]> {
    let values = score.values.as_ref().filter(|values| values.targets.len() == 1)?;
    Some([values.rmse, values.mae])
}

fn columns(of_classes: bool) -> &'static [Column] {
    if of_classes { &OF_CLASSES } else { &OF_VALUES }
}

/// The table of folds, which grows line by line. No line is longer than 80 characters.
pub struct FoldTable {
    columns: &'static [Column],
}

impl FoldTable {
    /// That of networks with this loss.
    pub fn new(loss: Loss) -> Self {
        Self { columns: columns(loss.of_classes()) }
    }

    /// The names of the columns.
    pub fn header(&self) -> String {
        let names = self.columns.iter().map(|column| column.name.to_owned());
        row(["fold", "rows", "tested", "epoch"].map(String::from), names, "seconds")
    }

    /// What a fold gave.
    pub fn line(&self, result: &FoldResult) -> String {
        let FoldResult { index, rows: [rows, tested], epochs: [_, kept], test, duration, .. } = result;
        let figures = self.columns.iter().map(|column| shown((column.of)(test), column.show));
        let numbers = [index + 1, *rows, *tested, *kept].map(|number| number.to_string());
        row(numbers, figures, &format!("{:.2}", duration.as_secs_f64()))
    }

    /// Mean and deviation of all folds.
    pub fn ends(&self, results: &[FoldResult]) -> Vec<String> {
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

/// Mean and standard deviation (of a sample) over the folds; nothing where a fold lacks the measure.
fn spread(results: &[FoldResult], of: impl Fn(&Score) -> Option<f64>) -> Option<[f64; 2]> {
    let values = results.iter().map(|result| of(&result.test)).collect::<Option<Vec<f64>>>()?;
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some([mean, (squares / (count - 1.0)).sqrt()])
}

/// The result for people: the first measure that tells most.
pub fn summary_line(results: &[FoldResult], duration: Option<Duration>) -> String {
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
        format!(" in {}; no model is saved: train without --folds for one", seconds(duration))
    });
    format!("{figures} over {} folds{time}", results.len())
}

/// A fold for a machine.
pub fn fold_fields(result: &FoldResult, count: usize) -> Vec<(&'static str, Value)> {
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

/// All folds for a machine: of every measure that all folds have, mean and deviation.
pub fn summary_fields(results: &[FoldResult], duration: Duration) -> Vec<(&'static str, Value)> {
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
