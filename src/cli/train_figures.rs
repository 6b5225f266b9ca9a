//! Figures of a run, for people and for machines, and what its model file says of the data.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use tinytrain::model::Meaning;
use tinytrain::train::{Config, Epoch, Score, TargetErrors, TrainingData};

use super::measure_text::errors_text;
use super::text::loss;
use super::train_options::Options;
use tinytrain::data::places::MNIST;

/// The accuracy, where targets are classes.
pub fn accuracy(score: Option<&Score>, config: &Config) -> Option<f64> {
    score.map(|score| score.accuracy).filter(|_| config.loss.of_classes())
}

/// The measures of predicted values of the model that was kept, for people: a line, and one more for each of several targets.
pub fn value_figures(kept: Option<&Epoch>, names: &[String]) -> (String, Vec<String>) {
    let Some(epoch) = kept else { return ("no epoch".to_owned(), Vec::new()) };
    let (set, score, note) = match (&epoch.test, &epoch.validation) {
        (Some(test), _) => ("test", test, ""),
        (None, Some(validation)) => ("validation", validation, " (no test data)"),
        (None, None) => return (format!("train loss {} (no test data)", loss(epoch.train.loss)), Vec::new()),
    };
    let Some(errors) = &score.values else { return (set.to_owned(), Vec::new()) };
    let line = format!("{set} {}{note}", errors_text(errors));
    let target = |(name, target): (&String, &TargetErrors)| {
        let r2 = if target.r2.is_finite() { format!(", R2 {:.4}", target.r2) } else { String::new() };
        format!("{name}: {set} RMSE {}, MAE {}{r2}", loss(target.rmse), loss(target.mae))
    };
    let targets = if names.len() > 1 { &errors.targets[..] } else { &[] };
    (line, names.iter().zip(targets).map(target).collect())
}

/// The names of the values that a network predicts: of their columns, or numbers.
pub fn value_names(meaning: &Meaning, outputs: usize) -> Vec<String> {
    let columns = meaning.schema.as_ref().map_or(&[][..], |schema| &schema.values);
    let name = |index: usize| columns.get(index).and_then(|column| column.name.clone());
    (0..outputs).map(|index| name(index).unwrap_or_else(|| format!("value{index}"))).collect()
}

/// Where the rows come from, as far as a model file can tell: names that are text, of files that can be read again.
pub fn settings(options: &Options, data: &TrainingData) -> BTreeMap<String, String> {
    let named = |path: Option<&PathBuf>| {
        let name = path.map_or(Some(MNIST), |path| path.to_str());
        name.filter(|name| *name != "-").map(str::to_owned)
    };
    let mut settings = BTreeMap::new();
    match &options.training.data[..] {
        files @ [_, _, ..] => {
            let names = files.iter().map(|file| file.to_str()).collect::<Option<Vec<&str>>>();
            settings.extend(names.map(|names| ("data_parts".to_owned(), Value::from(names).to_string())));
        }
        files => settings.extend(named(files.first()).map(|name| ("data".to_owned(), name))),
    }
    if let Some(test) = &options.test {
        match named(Some(test)) {
            Some(name) => settings.insert("test_data".to_owned(), name),
            None => settings.insert("unnamed_test_data".to_owned(), "true".to_owned()),
        };
    }
    let columns = [("group", &options.group), ("time", &options.time)];
    settings.extend(columns.into_iter().filter_map(|(key, column)| Some((key.to_owned(), column.clone()?))));
    settings.extend(data.file_rows().map(|rows| ("rows".to_owned(), rows.to_string())));
    settings
}

/// The decimal fraction that the user wrote, not the digits of its binary neighbour.
pub fn decimal(value: f32) -> Value {
    value.to_string().parse::<f64>().ok().into()
}
