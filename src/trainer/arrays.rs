//! Arrays as training rows.

use ndarray::ArrayView2;

use super::checks::{check_length, values};
use super::table::Table;
use super::target::TargetData;
use crate::data::Reader;
use crate::error::Result;
use crate::named::named;

/// Treatment of NaN among the inputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Missing {
    /// NaN is an error.
    #[default]
    Error,
    /// NaN is a missing value: the median of the training rows replaces it, and an additional input marks it;
    /// a missing category is an additional category.
    Fill,
}

named!(Missing { Error = "error", Fill = "fill" });

/// Roles of columns and rows of arrays.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Columns {
    /// Columns that are categories, in ascending order.
    pub categorical: Vec<usize>,
    pub missing: Missing,
    /// Weight of each training row in the loss.
    pub weights: Option<Vec<f32>>,
}

/// Arrays as the contents of a file.
pub(super) struct Arrays<'a> {
    /// Names of inputs and targets in messages.
    pub names: [&'a str; 2],
    pub x: ArrayView2<'a, f32>,
    pub y: TargetData,
}

impl Arrays<'_> {
    /// Returns a reader that has read the arrays. `trains` states whether they are training rows, which have
    /// weights.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) for shapes that do not match and for values that are not finite;
    /// [`Error::Setting`](crate::Error::Setting) for columns that do not exist.
    pub(super) fn reader(self, columns: &Columns, trains: bool, threads: Option<usize>) -> Result<Reader> {
        let Self { names, x, y } = self;
        let found_nan = "NaN (Missing::Fill treats it as a missing value)";
        let values = values(names[0], x, |_| columns.missing == Missing::Fill, found_nan)?;
        let table = Table::of_values(values, x.ncols()).categorical(&columns.categorical)?;
        let weights = columns.weights.clone().filter(|_| trains);
        if let Some(weights) = &weights {
            check_length("weights", weights.len(), "weights", x.nrows(), names[0])?;
        }
        table.into_named_reader(names, y, Vec::new(), weights.unwrap_or_default(), threads)
    }
}
