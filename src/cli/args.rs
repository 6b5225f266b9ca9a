//! Values of options: parsers and their error messages.

use std::fmt;
use std::str::FromStr;

use crate::engine::DeviceRequest;
use crate::error::Error;
use crate::gpu::DeviceOptions;
pub use crate::settings::values::{count, duration, parse, threads, within};
use crate::train::Threshold;
use clap::ValueEnum;

use super::process;

/// Output format of results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Height and width of images: `HxW`, or one number for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSize(pub (usize, usize));

impl FromStr for ImageSize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (height, width) = text.split_once('x').unwrap_or((text, text));
        let expected = "expected height and width such as 32x48, or one number for both, 16384 at most";
        match (count(height), count(width)) {
            (Ok(height), Ok(width)) if height.max(width) <= 1 << 14 => Ok(Self((height, width))),
            _ => Err(Error::Config(expected.to_owned())),
        }
    }
}

impl fmt::Display for ImageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ImageSize((height, width)) = self;
        write!(f, "{height}x{width}")
    }
}

/// Parses a number that must be at least 2.
pub fn two_or_more(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number >= 2);
    number.ok_or_else(|| "expected a whole number, 2 or more".to_owned())
}

/// Parses a probability.
pub fn probability(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// Parses a decision threshold.
pub fn threshold(text: &str) -> Result<Threshold, String> {
    if text == "best" {
        return Ok(Threshold::Best);
    }
    probability(text).map(Threshold::At).map_err(|_| "expected best, or a number from 0 to 1".to_owned())
}

/// Parses a number of repetitions, at least 2.
pub fn repeats(text: &str) -> Result<usize, String> {
    within(text, 2..=1_000_000)
}

/// Parses the number of distorted copies of an image.
pub fn copies(text: &str) -> Result<usize, String> {
    within(text, 1..=1000)
}

/// Parses the number of picks of an ensemble.
pub fn picks(text: &str) -> Result<usize, String> {
    within(text, 1..=10_000)
}

/// Parses a device.
pub fn device(text: &str) -> Result<DeviceRequest, String> {
    if text.trim().is_empty() {
        return Err(
            "expected auto, cpu, gpu, a backend, or a name or an index of `tinytrain devices`".to_owned()
        );
    }
    match text.parse() {
        Ok(request) => Ok(request),
        Err(never) => match never {},
    }
}

/// Returns the options for opening a GPU, with or without `--bounds-checks`. Compiled kernels are cached for
/// the next run.
pub fn options(checked: bool) -> DeviceOptions {
    DeviceOptions { checked, cache: process::cache_folder(), ..DeviceOptions::default() }
}

/// Parses a column of a table.
pub fn column(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("expected a column's name or its index, counted from 0".to_owned());
    }
    Ok(text.to_owned())
}

/// A delimiter or a decimal mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark<const DECIMAL: bool>(pub u8);

impl<const DECIMAL: bool> FromStr for Mark<DECIMAL> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match (text, text.as_bytes()) {
            ("." | ",", [mark]) => Ok(Self(*mark)),
            _ if DECIMAL => Err(Error::Config("expected . or ,".to_owned())),
            ("tab" | "\\t", _) => Ok(Self(b'\t')),
            ("space", _) => Ok(Self(b' ')),
            (_, [byte]) if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(Self(*byte)),
            _ => {
                let expected = "expected one ASCII character other than a quote, or tab, or space";
                Err(Error::Config(expected.to_owned()))
            }
        }
    }
}

impl<const DECIMAL: bool> fmt::Display for Mark<DECIMAL> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b'\t' => f.write_str("tab"),
            b' ' => f.write_str("space"),
            byte => char::from(byte).fmt(f),
        }
    }
}
