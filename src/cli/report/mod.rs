//! `tinytrain report`: runs as one page.

mod classes;
mod evaluated_run;
mod mistakes;
mod page;
mod pictures;
mod values;

use std::path::{Path, PathBuf};

use crate::data::data_paths;
use crate::error::{Error, Result};
use crate::output::Destination;

use self::evaluated_run::EvaluatedRun;
pub use self::evaluated_run::Options;
use super::devices;
use super::output::{print_line, warn};
use super::sweep::page_of;
use super::text::shell_word;
use crate::runs::{CHECKPOINT, CONFIG, HISTORY, MODEL, RunSummary};
use crate::sweep::is_sweep;

/// Reads, evaluates and writes.
///
/// # Errors
/// Those of the folders, of data that are named, of the device and of the page.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(sweep) = options.runs.iter().find(|run| is_sweep(run)) {
        return of_sweep(sweep, options);
    }
    let runs = options.runs.iter().map(|path| RunSummary::read(path)).collect::<Result<Vec<RunSummary>>>()?;
    let destination = Destination::check(&options.out)?;
    let files: Vec<PathBuf> = options
        .runs
        .iter()
        .flat_map(|run| [CONFIG, HISTORY, MODEL, CHECKPOINT].map(|name| run.join(name)))
        .collect();
    let files = files.iter().map(|file| (file.as_path(), "which belongs to a run"));
    data_paths::spare_files("--out", Some(&options.out), files)?;
    let device = devices::find_and_report(&options.device, options.bounds_checks)?;
    let judge = |run: &RunSummary| {
        let evaluated = EvaluatedRun::evaluate(run, options, &device)?;
        if let Err(why) = &evaluated {
            warn(&format!("{}: {why}", run.name()));
        }
        Ok(evaluated)
    };
    let evaluated = runs.iter().map(judge).collect::<Result<Vec<_>>>()?;
    destination.write(page::page(&runs, &evaluated).as_bytes())?;
    Ok(print_line(&format!("report: {}", shell_word(destination.path())))?)
}

/// Writes the page of a sweep.
fn of_sweep(sweep: &Path, options: &Options) -> anyhow::Result<()> {
    let path = shell_word(sweep);
    if options.runs.len() > 1 || !options.data.is_empty() || options.target.is_some() {
        anyhow::bail!(Error::Config(format!(
            "{path} is the folder of a sweep and cannot be combined with other folders, --data or --target; use tinytrain eval --model {path} to evaluate its best model"
        )));
    }
    let destination = Destination::check(&options.out)?;
    destination.write(page_of(sweep, &options.out)?.as_bytes())?;
    Ok(print_line(&format!("report: {}", shell_word(destination.path())))?)
}
