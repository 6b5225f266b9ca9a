//! A folder that one process writes into at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::Instant;
use crate::error::{Error, Result};
use crate::output::{Destination, Unfinished, is_at, open_own};

/// The folder of runs without `--out`.
pub const RUNS: &str = "runs";
/// The file that is locked, and holds the number of the process that has the lock.
pub const LOCK: &str = "run.lock";

/// The longest time for attempts at a lock that other processes give back in between.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a process waits for others that only check whether a folder is taken.
const GLANCE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(10);

/// The lock of a folder. It ends with the process, however that ends.
#[derive(Debug)]
pub struct FolderLock {
    path: PathBuf,
    /// Until it is given back.
    file: Option<File>,
}

impl FolderLock {
    /// Takes the lock of a folder that is there.
    ///
    /// # Errors
    /// [`Error::Config`] if another process has it, [`Error::Write`] if no file can be made there.
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

    /// Makes a folder, if it is not there, and takes its lock. `refuse_used` refuses a folder with anything in it that is not to be
    /// written over; it is asked again under the lock, since another process may have been faster.
    ///
    /// # Errors
    /// Those of `refuse_used`, and as [`FolderLock::take`]; folders that were made are gone then.
    pub fn take_new(path: &Path, refuse_used: impl Fn(&Path) -> Result<()>) -> Result<(Self, Fresh)> {
        refuse_used(path)?;
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let mut missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
        if path.starts_with(RUNS) {
            // It was made to reserve its name.
            missing = vec![path, Path::new(RUNS)];
        }
        let mut fresh = Fresh(missing.into_iter().rev().map(Unfinished::new).collect());
        let taken = loop {
            if let Err(source) = fs::create_dir_all(path) {
                break Err(Error::Write { path: path.to_owned(), source });
            }
            match Self::take(path) {
                // A process that failed meanwhile has removed the folder.
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

    /// Checks whether the lock is held still: the folder is in its place, and nothing has taken the place of the lock's file.
    ///
    /// # Errors
    /// [`Error::Config`] where it is not; nothing may be written into the folder then.
    pub fn check(&self) -> Result<()> {
        match &self.file {
            Some(file) if is_at(file, &self.path) => Ok(()),
            _ => Err(Error::Config(format!(
                "{}: the folder was moved, removed or replaced meanwhile; nothing more is written there",
                self.path.parent().unwrap_or(&self.path).display()
            ))),
        }
    }

    /// Writes a file of the folder that is whole or not there.
    ///
    /// # Errors
    /// [`Error::Write`]; as [`FolderLock::check`].
    pub fn write(&self, path: &Path, contents: &[u8]) -> Result<()> {
        self.check()?;
        let written = Destination::check_own(path).and_then(|destination| {
            destination.write_with(|file| {
                file.write_all(contents).map_err(Error::Output)?;
                // The temporary file may be in a folder that took the place of this one; it is not renamed there.
                self.check()
            })
        });
        // The folder may have been moved since.
        written.map_err(|error| self.check().err().unwrap_or(error))
    }

    /// Opens a file of the folder to add to it.
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

    /// Whether a process has the lock of a folder.
    pub fn is_taken(folder: &Path) -> bool {
        let file = open_own(&folder.join(LOCK), OpenOptions::new().read(true));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Gives the lock back.
    fn give_back(&mut self) {
        // Where the folder was moved, another may stand in its place, with a lock of its own.
        if let Some(file) = self.file.take()
            && is_at(&file, &self.path)
        {
            // What cannot be removed is in nobody's way.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Folders and files that a process has made in a folder whose lock it holds, the oldest first. They go when its work fails before there
/// is anything to keep, or when the process ends before that; dropping this keeps them.
#[derive(Debug)]
pub struct Fresh(Vec<Unfinished>);

impl Fresh {
    /// Names a file or a folder that is about to be made.
    pub fn add(&mut self, path: &Path) {
        self.0.push(Unfinished::new(path));
    }

    /// Removes all of them if the folder is still that of this lock, whose file goes last: until then nothing here is another's.
    pub fn remove(self, lock: &FolderLock) {
        if lock.check().is_ok() {
            self.remove_all();
        }
    }

    /// Of folders only empty ones can be removed: what else is there stays.
    fn remove_all(self) {
        self.0.into_iter().rev().for_each(Unfinished::remove);
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// What became of an attempt to take a lock.
enum Attempt {
    Taken(File),
    /// This process has it.
    Busy(String),
    /// Who had it has removed the file meanwhile.
    Removed,
}

fn attempt(path: &Path) -> io::Result<Attempt> {
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
    let mut file = match open_own(path, &options) {
        // Another process has removed it in between.
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.parent().is_some_and(Path::is_dir) => {
            return Ok(Attempt::Removed);
        }
        file => file?,
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let mut number = String::new();
            // It may not be written yet, and on Windows what is locked cannot be read.
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
    // The disk is full: nothing is left there.
    write(&mut file).inspect_err(|_| drop(fs::remove_file(path)))?;
    Ok(Attempt::Taken(file))
}

/// Whether the file system has no locks, as some of clusters: there a process trains without one.
fn is_unsupported(error: &io::Error) -> bool {
    // ENOLCK has no kind of its own.
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
        // One whose folder has made way for another leaves the lock of that one alone.
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
        // Many that wait come one after the other: a number that all read and write is counted well.
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

    /// A file that is named like a lock, whatever it is, stays as it is.
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
