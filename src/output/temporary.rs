//! The temporary file next to the target, which it replaces after it is complete.
//!
//! The writer holds a lock on it, so that every run can recognise and remove the files of killed runs.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use super::own::is_at;

/// The beginning of the name; [`RANDOM`] letters and digits follow.
const PREFIX: &str = ".tinytrain-";
const RANDOM: usize = 6;

/// A name of the common length.
pub(super) const EXAMPLE: &str = ".tinytrain-XXXXXX";

fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).rand_bytes(RANDOM);
    builder
}

/// Creates a file in `folder` that only this user may read, locked until it is closed.
pub(super) fn create(folder: &Path) -> io::Result<NamedTempFile> {
    loop {
        let file = builder().tempfile_in(folder)?;
        match file.as_file().try_lock() {
            // A sweep between creation and lock has removed the file or is about to.
            Ok(()) if !is_at(file.as_file(), file.path()) => {}
            Err(TryLockError::WouldBlock) => {}
            // If the file system does not support locks, sweeps get no lock and remove nothing.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
}

/// The permissions of a new file in `folder`: 0666 as restricted by the user's umask or the folder.
pub(super) fn permissions_of_new(folder: &Path) -> io::Result<Permissions> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "Unix alone has a mode to set"))]
    let mut builder = builder();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // The umask can only be read by changing it, for all threads; an empty file reveals it, too.
    Ok(builder.tempfile_in(folder)?.as_file().metadata()?.permissions())
}

/// Removes the files of killed runs in `folder`: files that no process has locked.
pub(super) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(is_name);
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            // Files of other users cannot be removed: their next run removes them.
            let _ = remove_abandoned(&entry.path());
        }
    }
}

/// Whether this is the name of a temporary file.
pub fn is_name(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .is_some_and(|rest| rest.len() == RANDOM && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn remove_abandoned(path: &Path) -> io::Result<()> {
    // Network file systems grant the lock only to processes that may write.
    let file = OpenOptions::new().read(true).write(true).open(path).or_else(|_| File::open(path))?;
    if file.try_lock().is_ok() && is_at(&file, path) {
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_removes_what_nobody_holds_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        let spared =
            [".tinytrain-ABC12", ".tinytrain-ABC1234", ".tinytrain-ABC.12", "tinytrain-ABC123", "model"];
        for name in spared.iter().chain(&[".tinytrain-ABC123", ".tinytrain-zzzzzz"]) {
            fs::write(path(name), "x").unwrap();
        }
        fs::create_dir(path(".tinytrain-folder")).unwrap();
        let held = create(root.path()).unwrap();
        sweep(root.path());
        for name in spared.iter().chain(&[".tinytrain-folder"]) {
            assert!(path(name).exists(), "{name}");
        }
        assert!(held.path().exists() && is_at(held.as_file(), held.path()));
        assert!(!path(".tinytrain-ABC123").exists() && !path(".tinytrain-zzzzzz").exists());
        let (file, left) = held.keep().unwrap();
        drop(file);
        sweep(root.path());
        assert!(!left.exists(), "its lock went with the handle");
    }

    #[test]
    fn the_example_is_a_name() {
        assert!(is_name(EXAMPLE));
        let root = tempfile::tempdir().unwrap();
        assert!(is_name(create(root.path()).unwrap().path().file_name().unwrap().to_str().unwrap()));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_file_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("target");
        fs::write(&target, "x").unwrap();
        let link = root.path().join(".tinytrain-ABC123");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        sweep(root.path());
        assert!(link.exists() && target.exists());
        assert!(!is_at(&File::open(&target).unwrap(), &link));
    }
}
