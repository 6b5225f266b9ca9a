//! Files that are whole or not there.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A path that has been found writable. Nothing is created before [`Destination::write`].
#[derive(Debug, Clone)]
pub struct Destination {
    path: PathBuf,
}

impl Destination {
    /// Looks whether a file can be written at `path`: a new one, in folders that may have to be made, or in place of
    /// a regular file. Leaves nothing behind.
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
        // A link is written through, not replaced.
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
        let existing = folder(&path)
            .ancestors()
            .find(|folder| fs::symlink_metadata(or_here(folder)).is_ok())
            .map_or(Path::new("."), or_here);
        // Whether files can be made there, only making one tells.
        tempfile::tempfile_in(existing).map_err(unwritable)?;
        Ok(Self { path })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether both are one file, however they are named.
    pub fn is_same(&self, other: &Destination) -> bool {
        whereabouts(&self.path) == whereabouts(&other.path)
    }

    /// Writes the file: missing folders are made, an existing file is replaced in one step.
    ///
    /// # Errors
    /// [`Error::Write`]; a file that was there before is then still there, unchanged, and new folders are gone.
    pub fn write(&self, contents: &[u8]) -> Result<()> {
        let folder = or_here(folder(&self.path));
        let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !or_here(folder).exists()).collect();
        self.replace(folder, contents).map_err(|source| {
            for made in missing {
                // Only empty folders can be removed this way; what else is there is not ours.
                let _ = fs::remove_dir(made);
            }
            Error::Write { path: self.path.clone(), source }
        })
    }

    fn replace(&self, folder: &Path, contents: &[u8]) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tinytrain-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any new file: what the user's umask leaves of it. One that is replaced hands down its own.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let mut file = builder.tempfile_in(folder)?;
        file.write_all(contents)?;
        if let Ok(found) = fs::metadata(&self.path) {
            file.as_file().set_permissions(found.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// The path without links and detours; what does not exist yet is taken as it is named.
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
        // In the meantime somebody has made a folder of that name.
        fs::create_dir_all(&path).unwrap();
        assert!(destination.write(b"x").is_err());
        fs::remove_dir_all(root.path().join("a")).unwrap();
        fs::write(root.path().join("a"), "a file").unwrap();
        assert!(destination.write(b"x").is_err());
        assert_eq!(entries(root.path()), ["a"]);
    }
}
