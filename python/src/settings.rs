//! Settings by name, from JSON.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value};
use tinytrain::TrainSettings;

use crate::errors;

/// Returns the name of each setting of the library, with `_` for `-`, and its explanation.
#[pyfunction]
pub(crate) fn settings() -> Vec<(String, String)> {
    let settings = TrainSettings::explained().into_iter();
    settings.map(|(name, text)| (name.replace('-', "_"), text)).collect()
}

/// Reads settings; `null` means that a setting is not given.
pub(crate) fn read(text: &str) -> PyResult<TrainSettings> {
    let wrong = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    let given: Map<String, Value> = serde_json::from_str(text).map_err(|error| wrong(&error))?;
    let given: Map<String, Value> = given
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.replace('_', "-"), value))
        .collect();
    TrainSettings::deserialize(Value::Object(given.clone())).map_err(|error| {
        // The error contains the expected value, but not the name of the setting.
        let alone = |(name, value): (&String, &Value)| {
            let one = Map::from_iter([(name.clone(), value.clone())]);
            let error = TrainSettings::deserialize(Value::Object(one)).err()?;
            Some(format!("{}: {}", errors::name(name), errors::in_python(&error.to_string())))
        };
        PyValueError::new_err(given.iter().find_map(alone).unwrap_or_else(|| error.to_string()))
    })
}
