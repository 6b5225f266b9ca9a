//! Options for the preparation of rows.

use serde::Serialize;

use super::InputOptions;
use crate::data::{Scale, Split};
use crate::error::{Error, Result};
use crate::named::named;

/// Smooth clipping of scaled numbers: see [`Encoding::clipped`](crate::data::Encoding::clipped).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Clip {
    /// No clipping.
    #[default]
    None,
    /// Clipping; an error if no values could be clipped.
    Smooth,
    /// Clipping if columns are scaled individually, except by ranks.
    Auto,
}

named!(Clip { None = "none", Smooth = "smooth", Auto = "auto" });

/// Options for the preparation of rows before training.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DataOptions {
    /// Conversion of values to inputs.
    pub scale: Scale,
    /// Rows excluded from training.
    #[serde(flatten)]
    pub split: Split,
    /// Whether values to predict are standardised for training.
    #[serde(rename = "scale_target")]
    pub standardise_targets: bool,
    /// Smooth clipping of scaled values.
    pub clip: Clip,
    /// Layers learnt before the first dense layer.
    #[serde(flatten)]
    pub inputs: InputOptions,
    /// Number of quantiles to predict of a single target, whose values are repeated; 0 for values themselves.
    #[serde(skip)]
    pub quantiles: usize,
}

impl DataOptions {
    /// Returns whether values are clipped; `encodes` is whether columns are scaled individually.
    ///
    /// # Errors
    /// [`Error::Setting`] if clipping is required but impossible.
    pub(super) fn clips(&self, encodes: bool) -> Result<bool> {
        let scales = !matches!(self.scale, Scale::None | Scale::Bytes | Scale::Quantile);
        let found = match (self.clip, self.scale) {
            (Clip::None, _) => return Ok(false),
            (Clip::Auto, _) => return Ok(encodes && scales),
            (Clip::Smooth, Scale::Quantile) => "ranks of values (quantile), which have no outliers",
            (Clip::Smooth, _) if encodes && scales => return Ok(true),
            (Clip::Smooth, Scale::None) => "values as they are (none)",
            (Clip::Smooth, _) => "values divided by 255 (bytes)",
        };
        let expected = "columns that are scaled (standard, minmax or robust) for smooth clipping";
        Err(Error::setting("clip", expected, found))
    }
}
