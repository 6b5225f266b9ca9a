//! The bundled copy of MNIST.

use std::fs;

use sha2::{Digest, Sha256};
use tinytrain::data::{Dataset, Features, ReadOptions, Reader, Source, Transform, locate};

use crate::support::{gunzip, mnist};

fn read(source: Source) -> Dataset {
    let reader = Reader::open(&source, &ReadOptions::default()).unwrap();
    let sides = reader.image().map(|form| (form.height, form.width));
    assert_eq!((reader.holds_images(), sides), (true, Some((28, 28))));
    assert_eq!(reader.classes().len(), 10, "known before the first block");
    reader.into_dataset(&Transform::Bytes).unwrap()
}

fn histogram(dataset: &Dataset) -> [usize; 10] {
    let mut counts = [0; 10];
    dataset.labels().iter().for_each(|label| counts[*label as usize] += 1);
    counts
}

#[test]
fn files_are_the_published_ones() {
    for (name, sum) in [
        ("train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
        ("train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
        ("t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
        ("t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
    ] {
        let bytes = gunzip(&mnist().join(format!("{name}.gz")));
        let hex: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, sum, "{name}");
        let readme = fs::read_to_string(mnist().join("README.md")).unwrap();
        assert!(readme.contains(sum), "README.md does not tell the sum of {name}");
    }
}

#[test]
fn counts_shapes_and_labels_are_right() {
    let sources = locate(mnist()).unwrap();
    let train = read(sources.train.unwrap());
    assert_eq!((train.rows(), train.inputs, train.classes()), (60_000, 784, 10));
    assert_eq!(train.features.len(), 60_000 * 784);
    assert_eq!(histogram(&train), [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]);
    assert_eq!(train.labels()[..5], [5, 0, 4, 1, 9]);
    let test = read(sources.test.unwrap());
    assert_eq!((test.rows(), test.inputs, test.classes()), (10_000, 784, 10));
    assert_eq!(histogram(&test), [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]);
    assert_eq!(test.labels()[..5], [7, 2, 1, 0, 4]);
}

#[test]
fn pixels_are_the_files_bytes() {
    let test = read(locate(mnist()).unwrap().test.unwrap());
    let bytes = gunzip(&mnist().join("t10k-images-idx3-ubyte.gz"));
    assert_eq!(test.features, Features::Bytes(bytes[16..].to_vec()));
    assert_eq!(test.row(0)[202], f32::from(bytes[16 + 202]) / 255.0);
    assert_eq!(bytes[16 + 202], 84);
}

#[test]
fn raw_files_read_like_gzip_files() {
    let directory = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(mnist()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "gz") {
            fs::write(directory.path().join(path.file_stem().unwrap()), gunzip(&path)).unwrap();
        }
    }
    let packed = locate(mnist()).unwrap();
    let raw = locate(directory.path()).unwrap();
    assert_ne!(packed, raw);
    assert!(read(packed.train.unwrap()) == read(raw.train.unwrap()));
    assert!(read(packed.test.unwrap()) == read(raw.test.unwrap()));
}
