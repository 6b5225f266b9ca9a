//! Scalings of a table's columns.

use crate::named::named;

/// The requested scaling of values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scale {
    /// (value - background) / 255 for images, where dark backgrounds count as 0 and the mean replaces a missing one;
    /// standardised columns for tables.
    #[default]
    Auto,
    /// (value - mean) / standard deviation, both per column over the training rows.
    Standard,
    /// (value - least) / (greatest - least)
    MinMax,
    /// (value - median) / (third quartile - first quartile); if the quartiles are equal, half the distance between the
    /// least and the greatest value replaces their difference.
    Robust,
    /// The normal distribution's quantile at the value's rank: see
    /// [`NumericScaling::Normal`](super::NumericScaling::Normal).
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
