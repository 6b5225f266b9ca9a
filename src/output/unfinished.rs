//! Unfinished files and folders. They are removed if their work fails, or if the process ends before it is done.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// All unfinished paths, oldest first, each with a unique number.
static UNFINISHED: Mutex<(u64, Vec<(u64, PathBuf)>)> = Mutex::new((0, Vec::new()));

fn all() -> MutexGuard<'static, (u64, Vec<(u64, PathBuf)>)> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file, or a folder that is removed if it is empty. Dropping this value keeps it.
#[derive(Debug)]
pub struct Unfinished {
    number: u64,
    path: PathBuf,
}

impl Unfinished {
    /// Registers a file or folder before its creation.
    pub fn new(path: &Path) -> Self {
        // The process may change its working folder.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut all = all();
        all.0 += 1;
        let number = all.0;
        all.1.push((number, path.clone()));
        Self { number, path }
    }

    /// Removes the file or folder.
    pub fn remove(self) {
        remove(&self.path);
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        all().1.retain(|(number, _)| *number != self.number);
    }
}

/// Removes a file, or an empty folder; anything else remains.
fn remove(path: &Path) {
    if fs::remove_file(path).is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
        let _ = fs::remove_dir(path);
    }
}

/// Removes all unfinished paths, newest first. To be called only at the end of the process: it neither allocates nor
/// waits.
pub fn remove_all() {
    let Ok(all) = UNFINISHED.try_lock() else { return };
    all.1.iter().rev().for_each(|(_, path)| remove(path));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_before_their_folders_and_others_stay() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("new");
        let unfinished =
            [folder.clone(), folder.join("a"), folder.join("b")].map(|path| Unfinished::new(&path));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("a"), "").unwrap();
        fs::write(folder.join("c"), "another's").unwrap();
        unfinished.into_iter().rev().for_each(Unfinished::remove);
        assert!(!folder.join("a").exists() && folder.join("c").exists());
        drop(Unfinished::new(&folder.join("c")));
        assert!(folder.join("c").exists());
    }
}
