//! IDX labels of all types of numbers, and images with their rows and columns swapped.

use std::io::Cursor;
use std::path::Path;

use tinytrain::data::{FeaturesRef, ImageOptions, ReadOptions, Reader, Scaling, locate};
use tinytrain::{Error, Result};

use crate::support::{assert_error, gzip, idx, read_idx};

/// Returns an IDX file of values of the type with this code.
fn file(code: u8, dimensions: &[u32], values: &[u8]) -> Vec<u8> {
    let mut bytes = idx(dimensions, values);
    bytes[2] = code;
    bytes
}

fn images(count: u32) -> Vec<u8> {
    idx(&[count, 1, 2], &vec![7; 2 * count as usize])
}

fn read(labels: Vec<u8>, count: u32) -> Result<Reader> {
    let (images, labels) = (Cursor::new(images(count)), Cursor::new(labels));
    let mut reader =
        Reader::from_idx(Path::new("images"), images, Path::new("labels"), labels, &ReadOptions::default())?;
    reader.read_to_end().map(|()| reader)
}

#[track_caller]
fn assert_labels(labels: Vec<u8>, names: &[&str], expected: &[u32]) {
    let reader = read(labels, expected.len() as u32).unwrap();
    assert_eq!(reader.classes().names(), names);
    assert_eq!(reader.labels(), expected);
}

#[test]
fn labels_are_numbers_of_any_type_in_one_column() {
    let values = [300, -1, 10, 300];
    let (names, labels) = (["-1", "10", "300"], [2, 0, 1, 2]);
    for dimensions in [&[4][..], &[4, 1]] {
        let shorts = values.map(|value: i16| value.to_be_bytes()).concat();
        assert_labels(file(11, dimensions, &shorts), &names, &labels);
        let integers = values.map(|value| i32::from(value).to_be_bytes()).concat();
        assert_labels(file(12, dimensions, &integers), &names, &labels);
        let floats = values.map(|value| f32::from(value).to_be_bytes()).concat();
        assert_labels(file(13, dimensions, &floats), &names, &labels);
        let doubles = values.map(|value| f64::from(value).to_be_bytes()).concat();
        assert_labels(file(14, dimensions, &doubles), &names, &labels);
        assert_labels(file(9, dimensions, &[5, 255, 7, 5]), &["-1", "5", "7"], &[1, 0, 2, 1]);
    }
}

/// Rows of QMNIST: the class, then the series, the writer and other numbers.
#[test]
fn the_first_of_eight_integers_is_the_class() {
    let rows: [[i32; 8]; 3] =
        [[7, 4, 2433, 0, 37, 1, 0, 0], [2, 4, 2433, 1, 32, 2, 0, 0], [7, 1, 9, 2, 3, 0, 0, 0]];
    let values = rows.concat().iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<u8>>();
    assert_labels(file(12, &[3, 8], &values), &["2", "7"], &[1, 0, 1]);
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("qmnist-train-images-idx3-ubyte", &images(3));
    write("qmnist-train-labels-idx2-int", &file(12, &[3, 8], &values));
    write("qmnist-test-images-idx3-ubyte", &images(3));
    write("qmnist-test-labels-idx2-int.gz", &gzip(&file(12, &[3, 8], &values)));
    let sources = locate(folder.path()).unwrap();
    let named = locate(folder.path().join("qmnist-test-images-idx3-ubyte")).unwrap();
    assert_eq!((named.train, &named.test), (sources.test.clone(), &None));
    for source in [sources.train, sources.test] {
        let reader = Reader::open(&source.unwrap(), &ReadOptions::default()).unwrap();
        assert_eq!(reader.labels(), [1, 0, 1]);
    }
    // Of several data sets, one must be named.
    write("emnist-letters-train-images-idx3-ubyte", &images(3));
    assert_error(&locate(folder.path()).unwrap_err(), &["files with other names; use --data "]);
}

#[test]
fn labels_that_are_not_classes_are_called_by_their_name() {
    let error = |labels, count| -> Error { read(labels, count).err().expect("these are not labels") };
    let savez = "save other arrays by numpy.savez(FILE, X=X, y=y)";
    let halves = [1.0f32, 2.5].map(f32::to_be_bytes).concat();
    let expected = "labels, row 2: expected labels of classes, which are 32-bit integers, found 2.5; ";
    assert_error(&error(file(13, &[2], &halves), 2), &[expected, savez]);
    let huge = [1.0f64, 1e10].map(f64::to_be_bytes).concat();
    assert_error(&error(file(14, &[2], &huge), 2), &["labels, row 2: ", "found 10000000000; "]);
    let wide = error(file(13, &[1, 2], &halves), 1);
    assert_error(&wide, &["labels: expected IDX labels", "found 32-bit floats in 2 columns; ", savez]);
    let one_hot = [0i32, 1, 1, 0].map(i32::to_be_bytes).concat();
    let one_hot = error(file(12, &[2, 2], &one_hot), 2);
    assert_error(
        &one_hot,
        &["labels: expected classes in the first column, found one value in each row", "one-hot"],
    );
    let bytes = error(file(8, &[2, 2], &[0, 1, 1, 0]), 2);
    assert_error(&bytes, &["labels: expected IDX labels", "found bytes in 2 columns; ", savez]);
    let floats = file(13, &[1, 1, 2], &halves);
    let images = read_idx(floats, idx(&[1], &[0])).unwrap_err();
    assert_error(
        &images,
        &[
            "images: expected the magic number of IDX images",
            "0x00000d03, 32-bit floats of 3 dimensions; ",
            savez,
        ],
    );
}

#[test]
fn rows_and_columns_of_images_are_swapped() {
    let options = |transpose| {
        let images = ImageOptions { transpose, ..ImageOptions::default() };
        ReadOptions { images, ..ReadOptions::default() }
    };
    let read = |dimensions: &[u32], values: &[u8]| {
        let (images, labels) = (Cursor::new(idx(dimensions, values)), Cursor::new(idx(&[2], &[0, 1])));
        let mut reader =
            Reader::from_idx(Path::new("images"), images, Path::new("labels"), labels, &options(true))?;
        reader.read_to_end()?;
        let form = reader.image().unwrap();
        let FeaturesRef::Bytes(bytes) = reader.view(Scaling::Bytes).scaled(0..2) else { panic!("bytes") };
        Ok::<_, Error>(([form.height, form.width, form.channels()], bytes.to_vec()))
    };
    let (form, values) = read(&[2, 2, 3], &[1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16]).unwrap();
    assert_eq!((form, &values[..]), ([3, 2, 1], &[1, 4, 2, 5, 3, 6, 11, 14, 12, 15, 13, 16][..]));
    let (form, values) = read(&[2, 2, 1, 3], &[1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16]).unwrap();
    assert_eq!((form, &values[..]), ([1, 2, 3], &[1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16][..]));
    let error = read(&[2, 3], &[0; 6]).unwrap_err();
    assert_error(&error, &["transpose: expected images with rows and columns, found 2 x 3"]);
}
