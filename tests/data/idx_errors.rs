//! Errors of unreadable IDX files; every case from memory, from files, and compressed.

use std::fs;

use tinytrain::Error;
use tinytrain::data::{BLOCK_ROWS, ReadOptions, Reader, Source};

use crate::support::{assert_error, gzip, idx, read_idx};

fn from_files(images: &[u8], labels: &[u8]) -> Error {
    let directory = tempfile::tempdir().unwrap();
    let source =
        Source::Idx { images: directory.path().join("images"), labels: directory.path().join("labels") };
    fs::write(directory.path().join("images"), images).unwrap();
    fs::write(directory.path().join("labels"), labels).unwrap();
    let whole = Reader::open(&source, &ReadOptions::default()).and_then(|mut reader| reader.read_to_end());
    whole.expect_err("these files must not be readable")
}

/// Checks the error from pipes and from files, raw and compressed.
#[track_caller]
fn assert_all(images: &[u8], labels: &[u8], parts: &[&str]) {
    assert_error(&read_idx(images, labels).unwrap_err(), parts);
    assert_error(&read_idx(gzip(images), gzip(labels)).unwrap_err(), parts);
    assert_error(&from_files(images, labels), parts);
    assert_error(&from_files(&gzip(images), &gzip(labels)), parts);
}

const LABELS: [u8; 10] = [0, 0, 8, 1, 0, 0, 0, 2, 0, 1];

fn images() -> Vec<u8> {
    idx(&[2, 2, 2], &[1, 2, 3, 4, 5, 6, 7, 8])
}

#[test]
fn the_files_that_all_others_are_made_from_are_good() {
    assert_eq!(read_idx(images(), LABELS).unwrap().labels(), [0, 1]);
}

#[test]
fn wrong_magic_numbers() {
    assert_all(
        &LABELS,
        &LABELS,
        &["images: expected the magic number of IDX images (0x00000803", "found 0x00000801"],
    );
    assert_all(
        &images(),
        &images(),
        &["labels: expected the magic number of IDX labels (0x00000801)", "0x00000803"],
    );
    let floats = [&[0, 0, 13, 2][..], &images()[4..]].concat();
    assert_all(&floats, &LABELS, &["images: expected the magic number", "found 0x00000d02"]);
    assert_all(b"label,x\n", &LABELS, &["images: expected the magic number", "found 0x6c616265"]);
}

#[test]
fn headers_that_are_cut_off() {
    for length in [0, 3, 4, 15] {
        assert_all(
            &images()[..length],
            &LABELS,
            &["images: expected ", " header", "found the end of the file"],
        );
    }
    assert_all(
        &images(),
        &LABELS[..7],
        &["labels: expected a header with 1 dimensions, found the end of the file"],
    );
}

#[test]
fn nothing_in_them() {
    assert_all(
        &idx(&[0, 2, 2], &[]),
        &LABELS,
        &["images: expected IDX images", "found a header that says 0 x 2 x 2"],
    );
    assert_all(&idx(&[2, 0, 2], &[]), &LABELS, &["images: ", "found a header that says 2 x 0 x 2"]);
    assert_all(&idx(&[2, 2, 0], &[]), &LABELS, &["images: ", "found a header that says 2 x 2 x 0"]);
    assert_all(&images(), &idx(&[0], &[]), &["labels: expected IDX labels", "found a header that says 0"]);
}

#[test]
fn counts_that_differ() {
    let three = idx(&[3], &[0, 1, 2]);
    let counts = ["images: expected 3 images, one for each label of ", "labels, found 2"];
    assert_all(&images(), &three, &counts);
}

#[test]
fn one_class() {
    let same = idx(&[2], &[7, 7]);
    let names = ["images", "labels"].map(std::path::Path::new);
    let [images, labels] = [images(), same].map(std::io::Cursor::new);
    let reader = Reader::from_idx(names[0], images, names[1], labels, &ReadOptions::default()).unwrap();
    assert_eq!(reader.classes().names(), ["7"]);
    let expected = ["labels: expected labels of two or more classes, found only label 7"];
    assert_error(&reader.check_classes().unwrap_err(), &expected);
}

#[test]
fn too_short_and_too_long() {
    let (images, labels) = (images(), LABELS);
    let (short, long) = (&images[..images.len() - 1], [&images[..], &[0]].concat());

    // A file's length is compared with its header before anything is read.
    let header = "images: expected 24 bytes, as the header says (2 x 2 x 2), found ";
    assert_error(&from_files(short, &labels), &[header, "found 23 bytes"]);
    assert_error(&from_files(&long, &labels), &[header, "found 25 bytes"]);
    let header = "labels: expected 10 bytes, as the header says (2), found ";
    assert_error(&from_files(&images, &labels[..9]), &[header, "found 9 bytes"]);
    assert_error(&from_files(&images, &[&labels[..], &[1]].concat()), &[header, "found 11 bytes"]);

    // The length of pipes and compressed data is known only at their end.
    for pack in [<[u8]>::to_vec, gzip] {
        let error = read_idx(pack(short), pack(&labels)).unwrap_err();
        assert_error(&error, &["images, row 2: expected 2 rows of 4 values, found the end of the file"]);
        let error = read_idx(pack(&long), pack(&labels)).unwrap_err();
        assert_error(
            &error,
            &["images: expected the end of the file after 2 rows of 4 values, found more bytes"],
        );
        let error = read_idx(pack(&images), pack(&labels[..9])).unwrap_err();
        assert_error(&error, &["labels: expected 2 labels, found the end of the file after 1"]);
        let error = read_idx(pack(&images), pack(&[&labels[..], &[1]].concat())).unwrap_err();
        assert_error(&error, &["labels: expected the end of the file after 2 labels, found more bytes"]);
    }
}

#[test]
fn a_row_that_is_missing_far_into_the_file() {
    let rows = 2 * BLOCK_ROWS + 10;
    let labels: Vec<u8> = (0..rows).map(|row| (row % 10) as u8).collect();
    let images = idx(&[rows as u32, 3], &vec![0; 3 * (rows - 2) + 1]);
    let error = read_idx(gzip(&images), idx(&[rows as u32], &labels)).unwrap_err();
    assert_error(&error, &[&format!("images, row {}: expected {rows} rows of 3 values", rows - 1)]);
}

#[test]
fn gzip_that_is_damaged() {
    let rows = 5000;
    let values: Vec<u8> =
        (0..rows as u32 * 10).map(|value| (value.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let whole = gzip(&idx(&[rows as u32, 10], &values));
    let labels = idx(&[rows as u32], &(0..rows).map(|row| (row % 10) as u8).collect::<Vec<_>>());
    read_idx(&whole[..], &labels[..]).unwrap();
    for length in [whole.len() / 2, whole.len() - 8, whole.len() - 4, whole.len() - 1] {
        let parts = ["images: expected whole gzip data, found an early end"];
        assert_error(&read_idx(&whole[..length], &labels[..]).unwrap_err(), &parts);
        assert_error(&from_files(&whole[..length], &labels), &parts);
    }
    for at in [whole.len() - 1, whole.len() - 8] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        let parts = ["images: expected whole gzip data, found damage: ", "checksum"];
        assert_error(&read_idx(damaged, &labels[..]).unwrap_err(), &parts);
    }
    for stray in [&b"x"[..], b"stray bytes, more than a gzip header has"] {
        let long = [&whole[..], stray].concat();
        assert_error(
            &read_idx(long, &labels[..]).unwrap_err(),
            &["images: expected whole gzip data, found "],
        );
    }
    let [packed, stray] = [gzip(&labels), b"x".to_vec()];
    let error = read_idx(&whole[..], [packed, stray].concat()).unwrap_err();
    assert_error(&error, &["labels: expected whole gzip data, found "]);
}

#[test]
fn promises_that_no_memory_holds() {
    // None of these values exist; a reader that trusted the header would allocate terabytes.
    let huge = idx(&[2, u32::MAX, 60_000], &[]);
    let memory = ["images: a table of 2 x 4294967295 x 60000 values needs 515 TB of memory"];
    assert_error(&read_idx(&huge[..], LABELS).unwrap_err(), &memory);
    assert_error(&read_idx(gzip(&huge), LABELS).unwrap_err(), &memory);
    let length = ["images: expected 515396075400016 bytes, as the header says", "found 16 bytes"];
    assert_error(&from_files(&huge, &LABELS), &length);
    let packed = ["images: expected at most ", "found a header that says 515396075400016 bytes"];
    assert_error(&from_files(&gzip(&huge), &LABELS), &packed);

    // More values than 128 bits can count.
    let endless = idx(&[2, u32::MAX, u32::MAX, u32::MAX, u32::MAX, u32::MAX], &[]);
    assert_error(&read_idx(&endless[..], LABELS).unwrap_err(), &["images: a table of ", "of memory"]);
    let length = ["images: expected more bytes than can be counted, as the header says", "found 28 bytes"];
    assert_error(&from_files(&endless, &LABELS), &length);
    assert_error(
        &from_files(&gzip(&endless), &LABELS),
        &["images: expected at most ", "more bytes than can be counted"],
    );
}

#[test]
fn packed_files_promise_no_more_than_packing_can_give() {
    // 30 MB fit into memory, but not into this number of gzip bytes.
    let promise = gzip(&idx(&[2, 15_000_000], &[]));
    let error = from_files(&promise, &LABELS);
    let most =
        format!("images: expected at most {} bytes in {} bytes of gzip", promise.len() * 1032, promise.len());
    assert_error(&error, &[&most, "found a header that says 30000012 bytes (2 x 15000000)"]);
    let labels = gzip(&idx(&[4_000_000], &[]));
    assert_error(
        &from_files(&images(), &labels),
        &["labels: expected at most ", "says 4000008 bytes (4000000)"],
    );
}
