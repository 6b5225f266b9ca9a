//! Tables for the library: of arrays of numpy, and of whatever gives Arrow.

use std::sync::Arc;

use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyType;
use tinytrain::ndarray::Axis;
use tinytrain::trainer;

use crate::{arrow, errors};

/// Numbers that are copied between two looks for signals.
pub(crate) const PIECE: usize = 1 << 20;

/// Rows without what they should give, as the library takes them.
#[pyclass(frozen, module = "tinytrain._tinytrain")]
pub(crate) struct Table(pub(crate) Arc<trainer::Table>);

impl From<trainer::Table> for Table {
    fn from(table: trainer::Table) -> Self {
        Self(Arc::new(table))
    }
}

#[pymethods]
impl Table {
    /// Of numbers, [rows, columns]; NaN where one is missing. `categorical` are columns of categories, counted from 0.
    #[new]
    #[pyo3(signature = (x, categorical=Vec::new()))]
    fn new(py: Python<'_>, x: PyReadonlyArray2<'_, f32>, categorical: Vec<usize>) -> PyResult<Self> {
        let x = x.as_array();
        let (rows, columns) = x.dim();
        let mut values = Vec::with_capacity(rows * columns);
        for block in x.axis_chunks_iter(Axis(0), (PIECE / columns.max(1)).max(1)) {
            values.extend(block.iter());
            py.check_signals()?;
        }
        let table = trainer::Table::of_values(values, columns);
        table.categorical(&categorical).map(Self::from).map_err(errors::exception)
    }

    /// Of an object that has `__arrow_c_stream__`, the named columns of it or all. `categorical` are names of columns of categories.
    #[classmethod]
    #[pyo3(signature = (frame, columns=None, categorical=Vec::new()))]
    fn of_arrow(
        _type: &Bound<'_, PyType>,
        frame: &Bound<'_, PyAny>,
        columns: Option<Vec<String>>,
        categorical: Vec<String>,
    ) -> PyResult<Self> {
        arrow::table(frame, columns.as_deref(), &categorical).map(Self::from)
    }

    /// [rows, columns].
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.rows(), self.0.columns())
    }

    /// The names of the columns, if they have any.
    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        self.0.names().map(|names| names.into_iter().map(str::to_owned).collect())
    }

    /// The inputs, [rows, inputs]: of a text its number, of a date its parts.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let rows = self.0.rows();
        let values = numpy::PyArray1::from_slice(py, self.0.values());
        values.reshape([rows, self.0.values().len() / rows.max(1)])
    }
}
