//! What is done to the rows of a file.

use super::InputOptions;
use crate::data::{Scale, Split};
use crate::error::{Error, Result};

/// What is done to the rows of a file before they train.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DataOptions {
    /// How values become inputs.
    pub scale: Scale,
    /// Which rows are left out of training.
    pub split: Split,
    /// Whether values to predict are standardised for training.
    pub standardise_targets: bool,
    /// Whether scaled values are clipped smoothly: see [`Encoding::clipped`](crate::data::Encoding::clipped). An error where no
    /// value would be clipped.
    pub clip: bool,
    /// What is learnt before the first dense layer.
    pub inputs: InputOptions,
}

impl DataOptions {
    /// Checks that clipping, if it is asked for, has something to clip; `encodes` says whether columns are scaled each by itself.
    pub(super) fn check_clip(&self, encodes: bool) -> Result<()> {
        let found = match self.scale {
            _ if !self.clip => return Ok(()),
            Scale::Quantile => "ranks of values (quantile), which have no outliers",
            _ if encodes => return Ok(()),
            Scale::None => "values as they are (none)",
            _ => "values divided by 255 (bytes)",
        };
        let expected = "columns that are scaled (standard, minmax or robust) for smooth clipping".to_owned();
        Err(Error::Setting { setting: "clip", expected, found: found.to_owned() })
    }
}
