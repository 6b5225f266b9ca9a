//! Numbers as text that reads back bit for bit, NaN and infinities too, which JSON has no numbers for.

use serde::{Deserialize, Deserializer, Serializer};

/// As text.
pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// From text.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}
