//! Measures of predictions, for people and for machines.

use serde_json::{Value, json};
use tinytrain::train::Measure;

use super::text::{Align, loss, percent, table};

/// A measure for a machine; nothing where it is no number, as the AUC of rows of one class.
pub fn value_of(measured: &[Measure], name: &str) -> Value {
    measured.iter().find(|measure| measure.name == name).map(|measure| measure.value).into()
}

/// The intervals of all measures by their names.
pub fn intervals(measured: &[Measure]) -> Value {
    Value::Object(measured.iter().map(|measure| (measure.name.to_owned(), json!(measure.interval))).collect())
}

/// Measures for people, with their intervals.
pub fn measure_table(measured: &[Measure]) -> Vec<String> {
    let mut rows = vec![["measure", "value", "95 % interval"].map(String::from).to_vec()];
    rows.extend(measured.iter().filter(|measure| measure.value.is_finite()).map(|measure| {
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
        vec![name, shown(measure.value), format!("{low} to {high}")]
    }));
    table(&rows, &[Align::Left, Align::Right, Align::Left])
}
