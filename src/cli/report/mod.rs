//! `tinytrain report`: runs as one page.

mod classes;
mod curves;
mod judged;
mod mistakes;
mod page;
mod pixels;
mod rows;
mod values;
mod weights;

use std::path::PathBuf;

use clap::Args;
use tinytrain::Result;
use tinytrain::engine::{DeviceRequest, find_device};
use tinytrain::output::Destination;

use self::judged::Judged;
use super::output::{print_line, warn};
use super::run_folder::{CHECKPOINT, CONFIG, HISTORY, MODEL};
use super::table_options::Written;
use super::text::shell_word;
use super::told::Told;
use super::{args, places};

/// Make a page of runs: their curves, the settings in which they differ, and what their models do.
///
/// The page is one file of HTML that needs no network and no scripts.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tinytrain report runs/2026-11-23T10-00-00Z-mnist -o report.html")]
pub struct Options {
    /// Folders of runs.
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// The page.
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    /// Data to evaluate the models on: a folder (its test files, or else its training files), an IDX file of images, or a CSV table.
    /// Several files are one table. [default: for each run what it was tested on, or else trained on]
    #[arg(long, value_name = "DIR-or-FILE", num_args = 1..)]
    data: Vec<PathBuf>,
    /// Column of a table that holds the labels: its name, or its index from 0; -1 is the last. [default: as in training]
    #[arg(long, visible_alias = "label-column", value_name = "NAME-or-INDEX", value_parser = args::column,
          allow_hyphen_values = true)]
    target: Option<String>,
    /// What computes: auto, cpu, gpu, vulkan, gl, metal, dx12, or the name or index of a device as
    /// `tinytrain devices` lists it.
    #[arg(long, default_value = "auto", value_parser = args::device, allow_hyphen_values = true)]
    device: DeviceRequest,
    /// Have a GPU's kernels check every index, count every loop, and begin with cleared memory.
    #[arg(long)]
    checked: bool,
    #[command(flatten)]
    written: Written,
}

/// Reads, evaluates and writes.
///
/// # Errors
/// Those of the folders, of data that are named, of the device and of the page.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let runs = options.runs.iter().map(|path| Told::of(path)).collect::<Result<Vec<Told>>>()?;
    let destination = Destination::check(&options.out)?;
    let files: Vec<PathBuf> = options
        .runs
        .iter()
        .flat_map(|run| [CONFIG, HISTORY, MODEL, CHECKPOINT].map(|name| run.join(name)))
        .collect();
    let files = files.iter().map(|file| (file.as_path(), "which belongs to a run"));
    places::spare_files("--out", Some(&options.out), files)?;
    let device = find_device(&options.device)?.opened(args::opening(options.checked));
    let judge = |run: &Told| {
        let judged = Judged::of(run, options, &device)?;
        if let Err(why) = &judged {
            warn(&format!("{}: {why}", run.name()));
        }
        Ok(judged)
    };
    let judged = runs.iter().map(judge).collect::<Result<Vec<_>>>()?;
    destination.write(page::page(&runs, &judged).as_bytes())?;
    Ok(print_line(&format!("report: {}", shell_word(destination.path())))?)
}
