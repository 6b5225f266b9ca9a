//! Locations of data: the named paths, or MNIST next to the program's source.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::reading::locate::{Source, Sources, locate};
use crate::error::{Error, Place, Result};

/// The path of MNIST in the repository.
pub const MNIST: &str = "data/mnist";

/// Finds the training data that `--data` names, and the test data next to it.
///
/// # Errors
/// If there are no training data.
pub fn training(data: &[PathBuf]) -> Result<(Source, Option<Source>)> {
    if data.len() > 1 {
        return Ok((parts(data)?, None));
    }
    let path = data_path(data.first())?;
    let Sources { train, test } = locate(&path)?;
    let train = train.ok_or_else(|| lacks(&path, "training files", "test files alone"))?;
    Ok((train, test))
}

/// Finds the test data that `--test` names.
///
/// # Errors
/// If there are no test data.
pub fn test(path: &Path) -> Result<Source> {
    let Sources { train, test } = locate(path)?;
    let is_apart = path.is_dir() && !matches!(train, Some(Source::Folders { .. }));
    let found = if is_apart { test } else { train };
    found.ok_or_else(|| lacks(path, "test files", "training files alone"))
}

/// Finds the data to evaluate on: test files take precedence over training files.
///
/// # Errors
/// If there are no data.
pub fn evaluation(data: &[PathBuf]) -> Result<Source> {
    if data.len() > 1 {
        return parts(data);
    }
    let path = data_path(data.first())?;
    let Sources { train, test } = locate(&path)?;
    test.or(train).ok_or_else(|| lacks(&path, "data files", "none"))
}

/// Makes one table of several files.
fn parts(files: &[PathBuf]) -> Result<Source> {
    let mut before = HashSet::new();
    for file in files {
        let is_table = file != Path::new("-") && matches!(locate(file)?.train, Some(Source::Csv { .. }));
        let expected = if !is_table {
            "several files must be tables with the same columns"
        } else if !before.insert(fs::canonicalize(file).unwrap_or_else(|_| file.clone())) {
            // Its rows would be both trained on and held out.
            "each file must be named once"
        } else {
            continue;
        };
        return Err(Error::Config(format!("--data: {expected}, found {}", file.display())));
    }
    Ok(Source::Parts { paths: files.to_vec() })
}

/// The canonical paths of a source's existing files.
pub fn places(source: &Source) -> HashSet<PathBuf> {
    source.files().into_iter().filter_map(|file| fs::canonicalize(file).ok()).collect()
}

/// The first file of `other` that also belongs to `source`, possibly by another name.
pub fn shared_file<'a>(source: &Source, other: &'a Source) -> Option<&'a PathBuf> {
    let places = places(source);
    let is_shared = |file: &&PathBuf| fs::canonicalize(file).is_ok_and(|place| places.contains(&place));
    other.files().into_iter().find(is_shared)
}

/// The file that represents a source in messages: the first of several.
pub fn file(source: &Source) -> &Path {
    match source {
        Source::Idx { images, .. } => images,
        Source::Csv { path } | Source::Folders { path } => path,
        Source::Parts { paths } => &paths[0],
    }
}

/// The name of a source in results: its file, or the first of several and the number of the others.
pub fn name(source: &Source) -> String {
    let first = file(source).display();
    match source {
        Source::Parts { paths } if paths.len() > 1 => format!("{first} and {} more", paths.len() - 1),
        _ => first.to_string(),
    }
}

/// Refuses to write a file, named by this option, that is one of the input files.
///
/// # Errors
/// [`Error::Config`] with its name.
pub fn spare_data<const N: usize>(
    option: &str,
    out: Option<&Path>,
    sources: [Option<&Source>; N],
) -> Result<()> {
    let files = sources.into_iter().flatten().flat_map(Source::files);
    spare_files(option, out, files.map(|file| (file.as_path(), "which holds the data")))
}

/// Refuses to write one of these files, each given with its description.
///
/// # Errors
/// As [`spare_data`].
pub fn spare_files<'a>(
    option: &str,
    out: Option<&Path>,
    files: impl Iterator<Item = (&'a Path, &'a str)>,
) -> Result<()> {
    let Some(written) = out.and_then(|out| fs::canonicalize(out).ok()) else { return Ok(()) };
    for (file, what) in files {
        if fs::canonicalize(file).is_ok_and(|read| read == written) {
            let found = file.display();
            return Err(Error::Config(format!(
                "{option}: cannot write to {found}, {what}; choose another name"
            )));
        }
    }
    Ok(())
}

fn data_path(data: Option<&PathBuf>) -> Result<PathBuf> {
    if let Some(path) = data.filter(|path| *path != Path::new(MNIST)) {
        return Ok(path.to_owned());
    }
    [PathBuf::from(MNIST), Path::new(env!("CARGO_MANIFEST_DIR")).join(MNIST)]
        .into_iter()
        .find(|path| path.is_dir())
        .ok_or_else(|| {
            Error::Config(format!(
                "--data: expected a data set, found no folder {MNIST} here; run in a clone of tinytrain's repository, \
                 which holds MNIST there, or name a folder or a file with --data"
            ))
        })
}

fn lacks(path: &Path, expected: &str, found: &str) -> Error {
    Error::data(path, Place::default(), expected, found)
}
