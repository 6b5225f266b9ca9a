//! Settings in files: a number if the text is exactly that number, otherwise text; a list, or a single value for it.

use std::ffi::OsStr;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::{Table, Value};

use super::values::{duration, parse};
use crate::error::{Error, excerpt};
use crate::printable::time_text;

/// Converts text to a number if it is exactly the text of the number, otherwise to text; comma-separated numbers become
/// a list.
fn value_of(text: &str) -> Value {
    let number = |text: &str| {
        let whole = text.parse::<i64>().ok().filter(|number| number.to_string() == text).map(Value::Integer);
        let decimal =
            || text.parse::<f64>().ok().filter(|number| number.to_string() == text).map(Value::Float);
        whole.or_else(decimal)
    };
    let list = || text.contains(',').then(|| text.split(',').map(number).collect::<Option<Vec<Value>>>())?;
    number(text).or_else(|| list().map(Value::Array)).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Formats a value as for an option.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => "none".to_owned(),
        Value::Array(values) => values.iter().map(text_of).collect::<Vec<String>>().join(","),
        Value::Boolean(is_set) => if *is_set { "yes" } else { "no" }.to_owned(),
        Value::Float(number) => number.to_string(),
        Value::Table(parts) => {
            let part = |(name, value): (&String, &Value)| format!("{name}={}", text_of(value));
            parts.iter().map(part).collect::<Vec<String>>().join(",")
        }
        other => other.to_string(),
    }
}

/// The values of an option.
pub fn values(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) if values.iter().any(Value::is_str) => values.iter().map(text_of).collect(),
        value => vec![text_of(value)],
    }
}

/// Reads settings or other options from a table; messages name `origin` as their source.
///
/// # Errors
/// [`Error::Config`], in one line, for values that options do not accept.
pub fn read<T: DeserializeOwned>(table: &Table, origin: &str) -> crate::error::Result<T> {
    T::deserialize(table.clone()).map_err(|error| {
        let alone = |(name, value): (&String, &Value)| {
            let error = T::deserialize(Table::from_iter([(name.clone(), value.clone())])).err()?;
            Some(format!("--{name}: {}", excerpt(error.message())))
        };
        let wrong = table.iter().find_map(alone).unwrap_or_else(|| excerpt(error.message()));
        Error::Config(format!("{origin}: {wrong}"))
    })
}

/// For `#[serde(with)]`.
///
/// # Errors
/// Errors of the serializer.
pub fn serialize<T: Display, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(|value| value_of(&value.to_string())).serialize(to)
}

/// For `#[serde(with)]`.
///
/// # Errors
/// If parsing fails.
pub fn deserialize<'a, T: FromStr<Err: Display>, D: Deserializer<'a>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let text = text_of(&Value::deserialize(from)?);
    parse(&text).map(Some).map_err(|error| D::Error::custom(found(&error, &text)))
}

/// Adds the found text to an error message without it.
fn found(error: &str, text: &str) -> String {
    if error.contains("found") { error.to_owned() } else { format!("{error}, found {text:?}") }
}

/// Serialization of times as text.
pub mod time {
    use super::*;

    /// For `#[serde(with)]`.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<S: Serializer>(time: &Option<std::time::Duration>, to: S) -> Result<S::Ok, S::Error> {
        time.map(time_text).serialize(to)
    }

    /// For `#[serde(with)]`.
    ///
    /// # Errors
    /// If the value is not a time.
    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Option<std::time::Duration>, D::Error> {
        let text = text_of(&Value::deserialize(from)?);
        duration(&text).map(Some).map_err(|error| D::Error::custom(found(&error, &text)))
    }
}

/// Serialization of lists of texts, such as names and paths; a list of one is a single text.
pub mod texts {
    use super::*;

    /// For `#[serde(with)]`.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<T: AsRef<OsStr>, S: Serializer>(texts: &[T], to: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<_> = texts.iter().map(|text| text.as_ref().to_string_lossy()).collect();
        match &texts[..] {
            [] => to.serialize_none(),
            [one] => one.serialize(to),
            texts => texts.serialize(to),
        }
    }

    /// For `#[serde(with)]`.
    ///
    /// # Errors
    /// Errors of the deserializer.
    pub fn deserialize<'a, T: From<String>, D: Deserializer<'a>>(from: D) -> Result<Vec<T>, D::Error> {
        Ok(match Value::deserialize(from)? {
            Value::Array(values) => values.iter().map(|value| text_of(value).into()).collect(),
            one => vec![text_of(&one).into()],
        })
    }
}

/// Serializes a path as text, for `#[serde(serialize_with)]`.
///
/// # Errors
/// Errors of the serializer.
pub fn path<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(to)
}

#[cfg(test)]
mod tests {
    use toml::Table;

    use super::*;

    #[test]
    fn values_read_back_as_they_were_written() {
        for text in [
            "0.001",
            "1e-5",
            "300,100",
            "none",
            "-3",
            "18446744073709551615",
            "a,b",
            "0.9,0.95",
            ",",
            "007",
            "",
            "1.",
        ] {
            let written = toml::to_string(&Table::from_iter([("x".to_owned(), value_of(text))])).unwrap();
            let read: Table = toml::from_str(&written).unwrap();
            assert_eq!(text_of(&read["x"]), text, "{written}");
        }
        let parts: Table = toml::from_str("x = { biases = 0.5, layers = [1, 0.1] }").unwrap();
        assert_eq!(text_of(&parts["x"]), "biases=0.5,layers=1,0.1");
    }
}
