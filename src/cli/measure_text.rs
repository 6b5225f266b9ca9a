//! Measures of predictions, for people and for machines.

use serde_json::{Value, json};
use tinytrain::train::{Measure, ValueErrors};

use super::text::{Align, loss, percent, table};

/// A measure over all targets; NaN where it is no number, as the AUC of rows of one class.
pub fn number_of(measured: &[Measure], name: &str) -> f64 {
    let found = measured.iter().find(|measure| measure.name == name && measure.target.is_none());
    found.map_or(f64::NAN, |measure| measure.value)
}

/// The same for a machine.
pub fn value_of(measured: &[Measure], name: &str) -> Value {
    number_of(measured, name).into()
}

/// The intervals of the measures over all targets, by their names.
pub fn intervals(measured: &[Measure]) -> Value {
    of_target(measured, None)
}

/// The same of each of so many targets. Those of a single one are those of all.
pub fn intervals_by_target(measured: &[Measure], targets: usize) -> Value {
    let target = |target| if targets == 1 { None } else { Some(target) };
    (0..targets).map(|index| of_target(measured, target(index))).collect()
}

fn of_target(measured: &[Measure], target: Option<usize>) -> Value {
    let measures = measured.iter().filter(|measure| measure.target == target);
    Value::Object(measures.map(|measure| (measure.name.to_owned(), json!(measure.interval))).collect())
}

/// Measures over all targets for people, with their intervals.
pub fn measure_table(measured: &[Measure]) -> Vec<String> {
    table(&measure_rows(measured), &MEASURE_ALIGN)
}

/// To which sides the columns of measures lean.
pub const MEASURE_ALIGN: [Align; 3] = [Align::Left, Align::Right, Align::Left];
/// The same where targets stand before them.
pub const TARGET_ALIGN: [Align; 4] = [Align::Left, Align::Left, Align::Right, Align::Left];

/// The rows of that table, the header first.
pub fn measure_rows(measured: &[Measure]) -> Vec<Vec<String>> {
    let mut rows = vec![["measure", "value", "95 % interval"].map(String::from).to_vec()];
    let all = measured.iter().filter(|measure| measure.target.is_none() && measure.value.is_finite());
    rows.extend(all.map(|measure| row(measure).to_vec()));
    rows
}

/// The same of each target. RMSE and MAE over all are left out: targets have units of their own.
pub fn target_table(measured: &[Measure], names: &[String]) -> Vec<String> {
    table(&target_rows(measured, names), &TARGET_ALIGN)
}

/// The rows of that table, the header first.
pub fn target_rows(measured: &[Measure], names: &[String]) -> Vec<Vec<String>> {
    let mut rows = vec![["target", "measure", "value", "95 % interval"].map(String::from).to_vec()];
    rows.extend(measured.iter().filter(|measure| measure.value.is_finite()).filter_map(|measure| {
        let target = match measure.target {
            Some(target) => names.get(target)?.clone(),
            None if measure.name == "r2" => "mean of all".to_owned(),
            None => return None,
        };
        Some([&[target][..], &row(measure)].concat())
    }));
    rows
}

fn row(measure: &Measure) -> [String; 3] {
    let name = match measure.name {
        "balanced_accuracy" => "balanced accuracy".to_owned(),
        "macro_f1" => "F1, mean of the classes".to_owned(),
        "log_loss" => "log loss".to_owned(),
        "accuracy" => "accuracy".to_owned(),
        name => name.to_uppercase(),
    };
    let shown = |value: f64| match measure.name {
        "accuracy" | "balanced_accuracy" | "macro_f1" => percent(value),
        _ => loss(value),
    };
    let [low, high] = measure.interval.map(shown);
    [name, shown(measure.value), format!("{low} to {high}")]
}

/// Errors for people: RMSE and MAE of a single target, R2 where there is one.
pub fn errors_text(errors: &ValueErrors) -> String {
    let ValueErrors { loss: mean_loss, rmse, mae, r2, targets } = errors;
    match targets.len() {
        1 if r2.is_nan() => format!("RMSE {}, MAE {}", loss(*rmse), loss(*mae)),
        1 => format!("RMSE {}, MAE {}, R2 {r2:.4}", loss(*rmse), loss(*mae)),
        _ if r2.is_nan() => format!("loss {}", loss(*mean_loss)),
        count => format!("R2 {r2:.4} (mean of {count} targets)"),
    }
}
