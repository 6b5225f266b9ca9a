//! Options of commands that evaluate models: rows and device.

use std::path::PathBuf;

use clap::Args;

use super::args;
use super::devices::DeviceChoice;
use super::table_options::DialectOptions;

/// Rows to evaluate models on, and where.
#[derive(Debug, Args)]
pub struct EvaluationOptions {
    /// Data to evaluate on: a table, a folder (its test files, else its training files), or an IDX file.
    /// [default: the data the model was tested on, else trained on]
    ///
    /// `-` is a table on standard input. Several files are one table.
    #[arg(long, value_name = "DIR-or-FILE", num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// Column with the true labels or values: a name, or an index from 0 (-1 is the last). [default: as in
    /// training]
    #[arg(long, visible_alias = "label-column", value_name = "NAME-or-INDEX", value_parser = args::column,
          allow_hyphen_values = true)]
    pub target: Option<String>,
    #[command(flatten)]
    pub device: DeviceChoice,
    #[command(flatten)]
    pub written: DialectOptions,
}
