//! `tinytrain runs` and `tinytrain compare`: runs side by side, read from their folders.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use crate::error::{Error, Result};
use clap::Args;
use console::measure_text_width;

use super::args::Format;
use super::output::{Look, print_cells, print_line, print_lines, print_object, warn};
use crate::report::compared::{LOSSES, best, compared, differing, score, settings, side_by_side};
use crate::report::leaderboard::Overview;
use crate::report::text::{Table, printable, seconds, shortened};
use crate::runs::{CONFIG, RUNS, RunSummary};
use crate::sweep::is_sweep;

/// Maximum width of a line, in columns.
const WIDTH: usize = 80;
/// Indentation of settings.
const INDENT: &str = "    ";

/// List runs and sweeps: their settings, progress and best results.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tinytrain runs")]
pub struct Options {
    /// Folder with the folders of the runs.
    #[arg(value_name = "DIR", default_value = RUNS)]
    folder: PathBuf,
    /// Output format: a table, or one JSON object per line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Compare runs: the settings in which they differ, and their results.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tinytrain compare runs/2026-11-23T10-00-00Z-mnist runs/2026-11-23T10-05-00Z-mnist"
)]
pub struct CompareOptions {
    /// Folders of runs.
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    runs: Vec<PathBuf>,
    /// Output format: a table, or one JSON object per run.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Lists runs.
///
/// # Errors
/// [`Error::Read`] if there is no such folder.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let unread = |source| Error::Read { path: options.folder.clone(), source };
    let entries = fs::read_dir(&options.folder).map_err(unread)?;
    let mut paths =
        entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>().map_err(unread)?;
    paths.sort();
    let (mut runs, mut sweeps, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        let read = if is_sweep(&path) {
            Overview::read(&path).map(|sweep| sweeps.push(sweep))
        } else if path.join(CONFIG).exists() {
            RunSummary::read(&path).map(|run| runs.push(run))
        } else {
            Ok(())
        };
        faults.extend(read.err());
    }
    if options.format == Format::Json {
        runs.iter().try_for_each(|run| print_object(&run.object()))?;
        sweeps.iter().try_for_each(|sweep| print_object(&sweep.object()))?;
    } else if !(runs.is_empty() && sweeps.is_empty()) {
        list(&runs, &sweeps)?;
    } else if faults.is_empty() {
        print_line(&format!("no runs in {}", options.folder.display()))?;
    }
    // Unreadable runs are skipped with a warning.
    let last = faults.pop();
    faults.iter().for_each(|fault| warn(&fault.to_string()));
    last.map_or(Ok(()), |fault| Err(fault.into()))
}

/// Prints a table of runs, then sweeps, with the differing settings under each run and a summary under each
/// sweep. No line is wider than 80 columns.
fn list(runs: &[RunSummary], sweeps: &[Overview]) -> Result<()> {
    let names: Vec<String> = differing(runs).into_iter().filter(|name| name != "epochs").collect();
    let brief = |score: &str| score.replace("validation", "val").replace("accuracy", "acc");
    let row = |path: &Path, state: &str, epochs: usize, best: &str, time: f64| {
        let folder = printable(&path.file_name().unwrap_or_default().to_string_lossy());
        let time = seconds(Duration::from_secs_f64(time));
        vec![folder, state.to_owned(), epochs.to_string(), brief(best), time]
    };
    let mut table = Table::new(&["run", "state", ">epochs", "best", ">time"], []);
    let mut details = Vec::new();
    for run in runs {
        table.rows.push(row(&run.path, run.state, run.epochs.len(), &score(run), run.seconds()));
        let setting = |name: &String| Some(format!("{name} {}", run.settings.get(name)?));
        details.push(names.iter().filter_map(setting).collect::<Vec<String>>());
    }
    for sweep in sweeps {
        let state = if sweep.is_running { "running" } else { "sweep" };
        table.rows.push(row(&sweep.path, state, sweep.epochs, &sweep.score, sweep.seconds));
        details.push(sweep.details());
    }
    // A name gets the width that the other columns leave: it begins with the time, and the shell completes
    // it.
    let names = table.rows.iter_mut().map(|row| std::mem::take(&mut row[0])).collect::<Vec<String>>();
    let taken = table.lines().iter().map(|line| measure_text_width(line)).max().unwrap_or(0);
    let room = WIDTH.saturating_sub(taken - table.names[0].len());
    table.rows.iter_mut().zip(names).for_each(|(row, name)| row[0] = shortened(&name, room));
    let mut lines = table.lines().into_iter();
    lines.next().map_or(Ok(()), |header| print_line(&header))?;
    for (line, details) in lines.zip(details) {
        print_line(&line)?;
        print_lines(&wrapped(&details))?;
    }
    Ok(())
}

/// Joins texts into indented lines of limited width.
fn wrapped(texts: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for text in texts {
        let text = shortened(text, WIDTH - INDENT.len());
        match lines.last_mut() {
            Some(line) if measure_text_width(line) + 2 + measure_text_width(&text) <= WIDTH => {
                *line += &format!("  {text}")
            }
            _ => lines.push(INDENT.to_owned() + &text),
        }
    }
    lines
}

/// Compares runs side by side.
///
/// # Errors
/// Errors of their folders.
pub fn compare(options: &CompareOptions) -> anyhow::Result<()> {
    let runs = options.runs.iter().map(|path| RunSummary::read(path)).collect::<Result<Vec<RunSummary>>>()?;
    if options.format == Format::Json {
        return Ok(runs.iter().try_for_each(|run| print_object(&run.object()))?);
    }
    let rows = compared(&runs).into_iter().chain(settings(&runs, &differing(&runs)));
    let best = best(&runs).map(|run| run + 1);
    for cells in side_by_side(&runs, rows).padded() {
        let look = |column| if Some(column) == best { Look::Best } else { Look::Plain };
        print_cells(cells.iter().enumerate().map(|(column, cell)| (look(column), cell.as_str())))?;
    }
    if ["validation_loss", "test_loss"].iter().any(|name| runs.iter().any(|run| run.is_measured(name))) {
        print_line(LOSSES)?;
    }
    Ok(())
}
