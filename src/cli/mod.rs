//! Commands of the program. Only this module prints and parses arguments.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the program prints")]
#![allow(
    rustdoc::bare_urls,
    rustdoc::invalid_html_tags,
    reason = "the docs of options are the text of --help"
)]

pub mod output;
pub mod process;

mod args;
mod check;
mod config_file;
mod data_text;
mod devices;
mod eval;
mod evaluation_options;
mod export;
mod folds;
mod importance;
mod inspect;
mod inspect_model;
mod manual;
mod model_choice;
mod open_data;
mod output_place;
mod predict;
mod profile;
mod profile_text;
mod progress;
mod report;
mod runs;
mod sweep;
mod table_options;

mod train;
mod train_options;
mod train_report;
mod train_text;
mod training;

use std::ffi::OsString;
use std::time::Instant;

use self::process::Interrupts;
use crate::report::text::shell_word;
use anyhow::Context;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

const AFTER_HELP: &str = "Example:\n  tinytrain train --epochs 3\n\n\
    Exit codes:\n  0  done\n  1  failure of the machine: a device, a disk, memory; a failed check\n  \
    2  wrong options or data\n  3  numbers that are not finite: a loss, a model, a prediction\n  \
    130 and 143  ended by Ctrl-C and by SIGTERM";

/// Options and commands of other tools, with their names here.
const SYNONYMS: [(&str, &str); 13] = [
    ("--learning-rate", "--lr"),
    ("--eta", "--lr"),
    ("--random-state", "--seed"),
    ("--early-stopping", "--patience"),
    ("--cv", "--folds"),
    ("--validation-split", "--validation-fraction"),
    ("--test-size", "--test-fraction"),
    ("--n-jobs", "--threads"),
    ("--layers", "--hidden"),
    ("--l2", "--weight-decay"),
    ("fit", "train"),
    ("test", "eval"),
    ("list", "runs"),
];

/// Train tiny neural networks on any GPU or on the CPU.
///
/// Trains classifiers and regressors on tables and images, and saves them as safetensors files.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, after_help = AFTER_HELP)]
struct Cli {
    /// Colours: auto (on terminals, unless the environment variable NO_COLOR is set), always or never.
    #[arg(long, global = true, hide_short_help = true, hide_possible_values = true, value_enum, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Train(Box<train_options::TrainOptions>),
    Eval(eval::Options),
    Predict(predict::Options),
    Importance(importance::Options),
    Inspect(inspect::Options),
    Export(export::Options),
    Devices(devices::Options),
    Check(check::Options),
    Profile(profile::Options),
    Sweep(Box<sweep::Options>),
    Completions(manual::CompletionOptions),
    Man(manual::ManOptions),
    Runs(runs::Options),
    Compare(runs::CompareOptions),
    Report(report::Options),
}

/// Runs the command line `words`, which begins with the name of the program, and returns the exit code of the
/// process; errors are printed. `start` is when the process began.
#[must_use]
pub fn main(words: Vec<OsString>, start: Instant) -> u8 {
    let done = Interrupts::watch().context("cannot watch for signals").and_then(|interrupts| {
        run(&words, &interrupts, start).map_err(|error| match error.downcast_ref() {
            Some(crate::error::Error::Interrupted) if interrupts.has_come() => {
                interrupts.ended("interrupted".to_owned()).into()
            }
            _ => error,
        })
    });
    match done {
        Ok(()) => 0,
        Err(error) => {
            output::print_error(&error);
            exit_code(&error)
        }
    }
}

fn exit_code(error: &anyhow::Error) -> u8 {
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        return if usage.use_stderr() { 2 } else { 0 };
    }
    if let Some(process::Interrupted { code, .. }) = error.downcast_ref() {
        return *code;
    }
    error
        .chain()
        .find_map(|cause| cause.downcast_ref::<crate::error::Error>())
        .map_or(1, crate::error::Error::exit_code)
}

/// Adds a suggestion: the right word for a synonym, and `--data` for a file without an option, as in
/// `train table.csv`.
fn with_tip(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let unknown = error.get(ContextKind::InvalidArg).or(error.get(ContextKind::InvalidSubcommand));
    let Some(ContextValue::String(word)) = unknown else { return error };
    let name = word.split('=').next().unwrap_or_default();
    let command = words.get(1).and_then(|name| Cli::command().find_subcommand(name).cloned());
    let has = |option: &str| {
        command.iter().flat_map(clap::Command::get_arguments).any(|it| it.get_long() == Some(option))
    };
    let is_here = |own: &str| own.strip_prefix("--").is_none_or(&has);
    if let Some((_, own)) = SYNONYMS.iter().find(|(synonym, own)| *synonym == name && is_here(own)) {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedSubcommand);
        let tip = format!("the same is called {own} here");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return error;
    }
    if error.kind() == ErrorKind::UnknownArgument && has("data") && !word.starts_with('-') {
        let tip = format!("to read a file, use --data {}", shell_word(word.as_ref()));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Returns the words after the program and the command, without the colour of output.
fn repeatable(words: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let mut line: Vec<String> =
        words.into_iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    while let Some(place) = line.iter().position(|word| word == "--color" || word.starts_with("--color=")) {
        let count = if line[place] == "--color" { 2 } else { 1 };
        line.drain(place..line.len().min(place + count));
    }
    line.split_off(1)
}

/// Returns a [`clap::Error`] for usage errors and requests for help, otherwise errors with a
/// [`crate::error::Error`] in their chain.
fn run(words: &[OsString], interrupts: &Interrupts, start: Instant) -> anyhow::Result<()> {
    let matches = Cli::command().try_get_matches_from(words).map_err(|error| with_tip(error, words))?;
    let Cli { color, command } = Cli::from_arg_matches(&matches)?;
    output::set_color(color);
    crate::vectors::check()?;
    match command {
        Command::Train(options) => train::run(*options, interrupts, start),
        Command::Eval(options) => eval::run(&options),
        Command::Predict(options) => predict::run(&options),
        Command::Importance(options) => importance::run(&options),
        Command::Inspect(options) => inspect::run(&options),
        Command::Export(options) => export::run(&options),
        Command::Devices(options) => devices::run(&options),
        Command::Check(options) => check::run(&options),
        Command::Profile(options) => profile::run(&options),
        Command::Completions(options) => manual::completions(&options, Cli::command()),
        Command::Man(options) => manual::man(&options, Cli::command()),
        Command::Runs(options) => runs::run(&options),
        Command::Compare(options) => runs::compare(&options),
        Command::Report(options) => report::run(&options),
        Command::Sweep(options) => {
            let line = repeatable(words.iter().cloned());
            let matches = matches.subcommand_matches("sweep").expect("it is the command that was read");
            sweep::run(&options, matches, &line, interrupts, start)
        }
    }
}
