//! The options of a member: those of the sweep, and its own settings, as a command line of `tinytrain train`.

use clap::{ArgMatches, Args, CommandFactory, Parser, parser::ValueSource};
use serde_json::Value;
use tinytrain::sweep::Settings;
use tinytrain::{Error, Result};

use crate::cli::output::usage_line;
use crate::cli::train_options;

/// Options of `train` that a member does not have.
const NOT_OF_MEMBERS: [&str; 7] = ["out", "folds", "profile", "format", "quiet", "verbose", "threads"];

/// Options that are the same for all members, since they decide which rows there are, what a score means, or what trains.
const FIXED: [&str; 25] = [
    "data",
    "target",
    "task",
    "loss",
    "scale-target",
    "weight",
    "exclude",
    "only",
    "categorical",
    "missing",
    "missing-marker",
    "header",
    "delimiter",
    "decimal",
    "row-limit",
    "test",
    "test-fraction",
    "validation",
    "validation-fraction",
    "group",
    "time",
    "seed",
    "device",
    "checked",
    "no-tune",
];

/// The command line of a member.
#[derive(Debug, Parser)]
#[command(name = "tinytrain train", no_binary_name = true)]
struct Line {
    #[command(flatten)]
    options: train_options::Options,
}

/// The options that all members have.
#[derive(Debug, Clone)]
pub struct Template {
    /// Each with its values.
    options: Vec<(String, Vec<String>)>,
    /// Options that take no value.
    flags: Vec<String>,
}

impl Template {
    /// Those of `train` that stand on the command line of a sweep.
    pub fn of(matches: &ArgMatches) -> Self {
        let command = train_options::Options::augment_args(clap::Command::new("train"));
        let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let options = command
            .get_arguments()
            .filter(|argument| given(argument.get_id().as_str()))
            .filter_map(|argument| {
                let long = argument.get_long().filter(|long| !NOT_OF_MEMBERS.contains(long))?;
                let takes_values = argument.get_action().takes_values();
                let values = matches
                    .get_raw(argument.get_id().as_str())
                    .filter(|_| takes_values)
                    .into_iter()
                    .flatten();
                Some((long.to_owned(), values.map(|value| value.to_string_lossy().into_owned()).collect()))
            });
        let flags = command.get_arguments().filter(|argument| !argument.get_action().takes_values());
        let flags = flags.filter_map(|argument| argument.get_long().map(str::to_owned)).collect();
        Self { options: options.collect(), flags }
    }

    /// The same with one option more, if it is not there.
    #[must_use]
    pub fn with(mut self, option: &str, value: &str) -> Self {
        if !self.options.iter().any(|(name, _)| name == option) {
            self.options.push((option.to_owned(), vec![value.to_owned()]));
        }
        self
    }

    /// The command line of a member with these settings: what stands behind `tinytrain train`.
    pub fn line(&self, settings: &Settings, first_seed: u64) -> Vec<String> {
        let mut line = Vec::new();
        let mut add = |name: &str, values: &[String]| match values {
            // A value may begin with a hyphen.
            [value] => line.push(format!("--{name}={value}")),
            values => {
                line.push(format!("--{name}"));
                line.extend(values.iter().cloned());
            }
        };
        for (name, values) in self.options.iter().filter(|(name, _)| !settings.contains_key(name)) {
            add(name, values);
        }
        for (name, value) in settings {
            match value {
                Value::Bool(is_set) if self.flags.contains(name) => {
                    if *is_set {
                        add(name, &[]);
                    }
                }
                value => add(name, &[text(value)]),
            }
        }
        if !settings.contains_key("init-seed") {
            add("init-seed", &[first_seed.to_string()]);
        }
        line
    }
}

/// The options of a command line of `train`; `origin` stands in messages for where its settings come from.
///
/// # Errors
/// [`Error::Config`], in one line, for what `train` does not take.
pub fn options(line: &[String], origin: &str) -> Result<train_options::Options> {
    let parsed = Line::try_parse_from(line).map_err(|error| {
        let line = usage_line(&error.render().to_string());
        let line = line.trim_start_matches("error: ").trim_end_matches("; see --help");
        Error::Config(format!("{origin}: {line}"))
    })?;
    Ok(parsed.options)
}

/// Checks whether members may have settings of these names.
///
/// # Errors
/// [`Error::Config`] for the first that they may not.
pub fn check<'a>(names: impl Iterator<Item = &'a str>, origin: &str) -> Result<()> {
    let command = Line::command();
    let longs: Vec<&str> = command.get_arguments().filter_map(|argument| argument.get_long()).collect();
    for name in names {
        let expected = if FIXED.contains(&name) || NOT_OF_MEMBERS.contains(&name) {
            format!(
                "an option that may differ from member to member, found {name:?}; it belongs on the command line"
            )
        } else if !longs.contains(&name) {
            format!("options of `tinytrain train`, found {name:?}")
        } else {
            continue;
        };
        return Err(Error::Config(format!("{origin}: expected {expected}")));
    }
    Ok(())
}

/// A setting as the value of an option.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        // No hidden layers.
        Value::Array(values) if values.is_empty() => "none".to_owned(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<String>>().join(","),
        other => other.to_string(),
    }
}

/// Settings for people.
pub fn settings_text(settings: &Settings) -> String {
    settings.iter().map(|(name, value)| format!("{name} {}", text(value))).collect::<Vec<String>>().join(", ")
}

/// A setting for people.
pub fn setting_text(settings: &Settings, name: &str) -> String {
    settings.get(name).map(text).unwrap_or_default()
}
