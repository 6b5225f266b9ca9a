//! Arrays as rows to train on.

use ndarray::ArrayView2;

use super::checks::{check_length, values};
use super::table::Table;
use super::target::TargetData;
use crate::data::Reader;
use crate::error::Result;
use crate::named::named;

/// What becomes of NaN among the inputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Missing {
    /// It is an error.
    #[default]
    Error,
    /// NaN is a missing value: the median of the training rows replaces it, and one more input marks it, and a
    /// missing category is one more category.
    Fill,
}

named!(Missing { Error = "error", Fill = "fill" });

/// What columns and rows of arrays are.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Columns {
    /// Columns that are categories; in ascending order.
    pub categorical: Vec<usize>,
    pub missing: Missing,
    /// How much each training row counts in the loss.
    pub weights: Option<Vec<f32>>,
}

/// Arrays that stand for a file.
pub(super) struct Arrays<'a> {
    /// The names of inputs and targets in messages.
    pub names: [&'a str; 2],
    pub x: ArrayView2<'a, f32>,
    pub y: TargetData,
}

impl Arrays<'_> {
    /// A reader that has read them. `trains` says whether they are the rows to train on, which have weights.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) for shapes that do not go together and for values that are no finite numbers; [`Error::Setting`](crate::Error::Setting) for
    /// columns that are not there.
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
