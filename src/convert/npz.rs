//! NPZ: a ZIP archive that packs nothing, of one file in numpy's format for each array.

use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime};

use super::Array;
use super::arrays::longest;
use crate::error::{Error, Result};

/// The archive.
pub(crate) fn file(arrays: &[(String, Array)]) -> Result<Vec<u8>> {
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
        Array::Codes(_) => "<i4",
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
