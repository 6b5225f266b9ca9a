//! Tile shapes that were measured, and the file that keeps them from one run to the next.

use std::fmt::Write;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::error::{Error, Place, Result, excerpt};
use crate::gpu::{Adapter, Backend, backend_named};
use crate::kernels::Tuning;
use crate::model::Network;
use crate::output::Destination;
use crate::schedule::ScheduleKind;

/// What the file says that it is, and in which version.
const FORMAT: &str = "tinytrain tuning 1";

/// Most bytes of a file that is read: thousands of entries.
const MOST_BYTES: u64 = 1 << 22;

/// What tile shapes are measured for, besides the schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// The adapter's name.
    pub adapter: String,
    /// The interface.
    pub backend: Backend,
    /// The driver and its version.
    pub driver: String,
    /// Inputs, hidden layers, classes.
    pub sizes: Vec<usize>,
    /// Most rows of a batch.
    pub batch: usize,
}

impl Workload {
    /// Batches of at most `batch` rows of a network on an adapter.
    pub fn for_network(adapter: &Adapter, network: &Network, batch: usize) -> Self {
        Self {
            adapter: adapter.name.clone(),
            backend: adapter.backend,
            driver: adapter.driver.clone(),
            sizes: network.sizes().to_vec(),
            batch,
        }
    }
}

/// The best tile shapes that were found for a workload under a schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// What was trained on what.
    pub workload: Workload,
    /// How a step was divided.
    pub schedule: ScheduleKind,
    /// The tile shapes.
    pub tuning: Tuning,
    /// What a step took.
    pub step: Duration,
}

/// Measurements, one per workload and schedule.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measurements {
    entries: Vec<Measurement>,
}

impl Measurements {
    /// Reads a file; where there is none, nothing has been measured.
    ///
    /// # Errors
    /// [`Error::Read`] if it cannot be read, [`Error::Data`] if it is not what [`Measurements::to_text`] has written.
    pub fn read(path: &Path) -> Result<Self> {
        let unread = |source| Error::Read { path: path.to_owned(), source };
        let found = match fs::metadata(path) {
            Ok(found) => found,
            // Where a file stands in the place of the folder there is none either.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Self::default());
            }
            Err(error) => return Err(unread(error)),
        };
        if !found.is_file() {
            return Err(unread(io::Error::other("it is not a regular file")));
        }
        let bad =
            |found: String| Error::data(path, Place::default(), "measurements of `tinytrain tune`", found);
        if found.len() > MOST_BYTES {
            return Err(bad(format!("{} bytes", found.len())));
        }
        let contents: Value = serde_json::from_slice(&crate::input::read(path, MOST_BYTES)?)
            .map_err(|_| bad("something else, or a part of them".to_owned()))?;
        if contents["format"] != FORMAT {
            return Err(bad("something else, or those of another version".to_owned()));
        }
        let entries = contents["entries"].as_array().ok_or_else(|| bad("no entries".to_owned()))?;
        let parsed = |entry: &Value| parse(entry).ok_or_else(|| bad(excerpt(&format!("the entry {entry}"))));
        Ok(Self { entries: entries.iter().map(parsed).collect::<Result<_>>()? })
    }

    /// Adds these to the measurements of a file, which may be new. Runs that end at the same time do so one after the
    /// other, by the lock of a file beside it, which stays there.
    ///
    /// A foreign file is replaced; what was wrong with it is returned.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Write`]; the file is then as it was.
    pub fn keep(self, destination: &Destination) -> Result<Option<Error>> {
        // Where the file system keeps no locks, the last of two runs that end together wins.
        let lock = lock_file(destination.path())?;
        let _ = lock.lock();
        let (mut kept, fault) = match Self::read(destination.path()) {
            Err(fault @ Error::Data { .. }) => (Self::default(), Some(fault)),
            read => (read?, None),
        };
        self.entries.into_iter().for_each(|entry| kept.insert(entry));
        destination.write(kept.to_text().as_bytes())?;
        Ok(fault)
    }

    /// The contents of a file: JSON, an entry a line.
    pub fn to_text(&self) -> String {
        let mut text = format!("{{\"format\":{},\"entries\":[", Value::from(FORMAT));
        for (index, entry) in self.entries.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}\n{}", written(entry));
        }
        text + "\n]}\n"
    }

    /// What was measured for a workload under a schedule.
    pub fn find(&self, workload: &Workload, schedule: ScheduleKind) -> Option<&Measurement> {
        self.entries.iter().find(|entry| entry.schedule == schedule && entry.workload == *workload)
    }

    /// Adds a measurement, in place of an older one of the same workload and schedule.
    pub fn insert(&mut self, measurement: Measurement) {
        let Measurement { workload, schedule, .. } = &measurement;
        self.entries.retain(|entry| entry.schedule != *schedule || entry.workload != *workload);
        self.entries.push(measurement);
    }
}

/// The file beside `path` whose lock is held by the run that changes `path`.
fn lock_file(path: &Path) -> Result<File> {
    let mut beside = path.to_owned();
    beside.as_mut_os_string().push(".lock");
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    let opened =
        made.and_then(|()| OpenOptions::new().write(true).create(true).truncate(false).open(&beside));
    opened.map_err(|source| Error::Write { path: beside, source })
}

fn written(entry: &Measurement) -> Value {
    let Measurement { workload, schedule, tuning, step } = entry;
    json!({
        "adapter": workload.adapter,
        "backend": workload.backend.to_string(),
        "driver": workload.driver,
        "layers": workload.sizes,
        "batch_size": workload.batch,
        "schedule": schedule.to_string(),
        "tuning": tuning.to_string(),
        "microseconds": step.as_secs_f64() * 1e6,
    })
}

fn parse(entry: &Value) -> Option<Measurement> {
    let text = |name: &str| entry[name].as_str();
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    let workload = Workload {
        adapter: text("adapter")?.to_owned(),
        backend: backend_named(text("backend")?)?,
        driver: text("driver")?.to_owned(),
        sizes: entry["layers"].as_array()?.iter().map(number).collect::<Option<_>>()?,
        batch: number(&entry["batch_size"])?,
    };
    Some(Measurement {
        workload,
        schedule: text("schedule")?.parse().ok()?,
        tuning: text("tuning")?.parse().ok()?,
        step: Duration::try_from_secs_f64(entry["microseconds"].as_f64()? / 1e6).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(batch: usize, schedule: ScheduleKind, step: u64) -> Measurement {
        let workload = Workload {
            adapter: "a \"card\"".to_owned(),
            backend: Backend::Vulkan,
            driver: "driver 1.2".to_owned(),
            sizes: vec![784, 300, 10],
            batch,
        };
        Measurement { workload, schedule, tuning: Tuning::GPU, step: Duration::from_micros(step) }
    }

    fn kept() -> Measurements {
        let mut kept = Measurements::default();
        for (batch, step) in [(64, 10), (32, 20), (64, 30)] {
            kept.insert(measurement(batch, ScheduleKind::Fused, step));
        }
        kept.insert(measurement(64, ScheduleKind::TwoDispatch, 40));
        kept
    }

    fn read(contents: &[u8]) -> Result<Measurements> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tuning.json");
        fs::write(&path, contents).unwrap();
        Measurements::read(&path)
    }

    #[test]
    fn a_newer_measurement_takes_the_place_of_an_older_one() {
        let kept = kept();
        assert_eq!(kept.entries.len(), 3);
        let of = |batch, schedule| kept.find(&measurement(batch, schedule, 0).workload, schedule);
        assert_eq!(of(64, ScheduleKind::Fused).unwrap().step, Duration::from_micros(30));
        assert_eq!(of(32, ScheduleKind::Fused).unwrap().step, Duration::from_micros(20));
        assert_eq!(of(32, ScheduleKind::TwoDispatch), None);
    }

    #[test]
    fn what_is_written_reads_back_and_no_file_is_no_measurement() {
        let kept = kept();
        assert_eq!(read(kept.to_text().as_bytes()).unwrap(), kept);
        assert_eq!(read(Measurements::default().to_text().as_bytes()).unwrap(), Measurements::default());
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Measurements::read(&folder.path().join("none")).unwrap(), Measurements::default());
    }

    #[test]
    fn runs_that_end_together_keep_what_each_has_measured() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/tuning.json");
        let destination = Destination::check(&path).unwrap();
        for round in 0..20 {
            std::thread::scope(|scope| {
                for run in 0..4 {
                    let mut new = Measurements::default();
                    new.insert(measurement(100 * round + run + 1, ScheduleKind::Fused, 5));
                    let destination = &destination;
                    scope.spawn(move || assert!(new.keep(destination).unwrap().is_none()));
                }
            });
        }
        assert_eq!(Measurements::read(&path).unwrap().entries.len(), 80);
    }

    #[test]
    fn a_lock_file_that_a_run_has_left_holds_nobody_up_and_a_foreign_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tuning.json");
        let destination = Destination::check(&path).unwrap();
        fs::write(folder.path().join("tuning.json.lock"), "left").unwrap();
        fs::write(&path, "something else").unwrap();
        let fault = kept().keep(&destination).unwrap().unwrap();
        assert!(fault.to_string().contains("tuning.json"), "{fault}");
        assert!(kept().keep(&destination).unwrap().is_none());
        assert_eq!(Measurements::read(&path).unwrap().entries.len(), 3);
    }

    #[test]
    fn broken_and_foreign_files_are_refused_in_one_line() {
        let text = kept().to_text();
        let cuts = (0..text.trim_end().len()).step_by(7).map(|length| text[..length].to_owned());
        let changes = [
            ("tuning 1", "tuning 2"),
            ("tiled 4x8x4x4", "tiled 4x8x4"),
            ("\"vulkan\"", "\"glide\""),
            ("\"batch_size\":64", "\"batch_size\":-64"),
            ("\"schedule\":\"fused\"", "\"schedule\":\"fast\""),
            ("\"microseconds\":30.0", "\"microseconds\":-30.0"),
            ("[784,300,10]", "[784,\"300\",10]"),
        ];
        let changed = changes.map(|(from, to)| {
            assert!(text.contains(from), "{from} in {text}");
            text.replacen(from, to, 1)
        });
        for broken in cuts.chain(changed).chain(["[]".to_owned(), "\0\u{1}".to_owned()]) {
            let error = read(broken.as_bytes()).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{broken}");
            assert!(!error.to_string().contains('\n'), "{error}");
        }
        assert!(Measurements::read(&std::env::temp_dir()).is_err());
    }
}
