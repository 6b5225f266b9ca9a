//! `tinytrain runs` and `tinytrain compare`: runs side by side, as their folders tell.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use clap::Args;
use tinytrain::{Error, Result};
use unicode_width::UnicodeWidthStr;

use super::args::Format;
use super::output::{Unwritable, print_line, print_object, warn};
use super::printable::printable;
use super::sweep::Overview;
use super::text::{Align, seconds, shortened, table};
use super::told::{compared, differing, score, settings};
use tinytrain::runs::{CONFIG, RUNS, Told};
use tinytrain::sweep::is_sweep;

/// Columns of a line.
const WIDTH: usize = 80;
/// What stands before settings.
const INDENT: &str = "    ";

/// List the runs and the sweeps of a folder: their settings, how far they came, and the best of what they reached.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tinytrain runs")]
pub struct Options {
    /// The folder that holds the folders of the runs.
    #[arg(value_name = "DIR", default_value = RUNS)]
    folder: PathBuf,
    /// How results are written: a table for people, or one JSON object a line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Put runs side by side: the settings in which they differ, and what they reached.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tinytrain compare runs/2026-11-23T10-00-00Z-mnist runs/2026-11-23T10-05-00Z-mnist"
)]
pub struct CompareOptions {
    /// Folders of runs.
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    runs: Vec<PathBuf>,
    /// How results are written: a table for people, or one JSON object a run and line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Lists runs.
///
/// # Errors
/// [`Error::Read`] where there is no such folder.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let unread = |source| Error::Read { path: options.folder.clone(), source };
    let entries = fs::read_dir(&options.folder).map_err(unread)?;
    let mut paths =
        entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>().map_err(unread)?;
    paths.sort();
    let (mut runs, mut sweeps, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        let read = if is_sweep(&path) {
            Overview::of(&path).map(|sweep| sweeps.push(sweep))
        } else if path.join(CONFIG).exists() {
            Told::of(&path).map(|run| runs.push(run))
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
    // Those that cannot be read keep nobody from seeing the others.
    let last = faults.pop();
    faults.iter().for_each(|fault| warn(&fault.to_string()));
    last.map_or(Ok(()), |fault| Err(fault.into()))
}

/// A table of runs and of sweeps behind them, and under each the settings in which runs differ, or what is known of the sweep: no line
/// is wider than 80 columns.
fn list(runs: &[Told], sweeps: &[Overview]) -> Result<(), Unwritable> {
    let names: Vec<String> = differing(runs).into_iter().filter(|name| name != "epochs").collect();
    let brief = |score: &str| score.replace("validation", "val").replace("accuracy", "acc");
    let row = |path: &Path, state: &str, epochs: usize, best: &str, time: f64| {
        let folder = printable(&path.file_name().unwrap_or_default().to_string_lossy());
        let time = Duration::from_secs_f64(time);
        let time = if time.as_secs() < 1000 { seconds(time) } else { format!("{} s", time.as_secs()) };
        vec![folder, state.to_owned(), epochs.to_string(), brief(best), time]
    };
    let mut rows = vec![["run", "state", "epochs", "best", "time"].map(str::to_owned).to_vec()];
    let mut details = Vec::new();
    for run in runs {
        rows.push(row(&run.path, run.state, run.epochs.len(), &score(run), run.seconds()));
        let setting = |name: &String| Some(format!("{name} {}", run.settings.get(name)?));
        details.push(names.iter().filter_map(setting).collect::<Vec<String>>());
    }
    for sweep in sweeps {
        let state = if sweep.is_running { "running" } else { "sweep" };
        rows.push(row(&sweep.path, state, sweep.epochs, &sweep.score, sweep.seconds));
        details.push(sweep.details());
    }
    let align = [Align::Left, Align::Left, Align::Right, Align::Left, Align::Right];
    // A name has the room that the other columns leave: it begins with the time, and the shell completes it.
    let others: Vec<Vec<String>> = rows.iter().map(|row| row[1..].to_vec()).collect();
    let taken = table(&others, &align[1..]).iter().map(|line| line.width()).max().unwrap_or(0);
    rows.iter_mut().for_each(|row| row[0] = shortened(&row[0], WIDTH.saturating_sub(taken + 2)));
    let mut lines = table(&rows, &align).into_iter();
    lines.next().map_or(Ok(()), |header| print_line(&header))?;
    for (line, details) in lines.zip(details) {
        print_line(&line)?;
        wrapped(&details).iter().try_for_each(|line| print_line(line))?;
    }
    Ok(())
}

/// Texts in indented lines, as many in each as it has room for.
fn wrapped(texts: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for text in texts {
        let text = shortened(text, WIDTH - INDENT.len());
        match lines.last_mut() {
            Some(line) if line.width() + 2 + text.width() <= WIDTH => *line += &format!("  {text}"),
            _ => lines.push(INDENT.to_owned() + &text),
        }
    }
    lines
}

/// Puts runs side by side.
///
/// # Errors
/// Those of their folders.
pub fn compare(options: &CompareOptions) -> anyhow::Result<()> {
    let runs = options.runs.iter().map(|path| Told::of(path)).collect::<Result<Vec<Told>>>()?;
    if options.format == Format::Json {
        return Ok(runs.iter().try_for_each(|run| print_object(&run.object()))?);
    }
    let header = [String::new()].into_iter().chain(runs.iter().map(Told::name)).collect();
    let rows: Vec<Vec<String>> =
        [header].into_iter().chain(compared(&runs)).chain(settings(&runs, &differing(&runs))).collect();
    let align: Vec<Align> = (0..=runs.len()).map(|_| Align::Left).collect();
    Ok(table(&rows, &align).iter().try_for_each(|line| print_line(line))?)
}
