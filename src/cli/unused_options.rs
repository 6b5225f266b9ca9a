//! Options of a command line that would change nothing of what is trained on such data.

use tinytrain::schedule::Measurements;
use tinytrain::train::{Config, TrainingData};
use tinytrain::{Error, Result};

use super::given::Given;
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
pub fn refuse_unused_rate(given: &Given, config: &Config, data: &TrainingData) -> Result<()> {
    let is_given = given.iter().any(|(name, _)| name == "lr-embeddings");
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
pub fn refuse_unused(given: &Given, options: &Options, opened: &Opened) -> Result<()> {
    let value = |option: &str| {
        let found = given.iter().find(|(name, _)| name == option);
        found.map(|(_, values)| values.first().map_or("", String::as_str))
    };
    let unused = |option: &str, expected: &str, found: &str| {
        Err(Error::Config(format!("--{option}: expected {expected}, found {found}")))
    };
    let is_divided = !options.held_out.split(0).is_none() || options.folds.is_some();
    let of_classes = opened.reader.values() == 0;
    if value("auc-by-epoch").is_some()
        && of_classes
        && opened.validation.is_none()
        && opened.test.is_none()
        && !is_divided
    {
        return unused("auc-by-epoch", "validation or test data to measure it over", "none");
    }
    let inputs = options.config(opened.known, Measurements::default()).data.inputs;
    if value("lr-scale").is_some() && !inputs.scaled {
        return unused("lr-scale", "--learn-scale beside it", "inputs without factors");
    }
    if value("lr-embeddings").is_some() && !inputs.periodic {
        let found = match opened.reader.schema() {
            None => "images, without --embeddings",
            Some(schema) if schema.categories.is_empty() => "only numbers, without --embeddings",
            Some(_) => "",
        };
        if !found.is_empty() {
            return unused("lr-embeddings", "columns with embeddings", found);
        }
    }
    if let Some(option) = ["image-size", "colour"].into_iter().find(|option| value(option).is_some())
        && !opened.reader.name().is_dir()
    {
        return unused(option, "PNG images in folders, one for each class", "other data");
    }
    let Some(schema) = opened.reader.schema() else {
        let has_others = options.held_out.validation.is_some() || options.held_out.test.is_some();
        let others = if has_others { &[][..] } else { &OF_ALL_TABLES };
        return match OF_TABLES.iter().chain(others).find(|option| value(option).is_some()) {
            Some(option) => unused(option, "a table", "images, which have no columns"),
            None if value("task") == Some("regression") => {
                unused("task", "a table for regression", "images, which have labels")
            }
            None => Ok(()),
        };
    };
    if value("scale-target").is_some() && of_classes {
        return unused("scale-target", "values to predict", "classes");
    }
    if value("fold-labels").is_some() && !of_classes {
        return unused("fold-labels", "labels", "values to predict");
    }
    if value("one-hot").is_some() && schema.categories.is_empty() {
        return unused("one-hot", "a column of categories", "only numbers");
    }
    let of_numbers =
        [("embeddings", &["none"][..]), ("scale", &["none", "auto"]), ("clip", &["none", "auto"])];
    let is_idle =
        |(option, idle): &(&'static str, &[&str])| value(option).is_some_and(|value| !idle.contains(&value));
    match of_numbers.iter().find(|option| is_idle(option)) {
        Some((option, _)) if schema.categories.len() == schema.inputs.len() => {
            unused(option, "a column of numbers", "only categories")
        }
        _ => Ok(()),
    }
}
