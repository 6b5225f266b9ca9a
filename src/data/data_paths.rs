//! Locations of data: the named paths, or MNIST next to the program's source.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::reading::locate::{Source, Sources, locate};
use crate::error::{Error, Place, Result};

/// The path of MNIST in the repository.
pub const MNIST: &str = "data/mnist";

/// Finds the training data that `--data` names, and the validation and test data of the same data set.
///
/// # Errors
/// If there are no training data.
pub fn training(data: &[PathBuf]) -> Result<(Source, [Option<Source>; 2])> {
    if data.len() > 1 {
        return Ok((parts(data)?, [None, None]));
    }
    let path = data_path(data.first())?;
    let Sources { train, validation, test } = locate(&path)?;
    let train = train.ok_or_else(|| lacks(&path, "training files", "only other files"))?;
    Ok((train, [validation, test]))
}

/// Finds the test data that `--test` names.
///
/// # Errors
/// If there are no test data.
pub fn test(path: &Path) -> Result<Source> {
    let [whole, _, test] = held_out(path)?;
    whole.or(test).ok_or_else(|| lacks(path, "test files", "only training files"))
}

/// Finds the validation data that `--validation` names: of a data set without validation data the test data.
///
/// # Errors
/// If there are no such data.
pub fn validation(path: &Path) -> Result<Source> {
    let [whole, validation, test] = held_out(path)?;
    let found = whole.or(validation).or(test);
    found.ok_or_else(|| lacks(path, "validation or test files", "only training files"))
}

/// Finds all rows at a path that is not a data set of several parts; else its validation and test data.
fn held_out(path: &Path) -> Result<[Option<Source>; 3]> {
    let Sources { train, validation, test } = locate(path)?;
    let is_folder = matches!(&train, Some(Source::Folders { path: folder }) if folder == path);
    let is_whole = validation.is_none() && test.is_none() && (is_folder || !path.is_dir());
    Ok([train.filter(|_| is_whole), validation, test])
}

/// Finds the data to evaluate on: test files, else validation files, else training files.
///
/// # Errors
/// If there are no data.
pub fn evaluation(data: &[PathBuf]) -> Result<Source> {
    if data.len() > 1 {
        return parts(data);
    }
    let path = data_path(data.first())?;
    let Sources { train, validation, test } = locate(&path)?;
    test.or(validation).or(train).ok_or_else(|| lacks(&path, "data files", "none"))
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

/// The canonical paths of a source's existing files; the parts of an archive have different ones.
pub fn places(source: &Source) -> HashSet<PathBuf> {
    source.files().into_iter().filter_map(|file| place(source, file)).collect()
}

fn place(source: &Source, file: &Path) -> Option<PathBuf> {
    let path = fs::canonicalize(file).ok()?;
    Some(match source {
        Source::Arrays { subset: Some(subset), .. } => path.join(subset.to_string()),
        _ => path,
    })
}

/// The first file of `other` that also belongs to `source`, possibly by another name.
pub fn shared_file<'a>(source: &Source, other: &'a Source) -> Option<&'a PathBuf> {
    let places = places(source);
    let is_shared = |file: &&PathBuf| place(other, file).is_some_and(|place| places.contains(&place));
    other.files().into_iter().find(is_shared)
}

/// The file that represents a source in messages: the first of several.
pub fn file(source: &Source) -> &Path {
    match source {
        Source::Idx { images, .. } => images,
        Source::Csv { path } | Source::Folders { path } => path,
        Source::Parts { paths } | Source::Arrays { paths, .. } => &paths[0],
    }
}

/// The name of a source in results: its file, or the first of several and the number of the others.
pub fn name(source: &Source) -> String {
    let first = file(source).display();
    match source {
        Source::Parts { paths } if paths.len() > 1 => format!("{first} and {} more", paths.len() - 1),
        Source::Arrays { subset: Some(subset), .. } => format!("{first}, {subset}"),
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
