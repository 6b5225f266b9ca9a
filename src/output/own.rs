//! Files of our own folders that stay open or are appended to.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file of our own folder: a regular file with a single name, never through a link. `options` must not truncate
/// it.
///
/// # Errors
/// Errors of the system, and a separate error for any other file, which remains unchanged.
pub fn open_own(path: &Path, options: &OpenOptions) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        // Opening a pipe would block, and a link leads elsewhere.
        Ok(found) => refuse_other(&found)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let file = options.open(path)?;
    // Another file may have taken the name in between.
    refuse_other(&file.metadata()?)?;
    if is_at(&file, path) {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "it was removed or replaced meanwhile"))
}

/// Refuses anything except a regular file with a single name.
fn refuse_other(found: &Metadata) -> io::Result<()> {
    if found.is_symlink() {
        return Err(io::Error::other("it is a link"));
    }
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(found) > 1 {
        return Err(io::Error::other("it has another name, too (a hard link)"));
    }
    Ok(())
}

/// Whether a path, itself and not through a link, names this open file.
pub fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(found), Ok(held)) = (fs::symlink_metadata(path), file.metadata()) else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (found.dev(), found.ino()) == (held.dev(), held.ino())
    }
    // The standard library cannot identify files here.
    #[cfg(not(unix))]
    {
        found.is_file() && held.is_file()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_a_regular_file_with_one_name_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("other"), "precious").unwrap();
        std::os::unix::fs::symlink(path("other"), path("link")).unwrap();
        fs::hard_link(path("other"), path("hard")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        std::os::unix::fs::symlink(path("new"), path("dangling")).unwrap();
        let open = |name: &str| open_own(&path(name), OpenOptions::new().append(true).create(true));
        for (name, expected) in [
            ("link", "it is a link"),
            ("dangling", "it is a link"),
            ("hard", "it has another name, too (a hard link)"),
            ("folder", "it is not a regular file"),
        ] {
            assert_eq!(open(name).unwrap_err().to_string(), expected, "{name}");
        }
        assert_eq!(fs::read_to_string(path("other")).unwrap(), "precious");
        assert!(!path("new").exists());
        open("log").unwrap().write_all(b"a").unwrap();
        open("log").unwrap().write_all(b"b").unwrap();
        assert_eq!(fs::read_to_string(path("log")).unwrap(), "ab");
    }
}
