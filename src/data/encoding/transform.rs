//! The conversion of a data set's values to network inputs.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Encoding;
use super::unknown::UnknownCells;
use crate::data::columns::categories::Dictionary;
use crate::data::dataset::{Dataset, Features, Scaling};
use crate::error::{Error, Result};

/// The conversion of values to inputs: learnt on the training rows, stored in the model, applied to every other set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transform {
    /// value / 255
    Bytes,
    /// The value itself.
    None,
    /// A conversion for each column.
    Columns(Encoding),
}

impl Transform {
    /// The scaling of values when they are read, after `apply`.
    pub fn scaling(&self) -> Scaling {
        match self {
            Transform::Bytes => Scaling::Bytes,
            Transform::None | Transform::Columns(_) => Scaling::AsIs,
        }
    }

    /// The number of columns that become `inputs` inputs.
    pub fn columns(&self, inputs: usize) -> usize {
        match self {
            Transform::Columns(encoding) => encoding.columns.len(),
            Transform::Bytes | Transform::None => inputs,
        }
    }

    /// The indices of the columns of categories, in ascending order.
    pub fn categories(&self) -> Vec<usize> {
        match self {
            Transform::Columns(encoding) => encoding.categories(),
            Transform::Bytes | Transform::None => Vec::new(),
        }
    }

    /// Converts the rows to network inputs, except the scaling of bytes, which happens when they are read. There is a
    /// dictionary for each column of categories. Also returns the cells with values that no training row held.
    ///
    /// # Errors
    /// [`Error::Config`] if memory cannot hold the result, or for a missing value without a replacement.
    pub fn rows(&self, rows: Dataset, dictionaries: &[Dictionary]) -> Result<(Dataset, UnknownCells)> {
        self.rows_by(rows, dictionaries, 1)
    }

    /// As `rows`, on at most `threads` threads.
    pub(crate) fn rows_by(
        &self,
        mut rows: Dataset,
        dictionaries: &[Dictionary],
        threads: usize,
    ) -> Result<(Dataset, UnknownCells)> {
        let unknown = self.apply(&mut rows.features, dictionaries, threads)?;
        if let Transform::Columns(encoding) = self {
            rows.inputs = encoding.inputs();
        }
        if self.scaling() == Scaling::AsIs {
            rows.features.make_floats()?;
        } else if let Features::Floats(floats) = &mut rows.features {
            floats.iter_mut().for_each(|value| *value /= 255.0);
        }
        Ok((rows, unknown))
    }

    /// Applies the part of the conversion that does not happen when values are read.
    pub(crate) fn apply(
        &self,
        features: &mut Features,
        dictionaries: &[Dictionary],
        threads: usize,
    ) -> Result<UnknownCells> {
        match (self, &features) {
            (Transform::Columns(encoding), _) => encoding.apply(features, dictionaries, threads),
            (_, Features::Floats(floats)) if floats.iter().any(|value| value.is_nan()) => {
                let text =
                    "a missing value: the model was trained without scaling and has no median to replace it";
                Err(Error::Config(text.to_owned()))
            }
            _ => Ok(UnknownCells::default()),
        }
    }
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transform::Bytes => "1/255",
            Transform::None => "1",
            Transform::Columns(_) => "columns",
        })
    }
}
