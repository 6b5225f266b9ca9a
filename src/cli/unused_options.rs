//! Options of a command line that would change nothing of what is trained on such data.

use tinytrain::settings::text::text_of;
use tinytrain::train::{Config, TrainingData};
use tinytrain::{Error, Result};
use toml::Table;

use super::opened::Opened;
use super::train_options::Options;

/// Options that only a table to train on has a use for.
const OF_TABLES: [&str; 9] = [
    "weight",
    "fold-labels",
    "drop-missing-target",
    "exclude",
    "only",
    "categorical",
    "one-hot",
    "group",
    "time",
];
/// Options that a table to validate or to test on has a use for, too.
const OF_ALL_TABLES: [&str; 7] =
    ["target", "header", "delimiter", "decimal", "row-limit", "missing-marker", "missing"];

/// Refuses a learning rate of embeddings where no input has one, which the categories of all rows tell: few are one-hot.
///
/// # Errors
/// As [`refuse_unused`].
pub fn refuse_unused_rate(given: &Table, config: &Config, data: &TrainingData) -> Result<()> {
    let is_given = given.contains_key("lr-embeddings");
    if !is_given || config.data.inputs.embeds(data.transform()) {
        return Ok(());
    }
    let text = "--lr-embeddings: expected columns with embeddings, found none: no column has more categories than --one-hot allows";
    Err(Error::Config(text.to_owned()))
}

/// Refuses the first option that has no effect on these data. `given` are those of the command line: what a preset or a file of
/// settings says may go without an effect.
///
/// # Errors
/// [`Error::Config`], in one line that names the option and what it needs.
pub fn refuse_unused(given: &Table, options: &Options, opened: &Opened) -> Result<()> {
    let value = |option: &str| given.get(option).map(text_of);
    let unused = |is_unused: bool, setting: &'static str, expected: &str, found: &str| {
        let (expected, found) = (expected.to_owned(), found.to_owned());
        let is_wrong = is_unused && given.contains_key(setting);
        if is_wrong { Err(Error::Setting { setting, expected, found }) } else { Ok(()) }
    };
    let Opened { reader, validation, test, info, .. } = opened;
    let of_classes = reader.values() == 0;
    let measures = validation.is_some() || test.is_some() || options.divides();
    let expected = "validation or test data to measure it over";
    unused(of_classes && !measures, "auc-by-epoch", expected, "none")?;
    let inputs = options.training.settings.resolve(info)?.data.inputs;
    unused(!inputs.scaled, "lr-scale", "--learn-scale beside it", "inputs without factors")?;
    let categories = reader.schema().map(|schema| schema.categories.len());
    let found = match categories {
        None => "images, without --embeddings",
        _ => "only numbers, without --embeddings",
    };
    let embeds = inputs.periodic || categories.is_some_and(|count| count > 0);
    unused(!embeds, "lr-embeddings", "columns with embeddings", found)?;
    for option in ["image-size", "colour"] {
        let is_dir = reader.name().is_dir();
        unused(!is_dir, option, "PNG images in folders, one for each class", "other data")?;
    }
    let Some(schema) = reader.schema() else {
        let has_others = options.validation.is_some() || options.test.is_some();
        let others = if has_others { &[][..] } else { &OF_ALL_TABLES };
        for option in OF_TABLES.iter().chain(others) {
            unused(true, option, "a table", "images, which have no columns")?;
        }
        let is_regression = value("task").as_deref() == Some("regression");
        return unused(is_regression, "task", "a table for regression", "images, which have labels");
    };
    unused(of_classes, "scale-target", "values to predict", "classes")?;
    unused(!of_classes, "fold-labels", "labels", "values to predict")?;
    unused(schema.categories.is_empty(), "one-hot", "a column of categories", "only numbers")?;
    let is_text = schema.categories.len() == schema.inputs.len();
    for option in ["embeddings", "scale", "clip"] {
        let is_idle = ["none", "auto"].contains(&value(option).unwrap_or_default().as_str());
        unused(is_text && !is_idle, option, "a column of numbers", "only categories")?;
    }
    Ok(())
}
