//! Values of options: how they are read, and what is said when they cannot be.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tinytrain::convert::To;
use tinytrain::data::Scale;
use tinytrain::engine::DeviceRequest;
use tinytrain::gpu::Opening;
use tinytrain::schedule::ScheduleKind;
use tinytrain::train::{Clip, Scoring};

use super::environment;

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Sizes of the hidden layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden(pub Vec<usize>);

impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(if sizes.is_empty() { "none".to_owned() } else { sizes.join(",") }.as_str())
    }
}

impl FromStr for Hidden {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(Vec::new()));
        }
        let sizes = text.split(',').map(|size| match size.trim().parse() {
            Ok(0) | Err(_) => Err(format!(
                "expected whole numbers above 0 with commas between them, or none; found {size:?}"
            )),
            Ok(size) => Ok(size),
        });
        Ok(Self(sizes.collect::<Result<_, _>>()?))
    }
}

/// Height and width of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSize(pub (usize, usize));

/// Reads `HxW`, or one number for both.
pub fn image_size(text: &str) -> Result<ImageSize, String> {
    let (height, width) = text.split_once('x').unwrap_or((text, text));
    match (count(height), count(width)) {
        (Ok(height), Ok(width)) if height.max(width) <= 1 << 14 => Ok(ImageSize((height, width))),
        _ => Err("expected height and width such as 32x48, or one number for both, 16384 at most".to_owned()),
    }
}

/// A whole number from 1 on.
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a whole number, 1 or more".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// Epochs without a better one that end a run; nothing is no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience(pub Option<usize>);

/// Reads a number of epochs, or `none`.
pub fn patience(text: &str) -> Result<Patience, String> {
    match text {
        "none" => Ok(Patience(None)),
        _ => count(text).map(|epochs| Patience(Some(epochs))).map_err(|error| error + ", or none"),
    }
}

/// A number of what there must be several of.
pub fn two_or_more(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number >= 2);
    number.ok_or_else(|| "expected a whole number, 2 or more".to_owned())
}

/// A limit of time: up to a day.
pub fn seconds(text: &str) -> Result<u64, String> {
    const DAY: u64 = 24 * 60 * 60;
    text.parse()
        .ok()
        .filter(|seconds| (1..=DAY).contains(seconds))
        .ok_or_else(|| format!("expected a whole number from 1 to {DAY}"))
}

/// Any number that a seed can be.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// A step size.
pub fn learning_rate(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err("expected a finite number above 0".to_owned()),
    }
}

/// A number from 0 to below 1.
pub fn below_one(text: &str) -> Result<f32, String> {
    let number = text.trim().parse().ok().filter(|number| (0.0..1.0).contains(number));
    number.ok_or_else(|| "expected a number from 0 to below 1".to_owned())
}

/// A finite number above 0.
pub fn above_zero(text: &str) -> Result<f32, String> {
    learning_rate(text)
}

/// A finite number of 0 or more.
pub fn not_negative(text: &str) -> Result<f32, String> {
    let number = text.trim().parse().ok().filter(|number: &f32| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a finite number of 0 or more".to_owned())
}

/// A device.
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

/// How a GPU is opened for `--checked`, or without. What its driver compiles is kept for the next run.
pub fn opening(checked: bool) -> Opening {
    Opening { checked, cache: environment::cache_folder(), ..Opening::default() }
}

/// A column of a table.
pub fn column(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("expected a column's name or its index, counted from 0".to_owned());
    }
    Ok(text.to_owned())
}

/// A share of rows.
pub fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| 0.0 < *share && *share < 1.0);
    share.ok_or_else(|| "expected a number between 0 and 1".to_owned())
}

/// A time, as `60s`, `1h 5m` or a number of seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let duration = seconds.or_else(|| humantime::parse_duration(text).ok());
    duration.filter(|time| !time.is_zero()).ok_or_else(|| "expected a time such as 60s, 5m or 1h".to_owned())
}

/// What stands between two cells.
pub fn delimiter(text: &str) -> Result<u8, String> {
    match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        ("space", _) => Ok(b' '),
        (_, [byte]) if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ => Err("expected one ASCII character other than a quote, or tab, or space".to_owned()),
    }
}

/// What stands before the digits of a fraction.
pub fn decimal(text: &str) -> Result<u8, String> {
    match text {
        "." | "," => Ok(text.as_bytes()[0]),
        _ => Err("expected . or ,".to_owned()),
    }
}

/// How values become inputs.
pub fn scale() -> impl TypedValueParser<Value = Scale> {
    PossibleValuesParser::new(Scale::ALL.map(Scale::name)).try_map(|text| text.parse::<Scale>())
}

/// What is done to scaled numbers that are far from the others.
pub fn clip() -> impl TypedValueParser<Value = Clip> {
    let parser = PossibleValuesParser::new(Clip::ALL.map(Clip::name));
    // Only names of these come here.
    parser.map(|text| Clip::ALL.into_iter().find(|clip| clip.name() == text).unwrap_or(Clip::None))
}

/// A format that data are written in.
pub fn to() -> impl TypedValueParser<Value = To> {
    let parser = PossibleValuesParser::new(To::ALL.map(To::name));
    // Only names of formats come here.
    parser.map(|text| To::ALL.into_iter().find(|to| to.name() == text).unwrap_or(To::Csv))
}

/// By what a network is measured.
pub fn scoring() -> impl TypedValueParser<Value = Scoring> {
    let parser = PossibleValuesParser::new(Scoring::ALL.map(Scoring::name));
    // Only names of measures come here.
    parser.map(|text| {
        Scoring::ALL.into_iter().find(|scoring| scoring.name() == text).unwrap_or(Scoring::Accuracy)
    })
}

/// The name of a schedule.
pub fn schedule() -> impl TypedValueParser<Value = ScheduleKind> {
    PossibleValuesParser::new(ScheduleKind::ALL.map(ScheduleKind::name))
        .try_map(|text| text.parse::<ScheduleKind>())
}
