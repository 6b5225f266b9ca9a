//! `tinytrain convert`.

use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};

use crate::convert::{OutputFile, OutputFormat, RawDataset};
use crate::error::{Error, Result};
use crate::output::Destination;
use clap::Args;

use super::table_options::DialectOptions;
use crate::data::data_paths;

/// Convert a table or a set of images to another format.
///
/// Nothing is scaled or left out. CSV gets commas and decimal points; text stays as it is, and missing numbers
/// become empty cells.
///
/// NPZ and safetensors hold one array per column, under its name: numbers as 64-bit floats, NaN where missing;
/// text as the index of its category, -1 where missing, with the categories in NAME.categories.
///
/// IDX holds a table as 64-bit floats, [rows, columns], with the names in a JSON file next to it. Images are
/// bytes, in arrays `images` and `labels`; for IDX the labels go into a second file, for CSV into the first
/// column.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinytrain convert table.csv --out table.npz\n  \
                        tinytrain convert part-*.csv --out table.csv\n  \
                        tinytrain convert 'measured;by,commas.csv' --out - --to csv\n  \
                        tinytrain convert mnist.csv --out digits-images-idx3-ubyte")]
pub struct Options {
    /// Data: a CSV or NPZ table, a folder with MNIST's files or a train.csv (its training files), an IDX file,
    /// or a folder of PNG images for each class.
    ///
    /// Files may be packed by gzip or zstd; `-` is a table on standard input. Several files are one table.
    #[arg(value_name = "DIR-or-FILE", required = true)]
    data: Vec<PathBuf>,
    /// File to write; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Output format: csv, npz, safetensors or idx. [default: by the file extension]
    #[arg(long, value_name = "FORMAT")]
    to: Option<OutputFormat>,
    #[command(flatten)]
    written: DialectOptions,
}

/// Reads and writes.
///
/// # Errors
/// Those of the data and the output.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let to = format(options)?;
    let is_stdout = options.out == Path::new("-");
    let destination = (!is_stdout).then(|| Destination::check(&options.out)).transpose()?;
    let (source, _) = data_paths::training(&options.data)?;
    data_paths::spare_data("--out", Some(&options.out), [Some(&source)])?;
    let set = RawDataset::read(&source, &options.written.format(), to)?;
    let files = set.files(to)?;
    let Some(destination) = destination else {
        return match &files[..] {
            [file] => Ok(write(file, stdout().lock())?),
            _ => {
                let text = "--out: expected a file, since IDX takes two; found standard output";
                Err(Error::Config(text.to_owned()).into())
            }
        };
    };
    let beside = |file: &OutputFile| -> Result<Destination> {
        let Some(beside) = file.beside else { return Ok(destination.clone()) };
        let path = beside.path(&options.out)?;
        data_paths::spare_data("--out", Some(&path), [Some(&source)])?;
        Destination::check(&path)
    };
    // All are found writable before one is written.
    let destinations = files.iter().map(beside).collect::<Result<Vec<_>>>()?;
    for (file, destination) in files.iter().zip(destinations) {
        destination.write_with(|to| write(file, to))?;
    }
    Ok(())
}

fn write(file: &OutputFile, to: impl Write) -> Result<()> {
    let mut to = BufWriter::new(to);
    file.write(&mut to).and_then(|()| to.flush()).map_err(Error::Output)
}

fn format(options: &Options) -> Result<OutputFormat> {
    options.to.or_else(|| OutputFormat::from_path(&options.out)).ok_or_else(|| {
        let names: Vec<String> = OutputFormat::ALL.iter().map(|to| format!(".{}", to.name())).collect();
        let found = options.out.display();
        Error::Config(format!(
            "--out: expected a name that ends with {}, or a format with --to; found {found}",
            names.join(", ")
        ))
    })
}
