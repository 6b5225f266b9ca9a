//! Tables for the library: from numpy arrays, and from objects that export Arrow.

use std::sync::Arc;

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyType;
use tinytrain::data::NumbersAsText;
use tinytrain::memory::room;
use tinytrain::ndarray::Axis;
use tinytrain::trainer::{self, TextNotes};

use crate::{arrow, errors};

/// Number of values that are copied between two checks for signals.
pub(crate) const PIECE: usize = 1 << 20;

/// Rows without targets, as a table of the library.
#[pyclass(module = "tinytrain._tinytrain")]
pub(crate) struct Table(pub(crate) Arc<trainer::Table>, TextNotes);

impl From<trainer::Table> for Table {
    fn from(table: trainer::Table) -> Self {
        Self(Arc::new(table), TextNotes::default())
    }
}

/// Numbers of an array, [rows, columns].
#[derive(FromPyObject)]
enum Numbers<'py> {
    Single(PyReadonlyArray2<'py, f32>),
    Double(PyReadonlyArray2<'py, f64>),
}

/// Copies an array of any order in pieces, between which signals are handled.
fn row_by_row<T: numpy::Element + Copy>(
    py: Python<'_>,
    x: &PyReadonlyArray2<'_, T>,
    number: impl Fn(T) -> f32,
) -> PyResult<Vec<f32>> {
    let x = x.as_array();
    let mut values = room(x.len(), "X").map_err(errors::exception)?;
    for block in x.axis_chunks_iter(Axis(0), (PIECE / x.ncols().max(1)).max(1)) {
        // Contiguous rows are copied many numbers at a time.
        match block.as_slice() {
            Some(block) => values.extend(block.iter().map(|value| number(*value))),
            None => values.extend(block.iter().map(|value| number(*value))),
        }
        py.check_signals()?;
    }
    Ok(values)
}

#[pymethods]
impl Table {
    /// Creates a table of numbers, [rows, columns]; NaN for missing values. `categorical` are columns of
    /// categories, counted from 0.
    #[new]
    #[pyo3(signature = (x, categorical=Vec::new()))]
    fn new(py: Python<'_>, x: Numbers<'_>, categorical: Vec<usize>) -> PyResult<Self> {
        let (values, columns) = match &x {
            Numbers::Single(x) => (row_by_row(py, x, |value| value)?, x.as_array().ncols()),
            Numbers::Double(x) => (row_by_row(py, x, |value| value as f32)?, x.as_array().ncols()),
        };
        let table = trainer::Table::of_values(values, columns);
        table.categorical(&categorical).map(Self::from).map_err(errors::exception)
    }

    /// Creates a table of an object that has `__arrow_c_stream__`, from the named columns or all.
    /// `categorical` are names of columns of categories, `exact` the ones whose texts are compared byte for
    /// byte, or None for a training table; `zones` are the names of columns of local times, with their time
    /// zones.
    #[classmethod]
    #[pyo3(signature = (frame, columns=None, categorical=Vec::new(), exact=None, zones=Vec::new()))]
    fn of_arrow(
        _type: &Bound<'_, PyType>,
        frame: &Bound<'_, PyAny>,
        columns: Option<Vec<String>>,
        categorical: Vec<String>,
        exact: Option<Vec<String>>,
        zones: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let known = arrow::Known { categorical, exact, zones };
        let (table, notes) = arrow::table(frame, columns.as_deref(), known)?;
        Ok(Self(Arc::new(table), notes))
    }

    /// Returns the columns that are categories, counted from 0.
    #[getter]
    fn categorical(&self) -> Vec<usize> {
        self.0.categories()
    }

    /// Returns the names of the columns whose texts are compared byte for byte.
    #[getter]
    fn exact(&self) -> Vec<String> {
        self.0.exact().into_iter().map(str::to_owned).collect()
    }

    /// Returns the names of date columns with their time zones, None for times without zone.
    #[getter]
    fn zones(&self) -> Vec<(String, Option<String>)> {
        let zones = self.0.zones().into_iter();
        zones.map(|(name, zone)| (name.to_owned(), zone.map(str::to_owned))).collect()
    }

    /// Converts the table to the columns of the training table. This table is empty afterwards.
    fn like(&mut self, training: &Self) -> PyResult<Self> {
        let table = Arc::unwrap_or_clone(std::mem::take(&mut self.0));
        table.like(&training.0).map(Self::from).map_err(errors::exception)
    }

    /// Returns notes about text columns for the user, one line each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        let TextNotes { mixed, as_text, different } = &self.1;
        let mixed = mixed.iter().map(|column| {
            format!("{column}; put None in the place of a text that stands for a missing value, or name the column in categorical")
        });
        let as_text = as_text.iter().map(|NumbersAsText { column, cell, are_dates, .. }| {
            let (what, remedy) = match are_dates {
                true => ("dates whose year comes last", "dates of a type for them"),
                false => ("numbers with a sign, a unit or another decimal mark", "plain numbers"),
            };
            format!("column {column} holds {what}, such as {cell}, which are categories as they are; use {remedy}, or name the column in categorical")
        });
        let different = different.iter().map(|column| {
            format!("column {column} holds text that differs in nearly all rows, from which nothing can be learnt; leave it out, or name it in categorical")
        });
        mixed.chain(as_text).chain(different).collect()
    }

    /// Returns [rows, columns].
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.rows(), self.0.columns())
    }

    /// Returns the names of the columns, if they have any.
    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        self.0.names().map(|names| names.into_iter().map(str::to_owned).collect())
    }

    /// Returns whether an input is infinite, and whether one is missing.
    #[getter]
    fn flaws(&self, py: Python<'_>) -> (bool, bool) {
        let values = self.0.values();
        py.detach(|| {
            values.iter().fold((false, false), |(infinite, missing), value| {
                (infinite | value.is_infinite(), missing | value.is_nan())
            })
        })
    }
}
