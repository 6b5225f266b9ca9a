//! Distorted images.

use std::f64::consts::PI;

use ndarray::{Array2, ArrayView2};

use crate::random::philox;
use crate::step::{Augment, ImageSize};

/// D [rows, values]: the images of these rows of the data set I [samples, values], distorted in an epoch. Pixel p of an
/// image is I(c + M (p - c) + s + e(p)), interpolated linearly, and 0 outside the image: c is the centre, M = R S Z a
/// rotation, a shear and a zoom, s a shift.
///
/// Word w is the number u = 2 floor(w / 2^8) / 2^24 - 1. The words of counter (row, 0, epoch, 10) draw rotation, shear,
/// zoom across and zoom down, the words of (row, 1, epoch, 10) the shift across and down and, if odd, the mirror, and the words
/// of (row, 2, epoch, 10) the centre of the square of background.
pub fn augment(
    images: ArrayView2<f64>,
    augment: &Augment,
    size: ImageSize,
    seed: u64,
    epoch: u32,
    rows: &[u32],
) -> Array2<f64> {
    let ImageSize { height, width, channels } = size;
    let range = |limit: f32| f64::from(limit);
    let mut all = Array2::zeros((rows.len(), size.values()));
    for (mut to, row) in all.rows_mut().into_iter().zip(rows) {
        let words = |block: u32| philox([*row, block, epoch, 10], [seed as u32, (seed >> 32) as u32]);
        let number = |word: u32| f64::from(2 * (word >> 8)) / 2f64.powi(24) - 1.0;
        let ([turn, shear, across, down], [right, below, mirror, _]) = (words(0), words(1));
        let angle = number(turn) * range(augment.rotate).to_radians();
        let shear = number(shear) * range(augment.shear).to_radians().tan();
        let flip = if augment.flip && mirror % 2 == 1 { -1.0 } else { 1.0 };
        let zoom =
            [flip * (1.0 + number(across) * range(augment.zoom)), 1.0 + number(down) * range(augment.zoom)];
        let shift = [right, below].map(|word| number(word) * range(augment.shift));
        let center = [width, height].map(|side| (side as f64 - 1.0) / 2.0);
        let [hole_x, hole_y] = [(words(2)[0], width), (words(2)[1], height)].map(|(word, side)| {
            let first = i64::from(word) % side as i64 - i64::from(augment.cutout) / 2;
            first..first + i64::from(augment.cutout)
        });
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            if hole_x.contains(&(x as i64)) && hole_y.contains(&(y as i64)) {
                continue;
            }
            let (u, v) = ((x as f64 - center[0]) * zoom[0], (y as f64 - center[1]) * zoom[1]);
            let (u, v) = (u + shear * v, v);
            let (u, v) = (u * angle.cos() - v * angle.sin(), u * angle.sin() + v * angle.cos());
            let e = displacement(augment, size, [x, y], &|block| words(3 + block).map(number));
            let source = [center[0] + u + shift[0] + e[0], center[1] + v + shift[1] + e[1]];
            for channel in 0..channels {
                let tap = |x: f64, y: f64| {
                    let is_inside = x >= 0.0 && y >= 0.0 && x < width as f64 && y < height as f64;
                    let pixel = y as usize * width + x as usize;
                    if is_inside { images[[*row as usize, pixel * channels + channel]] } else { 0.0 }
                };
                let [left, top] = source.map(f64::floor);
                let [right, down] = [source[0] - left, source[1] - top];
                let above = (1.0 - right) * tap(left, top) + right * tap(left + 1.0, top);
                let below = (1.0 - right) * tap(left, top + 1.0) + right * tap(left + 1.0, top + 1.0);
                to[(y * width + x) * channels + channel] = (1.0 - down) * above + down * below;
            }
        }
    }
    all
}

/// e(p) = a sum over i, j of B(p / h - (j, i)) n[i, j], with the cubic B-spline B of variance 1/3 in each direction, a
/// lattice of spacing h = sqrt(3) sigma from -h on, and numbers n from -1 to 1: two points per block of four words.
/// a = alpha / (2 sigma sqrt(pi)) / (151 / 315).
fn displacement(
    augment: &Augment,
    size: ImageSize,
    pixel: [usize; 2],
    numbers: &dyn Fn(u32) -> [f64; 4],
) -> [f64; 2] {
    let Some(elastic) = augment.elastic else { return [0.0; 2] };
    let (alpha, sigma) = (f64::from(elastic.alpha), f64::from(elastic.sigma));
    let spacing = 3f64.sqrt() * sigma;
    let factor = alpha / (2.0 * sigma * PI.sqrt()) / (151.0 / 315.0);
    let columns = ((size.width - 1) as f64 / spacing) as usize + 4;
    let spline = |t: f64| match t.abs() {
        t if t < 1.0 => (4.0 - 6.0 * t * t + 3.0 * t * t * t) / 6.0,
        t if t < 2.0 => (2.0 - t).powi(3) / 6.0,
        _ => 0.0,
    };
    let mut sum = [0.0; 2];
    let place = pixel.map(|pixel| pixel as f64 / spacing);
    let first = place.map(|place| place as usize);
    for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (first[1] + i, first[0] + j))) {
        // The first point is before the image.
        let weight = spline(place[1] - (i as f64 - 1.0)) * spline(place[0] - (j as f64 - 1.0));
        let point = i * columns + j;
        let number = &numbers(point as u32 / 2)[2 * (point % 2)..];
        sum = [sum[0] + factor * weight * number[0], sum[1] + factor * weight * number[1]];
    }
    sum
}
