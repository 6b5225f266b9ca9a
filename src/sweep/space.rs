//! Search spaces: possible values of settings, and the choice for a member of a sweep.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde_json::Value;

use crate::error::{Error, Place, Result, excerpt};
use crate::memory::check_memory;
use crate::random::{Purpose, uniform};
use crate::runs::from_toml;

/// Settings by name.
pub type Settings = BTreeMap<String, Value>;

/// Possible values of a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// One of these, with equal probability.
    Choice(Vec<Value>),
    /// A number in a range.
    Range(Range),
}

/// A range of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Least and greatest number.
    pub bounds: [f64; 2],
    /// Whether the logarithm is uniformly distributed, instead of the number.
    pub is_log: bool,
    /// Whether the numbers are integers.
    pub is_whole: bool,
    /// Number of points in a grid.
    pub points: Option<usize>,
}

/// A search space. The same space, seed and trial give the same settings; the value of a setting does not
/// depend on the others.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Space {
    settings: BTreeMap<String, Values>,
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice(values) => write!(f, "{}", Value::from(values.clone())),
            Self::Range(Range { bounds: [low, high], is_log, is_whole, points }) => {
                let kind = if *is_log { "log" } else { "range" };
                // Integers are written without a decimal point, other numbers with one.
                let (low, high) = if *is_whole {
                    (format!("{low}"), format!("{high}"))
                } else {
                    (format!("{low:?}"), format!("{high:?}"))
                };
                let points = points.map(|points| format!(", points = {points}")).unwrap_or_default();
                write!(f, "{{ {kind} = [{low}, {high}]{points} }}")
            }
        }
    }
}

impl Range {
    /// Returns the number at a share from 0 to 1 of the range.
    fn at(self, share: f64) -> Value {
        let [low, high] = self.bounds;
        // Each integer gets the same share of the range.
        let (low, high) = if self.is_whole { (low - 0.5, high + 0.5) } else { (low, high) };
        let number = if self.is_log {
            (low.ln() + share * (high / low).ln()).exp()
        } else {
            low + share * (high - low)
        };
        let within = |number: f64| number.clamp(self.bounds[0], self.bounds[1]);
        if self.is_whole {
            Value::from(within(number).round() as i64)
        } else {
            Value::from(within(rounded(number)))
        }
    }

    /// Returns the numbers of a grid.
    fn grid(self, points: usize) -> Vec<Value> {
        let share = |point: usize| if points == 1 { 0.5 } else { point as f64 / (points - 1) as f64 };
        let mut numbers: Vec<Value> = (0..points).map(|point| self.at(share(point))).collect();
        numbers.dedup();
        numbers
    }
}

/// Rounds to four digits, which are sufficient and readable.
fn rounded(number: f64) -> f64 {
    format!("{number:.3e}").parse().unwrap_or(number)
}

/// Returns the position of a setting's numbers in the random stream: FNV-1a of its name.
fn place(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl Space {
    /// Creates a space of these settings.
    pub fn new(settings: impl IntoIterator<Item = (String, Values)>) -> Self {
        Self { settings: settings.into_iter().collect() }
    }

    /// Reads TOML: `name = value` for one value, `name = [a, b]` for a choice, `name = { range = [a, b] }`
    /// for numbers in a range and `name = { log = [a, b] }` for numbers whose logarithms are uniformly
    /// distributed; integers if both bounds are written as integers. `points = N` in the same table is the
    /// number of points in a grid.
    ///
    /// # Errors
    /// [`Error::Data`] with `path` for anything else.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self> {
        let table = from_toml(text, path, "settings in TOML, such as lr = { log = [1e-4, 1e-1] }")?;
        let mut settings = BTreeMap::new();
        for (name, value) in table {
            let values = Values::read(&value).ok_or_else(|| {
                let expected = format!(
                    "{} as a value, a list of values, {{ range = [low, high] }} or {{ log = [low, high] }} with low below \
                     high and no further apart than f64 counts, of a log above 0",
                    excerpt(&name)
                );
                Error::data(path, Place::default(), expected, excerpt(&value.to_string()))
            })?;
            settings.insert(name, values);
        }
        Ok(Self { settings })
    }

    /// Returns the space without the settings that are fixed.
    #[must_use]
    pub fn without(mut self, is_fixed: impl Fn(&str) -> bool) -> Self {
        self.settings.retain(|name, _| !is_fixed(name));
        self
    }

    /// Returns the names of the settings.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.settings.keys().map(String::as_str)
    }

    /// Returns the possible values of each setting.
    pub fn settings(&self) -> &BTreeMap<String, Values> {
        &self.settings
    }

    /// Draws random settings.
    pub fn sample(&self, seed: u64, trial: usize) -> Settings {
        let value = |(name, values): (&String, &Values)| {
            let share = uniform(seed, Purpose::Trial, [trial as u32, place(name)]);
            let value = match values {
                Values::Choice(values) => {
                    values[((share * values.len() as f64) as usize).min(values.len() - 1)].clone()
                }
                Values::Range(range) => range.at(share),
            };
            (name.clone(), value)
        };
        self.settings.iter().map(value).collect()
    }

    /// Returns all combinations of the choices and of the points of ranges, with the last setting changing
    /// first.
    ///
    /// # Errors
    /// [`Error::Config`] for a range without a number of points, and for more than a million combinations.
    pub fn grid(&self) -> Result<Vec<Settings>> {
        let mut grid = vec![Settings::new()];
        for (name, values) in &self.settings {
            let values = match values {
                Values::Choice(values) => values.clone(),
                Values::Range(range) => {
                    let text = || {
                        format!(
                            "{name}: a grid needs points = N for a range, such as {{ range = [0.1, 0.5], points = 3 }}"
                        )
                    };
                    range.grid(range.points.ok_or_else(|| Error::Config(text()))?)
                }
            };
            if grid.len().saturating_mul(values.len()) > MOST_COMBINATIONS {
                let text =
                    format!("expected at most {MOST_COMBINATIONS} combinations of settings, found more");
                return Err(Error::Config(text));
            }
            let bytes =
                grid.len() as u128 * values.len() as u128 * self.settings.len() as u128 * SETTING_BYTES;
            check_memory(bytes, "a grid of these settings")?;
            let with = |settings: &Settings, value: &Value| {
                let mut settings = settings.clone();
                settings.insert(name.clone(), value.clone());
                settings
            };
            grid =
                grid.iter().flat_map(|settings| values.iter().map(|value| with(settings, value))).collect();
        }
        Ok(grid)
    }
}

/// Most combinations of a grid.
const MOST_COMBINATIONS: usize = 1_000_000;

/// Approximate bytes of a setting in a combination, with its name.
const SETTING_BYTES: u128 = 160;

impl Values {
    fn read(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::Array(values) if values.is_empty() => None,
            toml::Value::Array(values) => {
                Some(Self::Choice(values.iter().map(plain).collect::<Option<Vec<Value>>>()?))
            }
            toml::Value::Table(table) => Some(Self::Range(Range::read(table)?)),
            value => Some(Self::Choice(vec![plain(value)?])),
        }
    }
}

impl Range {
    fn read(table: &toml::Table) -> Option<Self> {
        let is_log = table.contains_key("log");
        let bounds = table.get(if is_log { "log" } else { "range" })?.as_array()?;
        let points = match table.get("points") {
            None => None,
            Some(points) => Some(points.as_integer().filter(|points| (1..=1000).contains(points))? as usize),
        };
        if table.len() != 1 + usize::from(points.is_some()) {
            return None;
        }
        let [low, high] = &bounds[..] else { return None };
        let number = |value: &toml::Value| value.as_float().or_else(|| Some(value.as_integer()? as f64));
        let bounds = [number(low)?, number(high)?];
        let is_whole = low.is_integer() && high.is_integer();
        let fits = bounds.iter().all(|bound| bound.is_finite())
            && bounds[0] < bounds[1]
            && (bounds[1] - bounds[0]).is_finite()
            && (!is_log || bounds[0] > 0.0 && (bounds[1] / bounds[0]).is_finite());
        fits.then_some(Self { bounds, is_log, is_whole, points })
    }
}

/// Converts a value that is neither a range nor a date to JSON; lists have one level.
fn plain(value: &toml::Value) -> Option<Value> {
    match value {
        toml::Value::String(text) => Some(text.as_str().into()),
        toml::Value::Integer(number) => Some((*number).into()),
        toml::Value::Float(number) => Some((*number).into()).filter(|_| number.is_finite()),
        toml::Value::Boolean(flag) => Some((*flag).into()),
        toml::Value::Array(values) => {
            let is_list = |value: &toml::Value| value.is_array();
            let values = values.iter().map(|value| plain(value).filter(|_| !is_list(value)));
            values.collect::<Option<Vec<Value>>>().map(Value::from)
        }
        toml::Value::Table(_) | toml::Value::Datetime(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn space(text: &str) -> Result<Space> {
        Space::from_toml(text, Path::new("space.toml"))
    }

    #[test]
    fn settings_stay_in_their_bounds_and_are_the_same_again() {
        let text = "lr = { log = [1e-4, 1e-1] }\nhidden = [[64], [256, 256], []]\ndropout = { range = [0.0, 0.5] }\n\
                    batch-size = { log = [16, 64] }\nwarmup = 10\nactivation = [\"relu\", \"selu\"]";
        let space = space(text).unwrap();
        let trials: Vec<Settings> = (0..2000).map(|trial| space.sample(7, trial)).collect();
        let number = |settings: &Settings, name: &str| settings[name].as_f64().unwrap();
        for settings in &trials {
            assert!((1e-4..=1e-1).contains(&number(settings, "lr")));
            assert!((0.0..=0.5).contains(&number(settings, "dropout")));
            assert!(
                settings["batch-size"].is_i64() && (16.0..=64.0).contains(&number(settings, "batch-size"))
            );
            assert_eq!(settings["warmup"], 10);
        }
        // Half of the logarithms are below the middle, within four standard errors.
        let below = trials.iter().filter(|settings| number(settings, "lr") < 10f64.powf(-2.5)).count();
        assert!((1000 - 90..1000 + 90).contains(&below), "{below}");
        let lists = |list: Value| trials.iter().filter(|settings| settings["hidden"] == list).count();
        let counts = [lists(json!([64])), lists(json!([256, 256])), lists(json!([]))];
        assert!(counts.iter().all(|count| (580..760).contains(count)), "{counts:?}");
        assert_eq!(trials[13], space.sample(7, 13));
        assert_ne!(trials[13], space.sample(8, 13));
        // The value of a setting does not depend on the others.
        let fewer = super::tests::space("lr = { log = [1e-4, 1e-1] }").unwrap();
        assert_eq!(fewer.sample(7, 13)["lr"], trials[13]["lr"]);
    }

    #[test]
    fn a_grid_has_all_combinations() {
        let space = space(
            "a = [1, 2]\nb = { log = [0.01, 1.0], points = 3 }\nc = \"x\"\nd = { range = [1, 2], points = 5 }",
        );
        let grid = space.unwrap().grid().unwrap();
        assert_eq!(grid.len(), 12);
        let of = |name: &str| grid.iter().map(|settings| settings[name].clone()).collect::<Vec<Value>>();
        assert_eq!(of("a")[..6], vec![json!(1); 6]);
        assert_eq!(of("b")[..6], [0.01, 0.01, 0.1, 0.1, 1.0, 1.0].map(Value::from));
        assert_eq!(of("d")[..3], [1, 2, 1].map(Value::from));
        let error = super::tests::space("a = { range = [0, 1] }").unwrap().grid().unwrap_err().to_string();
        assert_eq!(
            error,
            "a: a grid needs points = N for a range, such as { range = [0.1, 0.5], points = 3 }"
        );
    }

    /// Rounding to four digits would leave both of these ranges.
    #[test]
    fn rounded_numbers_stay_in_their_bounds() {
        let space =
            space("a = { range = [0.123449, 0.123451] }\nb = { log = [0.98765, 0.98766], points = 3 }")
                .unwrap();
        for (trial, settings) in (0..100).map(|trial| (trial, space.sample(7, trial))) {
            let [a, b] = ["a", "b"].map(|name| settings[name].as_f64().unwrap());
            assert!(
                (0.123449..=0.123451).contains(&a) && (0.98765..=0.98766).contains(&b),
                "{trial}: {a} {b}"
            );
        }
    }

    #[test]
    fn what_is_no_space_is_refused_in_one_line() {
        for text in [
            "a = { log = [0, 1] }",
            "a = { range = [2, 1] }",
            "a = { range = [1, 2], step = 3 }",
            "a = { range = [1, 2], points = 0 }",
            "a = []",
            "a = [[[1]]]",
            "a = nan",
            "a = 1979-05-27",
            "a = { b = 1 }",
            "a = { log = [1, inf] }",
            "a = { log = [1e-300, 1e300] }",
            "a = { range = [-1e308, 1e308] }",
            "a = ",
            "= 1",
        ] {
            let error = space(text).unwrap_err();
            let line = error.to_string();
            assert!(line.starts_with("space.toml") && !line.contains('\n'), "{line}");
            assert_eq!(error.exit_code(), 2);
        }
        assert!(space("a = 1\nb = \n").unwrap_err().to_string().starts_with("space.toml, row 2: "));
    }
}
