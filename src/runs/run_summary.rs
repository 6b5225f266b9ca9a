//! Summaries of saved runs: their settings, their epochs, the best epoch, and the differences between runs.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml::Table;

use super::folder::{CHECKPOINT, CONFIG, HISTORY, MODEL};
use super::lock::FolderLock;
use crate::error::{Error, Place, Result, excerpt};
use crate::input::{self, RECORDS_BYTES, SETTINGS_BYTES};
use crate::settings::text::values;

/// Columns of a history.
const EPOCH: &str = "epoch";
const SECONDS: &str = "seconds";

/// Reads the settings of a run from a file, by option names.
///
/// # Errors
/// [`Error::Read`]; [`Error::Data`] for anything but TOML.
pub fn read_settings(path: &Path) -> Result<Table> {
    let text = input::read_text(path, SETTINGS_BYTES)?;
    from_toml(&text, path, "settings of a run in TOML")
}

/// Parses the text of a file as TOML.
///
/// # Errors
/// [`Error::Data`] for anything but TOML.
pub(crate) fn from_toml(text: &str, path: &Path, expected: &str) -> Result<Table> {
    text.parse().map_err(|error: toml::de::Error| {
        let row =
            error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count() as u64);
        let found = error.message().trim().replace('\n', ", ");
        Error::data(path, row.map_or_else(Place::default, Place::row), expected, excerpt(&found))
    })
}

/// The summary of a run, from its folder.
pub struct RunSummary {
    /// The folder.
    pub path: PathBuf,
    /// The settings by option names.
    pub settings: BTreeMap<String, String>,
    /// The columns of the history by name, for each epoch.
    pub epochs: Vec<BTreeMap<String, f64>>,
    /// The state: running, done, stopped early, resumable, or ended.
    pub state: &'static str,
}

impl RunSummary {
    /// Reads the folder of a run.
    ///
    /// # Errors
    /// [`Error::Read`] if it is not the folder of a run; [`Error::Data`] and [`Error::Config`] for invalid settings.
    pub fn read(path: &Path) -> Result<Self> {
        let settings = read_settings(&path.join(CONFIG))?;
        let text = |(name, value)| (name, values(&value).join(" "));
        let settings = settings.into_iter().map(text).collect();
        let history = path.join(HISTORY);
        let epochs = match input::read_text(&history, RECORDS_BYTES) {
            Ok(text) => epochs(&text, &history)?,
            // The run has just begun, or was killed at its start.
            Err(Error::Read { source, .. }) if source.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut summary = Self { path: path.to_owned(), settings, epochs, state: "" };
        let wanted: Option<usize> = summary.settings.get("epochs").and_then(|epochs| epochs.parse().ok());
        summary.state = match () {
            () if FolderLock::is_taken(path) => "running",
            () if wanted.is_some_and(|wanted| summary.epochs.len() >= wanted) => "done",
            () if summary.has_stopped_early() => "stopped early",
            // A run that was killed before it saved anything restarts.
            () if path.join(CHECKPOINT).exists() || !path.join(MODEL).exists() => "resumable",
            () => "ended",
        };
        Ok(summary)
    }

    /// Whether --patience or --target-accuracy has ended the run.
    fn has_stopped_early(&self) -> bool {
        let setting = |name: &str| self.settings.get(name).and_then(|text| text.parse::<f64>().ok());
        let Some(last) = self.epochs.last() else { return false };
        let reached = last.get("validation_accuracy").or(last.get("train_accuracy"));
        let is_accurate =
            setting("target-accuracy").zip(reached).is_some_and(|(wanted, found)| *found >= wanted);
        let best = self.best().and_then(|epoch| epoch.get(EPOCH));
        let waited = self.epochs.len() as f64 - best.unwrap_or(&0.0);
        is_accurate
            || self.is_measured("validation_loss") && setting("patience").is_some_and(|most| waited >= most)
    }

    /// The path of the folder, for display.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The epoch with the best score on the validation rows, or else the last epoch: test rows do not influence the
    /// choice.
    fn best(&self) -> Option<&BTreeMap<String, f64>> {
        if !self.is_measured("validation_loss") {
            return self.epochs.last();
        }
        let key = |epoch: &&BTreeMap<String, f64>| {
            let of = |name: &str| epoch.get(name).copied();
            (-of("validation_accuracy").unwrap_or(0.0), of("validation_loss").unwrap_or(f64::INFINITY))
        };
        self.epochs.iter().min_by(|a, b| {
            let (a, b) = (key(a), key(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
    }

    /// The epoch of the kept model: of the test score, if there is only one, otherwise the best.
    fn kept(&self) -> Option<&BTreeMap<String, f64>> {
        let mut tested = self.epochs.iter().filter(|epoch| epoch.contains_key("test_loss"));
        tested.next().filter(|_| tested.next().is_none()).or(self.best())
    }

    /// Whether any epoch has this metric.
    pub fn is_measured(&self, name: &str) -> bool {
        self.epochs.iter().any(|epoch| epoch.contains_key(name))
    }

    /// Total seconds of all epochs.
    pub fn seconds(&self) -> f64 {
        // An empty sum would be -0.
        self.epochs.iter().filter_map(|epoch| epoch.get(SECONDS)).fold(0.0, |sum, seconds| sum + seconds)
    }

    /// A metric of the kept epoch.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.kept()?.get(name).copied()
    }

    /// The summary as a JSON object.
    pub fn object(&self) -> Vec<(&str, Value)> {
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

    /// A metric by epoch, for epochs that have it: (epoch, metric).
    pub fn curve(&self, name: &str) -> Vec<(f64, f64)> {
        let point = |epoch: &BTreeMap<String, f64>| Some((*epoch.get("epoch")?, *epoch.get(name)?));
        self.epochs.iter().filter_map(point).filter(|point| point.1.is_finite()).collect()
    }
}

/// More seconds than any run takes, and fewer than the maximum of a [`std::time::Duration`].
const MOST_SECONDS: f64 = 1e12;

/// Parses the epochs of a history; messages show `path` as its path. An incomplete last line of a killed run is
/// ignored.
fn epochs(text: &str, path: &Path) -> Result<Vec<BTreeMap<String, f64>>> {
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let mut lines = (1..).zip(whole.lines());
    let bad = |row: u64, expected: String, found: &str| {
        Error::data(path, Place::row(row), expected, format!("{:?}", excerpt(found)))
    };
    let header = lines.next().map_or("", |(_, line)| line);
    let names: Vec<&str> = header.split(',').collect();
    if names[0] != EPOCH {
        return Err(bad(1, format!("the header of a run's history, which begins with {EPOCH}"), header));
    }
    let epoch = |(row, line): (u64, &str)| {
        let cells: Vec<&str> = line.split(',').collect();
        if cells.len() != names.len() {
            return Err(bad(row, format!("{} cells, as many as in the header", names.len()), line));
        }
        let mut epoch = BTreeMap::new();
        for (name, cell) in names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
            let number = cell.parse::<f64>().ok().filter(|number| match *name {
                EPOCH => *number == (row - 1) as f64,
                SECONDS => (0.0..=MOST_SECONDS).contains(number),
                _ => true,
            });
            let expected = || match *name {
                EPOCH => format!("epoch {}", row - 1),
                SECONDS => "seconds".to_owned(),
                _ => "a number".to_owned(),
            };
            epoch.insert((*name).to_owned(), number.ok_or_else(|| bad(row, expected(), cell))?);
        }
        Ok(epoch)
    };
    lines.map(epoch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_read_as_it_was_written_or_refused() {
        let read = |text: &str| epochs(text, Path::new("h"));
        let text = "epoch,train_loss,test_loss,seconds\n1,0.5,,0.25\n2,inf,NaN,0.5\n3,0.";
        let summary = read(text).unwrap();
        assert_eq!((summary.len(), summary[0]["train_loss"], summary[0].get("test_loss")), (2, 0.5, None));
        assert!(summary[1]["train_loss"].is_infinite() && summary[1]["test_loss"].is_nan());
        for (from, to, row, expected, found) in [
            (
                "epoch,",
                "member,",
                1,
                "the header of a run's history, which begins with epoch",
                "member,train_loss",
            ),
            ("\n2,inf", "\n3,inf", 3, "epoch 2", "\"3\""),
            ("\n1,0.5,", "\n1,0.5", 2, "4 cells, as many as in the header", "\"1,0.5,0.25\""),
            ("0.5,,", "x\u{1b},,", 2, "a number", r#""x\\u{1b}""#),
            ("0.25", "-1", 2, "seconds", "\"-1\""),
            ("0.25", "1e300", 2, "seconds", "\"1e300\""),
            ("0.25", "nan", 2, "seconds", "\"nan\""),
        ] {
            let line = read(&text.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(line.starts_with(&format!("h, row {row}: expected {expected}, found ")), "{line}");
            assert!(line.contains(found), "{line}");
        }
        assert!(read("").is_err());
    }
}
