//! A folder that one process writes into at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::Instant;
use crate::error::{Error, Result};

/// The file that is locked, and holds the number of the process that has the lock.
pub const LOCK: &str = "run.lock";

/// How long a process waits for others that have a folder for a moment each.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same for processes that only check whether it is taken.
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
        Self::take_within(folder, GLANCE)
    }

    /// As [`FolderLock::take`], but waits for processes that hold it for a moment.
    ///
    /// # Errors
    /// As [`FolderLock::take`].
    pub fn wait(folder: &Path) -> Result<Self> {
        Self::take_within(folder, PATIENCE)
    }

    fn take_within(folder: &Path, patience: Duration) -> Result<Self> {
        let (path, begun) = (folder.join(LOCK), Instant::now());
        loop {
            match attempt(&path).map_err(|source| Error::Write { path: path.clone(), source })? {
                Attempt::Taken(file) => return Ok(Self { path, file: Some(file) }),
                Attempt::Removed => {}
                Attempt::Busy(process) if begun.elapsed() >= patience => {
                    return Err(Error::Config(format!(
                        "cannot write into {}, where {process} is training",
                        folder.display()
                    )));
                }
                Attempt::Busy(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Whether a process has the lock of a folder.
    pub fn is_taken(folder: &Path) -> bool {
        let file = File::open(folder.join(LOCK));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Gives the lock back before its end, so that the folder can be empty.
    pub fn give_back(&mut self) {
        // Where the folder was moved, another may stand in its place, with a lock of its own.
        if let Some(file) = self.file.take()
            && is_at(&file, &self.path)
        {
            // What cannot be removed is in nobody's way.
            let _ = fs::remove_file(&self.path);
        }
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
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
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
    let write = |file: &mut File| {
        file.set_len(0)?;
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

/// Whether an open file is the one at this path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |found: fs::Metadata| (found.dev(), found.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(own), Ok(there)) => place(own) == place(there),
        _ => false,
    }
}

/// Whether there is a file at this path: which one, the standard library does not tell here.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
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
                        let _lock = FolderLock::wait(folder.path()).unwrap();
                        let number: u32 = fs::read_to_string(&count).unwrap().parse().unwrap();
                        std::thread::yield_now();
                        fs::write(&count, (number + 1).to_string()).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(&count).unwrap(), "160");
    }
}
