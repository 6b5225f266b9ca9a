//! Finds the files of a data set in a directory, or next to a file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::foreign::LONGEST_START;
use super::layouts::what_is_there;
use super::npy_files::{pairs_in, with_targets};
use super::stream::{STANDARD_INPUT, Stream};
use super::subsets::Subset;
use crate::data::images::file::begins_image;
use crate::data::images::folders::{class_folders, entries};
use crate::error::{Error, Place, Result};

/// Where torchvision keeps the files of data sets like MNIST, below the folder that it is given.
const RAW: [&str; 4] = ["raw", "MNIST/raw", "FashionMNIST/raw", "KMNIST/raw"];

/// Endings of the names of labels: bytes, as in MNIST, and integers, as in QMNIST.
const LABELS: [&str; 3] = ["idx1-ubyte", "idx2-int", "idx1-int"];

/// The files of one set of labelled rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Two IDX files, raw or compressed.
    Idx {
        /// The file of images: bytes in 2 or more dimensions, the first of which counts rows.
        images: PathBuf,
        /// The file of labels: one byte per row, or integers, of which the first in a row is the class.
        labels: PathBuf,
    },
    /// One table, raw or compressed.
    Csv {
        /// The table.
        path: PathBuf,
    },
    /// Images in folders, one folder per class.
    Folders {
        /// The folder that contains the folders of the classes.
        path: PathBuf,
    },
    /// Arrays of numpy.
    Arrays {
        /// An archive, NPZ, or the files of the inputs and of the targets, NPY.
        paths: Vec<PathBuf>,
        /// The part of the data set to read, if the archive contains several.
        subset: Option<Subset>,
    },
    /// One table in several files, raw or compressed, all with the same header or all without; rows are in the order of
    /// the files.
    Parts {
        /// The files, at least one.
        paths: Vec<PathBuf>,
    },
}

impl Source {
    /// All files of the source; for images in folders, the folder that contains them.
    pub fn files(&self) -> Vec<&PathBuf> {
        match self {
            Self::Idx { images, labels } => vec![images, labels],
            Self::Csv { path } | Self::Folders { path } => vec![path],
            Self::Parts { paths } | Self::Arrays { paths, .. } => paths.iter().collect(),
        }
    }

    /// Whether the source can be read again, which excludes pipes.
    pub fn can_be_read_again(&self) -> bool {
        self.files().into_iter().all(|file| file != Path::new(STANDARD_INPUT) && file.is_file())
    }
}

/// The parts of a data set; a single file, unless it contains several, counts as training data, whatever its use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// The rows to train on.
    pub train: Option<Source>,
    /// The rows that select the best model.
    pub validation: Option<Source>,
    /// The rows to test on.
    pub test: Option<Source>,
}

impl Sources {
    /// Rows to train on, without others.
    fn of_training(train: Source) -> Self {
        Self { train: Some(train), ..Self::default() }
    }

    /// The sources, unless all are missing.
    fn found(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

/// Finds the training and test data at `path`, a directory or a file.
///
/// The path `-` denotes a table on standard input.
pub fn locate(path: impl AsRef<Path>) -> Result<Sources> {
    let path = path.as_ref();
    if path == Path::new(STANDARD_INPUT) {
        return Ok(Sources::of_training(Source::Csv { path: path.to_path_buf() }));
    }
    let metadata = path.metadata().map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    if metadata.is_dir() {
        return locate_in(path);
    }
    // Pipes and the like can be read only once, so that only neighbouring names can reveal their type.
    let source = if !metadata.is_file() {
        match sibling_labels(path) {
            Some(labels) => Source::Idx { images: path.to_path_buf(), labels },
            None => Source::Csv { path: path.to_path_buf() },
        }
    } else if let Some(paths) = with_targets(path)? {
        Source::Arrays { paths, subset: None }
    } else if let Some(subsets) = Stream::subsets(path)? {
        let of = |subset| {
            let arrays = Source::Arrays { paths: vec![path.to_path_buf()], subset: Some(subset) };
            subsets.contains(&subset).then_some(arrays)
        };
        let [train, validation, test] = Subset::ALL.map(of);
        match (Sources { train, validation, test }).found() {
            Some(sources) => return Ok(sources),
            None => Source::Csv { path: path.to_path_buf() },
        }
    } else if Stream::open(path)?.peek(2)? == [0, 0] {
        let labels = sibling_labels(path).ok_or_else(|| no_labels(path))?;
        Source::Idx { images: path.to_path_buf(), labels }
    } else {
        Source::Csv { path: path.to_path_buf() }
    };
    Ok(Sources::of_training(source))
}

/// Whether a file begins like a PNG or JPEG file. Returns false for pipes and the like, which can be read only once.
///
/// # Errors
/// [`Error::Read`] if the file cannot be read.
pub fn is_image(path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref();
    Ok(path.is_file() && begins_image(&Stream::open(path)?.peek(LONGEST_START)?))
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
                   parts, part*.csv, each as it is, or with .gz or .zst, or a folder of PNG or JPEG images for each class, or arrays, X.npy \
                   and y.npy",
        what_is_there(directory, &holds_data)?,
    ))
}

/// Finds the data set in a directory.
fn sources_in(directory: &Path) -> Result<Option<Sources>> {
    if let Some(sources) = idx_in(directory)? {
        return Ok(Some(sources));
    }
    let table = |name: &str| raw_or_packed(directory, name).map(|path| Source::Csv { path });
    let train = table("mnist_train.csv").or_else(|| table("train.csv"));
    let test = table("mnist_test.csv");
    if train.is_some() || test.is_some() {
        return Ok(Some(Sources { train, test, ..Sources::default() }));
    }
    let paths = parts_in(directory)?;
    if !paths.is_empty() {
        return Ok(Some(Sources::of_training(Source::Parts { paths })));
    }
    let arrays = |paths: Option<Vec<PathBuf>>| paths.map(|paths| Source::Arrays { paths, subset: None });
    let [train, validation, test] = pairs_in(directory)?.map(arrays);
    if let Some(sources) = (Sources { train, validation, test }).found() {
        return Ok(Some(sources));
    }
    if class_folders(directory)?.is_some() {
        return Ok(Some(Sources::of_training(Source::Folders { path: directory.to_path_buf() })));
    }
    if let Some(sources) = image_splits_in(directory)? {
        return Ok(Some(sources));
    }
    let raw = RAW.iter().map(|place| directory.join(place)).filter(|place| place.is_dir());
    let mut raw = raw.filter_map(|place| idx_in(&place).transpose()).collect::<Result<Vec<Sources>>>()?;
    // With several data sets, one of them must be named.
    Ok(raw.pop().filter(|_| raw.is_empty()))
}

/// Finds the files of MNIST in a directory, or of a data set whose name precedes `train` and `test`, as in QMNIST.
fn idx_in(directory: &Path) -> Result<Option<Sources>> {
    let sources = |train: &str, test: &str| -> Result<Option<Sources>> {
        let (train, test) = (idx_pair(directory, train)?, idx_pair(directory, test)?);
        Ok(Sources { train, test, ..Sources::default() }.found())
    };
    if let Some(sources) = sources("train", "t10k")? {
        return Ok(Some(sources));
    }
    let data_set = |path: PathBuf| {
        let name = path.file_name()?.to_str()?;
        let (data_set, rest) = name.split_once("train-images")?;
        rest.get(1..5).filter(|rest| *rest == "idx3").map(|_| data_set.to_owned())
    };
    let data_sets: BTreeSet<String> = entries(directory)?.into_iter().filter_map(data_set).collect();
    match data_sets.first().filter(|_| data_sets.len() == 1) {
        Some(name) => sources(&format!("{name}train"), &format!("{name}test")),
        // Of several data sets, one must be named.
        None => Ok(None),
    }
}

/// Finds folders called `train`, `val` or `test` that contain a folder of images for each class.
fn image_splits_in(directory: &Path) -> Result<Option<Sources>> {
    let mut found = [const { None }; 3];
    for path in entries(directory)?.into_iter().filter(|path| path.is_dir()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(subset) = Subset::named(&name) else { continue };
        if class_folders(&path)?.is_none() {
            continue;
        }
        if let Some(Source::Folders { path: other }) = &found[subset as usize] {
            let expected = format!("one folder of {subset} images");
            let both = format!("{} and {}", other.display(), path.display());
            return Err(Error::data(directory, Place::default(), expected, both));
        }
        found[subset as usize] = Some(Source::Folders { path });
    }
    let [train, validation, test] = found;
    Ok(Sources { train, validation, test }.found())
}

/// The files of a table in parts, ordered by name.
fn parts_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let is_part = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let ends = [".csv", ".csv.gz", ".csv.zst"];
        name.starts_with("part") && ends.iter().any(|end| name.ends_with(end)) && path.is_file()
    };
    Ok(entries(directory)?.into_iter().filter(is_part).collect())
}

/// Finds the images and labels of one part of a data set; one file without the other is an error.
fn idx_pair(directory: &Path, part: &str) -> Result<Option<Source>> {
    let find = |what: &str| {
        // Some copies have a dot in place of the dash.
        ['-', '.'].iter().find_map(|mark| {
            raw_or_packed(directory, &format!("{part}-{}", what.replacen('?', &mark.to_string(), 1)))
        })
    };
    let find_labels = || LABELS.iter().find_map(|end| find(&format!("labels?{end}")));
    let missing = match (find("images?idx3-ubyte"), find_labels()) {
        (Some(images), Some(labels)) => return Ok(Some(Source::Idx { images, labels })),
        (None, None) => return Ok(None),
        (Some(_), None) => "labels-idx1-ubyte",
        (None, Some(_)) => "images-idx3-ubyte",
    };
    Err(Error::data(
        directory,
        Place::default(),
        format!("{part}-{missing}, as it is, or with .gz or .zst"),
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

/// The possible names of the label file that belongs to a file of images, without .gz or .zst, the usual one first; none
/// if the name is not a usual name of images.
fn labels_names(images: &Path) -> Vec<String> {
    let name = images.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name);
    if !name.contains("images") {
        return Vec::new();
    }
    let name = name.replacen("images", "labels", 1);
    match name.split_once("idx3-ubyte") {
        Some((start, end)) => LABELS.iter().map(|labels| format!("{start}{labels}{end}")).collect(),
        None => vec![name.replacen("idx3", "idx1", 1)],
    }
}

fn sibling_labels(images: &Path) -> Option<PathBuf> {
    labels_names(images).iter().find_map(|name| raw_or_packed(images.parent()?, name))
}

fn no_labels(images: &Path) -> Error {
    let (expected, found) = match labels_names(images).first() {
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
