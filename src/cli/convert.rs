//! `tinytrain convert`.

use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};

use crate::convert::{OutputFile, OutputFormat, RawDataset};
use crate::error::{Error, Result};
use crate::output::Destination;
use clap::Args;

use super::table_options::DialectOptions;
use crate::data::data_paths;

/// Write a table or a set of images in another format.
///
/// Nothing is scaled and nothing left out. As CSV a table has commas and decimal points, text stays as it is, and missing numbers
/// are empty cells. As NPZ or safetensors each column is an array under its name: numbers in 64 bits, NaN where they are missing;
/// text as the index of its category, -1 where it is missing, with the categories beside, as the array (or the entry of the
/// metadata) NAME.categories. As IDX a table is 64-bit floats, [rows, columns], and the names go into a file of JSON beside it.
/// Images are bytes, `images` and `labels`; as IDX the labels go into a file beside them, as CSV they are the first column.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinytrain convert table.csv --out table.npz\n  \
                        tinytrain convert part-*.csv --out table.csv\n  \
                        tinytrain convert 'measured;by,commas.csv' --out - --to csv\n  \
                        tinytrain convert mnist.csv --out digits-images-idx3-ubyte")]
pub struct Options {
    /// Data: a folder with MNIST's files or a train.csv (its training files), a folder of folders of PNG images, each named by its label (a number), an IDX file of images, or a CSV table, packed by
    /// gzip or zstd or not; `-` is a table on standard input. Several files are one table, whose rows follow one another.
    #[arg(value_name = "DIR-or-FILE", required = true)]
    data: Vec<PathBuf>,
    /// The file to write; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Its format. [default: by the ending of its name]
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
