//! Files that are read completely: settings, results, models. Each is a regular file of a limited size.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, Result};
use crate::memory::check_memory;

/// Size limit of settings files, in bytes.
pub const SETTINGS_BYTES: u64 = 16 << 20;
/// Size limit of files with a line for each epoch or trial, in bytes.
pub const RECORDS_BYTES: u64 = 1 << 30;

/// Reads a file of at most `most` bytes.
///
/// # Errors
/// [`Error::Read`] if it is not a regular file or is larger; [`Error::Config`] if memory is insufficient.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let unread = |source| Error::Read { path: path.to_owned(), source };
    // Opening a pipe would wait for its writer.
    refuse_special(&fs::metadata(path).map_err(unread)?).map_err(unread)?;
    let mut file = File::open(path).map_err(unread)?;
    let found = file.metadata().map_err(unread)?;
    refuse_special(&found).map_err(unread)?;
    if found.len() > most {
        return Err(unread(too_large(most)));
    }
    check_memory(found.len().into(), &path.display().to_string())?;
    read_up_to(&mut file, most).map_err(unread)
}

/// Reads a file of text of at most `most` bytes.
///
/// # Errors
/// See [`read`]; [`Error::Read`] also for text that is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> Result<String> {
    text(read(path, most)?).map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// Reads settings from standard input.
///
/// # Errors
/// [`Error::Read`] for more than [`SETTINGS_BYTES`], and for text that is not UTF-8.
pub fn read_standard_input() -> Result<String> {
    let read = read_up_to(&mut io::stdin().lock(), SETTINGS_BYTES).and_then(text);
    read.map_err(|source| Error::Read { path: PathBuf::from("-"), source })
}

/// Returns the path of the file `name` in a folder.
///
/// # Errors
/// [`Error::Read`] for a name that leads outside the folder, or through a link.
pub fn inside(folder: &Path, name: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    let refused = |reason: &str| Error::Read { path: path.clone(), source: io::Error::other(reason) };
    if name.is_empty() || !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(refused("its name leads out of the folder"));
    }
    match first_link(folder, Path::new(name)) {
        Some(_) => Err(refused("it is a link")),
        None => Ok(path),
    }
}

/// Returns the first link on the path from a folder to the file `name` in it, which may be that link.
pub fn first_link(folder: &Path, name: &Path) -> Option<PathBuf> {
    let mut part = folder.to_owned();
    name.components().find_map(|component| {
        part.push(component);
        part.is_symlink().then(|| part.clone())
    })
}

fn refuse_special(found: &fs::Metadata) -> io::Result<()> {
    match found.is_file() {
        true => Ok(()),
        false if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

fn too_large(most: u64) -> io::Error {
    io::Error::other(format!("it has more than {} MiB", most >> 20))
}

/// Reads to the end, or fails after `most` bytes: a file may grow while it is read.
fn read_up_to(input: &mut impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_limited_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert!(read(&path, 4).unwrap_err().to_string().contains("it has more than 0 MiB"));
        fs::write(&path, b"\xff").unwrap();
        assert!(read_text(&path, 5).unwrap_err().to_string().contains("not text in UTF-8"));
        assert!(read(folder.path(), 5).is_err());
        // A sparse file needs no disk space.
        File::create(&path).unwrap().set_len(20 << 30).unwrap();
        assert!(read(&path, SETTINGS_BYTES).unwrap_err().to_string().contains("it has more than 16 MiB"));
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_refused() {
        for device in ["/dev/zero", "/dev/null"] {
            let error = read(Path::new(device), SETTINGS_BYTES).unwrap_err().to_string();
            assert!(error.contains("it is not a regular file"), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn names_stay_inside_their_folder() {
        let folder = tempfile::tempdir().unwrap();
        let inside = |name: &str| inside(folder.path(), name);
        assert_eq!(inside("members/1").unwrap(), folder.path().join("members/1"));
        for name in ["", "..", "../secret", "/etc/passwd", "members/../../secret", "./members/.."] {
            assert!(inside(name).is_err(), "{name}");
        }
        std::os::unix::fs::symlink("/etc", folder.path().join("members")).unwrap();
        assert!(inside("members/passwd").unwrap_err().to_string().contains("it is a link"));
    }
}
