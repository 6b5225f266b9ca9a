//! Exact serialization of numbers as text, including NaN and infinities, which JSON numbers lack.

use serde::{Deserialize, Deserializer, Serializer};

/// Serializes a number as text.
pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Deserializes a number from text.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}
