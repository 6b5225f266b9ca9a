//! NPZ: a ZIP archive that packs nothing, of one file in numpy's format for each array.

use std::io::{Cursor, Write};
use std::iter::repeat;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime};

use crate::error::{Error, Result};

/// An array with its shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Array {
    /// Unsigned bytes.
    Bytes(Vec<usize>, Vec<u8>),
    /// 64-bit floats.
    Numbers(Vec<usize>, Vec<f64>),
    /// 32-bit floats.
    Floats(Vec<usize>, Vec<f32>),
    /// Text.
    Texts(Vec<String>),
}

impl Array {
    /// Shape and contents: numbers in little endian, text in UTF-32, each as long as the longest.
    fn contents(&self) -> (Vec<usize>, Vec<u8>) {
        match self {
            Array::Bytes(shape, values) => (shape.clone(), values.clone()),
            Array::Numbers(shape, values) => {
                (shape.clone(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
            }
            Array::Floats(shape, values) => {
                (shape.clone(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
            }
            Array::Texts(texts) => {
                let longest = longest(texts);
                let letters =
                    texts.iter().flat_map(|text| text.chars().map(u32::from).chain(repeat(0)).take(longest));
                (vec![texts.len()], letters.flat_map(u32::to_le_bytes).collect())
            }
        }
    }
}

/// Letters of the longest text; 1 where there are none.
fn longest(texts: &[String]) -> usize {
    texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1)
}

/// The archive.
pub(super) fn file(arrays: &[(String, Array)]) -> Result<Vec<u8>> {
    let unwritten =
        |error: &dyn std::fmt::Display| Error::Config(format!("cannot write an NPZ file: {error}"));
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, array) in arrays {
        let contents = npy(array);
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .large_file(u32::try_from(contents.len()).is_err());
        archive.start_file(format!("{name}.npy"), options).map_err(|error| unwritten(&error))?;
        archive.write_all(&contents).map_err(|error| unwritten(&error))?;
    }
    Ok(archive.finish().map_err(|error| unwritten(&error))?.into_inner())
}

/// An array in numpy's format.
fn npy(array: &Array) -> Vec<u8> {
    let (shape, values) = array.contents();
    let kind = match array {
        Array::Bytes(..) => "|u1",
        Array::Numbers(..) => "<f8",
        Array::Floats(..) => "<f4",
        Array::Texts(texts) => &format!("<U{}", longest(texts)),
    };
    let sizes: String = shape.iter().map(|size| format!("{size},")).collect();
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // The values begin at a multiple of 64 bytes.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    header += &" ".repeat(length - 1 - header.len());
    header.push('\n');
    [&b"\x93NUMPY\x01\0"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes(), &values].concat()
}
