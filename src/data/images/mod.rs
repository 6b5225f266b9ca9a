//! PNG and JPEG images as inputs of a model: images of any size, in grey or colour, become values of a fixed size.

pub(crate) mod background;
pub(crate) mod folders;
pub(crate) mod idx;
mod jpeg;

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Seek, SeekFrom};
use std::path::Path;

use png::{BitDepth, ColorType, Decoder, DecodingError, Info, Transformations};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Place, Result};
use crate::memory::check_memory;

/// The first bytes of a PNG file, and of a JPEG file.
const PNG: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
const JPEG: [u8; 3] = [0xff, 0xd8, 0xff];

/// Maximum number of pixels of an image.
const MOST_PIXELS: u64 = 100_000_000;
/// Maximum number of bytes per compressed byte of PNG: deflate's longest match takes two bits. A byte of JPEG holds fewer
/// pixels: a block of 64 takes at least one bit.
const MOST_UNPACKED: u64 = 1032;
/// Weights of red, green and blue in 1/1000: for grey, and for each colour.
const LUMA: [u64; 3] = [299, 587, 114];
const COLOURS: [[u64; 3]; 3] = [[1000, 0, 0], [0, 1000, 0], [0, 0, 1000]];
/// The only pass of an image without interlacing: column and row of its first pixel, and the steps to the next pixels.
const WHOLE: [[u32; 4]; 1] = [[0, 0, 1, 1]];
/// The passes of an interlaced image.
const ADAM7: [[u32; 4]; 7] =
    [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]];

/// The size of an image, and whether it has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageForm {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels per row.
    pub width: usize,
    /// Whether a pixel has three values, red, green and blue, rather than one grey value.
    pub colour: bool,
}

impl ImageForm {
    /// Values per image.
    pub fn values(self) -> usize {
        self.height * self.width * self.channels()
    }

    /// Values per pixel.
    pub fn channels(self) -> usize {
        if self.colour { 3 } else { 1 }
    }
}

impl fmt::Display for ImageForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { height, width, colour } = self;
        write!(f, "{height} x {width} pixels in {}", if *colour { "colour" } else { "grey" })
    }
}

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
        (file, false) => png_form(path, file),
    }
}

fn png_form(path: &Path, file: BufReader<File>) -> Result<ImageForm> {
    let reader = open(path, file)?;
    let info = reader.info();
    let is_colour = |entry: &[u8]| entry.iter().any(|value| *value != entry[0]);
    let colour = match &info.palette {
        Some(palette) if info.color_type == ColorType::Indexed => palette.chunks(3).any(is_colour),
        _ => info.color_type.samples() >= 3,
    };
    Ok(ImageForm { height: info.height as usize, width: info.width as usize, colour })
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
        (file, false) => decode(path, file, form, invert),
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

/// As [`read_image`], from a PNG file with the name `name` in messages.
fn decode(name: &Path, source: impl BufRead + Seek, form: ImageForm, invert: bool) -> Result<Vec<u8>> {
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
    let (columns, rows) = (header.width, header.height);
    let bits = u64::from(columns) * u64::from(rows) * header.bits_per_pixel() as u64;
    check_size(name, [columns, rows], bits / 8, length)?;
    let reader = decoder.read_info().map_err(fault)?;
    check_palette(name, reader.info())?;
    Ok(reader)
}

/// Refuses images that are too large, or larger than a file of `length` bytes can hold if they unpack to this number of
/// bytes.
fn check_size(name: &Path, [columns, rows]: [u32; 2], unpacked: u64, length: u64) -> Result<()> {
    let error = |expected, found| Err(Error::data(name, Place::default(), expected, found));
    if u64::from(columns) * u64::from(rows) > MOST_PIXELS {
        let expected = format!("an image of at most {} megapixels", MOST_PIXELS / 1_000_000);
        return error(expected, format!("{columns} x {rows} pixels"));
    }
    if unpacked > length.saturating_mul(MOST_UNPACKED) {
        let expected = format!("an image that {length} bytes can hold");
        return error(expected, format!("a header that says {columns} x {rows} pixels"));
    }
    Ok(())
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

/// The format of a pixel after the expansion of palettes and small depths.
#[derive(Clone, Copy)]
struct Pixel {
    /// Grey, grey and alpha, RGB, or RGB and alpha.
    channels: usize,
    /// Whether a sample has two bytes.
    wide: bool,
}

impl Pixel {
    fn bytes(self) -> usize {
        self.channels * if self.wide { 2 } else { 1 }
    }

    /// The maximum value of a sample.
    fn most(self) -> u64 {
        if self.wide { u16::MAX.into() } else { u8::MAX.into() }
    }

    /// The light of white, in the unit of [`Pixel::light`].
    fn white(self) -> u64 {
        1000 * self.most() * self.most()
    }

    /// The sum of red, green and blue with these weights in 1/1000, blended with white, in a unit that makes it a whole
    /// number.
    fn light(self, bytes: &[u8], [red, green, blue]: [u64; 3]) -> u64 {
        let sample = |index: usize| -> u64 {
            if self.wide {
                u16::from_be_bytes([bytes[2 * index], bytes[2 * index + 1]]).into()
            } else {
                bytes[index].into()
            }
        };
        let light = if self.channels < 3 {
            1000 * sample(0)
        } else {
            red * sample(0) + green * sample(1) + blue * sample(2)
        };
        let has_alpha = self.channels.is_multiple_of(2);
        let alpha = if has_alpha { sample(self.channels - 1) } else { self.most() };
        light * alpha + 1000 * self.most() * (self.most() - alpha)
    }
}

/// The conversion of an image to a form, while its pixels arrive.
struct Conversion {
    pixel: Pixel,
    /// For each channel of the form, the weights of red, green and blue.
    lights: &'static [[u64; 3]],
    means: Vec<Means>,
}

impl Conversion {
    /// Begins with an image of these rows and columns.
    fn new(source: [u32; 2], pixel: Pixel, form: ImageForm) -> Result<Self> {
        let lights = if form.colour { &COLOURS[..] } else { &[LUMA] };
        let means = lights.iter().map(|_| Means::new(source, [form.height, form.width]));
        Ok(Self { pixel, lights, means: means.collect::<Result<Vec<Means>>>()? })
    }

    /// Adds pixels of a row, given by their columns and their bytes.
    fn add(&mut self, row: u32, columns: impl Iterator<Item = u32> + Clone, line: &[u8]) {
        for (means, light) in self.means.iter_mut().zip(self.lights) {
            let pixels = line.chunks_exact(self.pixel.bytes());
            means.add(row, columns.clone().zip(pixels.map(|bytes| self.pixel.light(bytes, *light))));
        }
    }

    /// The values of the converted image.
    fn values(&self, invert: bool) -> Vec<u8> {
        let channels: Vec<Vec<u8>> =
            self.means.iter().map(|means| means.rounded(self.pixel.white())).collect();
        let swapped = if invert { u8::MAX } else { 0 };
        let pixels = 0..channels[0].len();
        pixels.flat_map(|pixel| channels.iter().map(move |channel| channel[pixel] ^ swapped)).collect()
    }
}

/// Means over areas of an image, whose pixels may arrive in any order.
struct Means {
    /// Rows and columns of the image.
    source: [u32; 2],
    /// Rows and columns of the areas.
    target: [usize; 2],
    /// The sum of each area: of values times their overlap with the area, in a unit that makes it a whole number.
    sums: Vec<u128>,
}

impl Means {
    fn new(source: [u32; 2], target: [usize; 2]) -> Result<Self> {
        let [height, width] = target;
        let bytes = (height as u128).saturating_mul(width as u128).saturating_mul(size_of::<u128>() as u128);
        check_memory(bytes, &format!("an image of {width} x {height} pixels"))?;
        Ok(Self { source, target, sums: vec![0; height * width] })
    }

    /// Adds pixels of a row, given as columns and values.
    fn add(&mut self, row: u32, pixels: impl Iterator<Item = (u32, u64)>) {
        let ([rows, columns], [height, width]) = (self.source, self.target);
        for (column, value) in pixels {
            for (area_column, part) in parts(column, columns, width) {
                let value = u128::from(value) * u128::from(part);
                for (area_row, part) in parts(row, rows, height) {
                    self.sums[area_row * width + area_column] += value * u128::from(part);
                }
            }
        }
    }

    /// The means, in units of 1/255 of `white`.
    fn rounded(&self, white: u64) -> Vec<u8> {
        let area = u128::from(self.source[0]) * u128::from(self.source[1]);
        let most = u128::from(white) * area;
        // At most 255: a sum is at most `most`.
        self.sums.iter().map(|sum| ((2 * 255 * sum + most) / (2 * most)) as u8).collect()
    }
}

/// The areas that a pixel overlaps, of `areas` on a line of `pixels` pixels, and the overlap with each, in units of
/// which a pixel has `areas` and an area has `pixels`.
fn parts(pixel: u32, pixels: u32, areas: usize) -> impl Iterator<Item = (usize, u64)> {
    let (pixels, areas) = (u64::from(pixels), areas as u64);
    let begin = u64::from(pixel) * areas;
    let end = begin + areas;
    (begin / pixels..end.div_ceil(pixels))
        .map(move |area| (area as usize, end.min((area + 1) * pixels) - begin.max(area * pixels)))
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
#[path = "image_tests.rs"]
mod tests;
