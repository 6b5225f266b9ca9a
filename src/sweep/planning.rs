//! Members of a sweep before training: their settings and training options.

use std::sync::LazyLock;

use serde_json::{Value, json};
use toml::Table;

use super::member::Member;
#[cfg(feature = "gpu")]
use super::pack::can_be_packed;
use super::space::{Range, Settings, Space, Values};
use crate::engine::Device;
use crate::error::{Error, Result};
use crate::memory::check_memory;
use crate::settings::text::read;
use crate::settings::{DatasetInfo, Preset, TrainSettings};
#[cfg(feature = "gpu")]
use crate::step::ScheduleKind;
use crate::train::Config;

/// Settings that are the same for all members, since they determine the rows, the meaning of a score, or the
/// device.
const FIXED: [&str; 10] = [
    "seed",
    "threads",
    // The preset decides the default metric.
    "preset",
    "loss",
    "quantiles",
    "metric",
    "augment",
    "scale-target",
    "validation-fraction",
    "test-fraction",
];

/// Default share of the training rows for scoring members.
pub const VALIDATION: f64 = 0.2;

/// A member before training.
#[derive(Debug, Clone)]
pub struct TrialPlan {
    /// Number of the member.
    pub number: usize,
    /// Settings in which it may differ from others.
    pub own: Settings,
    /// All settings.
    pub settings: TrainSettings,
    /// Whether it trains together with others on a GPU, with the schedule `fused`.
    pub is_packed: bool,
}

/// Plans members on a device: returns for each whether it trains together with others.
///
/// # Errors
/// [`Error::Device`] if a member does not fit the device.
#[cfg_attr(not(feature = "gpu"), expect(unused_variables, reason = "the CPU engine has nothing to plan"))]
pub fn plan_on(device: &Device, members: &mut [Member]) -> Result<Vec<bool>> {
    #[cfg(feature = "gpu")]
    if let Device::Gpu(adapter) = device {
        let plan = |member: &mut Member| {
            let training = member.data[0].training();
            member.config.plan(training, device).map_err(|error| of_member(error, member.number))?;
            let is_packed = can_be_packed(member, adapter);
            if is_packed {
                member.config.schedule = Some(ScheduleKind::Fused);
            }
            Ok(is_packed)
        };
        return members.iter_mut().map(plan).collect();
    }
    Ok(vec![false; members.len()])
}

/// Memory of a trial before training.
const TRIAL_BYTES: u128 = 4096;

/// Rejects more trials than fit into memory, each of which is trained `seeds` times.
///
/// # Errors
/// [`Error::Config`] with the numbers.
pub fn check_trials(trials: usize, seeds: usize) -> Result<()> {
    let members = trials as u128 * seeds as u128;
    check_memory(members.saturating_mul(TRIAL_BYTES), &format!("a sweep of {members} trials"))
}

/// Planner of a sweep's members.
#[derive(Debug, Clone, Copy)]
pub struct TrialPlanner<'a> {
    /// Common settings of all members.
    pub base: &'a TrainSettings,
    /// Information about the data.
    pub info: DatasetInfo,
    /// Source of the members' own settings, for messages.
    pub origin: &'a str,
    /// Number of trainings of each trial, with different initial weights.
    pub seeds: usize,
}

impl TrialPlanner<'_> {
    /// Returns the members with these settings, each repeated for all seeds.
    ///
    /// # Errors
    /// [`Error::Config`], in one line, for unknown or conflicting settings.
    pub fn plan(&self, trials: &[Settings]) -> Result<Vec<TrialPlan>> {
        check_trials(trials.len(), self.seeds)?;
        let numbers = 0..trials.len() * self.seeds;
        numbers.map(|number| self.member(number, trials[number / self.seeds].clone())).collect()
    }

    /// Returns the member of this number, with its settings.
    ///
    /// # Errors
    /// See [`TrialPlanner::plan`].
    fn member(&self, number: usize, own: Settings) -> Result<TrialPlan> {
        let unfit =
            |error: toml::ser::Error| Error::Config(format!("{}: {}", self.origin, error.to_string().trim()));
        let mut table = Table::try_from(self.base).map_err(unfit)?;
        table.extend(Table::try_from(&own).map_err(unfit)?);
        let mut settings: TrainSettings = read(&table, self.origin)?;
        let seed = settings.seed.unwrap_or(Config::default().seed).wrapping_add(number as u64);
        // A given seed, common or of a trial, is used for the first training.
        let given = settings.init_seed.map(|given| given.wrapping_add((number % self.seeds) as u64));
        settings.init_seed = Some(given.unwrap_or(seed));
        settings.check_early(self.info).map_err(|error| of_member(error, number))?;
        Ok(TrialPlan { number, own, settings, is_packed: false })
    }
}

/// Converts the error of a wrong setting to one that names its member.
pub(super) fn of_member(error: Error, number: usize) -> Error {
    let option = if matches!(error, Error::Setting { .. }) { "--" } else { "" };
    Error::Config(format!("trial {number}: {option}{error}"))
}

/// Names of all settings.
static KNOWN: LazyLock<Value> =
    LazyLock::new(|| serde_json::to_value(TrainSettings::default()).unwrap_or_default());

/// Returns whether trials of one sweep may differ in the option of this name.
pub fn may_differ(name: &str) -> bool {
    KNOWN.get(name).is_some() && !FIXED.contains(&name)
}

/// Checks whether members may have settings of these names, which come from `origin`; `others` are options
/// that are not settings.
///
/// # Errors
/// [`Error::Config`] for the first name that is not allowed.
pub fn check_names<'a>(
    mut names: impl Iterator<Item = &'a str>,
    origin: &str,
    others: &[String],
) -> Result<()> {
    let Some(name) = names.find(|name| !may_differ(name)) else { return Ok(()) };
    let expected = if KNOWN.get(name).is_some() || others.iter().any(|other| other == name) {
        format!("an option that may differ between trials, found {name:?}; put it on the command line")
    } else {
        format!("options of `tinytrain train`, found {name:?}")
    };
    Err(Error::Config(format!("{origin}: expected {expected}")))
}

/// Returns the default search space of a preset.
pub fn usual_space(preset: Preset) -> Space {
    let log = |low, high| {
        Values::Range(Range { bounds: [low, high], is_log: true, is_whole: false, points: Some(5) })
    };
    let settings = match preset {
        // The preset with smaller networks and batches, and one cycle of the learning rate: an ensemble of these has a smaller log
        // loss than one of networks from the search space of RealMLP's authors (docs/TABLES.md).
        Preset::Table => vec![
            ("lr", log(0.001, 0.03)),
            ("lr-schedule", choice(json!(["cosine"]))),
            ("hidden", choice(json!([[64], [256], [128, 128], [300, 100], [256, 256, 256]]))),
            ("dropout", choice(json!([0, 0.1, 0.3]))),
            ("batch-size", choice(json!([64, 128, 256]))),
            ("embeddings", choice(json!(["pbld", "pbld", "none"]))),
        ],
        Preset::Digits | Preset::Plain => vec![
            ("optimizer", choice(json!(["adam"]))),
            ("lr", log(0.0003, 0.01)),
            ("lr-schedule", choice(json!(["cosine"]))),
            ("hidden", choice(json!([[64], [256], [128, 128], [300, 100]]))),
            ("dropout", choice(json!([0, 0.1, 0.3]))),
            ("batch-size", choice(json!([32, 64, 128]))),
        ],
    };
    Space::new(settings.into_iter().map(|(name, values)| (name.to_owned(), values)))
}

/// Chooses one of the values of a list.
fn choice(list: Value) -> Values {
    Values::Choice(list.as_array().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_what_all_have_and_settings_and_first_weights_of_their_own() {
        let base = TrainSettings { seed: Some(5), epochs: Some(3), ..TrainSettings::default() };
        let planning = TrialPlanner { base: &base, info: DatasetInfo::default(), origin: "o", seeds: 2 };
        let trials = [json!({ "lr": 0.5 }), json!({ "hidden": [7, 3], "epochs": 9 })];
        let trials = trials.map(|trial| serde_json::from_value::<Settings>(trial).unwrap());
        let planned = planning.plan(&trials).unwrap();
        let found =
            planned.iter().map(|it| (it.number, it.settings.lr, it.settings.epochs, it.settings.init_seed));
        let expected = [
            (0, Some(0.5), Some(3), Some(5)),
            (1, Some(0.5), Some(3), Some(6)),
            (2, None, Some(9), Some(7)),
            (3, None, Some(9), Some(8)),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let bad =
            |trial: Value| planning.plan(&[serde_json::from_value(trial).unwrap()]).unwrap_err().to_string();
        assert!(bad(json!({ "lr": "x" })).starts_with("o: --lr: "), "{}", bad(json!({ "lr": "x" })));
        assert!(bad(json!({ "lr": -1 })).starts_with("trial 0: --lr: expected "));
    }

    #[test]
    fn names_are_those_of_settings_that_may_differ() {
        let check = |name: &str| check_names([name].into_iter(), "o", &["data".to_owned()]);
        assert!(check("lr").is_ok() && check("batch-size").is_ok() && check("hidden").is_ok());
        for (name, part) in [
            ("seed", "may differ"),
            ("preset", "may differ"),
            ("quantiles", "may differ"),
            ("data", "may differ"),
            ("lrr", "options of `tinytrain train`"),
        ] {
            assert!(check(name).unwrap_err().to_string().contains(part), "{name}");
        }
        for preset in [Preset::Table, Preset::Plain] {
            let space = usual_space(preset);
            assert!(check_names(space.names(), "o", &[]).is_ok());
            assert!(space.settings().values().all(|values| *values != Values::Choice(Vec::new())));
        }
    }
}
