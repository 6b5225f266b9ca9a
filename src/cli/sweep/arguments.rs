//! The options of a member: those of the sweep, and its own settings.

use clap::Args;
use tinytrain::settings::TrainSettings;
use tinytrain::sweep::{Settings, setting_text};
use tinytrain::{Error, Result};
use toml::Table;

use crate::cli::config_file;
use crate::cli::train_options::Options;

/// Settings that are the same for all members, since they decide which rows there are, what a score means, or what trains.
const FIXED: [&str; 6] = ["seed", "threads", "loss", "scale-target", "validation-fraction", "test-fraction"];

/// The options that members have of those of a sweep.
pub fn common(options: &Options) -> Options {
    let mut common = options.clone();
    (common.out, common.profile, common.folds, common.training.settings.threads) = (None, None, None, None);
    common
}

/// The options of a member with these settings, in the place of those that all members have.
///
/// # Errors
/// [`Error::Config`], in one line, for what `train` does not take; `origin` stands in it for where the settings come from.
pub fn with(common: &Options, settings: &Settings, origin: &str) -> Result<Options> {
    let unfit = |error: toml::ser::Error| Error::Config(format!("{origin}: {}", error.to_string().trim()));
    let mut table = config_file::table(common)?;
    table.extend(Table::try_from(settings).map_err(unfit)?);
    config_file::options(&table, origin)
}

/// Checks whether members may have settings of these names.
///
/// # Errors
/// [`Error::Config`] for the first that they may not.
pub fn check<'a>(names: impl Iterator<Item = &'a str>, origin: &str) -> Result<()> {
    let longs = |command: clap::Command| -> Vec<String> {
        command.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned)).collect()
    };
    let command = || clap::Command::new("train");
    let [own, all] = [TrainSettings::augment_args(command()), Options::augment_args(command())].map(longs);
    for name in names {
        let is_of = |longs: &[String]| longs.iter().any(|long| long == name);
        let expected = match () {
            () if is_of(&own) && !FIXED.contains(&name) => continue,
            () if is_of(&all) => format!(
                "an option that may differ from member to member, found {name:?}; it belongs on the command line"
            ),
            () => format!("options of `tinytrain train`, found {name:?}"),
        };
        return Err(Error::Config(format!("{origin}: expected {expected}")));
    }
    Ok(())
}

/// Settings for people.
pub fn settings_text(settings: &Settings) -> String {
    settings
        .iter()
        .map(|(name, value)| format!("{name} {}", setting_text(value)))
        .collect::<Vec<String>>()
        .join(", ")
}
