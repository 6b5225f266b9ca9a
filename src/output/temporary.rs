//! The file beside the target that takes its place once it is whole.
//!
//! Whoever writes one holds its lock, so that every run can tell those of runs that were killed, and remove them.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use super::own::is_at;

/// What the name begins with; [`RANDOM`] letters and digits follow.
const PREFIX: &str = ".tinytrain-";
const RANDOM: usize = 6;

/// A name as long as all of them.
pub(super) const EXAMPLE: &str = ".tinytrain-XXXXXX";

fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).rand_bytes(RANDOM);
    builder
}

/// A new file in `folder` that only this user may read, locked until it is closed.
pub(super) fn create(folder: &Path) -> io::Result<NamedTempFile> {
    loop {
        let file = builder().tempfile_in(folder)?;
        match file.as_file().try_lock() {
            // A sweep came between creation and lock, and has removed it or is about to.
            Ok(()) if !is_at(file.as_file(), file.path()) => {}
            Err(TryLockError::WouldBlock) => {}
            // Where the file system keeps no locks, a sweep gets none and removes nothing.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
}

/// The permissions of any new file in `folder`: what the user's umask, or the folder, leaves of 0666.
pub(super) fn permissions_of_new(folder: &Path) -> io::Result<Permissions> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "Unix alone has a mode to set"))]
    let mut builder = builder();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // The umask can only be asked for by changing it, for all threads; an empty file shows it too.
    Ok(builder.tempfile_in(folder)?.as_file().metadata()?.permissions())
}

/// Removes what killed runs have left in `folder`: the files that no process has locked.
pub(super) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(is_name);
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            // What cannot be removed belongs to another user: that one's next run removes it.
            let _ = remove_abandoned(&entry.path());
        }
    }
}

/// Whether a file of this name is a temporary one.
pub fn is_name(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .is_some_and(|rest| rest.len() == RANDOM && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn remove_abandoned(path: &Path) -> io::Result<()> {
    // ReferenceNetwork file systems give the lock only to those who may write.
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
