//! Options as TOML: `config.toml`, with which a run is repeated or resumed, and the command lines of members
//! of sweeps.

use std::path::Path;

use crate::error::excerpt;
use crate::error::{Error, Result};
use crate::runs::read_settings;
use crate::settings::text::{self, values};
use crate::settings::{Preset, TrainSettings};
use crate::train::Config;
use clap::{CommandFactory, Parser};
use serde::Serialize;
use toml::{Table, Value};

use super::output::usage_line;
use super::train_options::{Options, RunOptions, TrainOptions};

/// Options of a call, which do not affect training.
const OF_A_CALL: [&str; 3] = ["out", "profile", "folds"];

/// Options that may be combined with `--resume`: when a run ends, the device, and the output of results.
const BESIDE_RESUME: [&str; 10] = [
    "epochs",
    "max-time",
    "patience",
    "target-accuracy",
    "device",
    "threads",
    "checkpoint-every",
    "test-every-epoch",
    "tensorboard",
    "refit",
];

/// The command whose options files and lines contain.
#[derive(Debug, Parser)]
#[command(name = "tinytrain train", no_binary_name = true)]
pub struct Line {
    #[command(flatten)]
    pub options: TrainOptions,
}

/// Returns the given options by name.
///
/// # Errors
/// [`Error::Config`] for values that TOML cannot represent.
pub fn table(options: &impl Serialize) -> Result<Table> {
    let unwritable = |error: toml::ser::Error| Error::Config(format!("cannot write settings: {error}"));
    let mut table = Table::try_from(options).map_err(unwritable)?;
    table.retain(|_, value| *value != Value::Boolean(false));
    Ok(table)
}

/// Returns the settings of a run with these options, whose data resulted in `config`.
///
/// # Errors
/// See [`table`].
pub fn settings(given: &Table, config: &Config, preset: Preset) -> Result<Table> {
    let mut settings = table(&TrainSettings::spelled(config, preset))?;
    // Given options keep their values.
    override_by(&mut settings, given);
    settings.retain(|name, _| !OF_A_CALL.contains(&name));
    Ok(settings)
}

/// Adds the options of `others`, replacing options that exclude them.
fn override_by(options: &mut Table, others: &Table) {
    if others.contains_key("validation") {
        options.remove("validation-fraction");
    }
    options.extend(others.clone());
}

/// Returns the contents of a file with these settings.
pub fn contents(settings: &Table) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("# A run of tinytrain {version}: `tinytrain train --config FILE` repeats it.\n{settings}")
}

/// Reads the options of a file.
///
/// # Errors
/// [`Error::Read`]; [`Error::Data`] if the file is not TOML; [`Error::Config`] for options that `train` does
/// not have.
pub fn read(path: &Path) -> Result<Table> {
    let table = read_settings(path)?;
    let of_a_call =
        [&OF_A_CALL[..], &["config", "resume", "format", "quiet", "verbose", "fallback"]].concat();
    let command = Line::command();
    let is_known = |name: &str| command.get_arguments().any(|argument| argument.get_long() == Some(name));
    match table.keys().find(|name| of_a_call.contains(&name.as_str()) || !is_known(name)) {
        Some(name) => {
            let (path, name) = (path.display(), excerpt(name));
            Err(Error::Config(format!("{path}: expected options of `tinytrain train`, found {name:?}")))
        }
        None => Ok(table),
    }
}

/// Returns the words of a command line with these options.
pub fn words(table: &Table) -> Vec<String> {
    let of = |(name, value): (&String, &Value)| match value {
        Value::Boolean(_) => vec![format!("--{name}")],
        // A value may begin with a hyphen.
        value => values(value).into_iter().map(|value| format!("--{name}={value}")).collect(),
    };
    table.iter().flat_map(of).collect()
}

/// Returns the options of a file, overridden by the options of the command line.
///
/// # Errors
/// Errors of the file, and [`Error::Config`] for options that exclude one another.
pub fn merged(path: &Path, own: &TrainOptions) -> Result<TrainOptions> {
    let (mut all, given) = (read(path)?, table(own)?);
    override_by(&mut all, &given);
    let of_call = |all: TrainOptions| TrainOptions {
        options: Options {
            format: own.options.format,
            quiet: own.options.quiet,
            verbose: own.options.verbose,
            ..all.options
        },
        run: RunOptions { fallback: own.run.fallback, ..all.run },
    };
    let origin = path.display().to_string();
    let read: TrainOptions = text::read(&all, &origin)?;
    // Uses the parsed options, since a flag set to false counts as not given.
    let together = words(&table(&read)?);
    let all = of_call(read);
    Line::try_parse_from(together).map_err(|error| {
        let text = usage_line(&error.render().to_string());
        Error::Config(format!("{origin}: {}", text.trim_start_matches("error: ")))
    })?;
    let of_file = |error: Error| match &error {
        Error::Setting { setting, .. } if !given.contains_key(*setting) => {
            Error::Config(format!("{origin}: --{error}"))
        }
        _ => error,
    };
    all.options.check().map_err(of_file).map(|()| all)
}

/// Rejects options that cannot be combined with `--resume`.
///
/// # Errors
/// [`Error::Config`] for the first such option.
pub fn check_resume(own: &Table) -> Result<()> {
    match own.keys().find(|name| !BESIDE_RESUME.contains(&name.as_str())) {
        Some(option) => {
            let text =
                format!("--{option} cannot be combined with --resume: a run continues with its own settings");
            Err(Error::Config(text))
        }
        None => Ok(()),
    }
}
