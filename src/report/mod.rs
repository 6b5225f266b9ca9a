//! Reports of runs, sweeps and evaluations: texts, tables, pictures, and one page without scripts.

mod blocks;
pub(crate) mod compared;
mod evaluated_run;
pub(crate) mod evaluation;
mod html;
pub(crate) mod leaderboard;
mod mistakes;
mod model_section;
mod page;
mod profile_pictures;
mod sheet;
pub(crate) mod svg;
pub(crate) mod text;

use crate::engine::Device;
use crate::error::Result;
use crate::runs::RunSummary;

pub(crate) use self::blocks::blocks;
use self::evaluated_run::EvaluatedRun;
pub use self::evaluated_run::PageOptions;
pub use self::html::spare_other_files;
pub use self::page::page_of_sweep;
pub(crate) use self::page::standing;
pub use self::profile_pictures::{PICTURES, profile_pictures};
pub(crate) use self::sheet::sheet;
use self::text::evaluation_warnings;

/// Returns the page of some runs, as HTML: their curves, the settings in which they differ, and evaluations
/// of their models. Also returns warnings about the evaluated rows, and reasons why some runs could not be
/// evaluated.
///
/// # Errors
/// Errors of named data and of the device; [`crate::Error::Config`] for a page given as data.
pub fn page_of_runs(
    runs: &[RunSummary],
    options: &PageOptions,
    device: &Device,
) -> Result<(String, Vec<String>)> {
    let mut warnings = Vec::new();
    let mut evaluate = |run: &RunSummary| {
        let evaluated = EvaluatedRun::evaluate(run, options, device)?;
        match &evaluated {
            Ok(evaluated) => warnings.extend(evaluation_warnings(&evaluated.rows)),
            Err(why) => warnings.push(format!("{}: {why}", run.name())),
        }
        Ok(evaluated)
    };
    let evaluated = runs.iter().map(&mut evaluate).collect::<Result<Vec<_>>>()?;
    Ok((page::page_of_evaluated(runs, &evaluated, &options.command), warnings))
}
