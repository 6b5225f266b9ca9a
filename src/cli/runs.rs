//! `tinytrain runs` and `tinytrain compare`: runs side by side, as their folders tell.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use tinytrain::{Error, Result};

use super::args::Format;
use super::output::{Unwritable, print_line, print_object, warn};
use super::run_folder::{CONFIG, RUNS};
use super::text::{Align, seconds, table};
use super::told::{Told, compared, differing, score, settings};

/// Columns of a line.
const WIDTH: usize = 80;
/// Characters of a run's name: with the time of its beginning it is told from others, and the shell completes it.
const MOST_NAME: usize = 30;
/// What stands before settings.
const INDENT: &str = "    ";

/// List the runs of a folder: their settings, how far they came, and the best of what they reached.
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
    let (mut runs, mut faults) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(&options.folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if path.join(CONFIG).exists() {
            match Told::of(&path) {
                Ok(run) => runs.push(run),
                Err(fault) => faults.push(fault),
            }
        }
    }
    runs.sort_by(|a, b| a.path.cmp(&b.path));
    if options.format == Format::Json {
        runs.iter().try_for_each(|run| print_object(&run.object()))?;
    } else if !runs.is_empty() {
        list(&runs)?;
    } else if faults.is_empty() {
        print_line(&format!("no runs in {}", options.folder.display()))?;
    }
    // Those that cannot be read keep nobody from seeing the others.
    let last = faults.pop();
    faults.iter().for_each(|fault| warn(&fault.to_string()));
    last.map_or(Ok(()), |fault| Err(fault.into()))
}

/// A table of runs, and under each the settings in which they differ: no line is wider than 80 columns.
fn list(runs: &[Told]) -> Result<(), Unwritable> {
    let names: Vec<String> = differing(runs).into_iter().filter(|name| name != "epochs").collect();
    let header = ["run", "state", "epochs", "best", "time"].map(str::to_owned).to_vec();
    let row = |run: &Told| {
        let folder = run.path.file_name().unwrap_or_default().to_string_lossy();
        let best = score(run).replace("validation", "val").replace("accuracy", "acc");
        let time = std::time::Duration::from_secs_f64(run.seconds());
        let time = if time.as_secs() < 1000 { seconds(time) } else { format!("{} s", time.as_secs()) };
        vec![shortened(&folder, MOST_NAME), run.state.to_owned(), run.epochs.len().to_string(), best, time]
    };
    let align = [Align::Left, Align::Left, Align::Right, Align::Left, Align::Right];
    let rows: Vec<Vec<String>> = [header].into_iter().chain(runs.iter().map(row)).collect();
    let mut lines = table(&rows, &align).into_iter();
    lines.next().map_or(Ok(()), |header| print_line(&header))?;
    for (line, run) in lines.zip(runs) {
        print_line(&line)?;
        let setting = |name: &String| Some(format!("{name} {}", run.settings.get(name)?));
        let settings: Vec<String> = names.iter().filter_map(setting).collect();
        wrapped(&settings).iter().try_for_each(|line| print_line(line))?;
    }
    Ok(())
}

/// Texts in indented lines, as many in each as it has room for.
fn wrapped(texts: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for text in texts {
        let text = shortened(text, WIDTH - INDENT.len());
        match lines.last_mut() {
            Some(line) if line.chars().count() + 2 + text.chars().count() <= WIDTH => {
                *line += &format!("  {text}")
            }
            _ => lines.push(INDENT.to_owned() + &text),
        }
    }
    lines
}

/// A text whose end is left out where it has more characters than these.
fn shortened(text: &str, most: usize) -> String {
    match text.chars().count() {
        count if count > most => text.chars().take(most - 3).chain("...".chars()).collect(),
        _ => text.to_owned(),
    }
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
