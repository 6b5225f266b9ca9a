//! Errors of the library as exceptions of Python.

use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tinytrain::Error;

/// Bad input is a `ValueError`, what the system refuses an `OSError`, all else a `RuntimeError`.
pub(crate) fn exception(error: Error) -> PyErr {
    let text = error.to_string();
    match &error {
        Error::Read { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(text)
        }
        Error::Read { .. } | Error::Write { .. } | Error::Thread { .. } => PyOSError::new_err(text),
        Error::Interrupted => PyKeyboardInterrupt::new_err(text),
        error if error.exit_code() == 2 => PyValueError::new_err(text),
        Error::NonFiniteLoss { .. } | Error::NonFiniteModel { .. } => {
            PyValueError::new_err(format!("{text}; try a smaller lr, or look for very large values in X"))
        }
        Error::NonFiniteTest { .. } | Error::NonFinitePrediction { .. } => PyValueError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}
