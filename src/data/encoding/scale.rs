//! How the columns of a table are scaled.

use crate::named::named;

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
    /// The normal distribution's quantile at the value's rank: see [`NumericScaling::Normal`](super::NumericScaling::Normal).
    Quantile,
    /// The value itself.
    None,
    /// value / 255
    Bytes,
}

named!(Scale {
    Auto = "auto",
    Standard = "standard",
    MinMax = "minmax",
    Robust = "robust",
    Quantile = "quantile",
    None = "none",
    Bytes = "bytes",
});
