//! Sheets of images: rows of a data set, and distorted copies of them.

use crate::data::{Features, ImageForm, Rows};
use crate::engine::augmented::Distorter;
use crate::error::{Error, Result};
use crate::step::{Augment, Distortion, ImageSize};

use super::mistakes::png_file;

/// Images of a row and of a column of a sheet.
const SIDE: usize = 10;

/// Returns a PNG file with 100 images in ten rows: images evenly spaced in the data set, or, with distortions, ten of them,
/// each followed by nine distorted copies. `form` comes with the center of the values.
///
/// # Errors
/// [`Error::Setting`] for distortions that do not fit the images.
pub fn sheet(
    rows: &Rows<'_>,
    (form, center): (ImageForm, u8),
    augment: Option<&Augment>,
    seed: u64,
) -> Result<Vec<u8>> {
    let shown = if augment.is_some() { SIDE } else { SIDE * SIDE };
    let count = rows.len().min(shown);
    // Distortions fill with 0, which is the center in training.
    let center = f32::from(center);
    let values = match rows.features.rows(rows.inputs, &evenly_spaced(rows, count)) {
        Features::Bytes(bytes) => bytes.into_iter().map(f32::from).collect(),
        Features::Floats(floats) => floats,
    };
    let features = Features::Floats(values.into_iter().map(|value| value - center).collect());
    let all: Vec<u32> = (0..count as u32).collect();
    let mut copies = Vec::new();
    if let Some(augment) = augment {
        let size = ImageSize { height: form.height, width: form.width, channels: form.channels() };
        let distortion = &Distortion::new(augment, size, seed)?;
        let originals = Rows { features: &features, ..*rows };
        for epoch in 1..SIDE {
            copies.push(Distorter { distortion, epoch, first: 0, threads: 1 }.copies(&originals, &all));
        }
    }
    // A border of one pixel around each image.
    let (line, pitch) = ((form.width + 1) * form.channels(), (form.width + 1) * form.channels() * SIDE);
    let lines = if augment.is_some() { count } else { count.div_ceil(SIDE) };
    let mut pixels = vec![128; lines * (form.height + 1) * pitch];
    let places = (0..lines).flat_map(|down| (0..SIDE).map(move |across| (down, across)));
    for (down, across) in places {
        let (from, number) = match (augment.is_some(), across) {
            (true, 1..) => (&copies[across - 1], down),
            (true, 0) => (&features, down),
            (false, _) => (&features, down * SIDE + across),
        };
        let Features::Floats(values) = from else { continue };
        let Some(image) = values.get(number * form.values()..(number + 1) * form.values()) else { continue };
        for (y, values) in image.chunks_exact(form.width * form.channels()).enumerate() {
            let start = (down * (form.height + 1) + y) * pitch + across * line;
            for (to, value) in pixels[start..].iter_mut().zip(values) {
                *to = (value + center).round() as u8;
            }
        }
    }
    let whole = ImageForm { height: lines * (form.height + 1), width: SIDE * (form.width + 1), ..form };
    png_file(whole, &pixels).map_err(|error| Error::Config(format!("no picture of the images: {error}")))
}
/// Returns the numbers of `count` rows, evenly spaced.
pub(super) fn evenly_spaced(rows: &Rows<'_>, count: usize) -> Vec<u32> {
    (0..count).map(|place| (place * rows.len() / count) as u32).collect()
}
