//! Finds the files of a data set in a directory, or beside a file.

use std::path::{Path, PathBuf};

use super::layouts::what_is_there;
use super::stream::{STANDARD_INPUT, Stream};
use crate::data::images::folders::{class_folders, entries};
use crate::error::{Error, Place, Result};

/// The files of one set of labelled rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Two IDX files, raw or packed.
    Idx {
        /// Bytes of 2 or more dimensions, the first one counting rows.
        images: PathBuf,
        /// One byte a row.
        labels: PathBuf,
    },
    /// One table, raw or packed.
    Csv {
        /// The table.
        path: PathBuf,
    },
    /// PNG images in folders, one for each class.
    Folders {
        /// The folder that holds these.
        path: PathBuf,
    },
    /// One table in several files, raw or packed, with the same header or none: the rows of the first come first.
    Parts {
        /// The files, one at least.
        paths: Vec<PathBuf>,
    },
}

impl Source {
    /// All its files; of images in folders the folder that holds these.
    pub fn files(&self) -> Vec<&PathBuf> {
        match self {
            Self::Idx { images, labels } => vec![images, labels],
            Self::Csv { path } | Self::Folders { path } => vec![path],
            Self::Parts { paths } => paths.iter().collect(),
        }
    }

    /// Whether it can be read once more, as no pipe can.
    pub fn can_be_read_again(&self) -> bool {
        self.files().into_iter().all(|file| file != Path::new(STANDARD_INPUT) && file.is_file())
    }
}

/// What a directory holds; a single file counts as training data, whatever it is then used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// The rows to train on.
    pub train: Option<Source>,
    /// The rows to test on.
    pub test: Option<Source>,
}

/// Finds the training and test data that `path`, a directory or a file, stands for.
///
/// `-` stands for a table on standard input.
pub fn locate(path: impl AsRef<Path>) -> Result<Sources> {
    let path = path.as_ref();
    if path == Path::new(STANDARD_INPUT) {
        return Ok(Sources { train: Some(Source::Csv { path: path.to_path_buf() }), test: None });
    }
    let metadata = path.metadata().map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    if metadata.is_dir() {
        return locate_in(path);
    }
    // What is no regular file can be read only once, so that only the names around it can tell.
    let source = if !metadata.is_file() {
        match sibling_labels(path) {
            Some(labels) => Source::Idx { images: path.to_path_buf(), labels },
            None => Source::Csv { path: path.to_path_buf() },
        }
    } else if Stream::open(path)?.peek(2)? == [0, 0] {
        let labels = sibling_labels(path).ok_or_else(|| no_labels(path))?;
        Source::Idx { images: path.to_path_buf(), labels }
    } else {
        Source::Csv { path: path.to_path_buf() }
    };
    Ok(Sources { train: Some(source), test: None })
}

/// Whether a file begins as a PNG file does. What is no regular file can be read only once, and is none.
///
/// # Errors
/// [`Error::Read`] when it cannot be read.
pub fn is_png(path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref();
    const MAGIC: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
    Ok(path.is_file() && Stream::open(path)?.peek(MAGIC.len())? == MAGIC)
}

fn locate_in(directory: &Path) -> Result<Sources> {
    if let Some(sources) = sources_in(directory)? {
        return Ok(sources);
    }
    let holds_data = |folder: &Path| matches!(sources_in(folder), Ok(Some(_)));
    Err(Error::data(
        directory,
        Place::default(),
        "the IDX files train-images-idx3-ubyte and train-labels-idx1-ubyte (and t10k-images-idx3-ubyte \
                   and t10k-labels-idx1-ubyte), or mnist_train.csv or train.csv (and mnist_test.csv), or a table in \
                   parts, part*.csv, each as it is, or with .gz or .zst, or a folder of PNG images for each class",
        what_is_there(directory, &holds_data)?,
    ))
}

/// The contents of a directory.
fn sources_in(directory: &Path) -> Result<Option<Sources>> {
    let train = idx_pair(directory, "train")?;
    let test = idx_pair(directory, "t10k")?;
    if train.is_some() || test.is_some() {
        return Ok(Some(Sources { train, test }));
    }
    let table = |name: &str| raw_or_packed(directory, name).map(|path| Source::Csv { path });
    let train = table("mnist_train.csv").or_else(|| table("train.csv"));
    let test = table("mnist_test.csv");
    if train.is_some() || test.is_some() {
        return Ok(Some(Sources { train, test }));
    }
    let paths = parts_in(directory)?;
    if !paths.is_empty() {
        return Ok(Some(Sources { train: Some(Source::Parts { paths }), test: None }));
    }
    if class_folders(directory)?.is_some() {
        let train = Some(Source::Folders { path: directory.to_path_buf() });
        return Ok(Some(Sources { train, test: None }));
    }
    Ok(None)
}

/// The files of a table in parts, in the order of their names.
fn parts_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let is_part = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let ends = [".csv", ".csv.gz", ".csv.zst"];
        name.starts_with("part") && ends.iter().any(|end| name.ends_with(end)) && path.is_file()
    };
    Ok(entries(directory)?.into_iter().filter(is_part).collect())
}

/// Images and labels of one part of MNIST; one of the two alone is an error.
fn idx_pair(directory: &Path, part: &str) -> Result<Option<Source>> {
    let find = |what: &str| {
        // Some copies have a dot where the originals have a dash.
        ['-', '.'].iter().find_map(|mark| {
            raw_or_packed(directory, &format!("{part}-{}", what.replacen('?', &mark.to_string(), 1)))
        })
    };
    let (images, labels) = ("images?idx3-ubyte", "labels?idx1-ubyte");
    let missing = match (find(images), find(labels)) {
        (Some(images), Some(labels)) => return Ok(Some(Source::Idx { images, labels })),
        (None, None) => return Ok(None),
        (Some(_), None) => labels,
        (None, Some(_)) => images,
    };
    Err(Error::data(
        directory,
        Place::default(),
        format!("{part}-{}, as it is, or with .gz or .zst", missing.replacen('?', "-", 1)),
        "no such file next to its counterpart",
    ))
}

fn raw_or_packed(directory: &Path, name: &str) -> Option<PathBuf> {
    let is_there = |path: &PathBuf| path.metadata().is_ok_and(|metadata| !metadata.is_dir());
    // Some archives unpack each file into a folder with the same name.
    ["", ".gz", ".zst"]
        .iter()
        .map(|end| format!("{name}{end}"))
        .flat_map(|name| [directory.join(&name), directory.join(&name).join(&name)])
        .find(is_there)
}

/// The name of the labels that belong to a file of images, without .gz or .zst.
fn labels_name(images: &Path) -> Option<String> {
    let name = images.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name);
    name.contains("images").then(|| name.replacen("images", "labels", 1).replacen("idx3", "idx1", 1))
}

/// Where the labels of IDX images go, beside them; nothing where the name does not say that it is one of images.
pub fn labels_beside(images: &Path) -> Option<PathBuf> {
    Some(images.with_file_name(labels_name(images)?))
}

fn sibling_labels(images: &Path) -> Option<PathBuf> {
    raw_or_packed(images.parent()?, &labels_name(images)?)
}

fn no_labels(images: &Path) -> Error {
    let (expected, found) = match labels_name(images) {
        Some(labels) => {
            (format!("its labels next to it in {labels}, or that name with .gz or .zst"), "no such file")
        }
        None => (
            "a CSV table, or an IDX file with `images` in its name and its labels next to it".into(),
            "an IDX file with another name",
        ),
    };
    Error::data(images, Place::default(), expected, found)
}
