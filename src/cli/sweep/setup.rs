//! Setup of a sweep from its options: members with their data, a device, and the command line of each member.

use std::collections::BTreeMap;
use std::path::Path;

use crate::engine::Device;
use crate::error::{Error, Result};
use crate::error::{Place, excerpt};
use crate::input::{self, SETTINGS_BYTES};
use crate::settings::TrainSettings;
use crate::step::ScheduleKind;
use crate::sweep::{
    Member, Settings, Sources, Space, TrialPlan, TrialPlanner, VALIDATION, check_names, check_trials,
    is_short, plan_on, usual_space,
};
use clap::Args;

use super::import::Imports;
use super::options::Options;
use crate::cli::config_file;
use crate::cli::data_text::{as_text, column_lines, mixed_column_lines, odd_labels};
use crate::cli::open_data::{DataPaths, OpenData};
use crate::cli::train_options;

/// Common parts of all members.
pub struct SharedOptions {
    /// Options of all members.
    pub base: train_options::Options,
    /// Whether validation rows are held out automatically.
    pub holds_out: bool,
}

impl SharedOptions {
    /// Returns the shared options of a sweep.
    pub fn from_options(options: &Options) -> Self {
        let mut base = options.train.clone();
        let holds_out = !base.validates() && base.folds.is_none();
        if holds_out {
            base.training.settings.validation_fraction = Some(VALIDATION);
        }
        Self { base, holds_out }
    }

    /// Returns the planner of members whose settings come from `origin`.
    pub fn planning<'a>(&'a self, options: &Options, origin: &'a str) -> TrialPlanner<'a> {
        let (base, info) = (&self.base.training.settings, self.base.info());
        TrialPlanner { base, info, origin, seeds: options.seeds() }
    }

    /// Returns the arguments of `tinytrain train` that train only this member.
    ///
    /// # Errors
    /// [`Error::Config`] for settings that are not text.
    pub fn line(&self, planned: &TrialPlan) -> Result<Vec<String>> {
        let mut own = of_members(&self.base);
        own.training.settings = TrainSettings { threads: None, ..planned.settings.clone() };
        let mut line = config_file::words(&config_file::table(&own)?);
        if planned.is_packed {
            let word = format!("--schedule={}", ScheduleKind::Fused);
            if !line.contains(&word) {
                line.push(word);
            }
        }
        Ok(line)
    }
}

/// Returns the options of members from the options of a sweep.
fn of_members(options: &train_options::Options) -> train_options::Options {
    let mut common = options.clone();
    (common.out, common.profile, common.folds, common.training.settings.threads) = (None, None, None, None);
    common
}

/// Source of the settings of trials.
pub struct TrialSource {
    /// Source of settings, for messages.
    pub origin: String,
    /// Settings of each trial.
    pub trials: Vec<Settings>,
    /// The space from which settings are drawn, if any.
    pub space: Option<Space>,
}

impl TrialSource {
    /// Returns the trials for the options of a sweep, from the space `usual` unless the options name another.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Data`] for a file without settings.
    pub fn from_options(options: &Options, usual: Space) -> Result<Self> {
        if let Some(path) = &options.settings {
            let trials: Vec<Settings> = lines(path)?.into_iter().map(|(_, settings)| settings).collect();
            let origin = path.display().to_string();
            check(trials.iter().flat_map(Settings::keys).map(String::as_str), &origin)?;
            return Ok(Self { origin, trials, space: None });
        }
        if options.repeats_one() {
            let (origin, trials) = ("the options".to_owned(), vec![Settings::default()]);
            return Ok(Self { origin, trials, space: None });
        }
        let (space, origin) = space(options, usual)?;
        let trials = if options.grid {
            space.grid().map_err(|error| Error::Config(format!("{origin}: {error}")))?
        } else {
            check_trials(options.trials(), options.seeds())?;
            let seed = options.seed();
            // The settings of `tinytrain train` are hard to beat with few trials.
            let first = options.space.is_none().then(Settings::default);
            let drawn = (first.iter().len()..).map(|trial| space.sample(seed, trial));
            first.into_iter().chain(drawn).take(options.trials()).collect()
        };
        Ok(Self { origin, trials, space: Some(space) })
    }
}

/// Checks whether members may have settings of these names.
fn check<'a>(names: impl Iterator<Item = &'a str>, origin: &str) -> Result<()> {
    let all = train_options::Options::augment_args(clap::Command::new("train"));
    let others: Vec<String> =
        all.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned)).collect();
    check_names(names, origin, &others)
}

/// Returns the space of a sweep, and its origin.
///
/// # Errors
/// See [`TrialSource::from_options`].
fn space(options: &Options, usual: Space) -> Result<(Space, String)> {
    let (space, origin) = match &options.space {
        Some(path) => (Space::from_toml(&text(path)?, path)?, path.display().to_string()),
        None => (usual, "the usual settings".to_owned()),
    };
    check(space.names(), &origin)?;
    Ok((space, origin))
}

/// Reads the text of a file, or of standard input.
fn text(path: &Path) -> Result<String> {
    if path == Path::new("-") { input::read_standard_input() } else { input::read_text(path, SETTINGS_BYTES) }
}

/// Parses JSON, one object per line, each returned with its line number; empty lines are ignored.
///
/// # Errors
/// [`Error::Read`], and [`Error::Data`] with the row of invalid text.
fn lines<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Vec<(u64, T)>> {
    let text = text(path)?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let object = |(row, line)| {
        let object = serde_json::from_str(line).map_err(|error| {
            Error::data(path, Place::row(row), "a JSON object", excerpt(&error.to_string()))
        })?;
        Ok((row, object))
    };
    lines.map(object).collect()
}

/// A sweep before training.
pub struct PreparedSweep {
    /// Common parts of all members.
    pub common: SharedOptions,
    /// Source of the settings of trials.
    pub tried: TrialSource,
    /// Plan of each member that this sweep trains.
    pub planned: Vec<TrialPlan>,
    /// Members with their data.
    pub members: Vec<Member>,
    /// Names stored in model files.
    pub names: BTreeMap<String, String>,
    /// Device that trains.
    pub device: Device,
    /// Notices about the device.
    pub notices: Vec<String>,
    /// Warnings about held-out files whose rows are also training rows.
    pub doubts: Vec<String>,
}

impl PreparedSweep {
    /// Prepares the sweep for its options, with the trials of other sweeps, and returns the sources of its data.
    ///
    /// # Errors
    /// Errors of the options, the data and the device.
    pub fn prepare(options: &Options, imports: &Imports) -> anyhow::Result<(Self, Sources)> {
        let mut common = SharedOptions::from_options(options);
        let base = &mut common.base;
        base.check()?;
        let given = config_file::table(&of_members(&options.train))?;
        // Settings of a member may decide whether factors of learning rates have an effect.
        let mut decided = given.clone();
        decided.retain(|name, _| !name.starts_with("lr-"));
        let opened = DataPaths::from_options(base)?.open(base, &decided, None)?;
        // The preset for tables is the default, as in `tinytrain train`.
        base.training.settings = opened.settings.clone();
        let base = &common.base;
        let usual = usual_space(base.training.settings.preset_for(&opened.info));
        let tried = TrialSource::from_options(options, usual.without(|name| given.contains_key(name)))?;
        if let Some(name) = tried.space.iter().flat_map(Space::names).find(|name| given.contains_key(*name)) {
            let origin = &tried.origin;
            return Err(Error::Config(format!(
                "{origin}: --{name} is on the command line, too; remove one of them"
            ))
            .into());
        }
        let mut planned = common.planning(options, &tried.origin).plan(&tried.trials)?;
        let imported = imports.plan(planned.len())?;
        if planned.len() + imported.len() == 0 {
            return Err(Error::Config("expected at least one trial, found none".to_owned()).into());
        }
        let OpenData { reader, validation, test, notice, doubts, .. } = opened;
        let of_table = [as_text(reader.numbers_as_text()), reader.table_notices().to_vec()].concat();
        let said = notice.into_iter().chain(of_table).collect::<Vec<_>>();
        let mut sources = Sources::new(reader, validation, test);
        let mut members = sources.members(&planned, base.folds)?;
        let is_short = is_short(&members, options.train.training.settings.threads)?;
        let (device, mut notices) = base.kernels.device(&base.training, base.verbose, false, is_short)?;
        notices.extend(said);
        let packs = plan_on(&device, &mut members)?;
        planned.iter_mut().zip(packs).for_each(|(planned, is_packed)| planned.is_packed = is_packed);
        members.extend(sources.members(&imported, base.folds)?);
        let data = members[0].data[0].training();
        notices.extend([mixed_column_lines(data.mixed_columns()), odd_labels(data.odd_labels())].concat());
        notices.extend(column_lines(&base.training, data)?);
        let names = base.names_of_data(data);
        Ok((Self { common, tried, planned, members, names, device, notices, doubts }, sources))
    }
}
