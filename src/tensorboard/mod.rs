//! Event files of TensorBoard: scalars by step, and the hyperparameters of a run.
//!
//! A file is a list of records (`record.rs`), each an `Event` in protocol buffers (`proto.rs`). A resumed run
//! begins a new file in the same folder, since TensorBoard may be reading the old one: the new file names the
//! step from which earlier values are discarded.

mod proto;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost::Message;

use self::proto::{
    AnyValue, Event, FAILURE, HParamsPluginData, Kind, PluginData, SUCCESS, Session, SessionEndInfo,
    SessionLog, SessionStartInfo, Summary, SummaryMetadata, What,
};
use crate::error::{Error, Result};
use crate::input::{self, RECORDS_BYTES};

/// Start of the names of event files, followed by the seconds since 1970, by which TensorBoard orders them.
const PREFIX: &str = "events.out.tfevents.";
/// End of the names of our event files.
const SUFFIX: &str = ".tinytrain";
/// Tags of the plugin `hparams`.
const SESSION_START: &str = "_hparams_/session_start_info";
const SESSION_END: &str = "_hparams_/session_end_info";

/// An event file, to which records are appended. Every call writes one record immediately, so that records
/// survive a killed process.
#[derive(Debug)]
pub struct EventFile {
    file: File,
    path: PathBuf,
}

/// The value of a hyperparameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Hyperparameter {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// Yes or no.
    Flag(bool),
}

impl EventFile {
    /// Creates a file in `folder`, after the existing ones. Their values from step `first` on are discarded.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Write`].
    pub fn create(folder: &Path, first: usize) -> Result<Self> {
        let before = event_files(folder)?;
        // The order of files must not depend on a clock that was set back, or on two files within a second.
        let now = seconds(SystemTime::now()) as u64;
        let stamp = before.last().map_or(now, |(stamp, _)| now.max(stamp.saturating_add(1)));
        let path = folder.join(format!("{PREFIX}{stamp:010}{SUFFIX}"));
        let file = File::create_new(&path).map_err(|source| Error::Write { path: path.clone(), source })?;
        let mut file = Self { file, path };
        let now = SystemTime::now();
        file.add(0, now, What::FileVersion("brain.Event:2".to_owned()))?;
        // TensorBoard treats the first session log of a run as its start, and only later ones as restarts, so
        // all files have one.
        file.add(first, now, What::SessionLog(SessionLog { status: proto::START }))?;
        Ok(file)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds the values of a step by their tags.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn scalars(&mut self, step: usize, time: SystemTime, values: Vec<(String, f32)>) -> Result<()> {
        let value = |(tag, value)| proto::Value { tag, simple_value: Some(value), metadata: None };
        self.add(step, time, What::Summary(Summary { value: values.into_iter().map(value).collect() }))
    }

    /// Writes the hyperparameters at the start of a run.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn begin(&mut self, hyperparameters: BTreeMap<String, Hyperparameter>) -> Result<()> {
        let kind = |value| match value {
            Hyperparameter::Number(number) => Kind::Number(number),
            Hyperparameter::Text(text) => Kind::Text(text),
            Hyperparameter::Flag(is_set) => Kind::Flag(is_set),
        };
        let hparams = hyperparameters
            .into_iter()
            .map(|(name, value)| (name, AnyValue { kind: Some(kind(value)) }))
            .collect();
        let now = SystemTime::now();
        let start = SessionStartInfo { hparams, start_time_secs: seconds(now) };
        self.session(SESSION_START, now, Session::Start(start))
    }

    /// Writes the end of the run, with success or failure.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn end(&mut self, is_well: bool) -> Result<()> {
        let (now, status) = (SystemTime::now(), if is_well { SUCCESS } else { FAILURE });
        let end = SessionEndInfo { status, end_time_secs: seconds(now) };
        self.session(SESSION_END, now, Session::End(end))
    }

    fn session(&mut self, tag: &str, time: SystemTime, session: Session) -> Result<()> {
        let content = HParamsPluginData { session: Some(session) }.encode_to_vec();
        let plugin_data = Some(PluginData { plugin_name: "hparams".to_owned(), content });
        let metadata = Some(SummaryMetadata { plugin_data });
        let value = vec![proto::Value { tag: tag.to_owned(), simple_value: None, metadata }];
        self.add(0, time, What::Summary(Summary { value }))
    }

    fn add(&mut self, step: usize, time: SystemTime, what: What) -> Result<()> {
        let event = Event { wall_time: seconds(time), step: step as i64, what: Some(what) };
        let record = record::framed(&event.encode_to_vec());
        self.file.write_all(&record).map_err(|source| Error::Write { path: self.path.clone(), source })
    }
}

/// Returns the last step with valid values in the event files of a folder; 0 if there is none.
///
/// # Errors
/// [`Error::Read`].
pub fn last_step(folder: &Path) -> Result<usize> {
    let mut last = 0;
    for (_, path) in event_files(folder)? {
        let bytes = input::read(&path, RECORDS_BYTES)?;
        for event in record::records(&bytes).map_while(|data| Event::decode(data).ok()) {
            let step = usize::try_from(event.step).unwrap_or(0);
            match event.what {
                Some(What::Summary(Summary { value }))
                    if value.iter().any(|it| it.simple_value.is_some()) =>
                {
                    last = step;
                }
                Some(What::SessionLog(SessionLog { status: proto::START })) => {
                    last = last.min(step.saturating_sub(1));
                }
                _ => {}
            }
        }
    }
    Ok(last)
}

/// Returns our event files in a folder with the seconds in their names, in order of creation.
fn event_files(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let unreadable = |source: io::Error| Error::Read { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        let stamp = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
        found.extend(stamp.and_then(|stamp| stamp.parse().ok()).map(|stamp: u64| (stamp, entry.path())));
    }
    found.sort();
    Ok(found)
}

/// Seconds since 1970.
fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}
