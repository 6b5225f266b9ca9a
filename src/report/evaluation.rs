//! Results of `tinytrain eval` for classes and for values.

use crate::data::{Classes, Dataset};
use crate::model::Model;
use crate::train::{ClassFigures, Evaluated, Measure, ValueErrors, confusion};
use serde_json::{Value, json};

use super::text::{Align, Table, column_name, counted, grouped, loss, number, percent};
use crate::evaluate::EvaluationRows;

/// Maximum number of classes for a confusion matrix in text.
const TEXT_CLASSES: usize = 20;
/// Maximum number of characters of a class's name in a table.
const SHOWN_NAME: usize = 20;
/// Maximum number of classes for metrics per class in text.
const TABLE_CLASSES: usize = 40;

/// Returns the evaluation of a classifier as text.
pub fn text(
    data: &Dataset,
    evaluated: &Evaluated,
    classes: &Classes,
    figures: &[ClassFigures],
    measured: &[Measure],
) -> Vec<String> {
    let mut lines = vec![
        format!(
            "loss {}, accuracy {}, balanced accuracy {}",
            loss(evaluated.score.loss),
            percent(number_of(measured, "accuracy")),
            percent(number_of(measured, "balanced_accuracy"))
        ),
        String::new(),
    ];
    lines.extend(measure_table(measured).lines());
    lines.push(String::new());
    let mut table = class_table(figures, classes, TABLE_CLASSES);
    table.align[0] = Align::Right;
    lines.extend(table.lines());
    let occurring = figures.iter().filter(|figures| figures.occurs()).count();
    if occurring > TABLE_CLASSES {
        lines.push(format!("... and {} more", grouped((occurring - TABLE_CLASSES) as u64)));
    }
    if classes.len() <= TEXT_CLASSES {
        let title = format!("confusion matrix{}: true classes down, predicted ones across", weighted(data));
        lines.extend([String::new(), title]);
        let counts = data.view().counts();
        let matrix = confusion(data.labels(), &evaluated.predictions, &counts, classes.len());
        lines.extend(matrix_table(&matrix, classes).lines());
    }
    lines
}

/// Returns the notice about row weights, if the model was trained with them.
pub fn weight_line(model: &Model, data: &Dataset) -> Option<String> {
    let name = column_name(model.data_schema.schema.as_ref()?.weight.as_ref()?);
    Some(match data.weights.is_empty() {
        true => format!("not weighted: no column {name}, which holds the weights of the training rows"),
        false => format!("weighted by column {name}"),
    })
}

/// Returns the suffix of a metric's name, if these rows are weighted.
pub fn weighted(data: &Dataset) -> &'static str {
    if data.weights.is_empty() { "" } else { ", weighted" }
}

/// Returns a class as JSON: a number if the classes count from 0, otherwise its name.
fn class_value(classes: &Classes, class: u32) -> Value {
    if classes.are_counted() { class.into() } else { classes.name(class).into() }
}

/// Returns errors as JSON. Samples are numbered by their rows in the file.
pub fn list(errors: &[u32], rows: &EvaluationRows, predictions: &[u32], classes: &Classes) -> Value {
    let object = |row: &u32| {
        let value = |of: &[u32]| class_value(classes, of[*row as usize]);
        let (class, predicted) = (value(rows.data.labels()), value(predictions));
        json!({ "sample": rows.number(*row as usize), "class": class, "predicted": predicted })
    };
    errors.iter().map(object).collect()
}

/// Returns the misclassified rows, in their order.
pub fn misclassified(labels: &[u32], predictions: &[u32]) -> Vec<u32> {
    let rows = (0..).zip(labels.iter().zip(predictions));
    rows.filter(|(_, (label, prediction))| label != prediction).map(|(row, _)| row).collect()
}

/// Returns the first `most` errors as a table.
pub fn error_table(
    errors: &[u32],
    found: &EvaluationRows,
    predictions: &[u32],
    most: usize,
    classes: &Classes,
) -> Vec<String> {
    let samples = counted(errors.len() as u64, "sample", "samples");
    let mut lines = vec![String::new(), format!("{samples} misclassified")];
    let rows = errors.iter().take(most).map(|row| {
        let at = *row as usize;
        vec![
            found.number(at).to_string(),
            shown(classes, found.data.labels()[at]),
            shown(classes, predictions[at]),
        ]
    });
    if !errors.is_empty() && most > 0 {
        lines.extend(Table::new(&[">sample", ">class", ">predicted"], rows).lines());
    }
    if errors.len() > most {
        lines.push(format!("... and {} more", grouped((errors.len() - most) as u64)));
    }
    lines
}

/// Returns the name of a class, truncated.
pub fn shown(classes: &Classes, class: u32) -> String {
    let name = classes.name(class);
    if name.chars().count() <= SHOWN_NAME {
        name.to_owned()
    } else {
        name.chars().take(SHOWN_NAME - 1).chain(['…']).collect()
    }
}

/// Returns metrics of the classes that occur, the first `most` of them.
pub fn class_table(figures: &[ClassFigures], classes: &Classes, most: usize) -> Table {
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), percent);
    let occurring = (0..).zip(figures).filter(|(_, figures)| figures.occurs());
    let rows = occurring.take(most).map(|(class, figures)| {
        let [samples, correct] = [figures.samples, figures.correct].map(count);
        let shares = [figures.precision(), figures.recall(), figures.f1()].map(share);
        [&[shown(classes, class), samples, correct][..], &shares].concat()
    });
    Table::new(&["class", ">samples", ">correct", ">precision", ">recall", ">F1"], rows)
}

/// Formats a weighted number of rows.
pub fn count(rows: f64) -> String {
    if rows.fract() == 0.0 { grouped(rows as u64) } else { number(rows, 2) }
}

/// Returns the confusion matrix under the names of the classes.
pub fn matrix_table(matrix: &[Vec<f64>], classes: &Classes) -> Table {
    let names = (0..matrix.len() as u32).map(|class| shown(classes, class));
    let row = |(name, counts): (String, &Vec<f64>)| {
        [name].into_iter().chain(counts.iter().map(|rows| count(*rows))).collect()
    };
    let rows: Vec<Vec<String>> = names.clone().zip(matrix).map(row).collect();
    Table::alike([String::new()].into_iter().chain(names).collect(), Align::Right, rows)
}

/// Returns a measure over all targets; NaN if it is undefined, as the AUC of rows of one class.
pub fn number_of(measured: &[Measure], name: &str) -> f64 {
    let found = measured.iter().find(|measure| measure.name == name && measure.target.is_none());
    found.map_or(f64::NAN, |measure| measure.value)
}

/// Returns the measure as JSON.
pub fn value_of(measured: &[Measure], name: &str) -> Value {
    number_of(measured, name).into()
}

/// Returns the confidence intervals of the measures over all targets, by name.
pub fn intervals(measured: &[Measure]) -> Value {
    of_target(measured, None, |measure| json!(measure.interval))
}

/// Returns the intervals for each of `targets` targets. A single target has the intervals of all targets.
pub fn intervals_by_target(measured: &[Measure], targets: usize) -> Value {
    by_target(measured, targets, |measure| json!(measure.interval))
}

/// Returns the values for each of `targets` targets.
pub fn values_by_target(measured: &[Measure], targets: usize) -> Value {
    by_target(measured, targets, |measure| measure.value.into())
}

fn by_target(measured: &[Measure], targets: usize, of: fn(&Measure) -> Value) -> Value {
    let target = |target| if targets == 1 { None } else { Some(target) };
    (0..targets).map(|index| of_target(measured, target(index), of)).collect()
}

fn of_target(measured: &[Measure], target: Option<usize>, of: fn(&Measure) -> Value) -> Value {
    let measures = measured.iter().filter(|measure| measure.target == target);
    Value::Object(measures.map(|measure| (measure.name.to_owned(), of(measure))).collect())
}

/// Returns measures over all targets as a table, with their intervals.
pub fn measure_table(measured: &[Measure]) -> Table {
    let all = measured.iter().filter(|measure| measure.target.is_none() && measure.value.is_finite());
    Table::new(&["measure", ">value", "95 % interval"], all.map(|measure| row(measure).to_vec()))
}

/// Returns measures of each target. Total RMSE and MAE are omitted, since targets have different units.
pub fn target_table(measured: &[Measure], names: &[String]) -> Table {
    let rows = measured.iter().filter(|measure| measure.value.is_finite()).filter_map(|measure| {
        let target = match measure.target {
            Some(target) => names.get(target)?.clone(),
            None if ["rmse", "mae"].contains(&measure.name) => return None,
            None if measure.name == "exact_match" => "all".to_owned(),
            None => "mean of all".to_owned(),
        };
        let [name, value, interval] = row(measure);
        let name = if measure.name == "macro_f1" { "F1".to_owned() } else { name };
        Some(vec![target, name, value, interval])
    });
    Table::new(&["target", "measure", ">value", "95 % interval"], rows)
}

fn row(measure: &Measure) -> [String; 3] {
    let name = match measure.name {
        "balanced_accuracy" => "balanced accuracy".to_owned(),
        "macro_f1" => "F1, mean of the classes".to_owned(),
        "average_precision" => "average precision".to_owned(),
        "log_loss" => "log loss".to_owned(),
        "accuracy" => "accuracy".to_owned(),
        "exact_match" => "labels all right".to_owned(),
        "pinball_loss" => "pinball loss".to_owned(),
        "rows_below" => "rows below".to_owned(),
        name => name.to_uppercase(),
    };
    let shown = |value: f64| match measure.name {
        "accuracy" | "balanced_accuracy" | "macro_f1" | "exact_match" | "rows_below" => percent(value),
        _ => loss(value),
    };
    let [low, high] = measure.interval.map(shown);
    [name, shown(measure.value), format!("{low} to {high}")]
}

/// Returns errors as text: RMSE and MAE of a single target, R2 if it is defined.
pub fn errors_text(errors: &ValueErrors) -> String {
    let ValueErrors { loss: mean_loss, rmse, mae, r2, targets } = errors;
    match targets.len() {
        1 if r2.is_nan() => format!("RMSE {}, MAE {}", loss(*rmse), loss(*mae)),
        1 => format!("RMSE {}, MAE {}, R2 {}", loss(*rmse), loss(*mae), loss(*r2)),
        _ if r2.is_nan() => format!("loss {}", loss(*mean_loss)),
        count => format!("R2 {} (mean of {count} targets)", loss(*r2)),
    }
}
