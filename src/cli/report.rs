//! `tinytrain report`: runs as one HTML page.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::report::text::{command_line, shell_word};
use crate::report::{PageOptions, page_of_runs, page_of_sweep, spare_other_files};
use crate::runs::RunSummary;
use crate::sweep::is_sweep;
use clap::Args;

use super::evaluation_options::EvaluationOptions;
use super::output::{warn, write};
use super::output_place::destination;
use super::repeatable;

/// Make an HTML page of runs: their curves, the settings in which they differ, and how good their models are.
///
/// The page is a single file that needs no network and no scripts.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tinytrain report runs/2026-11-23T10-00-00Z-mnist -o report.html")]
pub struct Options {
    /// Folders of runs, or of one sweep, whose page lists its trials by score.
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// HTML file to write.
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    #[command(flatten)]
    on: EvaluationOptions,
}

/// Reads and evaluates runs, and writes the page.
///
/// # Errors
/// Errors of the folders, of named data, of the device and of the page.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(sweep) = options.runs.iter().find(|run| is_sweep(run)) {
        return of_sweep(sweep, options);
    }
    let runs = options.runs.iter().map(|path| RunSummary::read(path)).collect::<Result<Vec<RunSummary>>>()?;
    let destination = destination("--out", &options.out)?;
    spare_other_files(&options.out)?;
    let device = options.on.device.find(false)?;
    let EvaluationOptions { data, target, written, .. } = &options.on;
    let (data, target) = (data.clone(), target.clone());
    let command = command_line("report", &repeatable(std::env::args_os()));
    let page = PageOptions { data, target, format: written.format(), command };
    let (page, warnings) = page_of_runs(&runs, &page, &device)?;
    warnings.iter().for_each(|warning| warn(warning));
    Ok(write(&destination, page.as_bytes())?)
}

/// Writes the page of a sweep.
fn of_sweep(sweep: &Path, options: &Options) -> anyhow::Result<()> {
    let path = shell_word(sweep);
    if options.runs.len() > 1 || !options.on.data.is_empty() || options.on.target.is_some() {
        anyhow::bail!(Error::Config(format!(
            "{path} is the folder of a sweep and cannot be combined with other folders, --data or --target; use tinytrain eval --model {path} to evaluate its best model"
        )));
    }
    let destination = destination("--out", &options.out)?;
    spare_other_files(&options.out)?;
    Ok(write(&destination, page_of_sweep(sweep)?.as_bytes())?)
}
