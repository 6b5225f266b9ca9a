//! The options of a member: those of the sweep, and its own settings, as a command line of `tinytrain train`.

use clap::{ArgMatches, Args};
use serde_json::Value;
use tinytrain::sweep::Settings;
use tinytrain::{Error, Result};

use crate::cli::given::{self, Given, OF_ROWS, given};
use crate::cli::train_options;

/// Options of `train` that a member does not have.
const NOT_OF_MEMBERS: [&str; 11] = [
    "out",
    "folds",
    "profile",
    "format",
    "quiet",
    "verbose",
    "threads",
    "config",
    "resume",
    "checkpoint-every",
    "fallback",
];

/// Options that are the same for all members, besides [`OF_ROWS`], since they decide which rows there are, what a score means, or
/// what trains.
const FIXED: [&str; 6] = ["loss", "scale-target", "validation", "validation-fraction", "checked", "no-tune"];

/// The options that all members have.
#[derive(Debug, Clone)]
pub struct Template {
    /// Each with its values.
    options: Given,
    /// Options that take no value.
    flags: Vec<String>,
}

impl Template {
    /// Those of `train` that stand on the command line of a sweep.
    pub fn of(matches: &ArgMatches) -> Self {
        let options = given::<train_options::Options>(matches).into_iter();
        let options = options.filter(|(name, _)| !NOT_OF_MEMBERS.contains(&name.as_str())).collect();
        let command = train_options::Options::augment_args(clap::Command::new("train"));
        let flags = command.get_arguments().filter(|argument| !argument.get_action().takes_values());
        let flags = flags.filter_map(|argument| argument.get_long().map(str::to_owned)).collect();
        Self { options, flags }
    }

    /// The options, each with its values, but for factors of learning rates, whose use the settings of a member may decide.
    pub fn decided(&self) -> Given {
        let is_decided = |(name, _): &&(String, Vec<String>)| !name.starts_with("lr-");
        self.options.iter().filter(is_decided).cloned().collect()
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
        let kept = self.options.iter().filter(|(name, _)| !settings.contains_key(name)).cloned();
        let own = settings.iter().filter_map(|(name, value)| match value {
            Value::Bool(is_set) if self.flags.contains(name) => is_set.then(|| (name.clone(), Vec::new())),
            value => Some((name.clone(), vec![text(value)])),
        });
        let seed = (!settings.contains_key("init-seed"))
            .then(|| ("init-seed".to_owned(), vec![first_seed.to_string()]));
        given::words(&kept.chain(own).chain(seed).collect::<Given>())
    }
}

/// The options of a command line of `train`; `origin` stands in messages for where its settings come from.
///
/// # Errors
/// [`Error::Config`], in one line, for what `train` does not take.
pub fn options(line: &[String], origin: &str) -> Result<train_options::Options> {
    given::parsed(line, origin).map(|(command, _)| command.options)
}

/// Checks whether members may have settings of these names.
///
/// # Errors
/// [`Error::Config`] for the first that they may not.
pub fn check<'a>(names: impl Iterator<Item = &'a str>, origin: &str) -> Result<()> {
    let command = given::command();
    let longs: Vec<&str> = command.get_arguments().filter_map(|argument| argument.get_long()).collect();
    for name in names {
        let expected = if OF_ROWS.contains(&name) || FIXED.contains(&name) || NOT_OF_MEMBERS.contains(&name) {
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
