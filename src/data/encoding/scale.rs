//! How the columns of a table are scaled.

use std::str::FromStr;

use crate::error::{Error, Result};

/// What is to be done with the values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scale {
    /// Images are divided by 255, the columns of every other table are standardised.
    #[default]
    Auto,
    /// (value - mean) / standard deviation, both of the column over the training rows.
    Standard,
    /// (value - least) / (greatest - least)
    MinMax,
    /// (value - median) / (third quartile - first quartile); where the quartiles are the same, half the distance between the
    /// least and the greatest value takes their place.
    Robust,
    /// The normal distribution's quantile at the value's rank: see [`Map::Normal`](super::Map::Normal).
    Quantile,
    /// The value itself.
    None,
    /// value / 255
    Bytes,
}

impl Scale {
    /// All of them.
    pub const ALL: [Scale; 7] = [
        Scale::Auto,
        Scale::Standard,
        Scale::MinMax,
        Scale::Robust,
        Scale::Quantile,
        Scale::None,
        Scale::Bytes,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Scale::Auto => "auto",
            Scale::Standard => "standard",
            Scale::MinMax => "minmax",
            Scale::Robust => "robust",
            Scale::Quantile => "quantile",
            Scale::None => "none",
            Scale::Bytes => "bytes",
        }
    }
}

impl FromStr for Scale {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|scale| scale.name() == text).ok_or_else(|| {
            let expected = "auto, standard, minmax, robust, quantile, none or bytes".to_owned();
            Error::Setting { setting: "scale", expected, found: format!("{text:?}") }
        })
    }
}
