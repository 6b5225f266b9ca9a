//! The members of a sweep, before they are trained.

use std::io::{self, Read};
use std::path::Path;

use tinytrain::error::{Place, excerpt};
use tinytrain::model::Model;
use tinytrain::sweep::{Settings, Space};
use tinytrain::train::TrainingData;
use tinytrain::{Error, Result};

use super::arguments::{self, Template};
use super::options::Options;
use super::spaces;
use crate::cli::training::{Known, Preset};
use crate::cli::{train_figures, train_options};

/// The share of the training rows that validate where nobody has said which.
const VALIDATION: &str = "0.2";

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
        model.settings.extend(train_figures::settings(&self.options, data));
        // How many threads trained it is nothing that it depends on.
        model.settings.remove("threads");
        model
    }
}

/// What all members have in common.
pub struct Common {
    /// The options that all have.
    pub template: Template,
    /// The same, read.
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
    ///
    /// # Errors
    /// [`Error::Config`] for options that do not go together.
    pub fn of(options: &Options, template: Template) -> Result<Self> {
        let train = &options.train;
        let holds_out = !train.held_out.validates() && train.folds.is_none();
        let template = if holds_out { template.with("validation-fraction", VALIDATION) } else { template };
        let mut base = arguments::options(&template.line(&Settings::new(), 0), "the command line")?;
        (base.folds, base.training.threads) = (train.folds, train.training.threads);
        Ok(Self { template, base, holds_out })
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
        let first_seed = self.base.training.seed.wrapping_add(number as u64);
        let line = self.template.line(&settings, first_seed);
        let mut options = arguments::options(&line, origin)?;
        options.folds = self.base.folds;
        crate::cli::train::check(&options).map_err(|error| of_member(error, number))?;
        Ok(Planned { number, settings, line, options })
    }
}

/// A setting that is wrong, with the member that has it.
pub fn of_member(error: Error, number: usize) -> Error {
    Error::Config(format!("member {number}: {error}"))
}

impl Tried {
    /// What the options of a sweep say, for data of which so much is known.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Data`] for a file that tells of no settings.
    pub fn of(options: &Options, known: Known) -> Result<Self> {
        if let Some(path) = &options.settings {
            let trials: Vec<Settings> = lines(path)?.into_iter().map(|(_, settings)| settings).collect();
            let origin = path.display().to_string();
            let names = trials.iter().flat_map(Settings::keys);
            arguments::check(names.map(String::as_str), &origin)?;
            return Ok(Self { origin, trials, space: None });
        }
        let (space, origin) = space(options, known)?;
        let trials = if options.grid {
            space.grid().map_err(|error| Error::Config(format!("{origin}: {error}")))?
        } else {
            let seed = options.train.training.seed;
            (0..options.trials()).map(|trial| space.sample(seed, trial)).collect()
        };
        Ok(Self { origin, trials, space: Some(space) })
    }
}

/// The space of a sweep, and where it comes from.
///
/// # Errors
/// As [`Tried::of`].
pub fn space(options: &Options, known: Known) -> Result<(Space, String)> {
    let (space, origin) = match &options.space {
        Some(path) => {
            let text = text(path)?;
            (Space::from_toml(&text, path)?, path.display().to_string())
        }
        None => (spaces::usual(known.preset, !known.predicts_values), "the usual settings".to_owned()),
    };
    arguments::check(space.names(), &origin)?;
    Ok((space, origin))
}

/// What is known of a table with rows to validate on.
pub fn table(known: Known) -> Known {
    Known { preset: Preset::Table, ..known }
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
