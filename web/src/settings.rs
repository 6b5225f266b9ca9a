//! Settings by their names, from JSON.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tinytrain::TrainSettings;

use crate::errors::{Result, thrown};

/// The settings and their explanations, as the program has them: a test of `src/settings` compares.
pub const HELP: &str = include_str!("settings.json");

/// Reads the settings of a training.
pub fn read(text: &str) -> Result<TrainSettings> {
    let given = without_nulls(object(text)?);
    TrainSettings::deserialize(Value::Object(given.clone())).map_err(|error| {
        // The error says what was expected, and not of which setting.
        let alone = |(name, value): (&String, &Value)| {
            let one = Map::from_iter([(name.clone(), value.clone())]);
            let error = TrainSettings::deserialize(Value::Object(one)).err()?;
            Some(format!("{name}: {error}"))
        };
        thrown(&given.iter().find_map(alone).unwrap_or_else(|| error.to_string()))
    })
}

/// Reads options of another kind.
pub fn options<T: DeserializeOwned>(text: &str) -> Result<T> {
    T::deserialize(Value::Object(without_nulls(object(text)?))).map_err(|error| thrown(&error.to_string()))
}

fn object(text: &str) -> Result<Map<String, Value>> {
    if text.is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(text).map_err(|error| thrown(&format!("settings: {error}")))
}

/// What is `null` is as if nobody had named it.
fn without_nulls(object: Map<String, Value>) -> Map<String, Value> {
    object.into_iter().filter(|(_, value)| !value.is_null()).collect()
}
