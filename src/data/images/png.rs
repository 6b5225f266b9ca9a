//! PNG images of every colour type and depth, interlaced or not.

use std::io::{BufRead, ErrorKind, Seek, SeekFrom};
use std::path::Path;

use png::{BitDepth, ColorType, Decoder, DecodingError, Info, Transformations};

use super::ImageForm;
use super::conversion::{Conversion, Pixel, check_size};
use crate::error::{Error, Place, Result};

/// The only pass of an image without interlacing: column and row of its first pixel, and the steps to the next pixels.
const WHOLE: [[u32; 4]; 1] = [[0, 0, 1, 1]];
/// The passes of an interlaced image.
const ADAM7: [[u32; 4]; 7] =
    [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]];

/// As [`image_form`](super::file::image_form), from an open file.
pub(super) fn form(path: &Path, file: impl BufRead + Seek) -> Result<ImageForm> {
    let reader = open(path, file)?;
    let info = reader.info();
    let is_colour = |entry: &[u8]| entry.iter().any(|value| *value != entry[0]);
    let colour = match &info.palette {
        Some(palette) if info.color_type == ColorType::Indexed => palette.chunks(3).any(is_colour),
        _ => info.color_type.samples() >= 3,
    };
    Ok(ImageForm { height: info.height as usize, width: info.width as usize, colour })
}

/// As [`read_image`](super::file::read_image), from an open file with the name `name` in messages.
pub(super) fn decode(
    name: &Path,
    source: impl BufRead + Seek,
    form: ImageForm,
    invert: bool,
) -> Result<Vec<u8>> {
    let mut reader = open(name, source)?;
    let (columns, rows) = (reader.info().width, reader.info().height);
    let (color, depth) = reader.output_color_type();
    let pixel = Pixel { channels: color.samples(), wide: depth == BitDepth::Sixteen };
    let mut image = Conversion::new([rows, columns], pixel, form)?;
    let passes = if reader.info().interlaced { &ADAM7[..] } else { &WHOLE };
    for &[column, row, column_step, row_step] in passes.iter().filter(|pass| pass[0] < columns) {
        for row in (row..rows).step_by(row_step as usize) {
            let line = reader.next_row().map_err(|error| fault(name, error))?;
            let line = line.ok_or_else(|| early_end(name))?;
            image.add(row, (column..columns).step_by(column_step as usize), line.data());
        }
    }
    reader.finish().map_err(|error| fault(name, error))?;
    Ok(image.values(invert))
}

/// Opens an image: reads its header and palette and checks them.
fn open<Source: BufRead + Seek>(name: &Path, mut source: Source) -> Result<png::Reader<Source>> {
    let length = source.seek(SeekFrom::End(0)).and_then(|length| source.rewind().map(|()| length));
    let length = length.map_err(|source| Error::Read { path: name.to_owned(), source })?;
    let fault = |error| fault(name, error);
    let mut decoder = Decoder::new(source);
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let header = decoder.read_header_info().map_err(fault)?;
    check_size(name, [header.width, header.height], header.bits_per_pixel() as u64, length)?;
    let reader = decoder.read_info().map_err(fault)?;
    check_palette(name, reader.info())?;
    Ok(reader)
}

/// Refuses palettes that the decoder would read beyond their ends: with incomplete colors, with too many colors, or
/// with more alpha values than colors.
fn check_palette(name: &Path, info: &Info<'_>) -> Result<()> {
    let (Some(palette), ColorType::Indexed) = (&info.palette, info.color_type) else { return Ok(()) };
    let (bytes, alphas) = (palette.len(), info.trns.as_ref().map_or(0, |alphas| alphas.len()));
    if bytes.is_multiple_of(3) && bytes <= 3 * 256 && alphas <= bytes / 3 {
        return Ok(());
    }
    let expected = "a palette of up to 256 colors of three bytes, and no more alpha values than colors";
    Err(Error::data(name, Place::default(), expected, format!("{bytes} bytes and {alphas} alpha values")))
}

fn fault(name: &Path, error: DecodingError) -> Error {
    match error {
        DecodingError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => early_end(name),
        DecodingError::IoError(source) => Error::Read { path: name.to_owned(), source },
        error => {
            let found = format!("a fault ({})", error.to_string().trim_end_matches('.'));
            Error::data(name, Place::default(), "a whole PNG image", found)
        }
    }
}

fn early_end(name: &Path) -> Error {
    Error::data(name, Place::default(), "a whole PNG image", "an early end")
}

#[cfg(test)]
#[path = "png_tests.rs"]
mod tests;
