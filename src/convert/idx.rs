//! IDX: a magic number, the dimensions, then the values, all of them big-endian.

use std::io::{self, Write};

/// Unsigned bytes.
pub(super) fn bytes(shape: &[usize], values: &[u8]) -> Vec<u8> {
    [&header(0x08, shape), values].concat()
}

/// 64-bit floats.
pub(super) fn write_doubles(shape: &[usize], values: &[f64], to: &mut impl Write) -> io::Result<()> {
    to.write_all(&header(0x0e, shape))?;
    values.iter().try_for_each(|value| to.write_all(&value.to_be_bytes()))
}

fn header(kind: u8, shape: &[usize]) -> Vec<u8> {
    let mut header = vec![0, 0, kind, shape.len() as u8];
    // No data set that is read has more rows than 32 bits count.
    shape.iter().for_each(|size| header.extend((*size as u32).to_be_bytes()));
    header
}
