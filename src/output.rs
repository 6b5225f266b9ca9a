//! Atomic writing of files.

mod own;
mod temporary;
mod unfinished;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

pub use own::{is_at, open_own};
pub use temporary::is_name as is_temporary;
pub use unfinished::{Unfinished, remove_all};

/// A path checked to be writable. Nothing is created before [`Destination::write`].
#[derive(Debug, Clone)]
pub struct Destination {
    path: PathBuf,
    /// Whether missing folders are created.
    makes_folders: bool,
}

impl Destination {
    /// Checks whether a file can be written at `path`: a new file, possibly in folders to be created, or the
    /// replacement of a regular file. Leaves no files, and removes the temporary files of killed runs in the folder.
    ///
    /// # Errors
    /// [`Error::Write`] with the reason.
    pub fn check(path: &Path) -> Result<Self> {
        let unwritable = |source| Error::Write { path: path.to_owned(), source };
        let other = |text: &str| unwritable(io::Error::other(text));
        if path.file_name().is_none() || path.as_os_str().to_string_lossy().ends_with(std::path::is_separator)
        {
            return Err(other("this names no file"));
        }
        // A link is followed, not replaced.
        let path = match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => fs::canonicalize(path).map_err(unwritable)?,
            _ => path.to_owned(),
        };
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => return Err(other("it is a directory")),
            Ok(found) if !found.is_file() => return Err(other("it is not a regular file")),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unwritable(error)),
        }
        let folder = or_here(folder(&path));
        let existing = folder
            .ancestors()
            .find(|folder| fs::symlink_metadata(or_here(folder)).is_ok())
            .map_or(Path::new("."), or_here);
        check_lengths(&path, folder, existing).map_err(unwritable)?;
        // Only creating a file shows whether files can be created there.
        let made = tempfile::tempfile_in(existing).map_err(unwritable)?;
        if is_protected(folder, &path, &made) {
            return Err(other(
                "it belongs to another user, and the folder's sticky bit keeps it from being replaced",
            ));
        }
        temporary::sweep(folder);
        Ok(Self { path, makes_folders: true })
    }

    /// Checks as [`Destination::check`] does, for a file of our folder: a link is an error, and no folder is
    /// created.
    ///
    /// # Errors
    /// [`Error::Write`] with the reason.
    pub fn check_own(path: &Path) -> Result<Self> {
        if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
            let source = io::Error::other("it is a link");
            return Err(Error::Write { path: path.to_owned(), source });
        }
        Ok(Self { makes_folders: false, ..Self::check(path)? })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether both are the same file, possibly by different names.
    pub fn is_same(&self, other: &Destination) -> bool {
        self.is_at(&other.path)
    }

    /// Returns whether `path` names this file, possibly by a different name.
    pub fn is_at(&self, path: &Path) -> bool {
        whereabouts(&self.path) == whereabouts(path)
    }

    /// Writes the file: creates missing folders, and replaces an existing file in one step.
    ///
    /// # Errors
    /// [`Error::Write`]; an existing file then remains unchanged, and new folders are removed.
    pub fn write(&self, contents: &[u8]) -> Result<()> {
        self.write_with(|file| file.write_all(contents).map_err(Error::Output))
    }

    /// Writes as [`Destination::write`] does, for contents written piece by piece. Write errors of `write`
    /// name the file.
    ///
    /// # Errors
    /// Errors of `write`, and errors of the file.
    pub fn write_with(&self, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
        let folder = or_here(folder(&self.path));
        let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !or_here(folder).exists()).collect();
        let written = self.replace(folder, |file| write(file).map_err(io::Error::other));
        written.map_err(|error| {
            for made in missing {
                // Removing a folder fails unless it is empty, so that contents of others remain.
                let _ = fs::remove_dir(made);
            }
            match error.downcast::<Error>() {
                Ok(Error::Output(source)) | Err(source) => Error::Write { path: self.path.clone(), source },
                Ok(error) => error,
            }
        })
    }

    fn replace(&self, folder: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        if self.makes_folders {
            fs::create_dir_all(folder)?;
        }
        let mut file = temporary::create(folder)?;
        let _unfinished = Unfinished::new(file.path());
        write(file.as_file_mut())?;
        // The temporary file is private. The final file gets the permissions of the replaced file.
        let permissions = match fs::metadata(&self.path) {
            Ok(found) => found.permissions(),
            Err(_) => temporary::permissions_of_new(folder)?,
        };
        file.as_file().set_permissions(permissions)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        keep_name(folder)?;
        Ok(())
    }
}

/// Syncs the folder's entries, so that they survive a loss of power like the contents of files.
#[cfg(unix)]
fn keep_name(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some file systems need no such synchronization.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

#[cfg(not(unix))]
fn keep_name(_: &Path) -> io::Result<()> {
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Rejects names that are too long: the names of the file, of folders to be created below `existing`, and of
/// the temporary file. A query for such a name fails, whether the file exists or not.
fn check_lengths(path: &Path, folder: &Path, existing: &Path) -> io::Result<()> {
    let names = path.iter().map(|name| existing.join(name));
    for path in names.chain([path.to_owned(), folder.join(temporary::EXAMPLE)]) {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::InvalidFilename => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Returns whether the folder's sticky bit keeps the user who `made` a file from replacing the file at
/// `path`.
#[cfg(unix)]
fn is_protected(folder: &Path, path: &Path, made: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(folder), Ok(file), Ok(made)) = (fs::metadata(folder), fs::metadata(path), made.metadata()) else {
        return false;
    };
    let sticky = folder.mode() & 0o1000 != 0;
    // User 0 may replace it.
    sticky && ![0, folder.uid(), file.uid()].contains(&made.uid())
}

#[cfg(not(unix))]
fn is_protected(_: &Path, _: &Path, _: &File) -> bool {
    false
}

/// Returns the path without links and detours; missing parts are kept as named.
fn whereabouts(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing = path.ancestors().find_map(|part| Some((part, fs::canonicalize(part).ok()?)));
    match existing {
        Some((part, real)) => path.strip_prefix(part).map_or_else(|_| path.clone(), |rest| real.join(rest)),
        None => path,
    }
}

fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn makes_folders_and_replaces_files() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b/model");
        let destination = Destination::check(&path).unwrap();
        assert!(entries(root.path()).is_empty(), "a check leaves nothing behind");
        destination.write(b"one").unwrap();
        destination.write(b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(entries(path.parent().unwrap()), ["model"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("model");
        fs::write(&path, "private").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        Destination::check(&path).unwrap().write(b"new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn a_private_file_is_private_while_it_is_written() {
        use std::os::unix::fs::PermissionsExt;
        use std::sync::atomic::{AtomicBool, Ordering};
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("model");
        fs::write(&path, "private").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let destination = Destination::check(&path).unwrap();
        let (contents, done) = (vec![0; 1 << 20], AtomicBool::new(false));
        let seen = std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                let mut seen = 0;
                while !done.load(Ordering::Relaxed) {
                    for entry in fs::read_dir(root.path()).unwrap() {
                        // The file may have been renamed meanwhile.
                        let entry = entry.unwrap();
                        let Ok(found) = entry.metadata() else { continue };
                        assert_eq!(found.permissions().mode() & 0o777, 0o600, "{:?}", entry.file_name());
                        seen += usize::from(entry.file_name() != "model");
                    }
                }
                seen
            });
            for _ in 0..50 {
                destination.write(&contents).unwrap();
            }
            done.store(true, Ordering::Relaxed);
            watch.join().unwrap()
        });
        assert!(seen > 0, "the temporary file was never seen");
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_has_the_permissions_that_the_umask_leaves() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let mode = |name: &str| fs::metadata(root.path().join(name)).unwrap().permissions().mode();
        fs::write(root.path().join("any"), "x").unwrap();
        Destination::check(&root.path().join("ours")).unwrap().write(b"x").unwrap();
        assert_eq!(mode("ours"), mode("any"));
        assert_eq!(entries(root.path()), ["any", "ours"]);
    }

    #[test]
    fn runs_that_write_into_one_folder_at_once_do_not_disturb_each_other() {
        let root = tempfile::tempdir().unwrap();
        let names = ["a", "b", "c"];
        std::thread::scope(|scope| {
            for name in names {
                let path = root.path().join(name);
                scope.spawn(move || {
                    for round in 0..200 {
                        let contents = format!("{name}{round}");
                        Destination::check(&path).unwrap().write(contents.as_bytes()).unwrap();
                        assert_eq!(fs::read_to_string(&path).unwrap(), contents);
                    }
                });
            }
        });
        assert_eq!(entries(root.path()), names);
    }

    #[test]
    fn a_check_removes_what_a_killed_run_has_left() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(temporary::EXAMPLE), "half a model").unwrap();
        let held = temporary::create(root.path()).unwrap();
        let name = held.path().file_name().unwrap().to_str().unwrap().to_owned();
        Destination::check(&root.path().join("model")).unwrap();
        assert_eq!(entries(root.path()), [name]);
    }

    #[cfg(unix)]
    #[test]
    fn names_are_as_long_as_the_system_takes_them() {
        let root = tempfile::tempdir().unwrap();
        let name = |length: usize| "x".repeat(length);
        for length in 250..=260 {
            for path in [name(length), format!("new/{}", name(length)), format!("new/{}/model", name(length))]
            {
                let place = root.path().join(&path);
                match Destination::check(&place) {
                    Ok(destination) => {
                        assert!(length <= 255, "{length}");
                        destination.write(b"x").unwrap();
                        fs::remove_file(place).unwrap();
                        let _ = fs::remove_dir_all(root.path().join("new"));
                    }
                    Err(error) => assert!(length > 255, "{length}: {error}"),
                }
            }
        }
        assert_eq!(entries(root.path()), [""; 0]);
        // A path of the maximum length leaves no room for the temporary file next to it.
        let mut deep = root.path().to_owned();
        while deep.as_os_str().len() < 4096 - 300 {
            deep.push(name(200));
        }
        for length in 1..=300 {
            let place = deep.join(name(length));
            if length <= 255
                && let Ok(destination) = Destination::check(&place)
            {
                destination.write(b"x").unwrap();
                fs::remove_file(place).unwrap();
            }
            let place = deep.join(name(length.min(255))).join("m");
            if let Ok(destination) = Destination::check(&place) {
                destination.write(b"x").unwrap();
                fs::remove_file(place).unwrap();
            }
        }
    }

    #[test]
    fn refuses_what_is_no_place_for_a_file() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "x").unwrap();
        for path in [root.path().to_owned(), file.join("below"), root.path().join("new/"), PathBuf::new()] {
            let error = Destination::check(&path).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{}", path.display());
        }
        let name = "x".repeat(300);
        assert!(Destination::check(&root.path().join(name)).is_err());
        assert_eq!(entries(root.path()), ["file"]);
    }

    #[cfg(unix)]
    #[test]
    fn one_file_is_known_by_all_its_names() {
        let root = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(root.path(), root.path().join("link")).unwrap();
        let place = |name: &str| Destination::check(&root.path().join(name)).unwrap();
        for name in ["./new", "link/new", "link/./link/new"] {
            assert!(place("new").is_same(&place(name)), "{name}");
        }
        assert!(!place("new").is_same(&place("other")) && !place("a/new").is_same(&place("new")));
        place("new").write(b"x").unwrap();
        assert!(place("new").is_same(&place("link/new")));
    }

    #[cfg(unix)]
    #[test]
    fn writes_through_links_and_leaves_devices_alone() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("target");
        fs::write(&target, "old").unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        Destination::check(&link).unwrap().write(b"new").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(Destination::check(Path::new("/dev/null")).is_err());
        let dangling = root.path().join("dangling");
        std::os::unix::fs::symlink(root.path().join("nowhere"), &dangling).unwrap();
        assert!(Destination::check(&dangling).is_err());
    }

    #[test]
    fn a_write_that_fails_leaves_no_folders() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b/model");
        let destination = Destination::check(&path).unwrap();
        // Another process has created a folder of that name in the meantime.
        fs::create_dir_all(&path).unwrap();
        assert!(destination.write(b"x").is_err());
        fs::remove_dir_all(root.path().join("a")).unwrap();
        fs::write(root.path().join("a"), "a file").unwrap();
        assert!(destination.write(b"x").is_err());
        assert_eq!(entries(root.path()), ["a"]);
    }
}
