//! `tinytrain runs` and `tinytrain compare`: runs side by side, as their folders tell.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use tinytrain::{Error, Result};

use super::args::Format;
use super::config_file;
use super::output::{print_line, print_object};
use super::run_folder::{CHECKPOINT, CONFIG, HISTORY, MODEL, RUNS, is_running};
use super::text::{Align, loss, percent, seconds, table};

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

/// What the folder of a run tells.
struct Told {
    path: PathBuf,
    settings: BTreeMap<String, String>,
    /// The columns of the history by their names, for each epoch.
    epochs: Vec<BTreeMap<String, f64>>,
    state: &'static str,
}

impl Told {
    /// Reads it.
    fn of(path: &Path) -> Result<Self> {
        let settings = config_file::options(&path.join(CONFIG))?;
        let settings = settings.into_iter().map(|(name, values)| (name, values.join(" "))).collect();
        let mut told = Self { path: path.to_owned(), settings, epochs: Vec::new(), state: "" };
        let history = path.join(HISTORY);
        let text = fs::read_to_string(&history).map_err(|source| Error::Read { path: history, source })?;
        let mut lines = text.lines().map(|line| line.split(','));
        let names: Vec<&str> = lines.next().into_iter().flatten().collect();
        for line in lines {
            let cells = names
                .iter()
                .zip(line)
                .filter_map(|(name, cell)| Some(((*name).to_owned(), cell.parse().ok()?)));
            told.epochs.push(cells.collect());
        }
        let wanted: Option<usize> = told.settings.get("epochs").and_then(|epochs| epochs.parse().ok());
        told.state = match () {
            () if is_running(path) => "running",
            () if wanted.is_some_and(|wanted| told.epochs.len() >= wanted) => "done",
            () if path.join(CHECKPOINT).exists() => "can go on",
            () => "ended",
        };
        Ok(told)
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The epoch with the best score on the rows that validate, or without those that test, or else of the last one.
    fn best(&self) -> Option<&BTreeMap<String, f64>> {
        let set = ["validation_", "test_"].into_iter().find(|set| self.is_measured(&format!("{set}loss")));
        let Some(set) = set else { return self.epochs.last() };
        if set == "test_" {
            // Test rows choose nothing.
            return self.epochs.last();
        }
        let key = |epoch: &&BTreeMap<String, f64>| {
            let of = |name: &str| epoch.get(&format!("{set}{name}")).copied();
            (-of("accuracy").unwrap_or(0.0), of("loss").unwrap_or(f64::INFINITY))
        };
        self.epochs.iter().min_by(|a, b| {
            let (a, b) = (key(a), key(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
    }

    fn is_measured(&self, name: &str) -> bool {
        self.epochs.iter().any(|epoch| epoch.contains_key(name))
    }

    fn seconds(&self) -> f64 {
        self.epochs.iter().filter_map(|epoch| epoch.get("seconds")).sum()
    }

    /// A figure of the best epoch.
    fn figure(&self, name: &str) -> Option<f64> {
        self.best()?.get(name).copied()
    }

    fn object(&self) -> Vec<(&str, Value)> {
        let settings: BTreeMap<&String, Value> =
            self.settings.iter().map(|(name, value)| (name, Value::from(value.as_str()))).collect();
        let figure = |name: &str| Value::from(self.figure(name));
        vec![
            ("run", self.name().into()),
            ("state", self.state.into()),
            ("epochs", self.epochs.len().into()),
            ("best_epoch", self.figure("epoch").map(|epoch| epoch as u64).into()),
            ("train_loss", figure("train_loss")),
            ("train_accuracy", figure("train_accuracy")),
            ("validation_loss", figure("validation_loss")),
            ("validation_accuracy", figure("validation_accuracy")),
            ("test_loss", figure("test_loss")),
            ("test_accuracy", figure("test_accuracy")),
            ("test_r2", figure("test_r2")),
            ("seconds", self.seconds().into()),
            (
                "model",
                self.path.join(MODEL).exists().then(|| self.path.join(MODEL).display().to_string()).into(),
            ),
            ("settings", serde_json::json!(settings)),
        ]
    }
}

/// Lists runs.
///
/// # Errors
/// [`Error::Read`] where there is no such folder.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let unread = |source| Error::Read { path: options.folder.clone(), source };
    let mut runs = Vec::new();
    for entry in fs::read_dir(&options.folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if path.join(CONFIG).exists() {
            runs.push(Told::of(&path)?);
        }
    }
    runs.sort_by(|a, b| a.path.cmp(&b.path));
    if options.format == Format::Json {
        return Ok(runs.iter().try_for_each(|run| print_object(&run.object()))?);
    }
    if runs.is_empty() {
        return Ok(print_line(&format!("no runs in {}", options.folder.display()))?);
    }
    let names: Vec<String> = differing(&runs).into_iter().filter(|name| name != "epochs").collect();
    let mut header = ["run", "state", "epochs", "best", "time"].map(str::to_owned).to_vec();
    header.extend(names.iter().cloned());
    let row = |run: &Told| {
        let mut row = vec![run.name(), run.state.to_owned(), run.epochs.len().to_string()];
        row.extend([score(run), seconds(std::time::Duration::from_secs_f64(run.seconds()))]);
        row.extend(names.iter().map(|name| run.settings.get(name).cloned().unwrap_or_default()));
        row
    };
    let mut align = vec![Align::Left, Align::Left, Align::Right, Align::Left, Align::Right];
    align.extend(names.iter().map(|_| Align::Left));
    let rows: Vec<Vec<String>> = [header].into_iter().chain(runs.iter().map(row)).collect();
    Ok(table(&rows, &align).iter().try_for_each(|line| print_line(line))?)
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
    let row = |name: &str, of: &dyn Fn(&Told) -> String| -> Vec<String> {
        [name.to_owned()].into_iter().chain(runs.iter().map(of)).collect()
    };
    let figures = [
        ("train loss", "train_loss"),
        ("train accuracy", "train_accuracy"),
        ("validation loss", "validation_loss"),
        ("validation accuracy", "validation_accuracy"),
        ("validation R2", "validation_r2"),
        ("test loss", "test_loss"),
        ("test accuracy", "test_accuracy"),
        ("test R2", "test_r2"),
    ];
    let mut rows = vec![
        row("", &Told::name),
        row("state", &|run| run.state.to_owned()),
        row("epochs", &|run| run.epochs.len().to_string()),
        row("best epoch", &|run| run.figure("epoch").map(|epoch| epoch.to_string()).unwrap_or_default()),
    ];
    for (shown, name) in figures {
        if runs.iter().any(|run| run.is_measured(name)) {
            rows.push(row(shown, &|run| {
                run.figure(name).map(|value| figure(name, value)).unwrap_or_default()
            }));
        }
    }
    rows.push(row("seconds", &|run| format!("{:.2}", run.seconds())));
    for name in differing(&runs) {
        rows.push(row(&name, &|run| run.settings.get(&name).cloned().unwrap_or_default()));
    }
    let align: Vec<Align> = (0..=runs.len()).map(|_| Align::Left).collect();
    Ok(table(&rows, &align).iter().try_for_each(|line| print_line(line))?)
}

/// A figure for people.
fn figure(name: &str, value: f64) -> String {
    if name.ends_with("accuracy") { percent(value) } else { loss(value) }
}

/// What a run reached, for people.
fn score(run: &Told) -> String {
    for set in ["validation", "test", "train"] {
        for measure in ["accuracy", "r2", "loss"] {
            let name = format!("{set}_{measure}");
            if let Some(value) = run.figure(&name) {
                let shown = if measure == "r2" { "R2" } else { measure };
                return format!("{set} {shown} {}", figure(&name, value));
            }
        }
    }
    "no epoch".to_owned()
}

/// The settings that are not the same in all runs.
fn differing(runs: &[Told]) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> =
        runs.iter().flat_map(|run| run.settings.keys()).collect();
    let differs =
        |name: &&String| runs.iter().any(|run| run.settings.get(*name) != runs[0].settings.get(*name));
    names.into_iter().filter(differs).cloned().collect()
}
