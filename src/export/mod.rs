//! Models for other programs: ONNX and C.
//!
//! Each format includes everything that `tinytrain predict` does to a row of numbers: preprocessing, the network or the
//! networks of an ensemble, and the interpretation of the outputs. `docs/EXPORT.md` describes both formats.

mod c;
mod intervals;
mod onnx;
mod outline;
#[cfg(test)]
mod samples;

use crate::error::Result;
use crate::model::Model;

/// A format to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Form {
    /// ONNX, opset 17: from `columns` [batch, columns] to `probabilities` and `class`, or to `values`.
    Onnx,
    /// ONNX with an input per column, by its name: numbers, and categories as text.
    OnnxNamed,
    /// One C99 file without dependencies, for microcontrollers too. Its names begin with the name of the file.
    C,
}

/// Exports a model in this form; `name` is the prefix of functions and constants in C, and the name of the graph in
/// ONNX. Letters that C does not permit in names become `_`.
///
/// # Errors
/// [`Error::Config`](crate::Error::Config) for a model that the format cannot hold: ONNX has at most 2 GB.
pub fn export(model: &Model, form: Form, name: &str) -> Result<Vec<u8>> {
    match form {
        Form::Onnx => onnx::file(model, name, false),
        Form::OnnxNamed => onnx::file(model, name, true),
        Form::C => Ok(c::file(&outline::Outline::from_model(model), &c::identifier(name)).into_bytes()),
    }
}
