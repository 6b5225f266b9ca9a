//! Options that stand on a command line, and command lines made of them.

use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser};
use tinytrain::{Error, Result};

use super::output::usage_line;
use super::run_options::TrainOptions;
use super::text::shell_word;

/// The options of `tinytrain train` alone.
#[derive(Debug, Parser)]
#[command(name = "tinytrain train", no_binary_name = true)]
struct Line {
    #[command(flatten)]
    options: TrainOptions,
}

/// Options that say which rows train and test, and where: neither what trains nor how.
pub const OF_ROWS: [&str; 23] = [
    "data",
    "target",
    "task",
    "weight",
    "fold-labels",
    "drop-missing-target",
    "exclude",
    "only",
    "categorical",
    "missing",
    "missing-marker",
    "header",
    "delimiter",
    "decimal",
    "row-limit",
    "image-size",
    "colour",
    "test",
    "test-fraction",
    "group",
    "time",
    "seed",
    "device",
];

/// Options by their long names, each with its values; a flag has none.
pub type Given = Vec<(String, Vec<String>)>;

/// Which of the options `A` stand on the command line.
pub fn given<A: Args>(matches: &ArgMatches) -> Given {
    let command = A::augment_args(clap::Command::new("options"));
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let given = command.get_arguments().filter(|argument| is_given(argument.get_id().as_str()));
    let values = |argument: &clap::Arg| {
        let long = argument.get_long()?.to_owned();
        let takes_values = argument.get_action().takes_values();
        let raw = matches.get_raw(argument.get_id().as_str()).filter(|_| takes_values);
        Some((long, raw.into_iter().flatten().map(|value| value.to_string_lossy().into_owned()).collect()))
    };
    given.filter_map(values).collect()
}

/// Refuses options whose values are not UTF-8: neither `config.toml` nor the settings of a sweep could hold them. Those in
/// `unsaved` are not looked at.
///
/// # Errors
/// [`Error::Config`].
pub fn refuse_unspellable<A: Args>(matches: &ArgMatches, unsaved: &[&str], remedy: &str) -> Result<()> {
    let command = A::augment_args(clap::Command::new("options"));
    for argument in command.get_arguments() {
        let Some(long) = argument.get_long().filter(|long| !unsaved.contains(long)) else { continue };
        let mut values = matches.get_raw(argument.get_id().as_str()).into_iter().flatten();
        if let Some(value) = values.find(|value| value.to_str().is_none()) {
            let value = shell_word(Path::new(value));
            let text =
                format!("--{long}: expected UTF-8, as the settings are saved as text, found {value}{remedy}");
            return Err(Error::Config(text));
        }
    }
    Ok(())
}

/// The words of a command line with these options.
pub fn words(options: &Given) -> Vec<String> {
    let mut line = Vec::new();
    for (name, values) in options {
        match &values[..] {
            // A value may begin with a hyphen.
            [value] => line.push(format!("--{name}={value}")),
            values => {
                line.push(format!("--{name}"));
                line.extend(values.iter().cloned());
            }
        }
    }
    line
}

/// The command of which [`parsed`] reads the options.
pub fn command() -> clap::Command {
    Line::command()
}

/// The options of a command line of `train`, with what was given; `origin` stands in messages for where they come from.
///
/// # Errors
/// [`Error::Config`], in one line, for what `train` does not take.
pub fn parsed(line: &[String], origin: &str) -> Result<(TrainOptions, Given)> {
    let unparsed = |error: clap::Error| {
        let line = usage_line(&error.render().to_string());
        let line = line.trim_start_matches("error: ").trim_end_matches("; see --help");
        Error::Config(format!("{origin}: {line}"))
    };
    let matches = command().try_get_matches_from(line).map_err(unparsed)?;
    let line = Line::from_arg_matches(&matches).map_err(unparsed)?;
    Ok((line.options, given::<TrainOptions>(&matches)))
}
