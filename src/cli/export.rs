//! `tinytrain export`.

use std::path::{Path, PathBuf};

use crate::export::{Form, export};
use clap::Args;

use super::model_choice::ModelChoice;
use super::output::{print, shown, write};
use super::output_place::destination;
use crate::data::data_paths;

/// Export a model to other programs.
///
/// Both formats include the whole of `tinytrain predict`: scaling, missing values, categories, the network or
/// the ensemble, and probabilities or values in their units. A row is its columns as 32-bit floats: NaN for a
/// missing value, the index for a category; `onnx-named` has an input per column, with categories as text.
/// docs/EXPORT.md describes them.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinytrain export --format onnx --model model.safetensors --out model.onnx\n  \
                        tinytrain export --format c --model model.safetensors --out wine.c"
)]
pub struct Options {
    /// Format.
    #[arg(long, value_enum)]
    format: Form,
    /// Model file, or the folder of a run or sweep.
    #[arg(long, value_name = "FILE-or-DIR")]
    model: PathBuf,
    #[command(flatten)]
    which: ModelChoice,
    /// File to write; `-` is standard output.
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
}

/// Reads the model and writes the export.
///
/// # Errors
/// Errors of the model and the output.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let (model, model_file) = options.which.load(&options.model)?;
    let is_stdout = options.out == Path::new("-");
    let destination = (!is_stdout).then(|| destination("--out", &options.out)).transpose()?;
    let read = [(model_file.as_path(), "which is the model")];
    data_paths::spare_files("--out", Some(&options.out), read.into_iter())?;
    let name =
        options.out.file_stem().filter(|_| !is_stdout).map_or("model".into(), |name| name.to_string_lossy());
    let contents = export(&model, options.format, &name)?;
    match destination {
        Some(destination) => write(&destination, &contents)?,
        None => print(&shown(contents))?,
    }
    Ok(())
}
