//! Search for the files of a data set.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use tinytrain::data::{ReadOptions, Reader, Source, Sources, locate};

use crate::support::{assert_error, gzip, idx, mnist};

struct Place(TempDir);

impl Place {
    /// Creates a directory with files of these names that contain a few bytes.
    fn with(names: &[&str]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        names.iter().for_each(|name| place.write(name, b"0,1\n"));
        place
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn locate(&self) -> Sources {
        locate(self.0.path()).unwrap()
    }

    fn idx(&self, images: &str, labels: &str) -> Option<Source> {
        Some(Source::Idx { images: self.path(images), labels: self.path(labels) })
    }

    fn csv(&self, name: &str) -> Option<Source> {
        Some(Source::Csv { path: self.path(name) })
    }
}

#[test]
fn directories_of_idx_files() {
    let sources = locate(mnist()).unwrap();
    let idx_of = |part: &str| {
        let file = |what: &str| mnist().join(format!("{part}-{what}-ubyte.gz"));
        Some(Source::Idx { images: file("images-idx3"), labels: file("labels-idx1") })
    };
    assert_eq!(sources, Sources { train: idx_of("train"), test: idx_of("t10k"), ..Sources::default() });

    let names = ["t10k-images.idx3-ubyte", "t10k-labels.idx1-ubyte.gz", "train.csv"];
    let place = Place::with(&names);
    assert_eq!(place.locate(), Sources { test: place.idx(names[0], names[1]), ..Sources::default() });

    let names = ["train-images-idx3-ubyte", "train-labels.idx1-ubyte"];
    let place = Place::with(&names);
    assert_eq!(place.locate(), Sources { train: place.idx(names[0], names[1]), ..Sources::default() });
}

#[test]
fn directories_of_tables() {
    let place = Place::with(&["mnist_train.csv", "train.csv", "mnist_test.csv.gz", "test.csv"]);
    let expected = Sources {
        train: place.csv("mnist_train.csv"),
        test: place.csv("mnist_test.csv.gz"),
        ..Sources::default()
    };
    assert_eq!(place.locate(), expected);
    let place = Place::with(&["train.csv.gz"]);
    assert_eq!(place.locate(), Sources { train: place.csv("train.csv.gz"), ..Sources::default() });
    let place = Place::with(&["mnist_test.csv"]);
    assert_eq!(place.locate(), Sources { test: place.csv("mnist_test.csv"), ..Sources::default() });
}

#[test]
fn files() {
    let place = Place::with(&["table.txt"]);
    let only = |train| Sources { train, ..Sources::default() };
    assert_eq!(locate(place.path("table.txt")).unwrap(), only(place.csv("table.txt")));

    place.write("my-images-idx3", &gzip(&idx(&[2, 1], &[1, 2])));
    place.write("my-labels-idx1.gz", &idx(&[2], &[0, 1]));
    let expected = only(place.idx("my-images-idx3", "my-labels-idx1.gz"));
    assert_eq!(locate(place.path("my-images-idx3")).unwrap(), expected);
    let reader = Reader::open(&expected.train.unwrap(), &ReadOptions::default()).unwrap();
    assert_eq!((reader.inputs(), reader.total_rows(), reader.classes().len()), (1, Some(2), 2));
}

#[test]
fn missing_files_are_named() {
    let place = Place::with(&[]);
    let error = locate(place.0.path()).unwrap_err();
    assert_error(
        &error,
        &[&place.0.path().display().to_string(), "train-images-idx3-ubyte", "mnist_train.csv"],
    );
    assert_error(&error, &["train.csv", "t10k-images-idx3-ubyte", "mnist_test.csv", "found none of them"]);

    let error = locate(place.path("nowhere")).unwrap_err();
    assert_error(&error, &["cannot read", "nowhere"]);

    place.write("train-images-idx3-ubyte", &[]);
    assert_error(&locate(place.0.path()).unwrap_err(), &["expected train-labels-idx1-ubyte"]);

    let place = Place::with(&["t10k-labels-idx1-ubyte"]);
    assert_error(&locate(place.0.path()).unwrap_err(), &["expected t10k-images-idx3-ubyte"]);

    place.write("a-images-idx3", &idx(&[1, 1], &[1]));
    let error = locate(place.path("a-images-idx3")).unwrap_err();
    assert_error(&error, &["a-images-idx3: ", "a-labels-idx1", "found no such file"]);
    place.write("digits", &idx(&[1, 1], &[1]));
    assert_error(&locate(place.path("digits")).unwrap_err(), &["digits: ", "`images` in its name"]);
}

#[test]
fn a_directory_or_nothing_where_a_file_is_needed() {
    let place = Place::with(&["labels"]);
    fs::create_dir(place.path("deep")).unwrap();
    let open =
        |source: Option<Source>| Reader::open(&source.unwrap(), &ReadOptions::default()).err().unwrap();
    assert_error(&open(place.csv("deep")), &["cannot read", "deep", "is a directory"]);
    assert_error(&open(place.csv("nowhere")), &["cannot read", "nowhere"]);
    assert_error(&open(place.idx("labels", "deep")), &["cannot read", "deep", "is a directory"]);
    assert_error(&open(place.idx("labels", "nowhere")), &["cannot read", "nowhere"]);
}
