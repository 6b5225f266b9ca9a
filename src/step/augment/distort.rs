//! Random distortions of images: the numbers drawn for an image, and the image's new pixels.

use super::{Augment, Elastic};
use crate::error::{Error, Result};
use crate::random::{Purpose, philox};
use crate::step::setting::demand;
use crate::step::sine_and_cosine;
use crate::vectors::vectorized_loops;

/// Root of the mean square of a cubic B-spline in two dimensions, over all positions: (151 / 315).
const SPLINE: f64 = 151.0 / 315.0;

/// Size of images, whose values are stored row by row, with the channels of a pixel next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSize {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels per row.
    pub width: usize,
    /// Values per pixel.
    pub channels: usize,
}

impl ImageSize {
    /// Returns the number of values of an image.
    pub fn values(self) -> usize {
        self.height * self.width * self.channels
    }
}

/// Random distortions of the images of a data set, in numbers that kernels use.
///
/// Pixel p of a distorted image is the image at c + M (p - c) + s + e(p), interpolated linearly between its four
/// neighbours; outside it is 0. c is the centre, M = rotation · shear · zoom, s the shift and e the elastic displacement.
/// All numbers of an image depend only on the seed, the epoch and the row of the image in the data set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distortion {
    /// Size of the images.
    pub size: ImageSize,
    /// Largest rotation in turns.
    pub turn: f32,
    /// Largest shear: horizontal pixels per vertical pixel.
    pub shear: f32,
    /// Largest relative change of width and of height.
    pub zoom: f32,
    /// Largest shift in pixels.
    pub shift: f32,
    /// Whether half of the images are mirrored.
    pub flip: bool,
    /// Points per pixel of the lattice of the elastic displacement.
    pub density: f32,
    /// Largest displacement at a point of the lattice, in pixels.
    pub strength: f32,
    /// Columns and rows of the lattice; 0 without displacement.
    pub lattice: [usize; 2],
    /// Side of the square of background, in pixels.
    pub cutout: u32,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// A number type of stored images.
pub trait Pixel: Copy + Into<f32> {
    /// Converts an interpolated value.
    fn from_value(value: f32) -> Self;
}

impl Pixel for u8 {
    #[inline(always)]
    fn from_value(value: f32) -> Self {
        (value + 0.5) as u8
    }
}

impl Pixel for f32 {
    #[inline(always)]
    fn from_value(value: f32) -> Self {
        value
    }
}

/// Converts words to numbers from -1 to below 1, exactly.
#[inline(always)]
fn signed(words: [u32; 4]) -> [f32; 4] {
    words.map(|word| (word >> 8) as f32 * (1.0 / 8_388_608.0) - 1.0)
}

/// Returns the weights of the four points around position `t`, from 0 to 1 between the second and the third.
#[inline(always)]
fn spline(t: f32) -> [f32; 4] {
    let rest = 1.0 - t;
    [
        rest * rest * rest / 6.0,
        (t * t * (3.0 * t - 6.0) + 4.0) / 6.0,
        (rest * rest * (3.0 * rest - 6.0) + 4.0) / 6.0,
        t * t * t / 6.0,
    ]
}

impl Distortion {
    /// Most points of the lattice of an elastic displacement: `shaders/augment.wgsl` has room for them.
    pub const MOST_POINTS: usize = 1024;

    /// Returns the distortions of images of this size.
    ///
    /// # Errors
    /// [`Error::Setting`] for settings out of range, and for an elastic displacement that is too fine for large images.
    pub fn new(augment: &Augment, size: ImageSize, seed: u64) -> Result<Self> {
        augment.validate()?;
        let Augment { rotate, shear, zoom, shift, flip, elastic, cutout } = *augment;
        let fits = cutout == 0 || (cutout as usize) < size.height.min(size.width);
        let expected = format!("a cutout smaller than images of {} x {} pixels", size.height, size.width);
        demand(fits, "augment", &expected, format!("cutout={cutout}"))?;
        let (mut density, mut strength, mut lattice) = (0.0, 0.0, [0; 2]);
        if let Some(Elastic { alpha, sigma }) = elastic {
            let sigma = f64::from(sigma);
            density = (1.0 / (sigma * 3f64.sqrt())) as f32;
            // The smoothed noise has 1 / (2 sigma sqrt(pi)) of the standard deviation of the noise.
            strength = (f64::from(alpha) / (2.0 * sigma * std::f64::consts::PI.sqrt() * SPLINE)) as f32;
            let points = |pixels: usize| (pixels.saturating_sub(1) as f32 * density) as usize + 4;
            lattice = [size.width, size.height].map(points);
            if lattice[0] * lattice[1] > Self::MOST_POINTS {
                let expected = "a smoother elastic displacement for images of this size";
                return Err(Error::setting("augment", expected, format!("{augment}")));
            }
        }
        Ok(Self {
            size,
            turn: (f64::from(rotate) / 360.0) as f32,
            shear: f64::from(shear).to_radians().tan() as f32,
            zoom,
            shift,
            flip,
            density,
            strength,
            lattice,
            cutout,
            seed,
        })
    }

    /// Returns the four random words of `block` of an image.
    #[inline(always)]
    fn words(&self, epoch: u32, row: u32, block: u32) -> [u32; 4] {
        philox([row, block, epoch, Purpose::Augment as u32], [self.seed as u32, (self.seed >> 32) as u32])
    }

    /// Computes distorted image `row` of a data set in an epoch; `image` and `to` have [`ImageSize::values`] values.
    pub fn distort<T: Pixel>(&self, [epoch, row]: [u32; 2], image: &[T], to: &mut [T], work: &mut Work) {
        vectorized_loops!(self.distort_image([epoch, row], image, to, work));
    }

    #[inline(always)]
    fn distort_image<T: Pixel>(&self, [epoch, row]: [u32; 2], image: &[T], to: &mut [T], work: &mut Work) {
        let ImageSize { height, width, channels } = self.size;
        let Work { padded, displacement, pixels } = work;
        // A border of zeros: one pixel before, and two after the image.
        let stride = (width + 3) * channels;
        padded.clear();
        padded.resize(stride * (height + 3), 0.0);
        for (line, values) in image.chunks_exact((width * channels).max(1)).enumerate() {
            let line = &mut padded[(line + 1) * stride + channels..][..width * channels];
            line.iter_mut().zip(values).for_each(|(to, value)| *to = (*value).into());
        }
        let [a, b] = [0, 1].map(|block| self.words(epoch, row, block));
        let ([turn, shear, wider, higher], [right, down, ..]) = (signed(a), signed(b));
        let (sine, cosine) = sine_and_cosine(turn * self.turn);
        let (shear, wider, higher) = (shear * self.shear, 1.0 + wider * self.zoom, 1.0 + higher * self.zoom);
        let wider = if self.flip && b[2] & 1 == 1 { -wider } else { wider };
        let matrix = [
            [cosine * wider, (cosine * shear - sine) * higher],
            [sine * wider, (sine * shear + cosine) * higher],
        ];
        let [center_x, center_y] = [width, height].map(|pixels| 0.5 * (pixels as f32 - 1.0));
        let shift = [center_x + right * self.shift, center_y + down * self.shift];
        let [columns, rows] = self.lattice;
        displacement.points.clear();
        for pair in 0..(columns * rows).div_ceil(2) as u32 {
            let [x0, y0, x1, y1] = signed(self.words(epoch, row, 3 + pair)).map(|it| it * self.strength);
            displacement.points.extend([[x0, y0], [x1, y1]]);
        }
        displacement.places.clear();
        displacement
            .places
            .extend((0..width).filter(|_| columns > 0).map(|column| self.place(column, columns)));
        let hole = self.hole(self.words(epoch, row, 2));
        pixels.resize(width, SourcePixel::default());
        for (line, to) in to.chunks_exact_mut((width * channels).max(1)).enumerate() {
            let v = line as f32 - center_y;
            for (column, pixel) in pixels.iter_mut().enumerate() {
                let u = column as f32 - center_x;
                pixel.x = shift[0] + matrix[0][0] * u + matrix[0][1] * v;
                pixel.y = shift[1] + matrix[1][0] * u + matrix[1][1] * v;
            }
            if columns > 0 {
                self.displace(line, displacement, pixels);
            }
            for (pixel, to) in pixels.iter().zip(to.chunks_exact_mut(channels)) {
                // Clamped to the border, which is 0 as is everything beyond it.
                let x = pixel.x.clamp(-1.0, width as f32) + 1.0;
                let y = pixel.y.clamp(-1.0, height as f32) + 1.0;
                let (left, top) = (x as i32, y as i32);
                let (right, down) = (x - left as f32, y - top as f32);
                // One comparison with the length for all neighbours.
                let place = top as usize * stride + left as usize * channels;
                let neighbours = &padded[place..][..stride + 2 * channels];
                for (channel, to) in to.iter_mut().enumerate() {
                    let value = |place: usize| neighbours[place + channel];
                    let above = value(0) + right * (value(channels) - value(0));
                    let below = value(stride) + right * (value(stride + channels) - value(stride));
                    *to = T::from_value(above + down * (below - above));
                }
            }
            if let Some([columns, lines]) = &hole
                && lines.contains(&line)
            {
                let columns = columns.start * channels..columns.end.min(width) * channels;
                to[columns].fill(T::from_value(0.0));
            }
        }
    }

    /// Returns the first of the four points of the lattice around a pixel, and their weights.
    #[inline(always)]
    fn place(&self, pixel: usize, points: usize) -> (usize, [f32; 4]) {
        let place = pixel as f32 * self.density;
        let first = (place as usize).min(points - 4);
        (first, spline(place - first as f32))
    }

    /// Adds the elastic displacement of a row of pixels to their coordinates.
    #[inline(always)]
    fn displace(&self, line: usize, work: &mut Displacement, pixels: &mut [SourcePixel]) {
        let Displacement { points, sums, places } = work;
        let [columns, rows] = self.lattice;
        let (first, weights) = self.place(line, rows);
        sums.clear();
        sums.resize(columns, [0.0; 2]);
        for (row, weight) in (first..).zip(weights) {
            for (sum, point) in sums.iter_mut().zip(&points[row * columns..]) {
                *sum = [sum[0] + weight * point[0], sum[1] + weight * point[1]];
            }
        }
        for (pixel, (first, weights)) in pixels.iter_mut().zip(places) {
            for (sum, weight) in sums[*first..][..4].iter().zip(weights) {
                pixel.x += *weight * sum[0];
                pixel.y += *weight * sum[1];
            }
        }
    }

    /// Returns the columns and rows of the square of background.
    fn hole(&self, [x, y, ..]: [u32; 4]) -> Option<[std::ops::Range<usize>; 2]> {
        let side = self.cutout as usize;
        let range = |word: u32, pixels: usize| {
            let start = word as usize % pixels.max(1);
            start.saturating_sub(side / 2)..start + side - side / 2
        };
        (side > 0).then(|| [range(x, self.size.width), range(y, self.size.height)])
    }
}

/// Memory for the work of [`Distortion::distort`], which later calls reuse.
#[derive(Debug, Default)]
pub struct Work {
    /// The image with its border.
    padded: Vec<f32>,
    displacement: Displacement,
    /// Places in the image of a row of pixels.
    pixels: Vec<SourcePixel>,
}

/// The place in an image that a pixel of its distorted copy shows.
#[derive(Debug, Clone, Copy, Default)]
struct SourcePixel {
    x: f32,
    y: f32,
}

/// Memory for the elastic displacement of an image.
#[derive(Debug, Default)]
struct Displacement {
    /// Displacements of the points of the lattice.
    points: Vec<[f32; 2]>,
    /// Displacements of the columns of the lattice for a row of pixels.
    sums: Vec<[f32; 2]>,
    /// First of the four columns of the lattice around each column of pixels, and their weights.
    places: Vec<(usize, [f32; 4])>,
}
