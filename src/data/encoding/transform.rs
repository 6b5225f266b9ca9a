//! How the values of a data set become the inputs of a network.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Encoding;
use super::unknown::UnknownCells;
use crate::data::columns::categories::Dictionary;
use crate::data::dataset::{Dataset, Features, Scaling};
use crate::error::{Error, Result};

/// How values become inputs: learnt on the training rows, kept in the model, applied to every other set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transform {
    /// value / 255
    Bytes,
    /// The value itself.
    None,
    /// Each column in its own way.
    Columns(Encoding),
}

impl Transform {
    /// How values that have gone through `apply` become inputs where they are read.
    pub fn scaling(&self) -> Scaling {
        match self {
            Transform::Bytes => Scaling::Bytes,
            Transform::None | Transform::Columns(_) => Scaling::AsIs,
        }
    }

    /// Columns of the rows that become `inputs` inputs.
    pub fn columns(&self, inputs: usize) -> usize {
        match self {
            Transform::Columns(encoding) => encoding.columns.len(),
            Transform::Bytes | Transform::None => inputs,
        }
    }

    /// Which columns of the rows hold categories, in their order.
    pub fn categories(&self) -> Vec<usize> {
        match self {
            Transform::Columns(encoding) => encoding.categories(),
            Transform::Bytes | Transform::None => Vec::new(),
        }
    }

    /// The rows as network inputs: nothing is left to do where they are read but to divide bytes. There is a dictionary for
    /// each column of categories. Also returns the cells that held what the training rows did not hold.
    ///
    /// # Errors
    /// [`Error::Config`] when memory does not hold them, or for a missing value, if nothing says what stands for it.
    pub fn rows(&self, rows: Dataset, dictionaries: &[Dictionary]) -> Result<(Dataset, UnknownCells)> {
        self.rows_by(rows, dictionaries, 1)
    }

    /// The same on at most `threads` threads.
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

    /// Does to the values of whole rows what is not done where they are read.
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
