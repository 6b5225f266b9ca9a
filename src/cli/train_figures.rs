//! Figures of a run, for people and for machines, and what its model file says of the data.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use tinytrain::train::{Config, Epoch, Score, TrainingData, ValueErrors};

use super::places::MNIST;
use super::text::loss;
use super::train_options::Options;

/// The accuracy, where targets are classes.
pub fn accuracy(score: Option<Score>, config: &Config) -> Option<f64> {
    score.map(|score| score.accuracy).filter(|_| config.loss.of_classes())
}

/// A measure of predicted values, where there is one.
pub fn measure(score: Option<Score>, of: fn(&ValueErrors) -> f64) -> Value {
    score.and_then(|score| score.values).map(|values| of(&values)).into()
}

/// The measures of predicted values of the model that was kept, for people.
pub fn value_figures(test: Option<Score>, validation: Option<Score>, kept: Option<&Epoch>) -> String {
    let figures = |name: &str, score: Option<Score>| {
        let ValueErrors { rmse, mae, r2, .. } = score?.values?;
        Some(format!("{name} RMSE {}, MAE {}, R2 {r2:.4}", loss(rmse), loss(mae)))
    };
    let validation = || figures("validation", validation).map(|text| text + " (no test data)");
    let train = || kept.map(|epoch| format!("train loss {} (no test data)", loss(epoch.train.loss)));
    figures("test", test).or_else(validation).or_else(train).unwrap_or_else(|| "no epoch".to_owned())
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
    if let Some(test) = &options.held_out.test {
        match named(Some(test)) {
            Some(name) => settings.insert("test_data".to_owned(), name),
            None => settings.insert("unnamed_test_data".to_owned(), "true".to_owned()),
        };
    }
    let columns = [("group", &options.held_out.group), ("time", &options.held_out.time)];
    settings.extend(columns.into_iter().filter_map(|(key, column)| Some((key.to_owned(), column.clone()?))));
    settings.extend(data.file_rows().map(|rows| ("rows".to_owned(), rows.to_string())));
    settings
}

/// The decimal fraction that the user wrote, not the digits of its binary neighbour.
pub fn decimal(value: f32) -> Value {
    value.to_string().parse::<f64>().ok().into()
}
