//! Image files, recognised by their first bytes.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::{ImageForm, jpeg, png};
use crate::error::{Error, Place, Result};

/// The first bytes of a PNG file, and of a JPEG file.
const PNG: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
const JPEG: [u8; 3] = [0xff, 0xd8, 0xff];

/// Whether a file begins with these bytes like a PNG or JPEG file.
pub(crate) fn begins_image(start: &[u8]) -> bool {
    start.starts_with(&PNG) || start.starts_with(&JPEG)
}

/// Reads the size of a PNG or JPEG file and whether it has colours, but not its pixels.
///
/// # Errors
/// As [`read_image`].
pub fn image_form(path: impl AsRef<Path>) -> Result<ImageForm> {
    let path = path.as_ref();
    match buffered(path)? {
        (file, true) => jpeg::form(path, &jpeg::bytes(path, file)?),
        (file, false) => png::form(path, file),
    }
}

/// Reads a PNG or JPEG file as an image of this form, pixel by pixel and row by row: each value from 0 for black to 255
/// for white, or with `invert` from 255 for black to 0 for white.
///
/// In grey images, colours become luma, 0.299 R + 0.587 G + 0.114 B of the stored values (ITU-R BT.601). Transparent
/// pixels are blended with white. Each value is the mean over the area of the image that it covers, rounded to the
/// nearest, also if the image is smaller than requested. The aspect ratio of the image is not preserved. The
/// orientation in the metadata of a photo is ignored.
///
/// # Errors
/// [`Error::Read`] if the file cannot be read; [`Error::Data`] if it is neither a PNG nor a JPEG image, is damaged, or
/// has more than 100 megapixels.
pub fn read_image(path: impl AsRef<Path>, form: ImageForm, invert: bool) -> Result<Vec<u8>> {
    let path = path.as_ref();
    match buffered(path)? {
        (file, true) => jpeg::decode(path, &jpeg::bytes(path, file)?, form, invert),
        (file, false) => png::decode(path, file, form, invert),
    }
}

/// Opens an image file; also returns whether it is a JPEG file rather than a PNG file.
fn buffered(path: &Path) -> Result<(BufReader<File>, bool)> {
    let fault = |source| Error::Read { path: path.to_owned(), source };
    let mut file = BufReader::new(File::open(path).map_err(fault)?);
    let start = file.fill_buf().map_err(fault)?;
    if !begins_image(start) {
        let found = if start.is_empty() { "an empty file" } else { "a file that begins otherwise" };
        return Err(Error::data(path, Place::default(), "a PNG or JPEG image", found));
    }
    let is_jpeg = start.starts_with(&JPEG);
    Ok((file, is_jpeg))
}
