//! Images drawn in a terminal: each character is the upper half of a cell, in the colours of two pixels.

use super::mistakes::bytes;
use super::sheet::evenly_spaced;
use crate::data::{Features, ImageForm, Rows};

/// Maximum width of an image in characters; larger images are reduced.
const MOST_COLUMNS: usize = 38;
/// Lines of images.
const LINES: usize = 2;

/// An image of bytes.
struct Image {
    form: ImageForm,
    values: Vec<u8>,
}

impl Image {
    /// Reduces the image by a whole factor, by means over squares of pixels, to fit in a line.
    fn reduced(self) -> Self {
        let Self { form, values } = self;
        let factor = form.width.div_ceil(MOST_COLUMNS);
        if factor == 1 {
            return Self { form, values };
        }
        let [height, width] = [form.height, form.width].map(|side| side.div_ceil(factor));
        let small = ImageForm { height, width, ..form };
        let channels = form.channels();
        let mean = |value: usize| {
            let (pixel, channel) = (value / channels, value % channels);
            let (top, left) = (pixel / width * factor, pixel % width * factor);
            let rows = top..(top + factor).min(form.height);
            let columns = left..(left + factor).min(form.width);
            let count = (rows.len() * columns.len()) as u64;
            let places = rows.flat_map(|row| columns.clone().map(move |column| row * form.width + column));
            let sum: u64 = places.map(|place| u64::from(values[place * channels + channel])).sum();
            ((2 * sum + count) / (2 * count)) as u8
        };
        Self { form: small, values: (0..small.values()).map(mean).collect() }
    }

    /// The colour of a pixel, of 256: 26 grey levels, or a cube of 6 levels of red, green and blue.
    fn colour(&self, row: usize, column: usize) -> Option<u8> {
        let channels = self.form.channels();
        let place = (row * self.form.width + column) * channels;
        let level = |value: u8, most: u32| ((u32::from(value) * most * 2 + 255) / (2 * 255)) as u8;
        match *self.values.get(place..place + channels)? {
            [grey] => Some(match level(grey, 25) {
                0 => 16,
                25 => 231,
                level => 231 + level,
            }),
            [red, green, blue] => Some(16 + 36 * level(red, 5) + 6 * level(green, 5) + level(blue, 5)),
            _ => None,
        }
    }

    /// Appends two rows of pixels, of which the second may be missing.
    fn push(&self, line: usize, text: &mut String) {
        let mut last = None;
        for column in 0..self.form.width {
            let colours = [2 * line, 2 * line + 1].map(|row| self.colour(row, column));
            if last != Some(colours) {
                let [top, bottom] =
                    colours.map(|colour| colour.map_or("9".to_owned(), |colour| format!("8;5;{colour}")));
                text.push_str(&format!("\x1b[3{top};4{bottom}m"));
                last = Some(colours);
            }
            text.push('▀');
        }
        text.push_str("\x1b[0m");
    }
}

/// Returns lines with escape codes: the mean of all rows, followed by rows evenly spaced in the data set, in a terminal of
/// this number of columns. Also returns the number of these rows.
pub fn blocks(rows: &Rows<'_>, form: ImageForm, columns: usize) -> (String, usize) {
    let mean = Image { form, values: mean(rows) }.reduced();
    let across = ((columns + 1) / (mean.form.width + 1)).max(1);
    let count = rows.len().min(LINES * across - 1);
    let bytes = bytes(rows.features.rows(rows.inputs, &evenly_spaced(rows, count)));
    let examples =
        bytes.chunks_exact(rows.inputs).map(|values| Image { form, values: values.to_vec() }.reduced());
    let images: Vec<Image> = [mean].into_iter().chain(examples).collect();
    let mut text = String::new();
    for images in images.chunks(across) {
        for line in 0..images[0].form.height.div_ceil(2) {
            for (place, image) in images.iter().enumerate() {
                text.push_str(if place > 0 { " " } else { "" });
                image.push(line, &mut text);
            }
            text.push('\n');
        }
        text.push('\n');
    }
    (text, count)
}

/// The mean of all rows, rounded to bytes.
fn mean(rows: &Rows<'_>) -> Vec<u8> {
    let mut sums = vec![0.0; rows.inputs];
    let mut add = |value: f64, place: usize| sums[place % rows.inputs] += value;
    match rows.features {
        Features::Bytes(values) => {
            values.iter().zip(0..).for_each(|(value, place)| add((*value).into(), place))
        }
        Features::Floats(values) => {
            values.iter().zip(0..).for_each(|(value, place)| add((*value).into(), place))
        }
    }
    sums.into_iter().map(|sum| (sum / rows.len().max(1) as f64).round() as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;

    fn drawn(form: ImageForm, values: Vec<u8>, columns: usize) -> (String, usize) {
        let count = values.len() / form.values();
        let targets = vec![0u32; count].into();
        let rows = Dataset {
            inputs: form.values(),
            features: Features::Bytes(values),
            targets,
            weights: Vec::new(),
        };
        blocks(&rows.view(), form, columns)
    }

    #[test]
    fn a_character_shows_two_pixels() {
        let form = ImageForm { height: 3, width: 2, colour: false };
        let (text, count) = drawn(form, vec![0, 0, 255, 255, 100, 255, 0, 0, 255, 255, 200, 255], 5);
        assert_eq!(count, 2);
        // The mean and the first image, below it the second.
        let [mean, first, second] = [246, 241, 251];
        let top = "\x1b[38;5;16;48;5;231m▀▀\x1b[0m";
        let bottom = |left: u8| format!("\x1b[38;5;{left};49m▀\x1b[38;5;231;49m▀\x1b[0m");
        let [mean, first, second] = [mean, first, second].map(bottom);
        assert_eq!(text, format!("{top} {top}\n{mean} {first}\n\n{top}\n{second}\n\n"));
        let colour = ImageForm { height: 1, width: 1, colour: true };
        assert_eq!(drawn(colour, vec![255, 0, 51], 1).0.lines().next(), Some("\x1b[38;5;197;49m▀\x1b[0m"));
    }

    #[test]
    fn large_images_are_reduced() {
        let form = ImageForm { height: 4, width: 100, colour: false };
        let values: Vec<u8> = (0..400).map(|place| if place % 100 < 51 { 255 } else { 0 }).collect();
        let (text, count) = drawn(form, values, 80);
        assert_eq!((count, text.lines().next().unwrap().matches('▀').count()), (1, 2 * 34));
        assert!(text.starts_with(&format!("\x1b[38;5;231;48;5;231m{}", "▀".repeat(17))), "{text:?}");
    }
}
