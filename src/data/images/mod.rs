//! PNG and JPEG images as inputs of a model: images of any size, in grey or colour, become values of a fixed size.

pub(crate) mod center;
mod conversion;
pub(crate) mod file;
pub(crate) mod folders;
pub(crate) mod idx;
mod jpeg;
mod png;

use std::fmt;

use serde::{Deserialize, Serialize};

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

    /// The form of arrays of these sizes: height and width, with or without one or three channels.
    pub(crate) fn of_sizes(sizes: &[usize]) -> Option<Self> {
        match *sizes {
            [height, width] | [height, width, 1] => Some(Self { height, width, colour: false }),
            [height, width, 3] => Some(Self { height, width, colour: true }),
            _ => None,
        }
    }

    /// The form of square grey images of this number of values.
    pub(crate) fn square(values: usize) -> Option<Self> {
        let side = values.isqrt();
        (side * side == values).then_some(Self { height: side, width: side, colour: false })
    }

    /// The form after rows and columns are swapped.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { height: self.width, width: self.height, ..self }
    }

    /// The index in an image of this form of each value of the image with rows and columns swapped.
    pub(crate) fn transposition(self) -> Vec<usize> {
        let Self { height, width, .. } = self;
        let channels = self.channels();
        let pixels = (0..width).flat_map(|column| (0..height).map(move |row| row * width + column));
        pixels.flat_map(|pixel| (0..channels).map(move |channel| pixel * channels + channel)).collect()
    }
}

impl fmt::Display for ImageForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { height, width, colour } = self;
        write!(f, "{height} x {width} pixels in {}", if *colour { "colour" } else { "grey" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposition_swaps_rows_and_columns() {
        let form = ImageForm { height: 2, width: 3, colour: false };
        assert_eq!(form.transposition(), [0, 3, 1, 4, 2, 5]);
        let colour = ImageForm { height: 1, width: 2, colour: true };
        assert_eq!(colour.transposition(), [0, 1, 2, 3, 4, 5]);
        let colour = ImageForm { height: 2, width: 2, colour: true };
        assert_eq!(colour.transposition(), [0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11]);
        assert_eq!(form.transposed(), ImageForm { height: 3, width: 2, colour: false });
    }
}
