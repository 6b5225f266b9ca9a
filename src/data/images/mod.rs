//! PNG and JPEG images as inputs of a model: images of any size, in grey or colour, become values of a fixed size.

pub(crate) mod background;
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
}

impl fmt::Display for ImageForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { height, width, colour } = self;
        write!(f, "{height} x {width} pixels in {}", if *colour { "colour" } else { "grey" })
    }
}
