//! The Python package of tinytrain: interface for arrays and tables to the library. The scikit-learn
//! estimators are in `tinytrain/`.

mod arrow;
mod ensemble;
mod errors;
mod fit;
mod model;
mod partial;
mod remote;
mod rows;
mod search;
mod settings;
mod table;
mod unknown;

use std::ffi::OsString;
use std::time::Instant;

use pyo3::prelude::*;

/// Runs the program with these words, which begin with the program's name; returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| tinytrain::cli::main(words, Instant::now()))
}

/// Compiled part of the package.
#[pymodule]
mod _tinytrain {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::ensemble::ensemble;
    #[pymodule_export]
    use super::fit::fit;
    #[pymodule_export]
    use super::main;
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::partial::partial_fit;
    #[pymodule_export]
    use super::search::search;
    #[pymodule_export]
    use super::settings::settings;
    #[pymodule_export]
    use super::table::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("VALIDATION_FRACTION", tinytrain::settings::VALIDATION_FRACTION)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
