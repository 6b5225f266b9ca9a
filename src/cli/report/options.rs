//! The options of `tinytrain report`.

use std::path::PathBuf;

use clap::Args;
use tinytrain::engine::DeviceRequest;

use crate::cli::args;
use crate::cli::table_options::Written;

/// Make a page of runs: their curves, the settings in which they differ, and what their models do.
///
/// The page is one file of HTML that needs no network and no scripts.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tinytrain report runs/2026-11-23T10-00-00Z-mnist -o report.html")]
pub struct Options {
    /// Folders of runs, or that of a sweep, whose page shows its members by their scores.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// The page.
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub out: PathBuf,
    /// Data to evaluate the models on: a folder (its test files, or else its training files), an IDX file of images, or a CSV table.
    /// Several files are one table. [default: for each run what it was tested on, or else trained on]
    #[arg(long, value_name = "DIR-or-FILE", num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// Column of a table that holds the labels: its name, or its index from 0; -1 is the last. [default: as in training]
    #[arg(long, visible_alias = "label-column", value_name = "NAME-or-INDEX", value_parser = args::column,
          allow_hyphen_values = true)]
    pub target: Option<String>,
    /// What computes: auto, cpu, gpu, vulkan, gl, metal, dx12, or the name or index of a device as
    /// `tinytrain devices` lists it.
    #[arg(long, default_value = "auto", value_parser = args::device, allow_hyphen_values = true)]
    pub device: DeviceRequest,
    /// Have a GPU's kernels check every index, count every loop, and begin with cleared memory.
    #[arg(long)]
    pub checked: bool,
    #[command(flatten)]
    pub written: Written,
}
