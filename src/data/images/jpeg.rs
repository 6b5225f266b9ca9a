//! JPEG images, sequential and progressive, in grey, colour or the inks of print.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::ImageForm;
use super::conversion::{Conversion, Pixel, check_size};
use crate::error::{Error, Place, Result};
use crate::memory::check_memory;

/// Bytes per pixel while an image is decoded: coefficients of up to four channels, their copies, and the colours.
const BYTES: u64 = 20;

/// Reads a whole file.
pub(super) fn bytes(name: &Path, mut file: BufReader<File>) -> Result<Vec<u8>> {
    let fault = |source| Error::Read { path: name.to_owned(), source };
    let length = file.get_ref().metadata().map_err(fault)?.len();
    check_memory(length.into(), &format!("{}: an image", name.display()))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(fault)?;
    Ok(bytes)
}

/// As [`image_form`](super::file::image_form), from the bytes of a file.
pub(super) fn form(name: &Path, bytes: &[u8]) -> Result<ImageForm> {
    let (_, [columns, rows], pixel) = open(name, bytes)?;
    Ok(ImageForm { height: rows as usize, width: columns as usize, colour: pixel.channels > 1 })
}

/// As [`read_image`](super::file::read_image), from the bytes of a file.
pub(super) fn decode(name: &Path, bytes: &[u8], form: ImageForm, invert: bool) -> Result<Vec<u8>> {
    let (mut decoder, [columns, rows], pixel) = open(name, bytes)?;
    let needed = u64::from(columns) * u64::from(rows) * BYTES;
    check_memory(needed.into(), &format!("{}: an image of {columns} x {rows} pixels", name.display()))?;
    let mut image = Conversion::new([rows, columns], pixel, form)?;
    // The decoder replaces a missing end by grey.
    if !has_end(bytes) {
        return Err(Error::data(name, Place::default(), "a whole JPEG image", "an early end"));
    }
    let pixels = decoder.decode().map_err(|error| fault(name, &error))?;
    for (row, line) in (0..rows).zip(pixels.chunks_exact(columns as usize * pixel.bytes())) {
        image.add(row, 0..columns, line);
    }
    Ok(image.values(invert))
}

/// A decoder whose headers are read, the columns and rows of its image, and the format of its pixels.
type Opened<'a> = (JpegDecoder<ZCursor<&'a [u8]>>, [u32; 2], Pixel);

/// Reads the headers of an image and checks its size.
fn open<'a>(name: &Path, bytes: &'a [u8]) -> Result<Opened<'a>> {
    let most = usize::from(u16::MAX);
    let options = DecoderOptions::default().set_strict_mode(true).set_max_width(most).set_max_height(most);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|error| fault(name, &error))?;
    let info = decoder.info().ok_or_else(|| fault(name, &DecodeErrors::ZeroError))?;
    let size: [u32; 2] = [info.width.into(), info.height.into()];
    check_size(name, size, 8, bytes.len() as u64)?;
    let (colours, channels) = if info.components == 1 { (ColorSpace::Luma, 1) } else { (ColorSpace::RGB, 3) };
    decoder.set_options(options.jpeg_set_out_colorspace(colours));
    Ok((decoder, size, Pixel { channels, wide: false }))
}

/// Whether the segments of a file, and the pixels between them, continue to the marker of the end.
fn has_end(bytes: &[u8]) -> bool {
    // Among pixels, 0xff is followed by 0, or by the number of a restart.
    let is_marker = |pair: &[u8]| pair[0] == 0xff && !matches!(pair[1], 0 | 0xd0..=0xd8 | 0xff);
    let mut rest = bytes;
    while let Some(at) = rest.windows(2).position(is_marker) {
        let segment = &rest[at + 1..];
        let length = match segment {
            [0xd9, ..] => return true,
            [_, high, low, ..] => usize::from(u16::from_be_bytes([*high, *low])),
            _ => return false,
        };
        rest = segment.get(1 + length..).unwrap_or_default();
    }
    false
}

fn fault(name: &Path, error: &DecodeErrors) -> Error {
    let text = error.to_string();
    let found = match text.lines().next().unwrap_or_default().trim_matches(['"', '.']) {
        text if text.contains("I/O errors") => "an early end".to_owned(),
        text => format!("a fault ({text})"),
    };
    Error::data(name, Place::default(), "a whole JPEG image", found)
}
