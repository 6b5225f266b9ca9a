//! The conversion of an image to a form: each value is the mean over an area of the image.

use std::path::Path;

use super::ImageForm;
use crate::error::{Error, Place, Result};
use crate::memory::check_memory;

/// Maximum number of pixels of an image.
const MOST_PIXELS: u64 = 100_000_000;
/// Maximum number of bytes per compressed byte of PNG: deflate's longest match takes two bits. A byte of JPEG holds fewer
/// pixels: a block of 64 takes at least one bit.
const MOST_UNPACKED: u64 = 1032;
/// Weights of red, green and blue in 1/1000: for grey, and for each colour.
const LUMA: [u64; 3] = [299, 587, 114];
const COLOURS: [[u64; 3]; 3] = [[1000, 0, 0], [0, 1000, 0], [0, 0, 1000]];

/// Refuses images that are too large, or larger than a file of `length` bytes can hold with this number of bits per pixel.
pub(super) fn check_size(name: &Path, [columns, rows]: [u32; 2], bits: u64, length: u64) -> Result<()> {
    let error = |expected, found| Err(Error::data(name, Place::default(), expected, found));
    let pixels = u64::from(columns) * u64::from(rows);
    if pixels > MOST_PIXELS {
        let expected = format!("an image of at most {} megapixels", MOST_PIXELS / 1_000_000);
        return error(expected, format!("{columns} x {rows} pixels"));
    }
    if pixels * bits / 8 > length.saturating_mul(MOST_UNPACKED) {
        let expected = format!("an image that {length} bytes can hold");
        return error(expected, format!("a header that says {columns} x {rows} pixels"));
    }
    Ok(())
}

/// The format of a pixel after the expansion of palettes and small depths.
#[derive(Clone, Copy)]
pub(super) struct Pixel {
    /// Grey, grey and alpha, RGB, or RGB and alpha.
    pub channels: usize,
    /// Whether a sample has two bytes.
    pub wide: bool,
}

impl Pixel {
    /// Bytes per pixel.
    pub(super) fn bytes(self) -> usize {
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
pub(super) struct Conversion {
    pixel: Pixel,
    /// For each channel of the form, the weights of red, green and blue.
    lights: &'static [[u64; 3]],
    means: Vec<Means>,
}

impl Conversion {
    /// Begins with an image of these rows and columns.
    pub(super) fn new(source: [u32; 2], pixel: Pixel, form: ImageForm) -> Result<Self> {
        let lights = if form.colour { &COLOURS[..] } else { &[LUMA] };
        let means = lights.iter().map(|_| Means::new(source, [form.height, form.width]));
        Ok(Self { pixel, lights, means: means.collect::<Result<Vec<Means>>>()? })
    }

    /// Adds pixels of a row, given by their columns and their bytes.
    pub(super) fn add(&mut self, row: u32, columns: impl Iterator<Item = u32> + Clone, line: &[u8]) {
        for (means, light) in self.means.iter_mut().zip(self.lights) {
            let pixels = line.chunks_exact(self.pixel.bytes());
            means.add(row, columns.clone().zip(pixels.map(|bytes| self.pixel.light(bytes, *light))));
        }
    }

    /// The values of the converted image.
    pub(super) fn values(&self, invert: bool) -> Vec<u8> {
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
