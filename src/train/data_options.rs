//! What is done to the rows of a file.

use serde::Serialize;

use super::InputOptions;
use crate::data::{Scale, Split};
use crate::error::{Error, Result};
use crate::named::named;

/// Whether scaled numbers are clipped smoothly: see [`Encoding::clipped`](crate::data::Encoding::clipped).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Clip {
    /// They are left as they are.
    #[default]
    None,
    /// They are clipped; an error where no value would be.
    Smooth,
    /// They are clipped where columns are scaled, each by itself, otherwise than by ranks.
    Auto,
}

named!(Clip { None = "none", Smooth = "smooth", Auto = "auto" });

/// What is done to the rows of a file before they train.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DataOptions {
    /// How values become inputs.
    pub scale: Scale,
    /// Which rows are left out of training.
    #[serde(flatten)]
    pub split: Split,
    /// Whether values to predict are standardised for training.
    #[serde(rename = "scale_target")]
    pub standardise_targets: bool,
    /// Whether scaled values are clipped smoothly.
    pub clip: Clip,
    /// What is learnt before the first dense layer.
    #[serde(flatten)]
    pub inputs: InputOptions,
}

impl DataOptions {
    /// Whether values are clipped, where `encodes` says whether columns are scaled each by itself.
    ///
    /// # Errors
    /// [`Error::Setting`] where they should be, but there is nothing to clip.
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
