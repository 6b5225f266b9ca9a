//! Files and data sets shared by the tests.

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use tinytrain::data::{Dataset, Features, ReadOptions, Reader, Selection, Target, Transform};
use tinytrain::{Error, Result};

pub fn mnist() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/mnist")
}

pub fn gunzip(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    MultiGzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns a frame of zstd with uncompressed bytes, in blocks (RFC 8878).
pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    // No checksum, no content size; a window of 2 MiB.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    let blocks: Vec<&[u8]> = bytes.chunks(1 << 16).collect();
    for (index, block) in blocks.iter().enumerate() {
        let is_last = u32::from(index + 1 == blocks.len());
        frame.extend(&(is_last | (block.len() as u32) << 3).to_le_bytes()[..3]);
        frame.extend(*block);
    }
    frame
}

/// Returns an IDX file of unsigned bytes.
pub fn idx(dimensions: &[u32], values: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, dimensions.len() as u8];
    dimensions.iter().for_each(|size| bytes.extend(size.to_be_bytes()));
    bytes.extend(values);
    bytes
}

pub fn label_in(column: &str) -> ReadOptions {
    let columns = Selection { target: Target::Column(column.into()), ..Selection::default() };
    ReadOptions { columns, ..ReadOptions::default() }
}

/// Returns options for tables with the label first.
pub fn label_first() -> ReadOptions {
    label_in("0")
}

pub fn open_csv(bytes: impl Into<Vec<u8>>, options: &ReadOptions) -> Result<Reader> {
    let mut reader = Reader::from_csv(Path::new("t.csv"), Cursor::new(bytes.into()), options)?;
    reader.read_to_end()?;
    Ok(reader)
}

/// Reads a table as bytes.
pub fn read_csv(bytes: impl Into<Vec<u8>>) -> Dataset {
    open_csv(bytes, &label_first()).unwrap().into_dataset(&Transform::Bytes).unwrap()
}

/// Reads the unscaled values of a table.
pub fn raw_values(bytes: impl Into<Vec<u8>>) -> Vec<f32> {
    let dataset = open_csv(bytes, &label_first()).unwrap().into_dataset(&Transform::None).unwrap();
    match dataset.features {
        Features::Floats(values) => values,
        Features::Bytes(_) => panic!("values as they are must be floats"),
    }
}

pub fn csv_error(bytes: impl Into<Vec<u8>>) -> Error {
    open_csv(bytes, &label_first()).err().expect("this table must not be readable")
}

pub fn read_idx(images: impl Into<Vec<u8>>, labels: impl Into<Vec<u8>>) -> Result<Dataset> {
    let (images, labels) = (Cursor::new(images.into()), Cursor::new(labels.into()));
    let options = ReadOptions::default();
    let reader = Reader::from_idx(Path::new("images"), images, Path::new("labels"), labels, &options)?;
    reader.into_dataset(&Transform::Bytes)
}

/// Checks that bad input gives one line that contains all parts, and exit code 2.
#[track_caller]
pub fn assert_error(error: &Error, parts: &[&str]) {
    let message = error.to_string();
    assert!(!message.contains('\n'), "{message:?} is more than a line");
    assert_eq!(error.exit_code(), 2, "{message}");
    for part in parts {
        assert!(message.contains(part), "no {part:?} in {message:?}");
    }
}
