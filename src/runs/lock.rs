//! The lock of a folder, into which one process writes at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::Instant;
use crate::error::{Error, Result};
use crate::input::first_link;
use crate::output::{Destination, Unfinished, is_at, open_own};

/// The folder of runs without `--out`.
pub const RUNS: &str = "runs";
/// The file that is locked, and contains the number of the process that holds the lock.
pub const LOCK: &str = "run.lock";

/// Maximum time of attempts at a lock that other processes release in between.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum wait for other processes that only check whether a folder is locked.
const GLANCE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(10);

/// The lock of a folder. It ends with the process, even if that crashes.
#[derive(Debug)]
pub struct FolderLock {
    path: PathBuf,
    /// The locked file, until its release.
    file: Option<File>,
}

impl FolderLock {
    /// Takes the lock of an existing folder.
    ///
    /// # Errors
    /// [`Error::Config`] if another process holds it, [`Error::Write`] if no file can be created there.
    pub fn take(folder: &Path) -> Result<Self> {
        let (path, begun) = (folder.join(LOCK), Instant::now());
        loop {
            match attempt(&path).map_err(|source| Error::Write { path: path.clone(), source })? {
                Attempt::Taken(file) => return Ok(Self { path, file: Some(file) }),
                Attempt::Removed if begun.elapsed() < PATIENCE => {}
                Attempt::Removed => {
                    let source = io::Error::other("it is removed or replaced all the time");
                    return Err(Error::Write { path, source });
                }
                Attempt::Busy(process) if begun.elapsed() >= GLANCE => {
                    return Err(Error::Config(format!(
                        "cannot write into {}, where {process} is training",
                        folder.display()
                    )));
                }
                Attempt::Busy(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Creates a folder, if missing, and takes its lock. `refuse_used` refuses a folder whose contents must not be
    /// overwritten; it is called again under the lock, because another process may have been faster.
    ///
    /// # Errors
    /// Errors of `refuse_used`, and as [`FolderLock::take`]; created folders are then removed.
    pub fn take_new(path: &Path, refuse_used: impl Fn(&Path) -> Result<()>) -> Result<(Self, Fresh)> {
        refuse_used(path)?;
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let mut missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
        if path.starts_with(RUNS) {
            // The folder was created to reserve its name.
            missing = vec![path, Path::new(RUNS)];
        }
        let mut fresh = Fresh(missing.into_iter().rev().map(Unfinished::new).collect());
        let taken = loop {
            if let Err(source) = fs::create_dir_all(path) {
                break Err(Error::Write { path: path.to_owned(), source });
            }
            match Self::take(path) {
                // Another process has failed meanwhile and removed the folder.
                Err(Error::Write { .. }) if !path.exists() => {}
                taken => break taken,
            }
        };
        match taken.and_then(|lock| refuse_used(path).map(|()| lock)) {
            Ok(lock) => {
                fresh.add(&lock.path);
                Ok((lock, fresh))
            }
            Err(error) => {
                fresh.remove_all();
                Err(error)
            }
        }
    }

    /// Checks whether the lock is still held: neither the folder nor the file of the lock has been moved or replaced.
    ///
    /// # Errors
    /// [`Error::Config`] if it is not; nothing may be written into the folder then.
    pub fn check(&self) -> Result<()> {
        match &self.file {
            Some(file) if is_at(file, &self.path) => Ok(()),
            _ => Err(Error::Config(format!(
                "{}: the folder was moved, removed or replaced meanwhile; nothing more is written there",
                self.path.parent().unwrap_or(&self.path).display()
            ))),
        }
    }

    /// Writes a file of the folder atomically.
    ///
    /// # Errors
    /// [`Error::Write`]; as [`FolderLock::check`].
    pub fn write(&self, path: &Path, contents: &[u8]) -> Result<()> {
        self.check()?;
        let folder = self.path.parent().unwrap_or(Path::new(""));
        if let Some(path) = first_link(folder, path.strip_prefix(folder).unwrap_or(path)) {
            return Err(Error::Write { path, source: io::Error::other("it is a link") });
        }
        let written = Destination::check_own(path).and_then(|destination| {
            destination.write_with(|file| {
                file.write_all(contents).map_err(Error::Output)?;
                // The temporary file may be in a folder that replaced this one; it is not renamed there.
                self.check()
            })
        });
        // The folder may have been moved since.
        written.map_err(|error| self.check().err().unwrap_or(error))
    }

    /// Opens a file of the folder for appending.
    ///
    /// # Errors
    /// [`Error::Write`]; as [`FolderLock::check`].
    pub fn append(&self, path: &Path, creates: bool) -> Result<File> {
        self.check()?;
        let file = open_own(path, OpenOptions::new().append(true).create(creates));
        // The file may be in another folder, too.
        self.check()?;
        file.map_err(|source| Error::Write { path: path.to_owned(), source })
    }

    /// Whether a process holds the lock of a folder.
    pub fn is_taken(folder: &Path) -> bool {
        let file = open_own(&folder.join(LOCK), OpenOptions::new().read(true));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Releases the lock.
    fn give_back(&mut self) {
        // If the folder was moved, another folder with its own lock may have the same path.
        if let Some(file) = self.file.take()
            && is_at(&file, &self.path)
        {
            // A remaining file does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Folders and files that a process has created in a folder whose lock it holds, oldest first. They are removed if the
/// work fails, or the process ends, before there is anything to keep; dropping this value keeps them.
#[derive(Debug)]
pub struct Fresh(Vec<Unfinished>);

impl Fresh {
    /// Registers a file or a folder that is about to be created.
    pub fn add(&mut self, path: &Path) {
        self.0.push(Unfinished::new(path));
    }

    /// Removes all of them if this lock is still held; the file of the lock is removed last, so that no other process
    /// takes the folder before.
    pub fn remove(self, lock: &FolderLock) {
        if lock.check().is_ok() {
            self.remove_all();
        }
    }

    /// Removing a folder fails unless it is empty, so that other contents remain.
    fn remove_all(self) {
        self.0.into_iter().rev().for_each(Unfinished::remove);
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// The result of an attempt to take a lock.
enum Attempt {
    Taken(File),
    /// The lock is held by this process.
    Busy(String),
    /// The previous holder has removed the file meanwhile.
    Removed,
}

fn attempt(path: &Path) -> io::Result<Attempt> {
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
    let mut file = match open_own(path, &options) {
        // Another process has removed the file in between.
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.parent().is_some_and(Path::is_dir) => {
            return Ok(Attempt::Removed);
        }
        file => file?,
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let mut number = String::new();
            // The number may not be written yet, and Windows refuses to read locked files.
            let _ = file.read_to_string(&mut number);
            let number = number.trim();
            return Ok(Attempt::Busy(match number {
                "" => "another process".to_owned(),
                number => format!("process {number}"),
            }));
        }
        Err(TryLockError::Error(error)) if !is_unsupported(&error) => return Err(error),
        _ => {}
    }
    if !is_at(&file, path) {
        return Ok(Attempt::Removed);
    }
    let mut left = Vec::new();
    Read::take(&mut file, 32).read_to_end(&mut left)?;
    if left.iter().any(|byte| !byte.is_ascii_digit() && *byte != b'\n') {
        return Err(io::Error::other("it is not a lock of tinytrain, which holds the number of a process"));
    }
    let write = |file: &mut File| {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())
    };
    // If the disk is full, the file is removed.
    write(&mut file).inspect_err(|_| drop(fs::remove_file(path)))?;
    Ok(Attempt::Taken(file))
}

/// Whether the file system does not support locks, as some of clusters: training then runs without a lock.
fn is_unsupported(error: &io::Error) -> bool {
    // The standard library has no error kind for ENOLCK.
    error.kind() == io::ErrorKind::Unsupported
        || cfg!(target_os = "linux") && error.raw_os_error() == Some(37)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn one_has_the_lock_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path()).unwrap();
        assert!(FolderLock::is_taken(folder.path()));
        let (found, process) = (folder.path().display(), std::process::id());
        assert_eq!(
            FolderLock::take(folder.path()).unwrap_err().to_string(),
            format!("cannot write into {found}, where process {process} is training")
        );
        drop(first);
        assert!(!FolderLock::is_taken(folder.path()));
        // A lock whose folder was replaced leaves the lock of the new folder unchanged.
        let place = folder.path().join("run");
        fs::create_dir(&place).unwrap();
        let moved = FolderLock::take(&place).unwrap();
        fs::rename(&place, folder.path().join("moved")).unwrap();
        fs::create_dir(&place).unwrap();
        let own = FolderLock::take(&place).unwrap();
        assert!(moved.check().is_err() && own.check().is_ok());
        drop(moved);
        assert!(FolderLock::is_taken(&place));
        drop(own);
        fs::remove_dir(&place).unwrap();
        fs::remove_dir_all(folder.path().join("moved")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        // Waiting threads take turns: a number that all of them read and write is counted correctly.
        let count = folder.path().join("count");
        fs::write(&count, "0").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let _lock = loop {
                            if let Ok(lock) = FolderLock::take(folder.path()) {
                                break lock;
                            }
                        };
                        let number: u32 = fs::read_to_string(&count).unwrap().parse().unwrap();
                        std::thread::yield_now();
                        fs::write(&count, (number + 1).to_string()).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(&count).unwrap(), "160");
    }

    /// A file with the name of a lock remains unchanged, whatever its type.
    #[cfg(unix)]
    #[test]
    fn files_of_others_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (place, other) = (folder.path().join("run"), folder.path().join("other"));
        fs::create_dir(&place).unwrap();
        fs::write(&other, "12\n").unwrap();
        let taken = || FolderLock::take(&place).map(drop).map_err(|error| error.to_string());
        let refused = |expected: &str| assert!(taken().unwrap_err().ends_with(expected), "{expected}");
        std::os::unix::fs::symlink(&other, place.join(LOCK)).unwrap();
        refused("it is a link");
        fs::remove_file(place.join(LOCK)).unwrap();
        fs::hard_link(&other, place.join(LOCK)).unwrap();
        refused("it has another name, too (a hard link)");
        fs::remove_file(place.join(LOCK)).unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "12\n");
        fs::write(place.join(LOCK), "precious text").unwrap();
        refused("it is not a lock of tinytrain, which holds the number of a process");
        assert_eq!(fs::read_to_string(place.join(LOCK)).unwrap(), "precious text");
        fs::write(place.join(LOCK), "12\n").unwrap();
        taken().unwrap();
    }
}
