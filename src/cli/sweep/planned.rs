//! The members of a sweep, before they are trained.

use std::io::{self, Read};
use std::path::Path;

use tinytrain::error::{Place, excerpt};
use tinytrain::model::Model;
use tinytrain::settings::Preset;
use tinytrain::sweep::{Settings, Space};
use tinytrain::train::{Config, TrainingData};
use tinytrain::{Error, Result};

use super::arguments;
use super::options::Options;
use super::spaces;
use crate::cli::{config_file, train_options};

/// The share of the training rows that validate where nobody has said which.
const VALIDATION: f64 = 0.2;

/// Settings of a member, with the options of `train` that they are.
pub struct Planned {
    /// Its number.
    pub number: usize,
    /// Its own settings.
    pub settings: Settings,
    /// What stands behind `tinytrain train`.
    pub line: Vec<String>,
    /// The same, read.
    pub options: train_options::Options,
}

impl Planned {
    /// A model of it as it is saved, with its settings.
    pub fn model(&self, model: &Model, data: &TrainingData) -> Model {
        let mut model = model.clone();
        model.settings.extend(self.options.names_of_data(data));
        // How many threads trained it is nothing that it depends on.
        model.settings.remove("threads");
        model
    }
}

/// What all members have in common.
pub struct Common {
    /// The options that all have.
    pub base: train_options::Options,
    /// Whether rows validate that nobody has named.
    pub holds_out: bool,
}

/// What is tried.
pub struct Tried {
    /// Where settings come from, for messages.
    pub origin: String,
    /// The settings of each trial.
    pub trials: Vec<Settings>,
    /// The space they come from, if they come from one.
    pub space: Option<Space>,
}

impl Common {
    /// Those of a sweep.
    pub fn of(options: &Options) -> Self {
        let mut base = options.train.clone();
        let holds_out = !base.validates() && base.folds.is_none();
        if holds_out {
            base.training.settings.validation_fraction = Some(VALIDATION);
        }
        Self { base, holds_out }
    }

    /// The members with these settings, each as often as there are seeds, without those of other shards.
    ///
    /// # Errors
    /// [`Error::Config`], in one line, for settings that `train` does not take.
    pub fn planned(&self, options: &Options, tried: &Tried) -> Result<Vec<Planned>> {
        let mut all = Vec::new();
        for (trial, settings) in tried.trials.iter().enumerate() {
            for seed in 0..options.seeds {
                let number = trial * options.seeds + seed;
                if options.shard.is_some_and(|shard| !shard.has(number)) {
                    continue;
                }
                all.push(self.member(number, settings.clone(), &tried.origin)?);
            }
        }
        Ok(all)
    }

    /// A member with these settings.
    ///
    /// # Errors
    /// As [`Common::planned`].
    pub fn member(&self, number: usize, settings: Settings, origin: &str) -> Result<Planned> {
        let mut options = arguments::with(&arguments::common(&self.base), &settings, origin)?;
        let asked = &mut options.training.settings;
        let first_seed = asked.seed.unwrap_or(Config::default().seed).wrapping_add(number as u64);
        asked.init_seed.get_or_insert(first_seed);
        let line = config_file::words(&config_file::table(&options)?);
        (options.folds, options.training.settings.threads) =
            (self.base.folds, self.base.training.settings.threads);
        options.check().map_err(|error| of_member(error, number))?;
        Ok(Planned { number, settings, line, options })
    }
}

/// A setting that is wrong, with the member that has it.
pub fn of_member(error: Error, number: usize) -> Error {
    let option = if matches!(error, Error::Setting { .. }) { "--" } else { "" };
    Error::Config(format!("member {number}: {option}{error}"))
}

impl Tried {
    /// What the options of a sweep say, for data of which so much is known.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Data`] for a file that tells of no settings.
    pub fn of(options: &Options, preset: Preset, of_classes: bool) -> Result<Self> {
        if let Some(path) = &options.settings {
            let trials: Vec<Settings> = lines(path)?.into_iter().map(|(_, settings)| settings).collect();
            let origin = path.display().to_string();
            let names = trials.iter().flat_map(Settings::keys);
            arguments::check(names.map(String::as_str), &origin)?;
            return Ok(Self { origin, trials, space: None });
        }
        let (space, origin) = space(options, preset, of_classes)?;
        let trials = if options.grid {
            space.grid().map_err(|error| Error::Config(format!("{origin}: {error}")))?
        } else {
            let seed = options.seed();
            (0..options.trials()).map(|trial| space.sample(seed, trial)).collect()
        };
        Ok(Self { origin, trials, space: Some(space) })
    }
}

/// The space of a sweep, and where it comes from.
///
/// # Errors
/// As [`Tried::of`].
pub fn space(options: &Options, preset: Preset, of_classes: bool) -> Result<(Space, String)> {
    let (space, origin) = match &options.space {
        Some(path) => {
            let text = text(path)?;
            (Space::from_toml(&text, path)?, path.display().to_string())
        }
        None => (spaces::usual(preset, of_classes), "the usual settings".to_owned()),
    };
    arguments::check(space.names(), &origin)?;
    Ok((space, origin))
}

/// The text of a file, or of standard input.
///
/// # Errors
/// [`Error::Read`].
pub fn text(path: &Path) -> Result<String> {
    let read = if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().lock().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    read.map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// JSON, an object a line, each with the number of its line; empty lines count for nothing.
///
/// # Errors
/// [`Error::Read`], and [`Error::Data`] with the row of anything else.
pub fn lines<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Vec<(u64, T)>> {
    let text = text(path)?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let object = |(row, line)| {
        let object = serde_json::from_str(line).map_err(|error| Error::Data {
            path: path.to_owned(),
            place: Place::row(row),
            expected: "a JSON object".to_owned(),
            found: excerpt(&error.to_string()),
        })?;
        Ok((row, object))
    };
    lines.map(object).collect()
}
