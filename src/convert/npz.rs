//! NPZ: a ZIP archive that packs nothing, of one file in numpy's format for each array.

use flate2::Crc;

use super::Array;
use crate::error::{Error, Result};

/// Bytes of a field of a ZIP archive.
fn two(value: usize) -> [u8; 2] {
    (value as u16).to_le_bytes()
}

fn four(value: usize) -> [u8; 4] {
    (value as u32).to_le_bytes()
}

/// The archive.
pub(crate) fn file(arrays: &[(String, Array)]) -> Result<Vec<u8>> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, array) in arrays {
        let (name, contents) = (format!("{name}.npy"), npy(array));
        let mut crc = Crc::new();
        crc.update(&contents);
        // Version 2.0, names in UTF-8, stored, 1980-01-01.
        let mut entry: Vec<u8> = Vec::new();
        entry.extend([two(20), two(1 << 11), two(0), two(0), two(0x21)].concat());
        entry.extend([four(crc.sum() as usize), four(contents.len()), four(contents.len())].concat());
        entry.extend([two(name.len()), two(0)].concat());
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&entry);
        // No comment, the first disk, no attributes, and where the file stands.
        directory.extend([&[0; 10][..], &four(archive.len())].concat());
        directory.extend(name.as_bytes());
        archive.extend(b"PK\x03\x04");
        archive.extend([&entry, name.as_bytes(), &contents].concat());
    }
    let (start, length) = (archive.len(), directory.len());
    if u32::try_from(start + length).is_err() || u16::try_from(arrays.len()).is_err() {
        let text = format!(
            "an NPZ file of at most 4 GB and 65,535 arrays cannot hold {} arrays of {start} bytes",
            arrays.len()
        );
        return Err(Error::Config(text));
    }
    archive.extend(directory);
    archive.extend([&b"PK\x05\x06\0\0\0\0"[..], &two(arrays.len()), &two(arrays.len())].concat());
    archive.extend([&four(length)[..], &four(start), &two(0)].concat());
    Ok(archive)
}

/// An array in numpy's format.
fn npy(array: &Array) -> Vec<u8> {
    let (kind, shape, values): (String, Vec<usize>, Vec<u8>) = match array {
        Array::Bytes(shape, values) => ("|u1".to_owned(), shape.clone(), values.clone()),
        Array::Numbers(shape, values) => {
            ("<f8".to_owned(), shape.clone(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
        }
        Array::Floats(shape, values) => {
            ("<f4".to_owned(), shape.clone(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
        }
        Array::Codes(values) => (
            "<i4".to_owned(),
            vec![values.len()],
            values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        ),
        Array::Texts(texts) => {
            // UTF-32, all as long as the longest.
            let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
            let letters = texts
                .iter()
                .flat_map(|text| text.chars().map(u32::from).chain(std::iter::repeat(0)).take(longest));
            (format!("<U{longest}"), vec![texts.len()], letters.flat_map(u32::to_le_bytes).collect())
        }
    };
    let sizes: String = shape.iter().map(|size| format!("{size},")).collect();
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // The values begin at a multiple of 64 bytes.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    header += &" ".repeat(length - 1 - header.len());
    header.push('\n');
    [&b"\x93NUMPY\x01\0"[..], &two(header.len()), header.as_bytes(), &values].concat()
}
