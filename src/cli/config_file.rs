//! `config.toml`: all settings of a run by the names of their options, so that `train --config` repeats it.

use std::path::Path;

use tinytrain::error::{Place, excerpt};
use tinytrain::train::Config;
use tinytrain::{Error, Result};
use toml::{Table, Value};

use super::given::{self, Given};
use super::train_text::spelled;
use super::training::Preset;

/// Options that are of one call, not of what is trained.
pub const OF_A_CALL: [&str; 9] =
    ["config", "resume", "out", "profile", "format", "quiet", "verbose", "folds", "fallback"];

/// The settings of a run with these options, on data that made these settings of them.
pub fn settings(given: &Given, config: &Config, preset: Preset) -> Table {
    let mut table = Table::new();
    for (name, values) in given.iter().filter(|(name, _)| !OF_A_CALL.contains(&name.as_str())) {
        let value = match &values[..] {
            [] => Value::Boolean(true),
            [value] => value_of(value),
            values => Value::Array(values.iter().map(|value| value_of(value)).collect()),
        };
        table.insert(name.clone(), value);
    }
    for (name, value) in spelled(config, preset).into_iter().chain([("seed", config.seed.to_string())]) {
        // What was given stays as it was written.
        table.entry(name).or_insert_with(|| value_of(&value));
    }
    table
}

/// The contents of a file with these settings.
pub fn contents(settings: &Table) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("# A run of tinytrain {version}: `tinytrain train --config FILE` repeats it.\n{settings}")
}

/// A number where its text is that of the number, else text; several numbers with commas between them are a list.
fn value_of(text: &str) -> Value {
    let number = |text: &str| {
        let whole = text.parse::<i64>().ok().filter(|number| number.to_string() == text).map(Value::Integer);
        let decimal =
            || text.parse::<f64>().ok().filter(|number| number.to_string() == text).map(Value::Float);
        whole.or_else(decimal)
    };
    let list = || text.contains(',').then(|| text.split(',').map(number).collect::<Option<Vec<Value>>>())?;
    number(text).or_else(|| list().map(Value::Array)).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// The options that a file tells of.
///
/// # Errors
/// [`Error::Read`]; [`Error::Data`] for anything but TOML; [`Error::Config`] for options that `train` does not have.
pub fn options(path: &Path) -> Result<Given> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let table: Table = toml::from_str(&text).map_err(|error| {
        let row =
            error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count() as u64);
        Error::Data {
            path: path.to_owned(),
            place: row.map_or_else(Place::default, Place::row),
            expected: "settings of a run in TOML".to_owned(),
            found: excerpt(&error.message().replace('\n', " ")),
        }
    })?;
    let command = given::command();
    let option = |(name, value): (String, Value)| {
        let known = command.get_arguments().find(|argument| argument.get_long() == Some(&name));
        let Some(known) = known.filter(|_| !OF_A_CALL.contains(&name.as_str())) else {
            let text = format!(
                "{}: expected options of `tinytrain train`, found {:?}",
                path.display(),
                excerpt(&name)
            );
            return Err(Error::Config(text));
        };
        let takes_many = known.get_num_args().is_some_and(|count| count.max_values() > 1);
        let values = match value {
            Value::Boolean(is_set) if !known.get_action().takes_values() => {
                return Ok(is_set.then(|| (name, Vec::new())));
            }
            Value::Array(values) if takes_many => values.iter().map(text_of).collect(),
            value => vec![text_of(&value)],
        };
        Ok(Some((name, values)))
    };
    table.into_iter().filter_map(|entry| option(entry).transpose()).collect()
}

/// A value as an option has it.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => "none".to_owned(),
        Value::Array(values) => values.iter().map(text_of).collect::<Vec<String>>().join(","),
        Value::Boolean(is_set) => if *is_set { "yes" } else { "no" }.to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_back_as_they_were_written() {
        for text in [
            "0.001",
            "1e-5",
            "300,100",
            "none",
            "-3",
            "18446744073709551615",
            "a,b",
            "0.9,0.95",
            ",",
            "007",
            "",
            "1.",
        ] {
            let written = toml::to_string(&Table::from_iter([("x".to_owned(), value_of(text))])).unwrap();
            let read: Table = toml::from_str(&written).unwrap();
            assert_eq!(text_of(&read["x"]), text, "{written}");
        }
    }
}
