//! Folder of a sweep: `sweep.json` (its command line), `results.jsonl` (a line for each finished member),
//! `history.csv` (a line for each of their epochs), `members/` (their models, for folds if an ensemble is
//! requested); and when the sweep is finished `leaderboard.csv`, `best.safetensors`, `sweep.html`, and
//! `ensemble.safetensors`.

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::member::FinishedMember;
use crate::error::{Error, Result};
use crate::error::{Place, excerpt};
use crate::input::{self, RECORDS_BYTES};
use crate::model::Model;
use crate::runs::{CONFIG, FolderLock, Fresh};
use crate::train::TrainedRows;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::history;
use super::record::Record;

const COMMAND: &str = "sweep.json";
const RESULTS: &str = "results.jsonl";
const HISTORY: &str = "history.csv";
const MEMBERS: &str = "members";
/// Name of the file with the trials by score.
pub const LEADERBOARD: &str = "leaderboard.csv";
/// Name of the report page.
pub const PAGE: &str = "sweep.html";
/// Name of the best model's file.
pub const BEST: &str = "best.safetensors";
/// Name of the ensemble's file.
pub const ENSEMBLE: &str = "ensemble.safetensors";

/// Contents of `sweep.json` that are read.
#[derive(Deserialize)]
struct Command {
    arguments: Vec<String>,
    rows: FileRows,
}

/// Identity of a sweep's rows: training, validation and test rows of each file.
pub type FileRows = [Option<TrainedRows>; 3];

/// Saved models of a member.
#[derive(Debug, Default)]
pub struct Models {
    /// Model trained on all rows.
    pub whole: Option<Vec<u8>>,
    /// Model of each fold.
    pub of_folds: Vec<Vec<u8>>,
}

/// Folder of a sweep.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Finished members, in order.
    pub records: Vec<Record>,
    /// `None` if the folder is opened only for reading.
    lock: Option<FolderLock>,
    /// Files of a new sweep, until the first trial has ended.
    fresh: Option<Fresh>,
}

/// Returns whether a folder contains a sweep.
pub fn is_sweep(path: &Path) -> bool {
    path.join(COMMAND).is_file()
}

fn unwritable(path: &Path, source: io::Error) -> Error {
    Error::Write { path: path.to_owned(), source }
}

impl Folder {
    /// Files of a sweep, except the page.
    pub const FILES: [&str; 6] = [COMMAND, RESULTS, HISTORY, LEADERBOARD, BEST, ENSEMBLE];

    /// Creates a new folder, or uses one without files that would be overwritten.
    ///
    /// # Errors
    /// [`Error::Write`]; [`Error::Config`] if it contains a sweep, a run, or files of the same names.
    pub fn create(path: &Path, command: &[String], rows: &FileRows) -> Result<Self> {
        let (lock, mut fresh) = FolderLock::take_new(path, refuse_used)?;
        // The command is written last: without it the folder does not count as a sweep.
        let names = [MEMBERS, RESULTS, HISTORY, COMMAND];
        names.iter().for_each(|name| fresh.add(&path.join(name)));
        let mut folder = Self::locked(path, Some(lock));
        folder.fresh = Some(fresh);
        fs::create_dir_all(folder.file(MEMBERS)).map_err(|source| unwritable(path, source))?;
        folder.write(RESULTS, "")?;
        folder.write(HISTORY, history::HEADER)?;
        let command = json!({ "version": env!("CARGO_PKG_VERSION"), "arguments": command, "rows": rows });
        folder.write(COMMAND, &(command.to_string() + "\n"))?;
        Ok(folder)
    }

    /// Keeps a folder without a finished trial; otherwise it is removed on drop.
    pub fn keep(&mut self) {
        self.fresh = None;
    }

    /// Opens a folder with a sweep in it. Files that a killed sweep had half written are ignored.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Write`] and [`Error::Data`] if it does not contain a sweep.
    pub fn open(path: &Path) -> Result<Self> {
        // A folder without a sweep is not changed.
        fs::metadata(path.join(RESULTS))
            .map_err(|source| Error::Read { path: path.join(RESULTS), source })?;
        if !path.join(COMMAND).exists() {
            let path = path.display();
            return Err(Error::Config(format!(
                "cannot open the sweep in {path}: it was stopped before it began to train; start it again with --out {path}"
            )));
        }
        Self::locked(path, Some(FolderLock::take(path)?)).read_back()
    }

    /// Opens a folder as [`Folder::open`] does, without a lock: the sweep may still be running.
    ///
    /// # Errors
    /// See [`Folder::open`].
    pub fn open_unlocked(path: &Path) -> Result<Self> {
        Self::locked(path, None).read_back()
    }

    fn locked(path: &Path, lock: Option<FolderLock>) -> Self {
        Self { path: path.to_owned(), records: Vec::new(), lock, fresh: None }
    }

    /// Reads the records of finished members.
    fn read_back(self) -> Result<Self> {
        let mut folder = self;
        let results = folder.file(RESULTS);
        let text = folder.read(RESULTS)?;
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        for (row, line) in (1..).zip(whole.lines()) {
            let record: Record = serde_json::from_str(line).map_err(|error| broken(&results, row, &error))?;
            if let Some(name) = record.models().find(|name| !is_model_of(name, record.member)) {
                let expected =
                    format!("a model of trial {}, such as {}", record.member, model_name(record.member, ""));
                return Err(Error::data(&results, Place::row(row), expected, excerpt(name)));
            }
            folder.records.push(record);
        }
        let ended: HashSet<usize> = folder.records.iter().map(|record| record.member).collect();
        let history = folder.read(HISTORY)?;
        let of_ended = |line: &&str| {
            let member = line.split(',').next().and_then(|member| member.parse().ok());
            line.ends_with('\n') && member.is_some_and(|member| ended.contains(&member))
        };
        let kept: String = history.split_inclusive('\n').skip(1).filter(of_ended).collect();
        let is_cut = whole.len() < text.len() || history::HEADER.len() + kept.len() != history.len();
        if is_cut && folder.lock.is_some() {
            folder.write(RESULTS, whole)?;
            folder.write(HISTORY, &(history::HEADER.to_owned() + &kept))?;
        }
        Ok(folder)
    }

    /// Returns the command line that started the sweep.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Data`] if there is none.
    pub fn command(&self) -> Result<Vec<String>> {
        self.began().map(|command| command.arguments)
    }

    fn began(&self) -> Result<Command> {
        let text = self.read(COMMAND)?;
        serde_json::from_str(&text).map_err(|error| broken(&self.path.join(COMMAND), 1, &error))
    }

    /// Returns whether its members are trained on folds.
    ///
    /// # Errors
    /// See [`Folder::command`].
    pub fn is_on_folds(&self) -> Result<bool> {
        Ok(self.command()?.iter().any(|word| word == "--folds" || word.starts_with("--folds=")))
    }

    /// Returns the path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether a member has ended.
    pub fn has(&self, member: usize) -> bool {
        self.records.iter().any(|record| record.member == member)
    }

    /// Writes a file atomically.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn write(&self, name: &str, contents: &str) -> Result<()> {
        self.write_bytes(name, contents.as_bytes()).map(drop)
    }

    /// Writes a file atomically; returns its path.
    ///
    /// # Errors
    /// [`Error::Write`]; [`Error::Config`] if the folder no longer belongs to this sweep.
    pub fn write_bytes(&self, name: &str, contents: &[u8]) -> Result<PathBuf> {
        let path = self.file(name);
        self.lock()?.write(&path, contents)?;
        Ok(path)
    }

    fn lock(&self) -> Result<&FolderLock> {
        let is_read_only = || Error::Config(format!("{}: opened to be read", self.path.display()));
        self.lock.as_ref().ok_or_else(is_read_only)
    }

    /// Records a finished member, its record last: models and epochs without a record are ignored.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn add(&mut self, record: Record, ended: &FinishedMember, models: &Models) -> Result<()> {
        self.keep();
        let record = self.save(record, &history::lines(ended), models)?;
        self.append(RESULTS, &line(&record))?;
        self.records.push(record);
        Ok(())
    }

    /// Records members that were dropped together. A resumed sweep then ranks the same members.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn add_dropped(&mut self, dropped: Vec<(Record, &FinishedMember, Models)>) -> Result<()> {
        let save = |(record, ended, models)| self.save(record, &history::lines(ended), &models);
        let records = dropped.into_iter().map(save).collect::<Result<_>>()?;
        self.put_together(records)
    }

    /// Copies trials of other sweeps, with numbers from `first`.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Write`]; [`Error::Data`] for a damaged model. A new folder is then removed.
    pub fn import(&mut self, others: &[(Self, Vec<Record>)], first: usize) -> Result<()> {
        let mut records = Vec::new();
        for (other, taken) in others {
            let epochs = other.history()?;
            for record in taken {
                let read = |name: &String| other.model_bytes(name);
                let models = Models {
                    whole: record.model.as_ref().map(read).transpose()?,
                    of_folds: record.fold_models.iter().map(read).collect::<Result<_>>()?,
                };
                let member = first + records.len();
                let from = Some(other.path.display().to_string());
                let epochs = history::renumbered(&epochs, record.member, member);
                records.push(self.save(Record { member, from, ..record.clone() }, &epochs, &models)?);
            }
        }
        self.put_together(records)
    }

    /// Returns the trials that another sweep can take over: trained to the end, or until the time was over.
    pub fn to_import(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| record.score().is_some() && record.end != "dropped")
    }

    /// Writes all of these records or, if the program is killed at the same time, none.
    fn put_together(&mut self, mut records: Vec<Record>) -> Result<()> {
        self.keep();
        let lines: String = records.iter().map(line).collect();
        self.write(RESULTS, &(self.read(RESULTS)? + &lines))?;
        self.records.append(&mut records);
        Ok(())
    }

    /// Saves the models and epochs of a member. Returns its record with their names.
    fn save(&mut self, mut record: Record, epochs: &str, models: &Models) -> Result<Record> {
        let mut save = |part: &str, bytes: &[u8]| {
            let name = model_name(record.member, part);
            if let Some(fresh) = &mut self.fresh {
                fresh.add(&self.path.join(&name));
            }
            self.write_bytes(&name, bytes)?;
            Ok::<_, Error>(name)
        };
        if let Some(bytes) = &models.whole {
            record.model = Some(save("", bytes)?);
        }
        let of_folds = (1..).zip(&models.of_folds);
        let of_folds = of_folds.map(|(fold, bytes)| save(&format!("-fold-{fold}"), bytes));
        record.fold_models = of_folds.collect::<Result<_>>()?;
        self.append(HISTORY, epochs)?;
        Ok(record)
    }

    /// Checks whether each member that was trained on `folds` folds has its fold models, which are needed to
    /// pick an ensemble.
    ///
    /// # Errors
    /// [`Error::Config`] for the first that does not have them.
    pub fn check_fold_models(&self, folds: usize) -> Result<()> {
        for record in self.records.iter().filter(|record| record.is_done()) {
            let found = record.fold_models.iter().filter(|name| self.file(name).is_file()).count();
            if found < folds {
                let (path, member) = (self.path.display(), record.member);
                let text = format!(
                    "--ensemble: expected the models of {folds} folds of trial {member} in {path}, found {found}; a sweep saves them if it is started with --ensemble"
                );
                return Err(Error::Config(text));
            }
        }
        Ok(())
    }

    /// Returns the epochs of all members, in the format of `history.csv`.
    ///
    /// # Errors
    /// [`Error::Read`].
    pub fn history(&self) -> Result<String> {
        self.read(HISTORY)
    }

    /// Checks whether the rows are the same as at the start of the sweep: scores on other rows are not
    /// comparable, and validation rows may have been training rows then.
    ///
    /// # Errors
    /// Errors of the folder; [`Error::Config`] for other rows.
    pub fn check_rows(&self, rows: &FileRows) -> Result<()> {
        if self.has_rows(rows)? {
            return Ok(());
        }
        let path = self.path.display();
        Err(Error::Config(format!("{path}: the data have changed since the sweep began; start a new sweep")))
    }

    /// Returns whether these were the rows at the start of the sweep.
    ///
    /// # Errors
    /// Errors of the folder.
    pub fn has_rows(&self, rows: &FileRows) -> Result<bool> {
        Ok(self.began()?.rows == *rows)
    }

    /// Copies the model of the best member, if it has one here; returns its path.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Write`]; [`Error::Data`] for a damaged model.
    pub fn keep_best(&self, best: &Record) -> Result<Option<PathBuf>> {
        let Some(name) = &best.model else { return Ok(None) };
        self.write_bytes(BEST, &self.model_bytes(name)?).map(Some)
    }

    /// Reads a trial's model file, which must be whole.
    fn model_bytes(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.model(name)?;
        let bytes = input::read(&path, u64::MAX)?;
        Model::from_bytes(&bytes, &path)?;
        Ok(bytes)
    }

    /// Returns the path of a trial's model file, by the name in its record.
    ///
    /// # Errors
    /// [`Error::Read`] for a name that leads outside the folder.
    pub fn model(&self, name: &str) -> Result<PathBuf> {
        input::inside(&self.path, name)
    }

    fn append(&self, name: &str, text: &str) -> Result<()> {
        let path = self.file(name);
        let mut file = self.lock()?.append(&path, true)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
        written.map_err(|source| unwritable(&path, source))
    }

    fn read(&self, name: &str) -> Result<String> {
        input::read_text(&self.file(name), RECORDS_BYTES)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let (Some(fresh), Some(lock)) = (self.fresh.take(), &self.lock) {
            fresh.remove(lock);
        }
    }
}

/// Returns a record as a line.
fn line(record: &impl Serialize) -> String {
    // Maps of texts and numbers cannot fail; numbers that are not finite become null.
    serde_json::to_string(record).unwrap_or_default() + "\n"
}

fn used(path: &Path) -> Error {
    let path = path.display();
    Error::Config(format!(
        "--out: {path} already holds a sweep; use --resume {path} to continue it, or choose another folder"
    ))
}

/// Rejects a folder of a sweep or a run, and one with files that a sweep would overwrite, except files of a
/// sweep that was stopped as it began.
fn refuse_used(path: &Path) -> Result<()> {
    if path.join(COMMAND).exists() {
        return Err(used(path));
    }
    let is_other = |name: &str, begun: &str| match fs::symlink_metadata(path.join(name)) {
        Ok(_) => input::read(&path.join(name), begun.len() as u64).map_or(true, |it| it != begun.as_bytes()),
        Err(error) => error.kind() != ErrorKind::NotFound,
    };
    let begun = [(RESULTS, ""), (HISTORY, history::HEADER)].into_iter();
    let mut other = begun.filter(|(name, begun)| is_other(name, begun)).map(|(name, _)| name);
    let files = [CONFIG, LEADERBOARD, PAGE, BEST, ENSEMBLE];
    let there = || files.into_iter().find(|name| fs::symlink_metadata(path.join(name)).is_ok());
    let Some(name) = other.next().or_else(there) else { return Ok(()) };
    let path = path.display();
    Err(Error::Config(format!(
        "--out: {path} holds other files, such as {name}; choose a new or empty folder"
    )))
}

/// Returns the name of a trial's model in the folder; `part` distinguishes the models of folds.
fn model_name(member: usize, part: &str) -> String {
    format!("{MEMBERS}/{member:05}{part}.safetensors")
}

/// Returns whether a trial may have a model of this name.
fn is_model_of(name: &str, member: usize) -> bool {
    let fold = || name.strip_suffix(".safetensors")?.rsplit_once("-fold-")?.1.parse::<usize>().ok();
    name == model_name(member, "")
        || fold().is_some_and(|fold| name == model_name(member, &format!("-fold-{fold}")))
}

fn broken(path: &Path, row: u64, error: &serde_json::Error) -> Error {
    Error::data(path, Place::row(row), "JSON that a sweep has written", excerpt(&error.to_string()))
}
