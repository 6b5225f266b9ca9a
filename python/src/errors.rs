//! Errors of the library as Python exceptions, in Python terms: the library's texts name options of the
//! program.

use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tinytrain::Error;
use tinytrain::error::DataFault;

/// Settings that have another name here.
const RENAMED: [(&str, &str); 3] =
    [("seed", "random_state"), ("threads", "n_jobs"), ("class-weights", "class_weight")];

/// Replacements for phrases about options that have no counterpart here.
const PHRASES: [(&str, &str); 8] = [
    (
        "subtract an offset, or use --exclude to ignore the column",
        "StandardScaler in a pipeline subtracts the mean of 64-bit floats, or leave the column out",
    ),
    ("(--validation or --validation-fraction)", "(early_stopping, validation_fraction or eval_set)"),
    (
        "either a fraction of the training rows or a separate file",
        "either a fraction of the rows or an eval_set",
    ),
    ("; separate several by commas", "; pass several as a list"),
    ("expected parameters of a", "warm_start: these parameters and rows give a"),
    ("network, found others", "network, and the fit before gave another one"),
    (
        "use --device cpu, or `train --fallback cpu` to switch to it automatically",
        "device='cpu' trains on the processor",
    ),
    (
        "`train --fallback cpu` continues on the CPU engine from the last checkpoint",
        "device='cpu' trains on the processor",
    ),
];

/// Returns the name of a setting here.
pub(crate) fn name(setting: &str) -> String {
    let renamed = RENAMED.iter().find(|(name, _)| *name == setting);
    renamed.map_or_else(|| setting.replace('-', "_"), |(_, name)| (*name).to_owned())
}

/// Replaces the options in a text of the library by their names here.
pub(crate) fn in_python(text: &str) -> String {
    let text = PHRASES.iter().fold(text.to_owned(), |text, (option, here)| text.replace(option, here));
    let mut parts = text.split("--");
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_of_name = |letter: char| letter.is_ascii_lowercase() || letter == '-';
        let end = part.find(|letter| !is_of_name(letter)).unwrap_or(part.len());
        if !part.starts_with(|letter: char| letter.is_ascii_lowercase()) {
            said.push_str("--");
        }
        said.push_str(&name(&part[..end]));
        said.push_str(&part[end..]);
    }
    said
}

/// Converts bad input to a `ValueError`, errors of the system to an `OSError`, others to a `RuntimeError`.
pub(crate) fn exception(error: Error) -> PyErr {
    let text = match &error {
        Error::Setting { setting, expected, found } => {
            format!("{}: expected {}, found {found}", name(setting), in_python(expected))
        }
        Error::NonFiniteLoss { .. } | Error::NonFiniteModel { .. } => {
            format!("{error}; try a smaller lr, or look for very large values in X")
        }
        Error::Device(_) | Error::Gpu(_) => {
            let remedy = error.remedy().map(|remedy| format!("; {remedy}")).unwrap_or_default();
            in_python(&format!("{error}{remedy}"))
        }
        Error::Fault { kind: DataFault::TextAndNumbers, .. } => {
            format!(
                "{error}; put None in the place of text that stands for a missing value, or name the column in categorical"
            )
        }
        error => in_python(&error.to_string()),
    };
    match &error {
        Error::Read { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(text)
        }
        Error::Read { .. } | Error::Write { .. } | Error::Thread { .. } => PyOSError::new_err(text),
        Error::Interrupted => PyKeyboardInterrupt::new_err(text),
        error if error.exit_code() == 2 => PyValueError::new_err(text),
        Error::NonFiniteLoss { .. }
        | Error::NonFiniteModel { .. }
        | Error::NonFiniteTest { .. }
        | Error::NonFinitePrediction { .. } => PyValueError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}
