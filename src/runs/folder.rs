//! The folder of a run: `config.toml` (its settings), `history.csv` (one line per epoch), `model.safetensors` (the kept
//! model), `checkpoint.safetensors` (the state to resume from), `log.txt` (all messages), and during training
//! `run.lock`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::input;
use crate::output::is_temporary;
#[cfg(feature = "export")]
use crate::tensorboard::EventFile;
use crate::train::{Checkpoint, Epoch};

use super::figures::{TEST, VALIDATION, score_fields};
use super::lock::{FolderLock, Fresh, LOCK, RUNS};

/// The file of settings, with which a run is repeated or resumed.
pub const CONFIG: &str = "config.toml";
/// The file of the history, one line per epoch.
pub const HISTORY: &str = "history.csv";
/// The file of the kept model.
pub const MODEL: &str = "model.safetensors";
/// The file from which a run resumes.
pub const CHECKPOINT: &str = "checkpoint.safetensors";
const LOG: &str = "log.txt";
/// The names of all files of a run, except event files for TensorBoard.
pub const RUN_FILES: [&str; 6] = [CONFIG, HISTORY, MODEL, CHECKPOINT, LOG, LOCK];

/// The folder of a run, into which no other run writes during the lifetime of this value.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    lock: FolderLock,
    /// Folders and files that this run has created, until there is something to keep.
    fresh: Option<Fresh>,
}

fn unwritable(path: &Path, source: io::Error) -> Error {
    Error::Write { path: path.to_owned(), source }
}

impl RunFolder {
    /// Creates the folder of a new run.
    ///
    /// # Errors
    /// [`Error::Write`]; [`Error::Config`] if the folder is not empty, or if another process takes it at the same time.
    pub fn create(path: &Path) -> Result<Self> {
        let (lock, fresh) = FolderLock::take_new(path, refuse_used)?;
        Ok(Self { path: path.to_owned(), lock, fresh: Some(fresh) })
    }

    /// Opens the folder of a run to resume.
    ///
    /// # Errors
    /// [`Error::Read`] if there is none, [`Error::Config`] if another process trains there.
    pub fn open(path: &Path) -> Result<Self> {
        let config = path.join(CONFIG);
        fs::metadata(&config).map_err(|source| Error::Read { path: config, source })?;
        Ok(Self { path: path.to_owned(), lock: FolderLock::take(path)?, fresh: None })
    }

    /// The path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks whether this run still holds the folder.
    ///
    /// # Errors
    /// [`Error::Config`] if it was moved, removed or replaced.
    pub fn check(&self) -> Result<()> {
        self.lock.check()
    }

    /// Registers a file that this run is about to create, until there is something to keep.
    fn begin_file(&mut self, path: &Path) {
        if let Some(fresh) = &mut self.fresh {
            fresh.add(path);
        }
    }

    /// Writes a file atomically.
    ///
    /// # Errors
    /// [`Error::Write`]; [`Error::Config`] if this run no longer holds the folder.
    pub fn write(&mut self, name: &str, contents: &[u8]) -> Result<PathBuf> {
        let path = self.file(name);
        self.begin_file(&path);
        self.lock.write(&path, contents)?;
        if name == MODEL {
            self.fresh = None;
        }
        Ok(path)
    }

    /// Writes the checkpoint after `steps` steps. A checkpoint before the first step is not kept if an error ends the
    /// run.
    ///
    /// # Errors
    /// As [`RunFolder::write`].
    pub fn write_checkpoint(&mut self, contents: &[u8], steps: u64) -> Result<()> {
        self.write(CHECKPOINT, contents)?;
        if steps > 0 {
            self.fresh = None;
        }
        Ok(())
    }

    /// Rewrites the history with these epochs.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn begin_history(&mut self, epochs: &[Epoch], of_classes: bool) -> Result<()> {
        let lines: String = epochs.iter().map(|epoch| line(epoch, of_classes)).collect();
        self.write(HISTORY, (header() + &lines).as_bytes()).map(drop)
    }

    /// Appends an epoch to the history.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn add(&self, epoch: &Epoch, of_classes: bool) -> Result<()> {
        let path = self.file(HISTORY);
        let written = self.lock.append(&path, false)?.write_all(line(epoch, of_classes).as_bytes());
        written.map_err(|source| unwritable(&path, source))
    }

    #[cfg(feature = "export")]
    /// Creates a new event file for TensorBoard, which supersedes older files from epoch `first` on.
    ///
    /// # Errors
    /// Errors of [`EventFile::create`].
    pub fn event_file(&mut self, first: usize) -> Result<EventFile> {
        self.lock.check()?;
        let file = EventFile::create(&self.path, first)?;
        self.begin_file(file.path());
        Ok(file)
    }

    /// Opens the log file.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn log(&mut self) -> Result<File> {
        let path = self.file(LOG);
        self.begin_file(&path);
        self.lock.append(&path, true)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if let Some(fresh) = self.fresh.take() {
            fresh.remove(&self.lock);
        }
    }
}

/// Reads the checkpoint of a run; `None` if it was killed before writing a checkpoint or a model.
/// [`Error::Read`] and [`Error::Data`] if the checkpoint cannot be read; [`Error::Config`] if it is missing although
/// there is a model.
/// # Errors
/// [`Error::Read`] and [`Error::Data`] if the checkpoint cannot be read.
pub fn checkpoint(run: &Path) -> Result<Option<Checkpoint>> {
    let path = run.join(CHECKPOINT);
    let is_missing = |source: &io::Error| source.kind() == io::ErrorKind::NotFound;
    match input::read(&path, u64::MAX) {
        Ok(bytes) => Checkpoint::from_bytes(&bytes, &path).map(Some),
        Err(Error::Read { source, .. }) if is_missing(&source) && !run.join(MODEL).exists() => Ok(None),
        Err(Error::Read { source, .. }) if is_missing(&source) => Err(Error::Config(format!(
            "cannot resume {run}: it has no {CHECKPOINT}, as the run stopped before its first checkpoint, or the file was \
             removed; use --config {config} to start it again",
            run = run.display(),
            config = run.join(CONFIG).display()
        ))),
        Err(error) => Err(error),
    }
}

/// Creates `runs/<name>`, or `runs/<name>-2` and so on if the name is taken.
///
/// # Errors
/// [`Error::Write`].
pub fn new_folder(name: &str) -> Result<PathBuf> {
    let runs = Path::new(RUNS);
    fs::create_dir_all(runs).map_err(|source| unwritable(runs, source))?;
    let mut number = 1;
    loop {
        let folder = runs.join(if number == 1 { name.to_owned() } else { format!("{name}-{number}") });
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(unwritable(&folder, error)),
        }
    }
}

/// Refuses a folder that is not empty.
///
/// # Errors
/// [`Error::Config`].
pub fn refuse_used(path: &Path) -> Result<()> {
    if path.join(CONFIG).exists() {
        return Err(used(path));
    }
    // Remains of a run that was killed at its start are not worth keeping.
    let is_left = |name: &OsStr| name.to_str().is_some_and(|name| name == LOCK || is_temporary(name));
    if fs::read_dir(path)
        .is_ok_and(|mut entries| entries.any(|it| it.is_ok_and(|it| !is_left(&it.file_name()))))
    {
        let path = path.display();
        return Err(Error::Config(format!(
            "--out: {path} holds other files; choose a new or empty folder, or a file named *.safetensors"
        )));
    }
    Ok(())
}

fn used(path: &Path) -> Error {
    let path = path.display();
    Error::Config(format!(
        "--out: {path} already holds a run; use --resume {path} to continue it, or choose another folder"
    ))
}

fn header() -> String {
    let names = ["epoch", "train_loss", "train_accuracy"].into_iter().chain(VALIDATION).chain(TEST);
    names.chain(["rows", "seconds\n"]).collect::<Vec<&str>>().join(",")
}

/// Formats an epoch as a line; the cell of a missing measure is empty.
fn line(epoch: &Epoch, of_classes: bool) -> String {
    let mut cells = vec![epoch.epoch.to_string(), epoch.train.loss.to_string()];
    cells.push(if of_classes { epoch.train.accuracy.to_string() } else { String::new() });
    let scores = score_fields(VALIDATION, epoch.validation.as_ref())
        .into_iter()
        .chain(score_fields(TEST, epoch.test.as_ref()));
    cells.extend(scores.map(|(_, value)| if value.is_null() { String::new() } else { value.to_string() }));
    cells.extend([epoch.rows.to_string(), format!("{:.6}", epoch.duration.as_secs_f64())]);
    cells.join(",") + "\n"
}
