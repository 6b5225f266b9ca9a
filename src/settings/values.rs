//! Values of settings, and their parsing.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, RangeInclusive};
use std::str::FromStr;
use std::time::Duration;

use jiff::{Span, SpanRelativeTo};

use crate::error::{Error, Result};
use crate::named::named;

/// Named set of defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Preset {
    /// RealMLP-TD-S with periodic embeddings, made for tables with validation rows: see
    /// [`Config::table`](crate::train::Config::table).
    Table,
    /// A large network for images of handwritten digits, which are distorted in training: see
    /// [`Config::digits`](crate::train::Config::digits).
    Digits,
    /// A network with ReLU and gradient descent.
    #[default]
    Plain,
}

named!(Preset { Table = "table", Digits = "digits", Plain = "plain" });

/// The dependence of learning rates on the widths of layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parametrization {
    /// No dependence.
    Standard,
    /// As if weights were multiplied by 1 / sqrt(inputs).
    Ntk,
}

named!(Parametrization { Standard = "standard", Ntk = "ntk" });

/// The scaling of values to predict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleTarget {
    /// To mean 0 and variance 1.
    Standard,
    /// No scaling.
    None,
}

named!(ScaleTarget { Standard = "standard", None = "none" });

/// The conversion of numeric columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Embeddings {
    /// One input per column.
    None,
    /// Periodic embeddings.
    Pbld,
}

named!(Embeddings { None = "none", Pbld = "pbld" });

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YesNo {
    /// Yes.
    Yes,
    /// No.
    No,
}

named!(YesNo { Yes = "yes", No = "no" });

/// The number of epochs without improvement after which a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// The run continues.
    None,
    /// The run ends after this number of epochs.
    Epochs(usize),
}

impl fmt::Display for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Patience::None => f.write_str("none"),
            Patience::Epochs(epochs) => epochs.fmt(f),
        }
    }
}

impl FromStr for Patience {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "none" => Ok(Patience::None),
            _ => count(text).map(Patience::Epochs).map_err(|error| Error::Config(error + ", or none")),
        }
    }
}

/// Several values separated by commas, or `none`; for hidden layers one for all, or one for each, first to last.
#[derive(Debug, Clone, PartialEq)]
pub struct List<T>(pub Vec<T>);

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> From<T> for List<T> {
    fn from(one: T) -> Self {
        Self(vec![one])
    }
}

impl<T, const N: usize> From<[T; N]> for List<T> {
    fn from(each: [T; N]) -> Self {
        Self(each.into())
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(each: Vec<T>) -> Self {
        Self(each)
    }
}

impl<T: fmt::Display> fmt::Display for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.0.iter().map(T::to_string).collect();
        f.write_str(&if values.is_empty() { "none".to_owned() } else { values.join(",") })
    }
}

impl<T: FromStr<Err: fmt::Display>> FromStr for List<T> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let value = |part: &str| {
            let wrong = |error| Error::Config(format!("{error}; separate several by commas"));
            parse(part.trim()).map_err(wrong)
        };
        if text == "none" {
            Ok(Self(Vec::new()))
        } else {
            text.split(',').map(value).collect::<Result<_>>().map(Self)
        }
    }
}

/// Learning-rate factors of parts of a network; the preset decides the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LrFactors {
    /// Of weights.
    pub weights: Option<f32>,
    /// Of biases.
    pub biases: Option<f32>,
    /// Of embeddings.
    pub embeddings: Option<f32>,
    /// Of the input factors of `input_scaling`.
    pub scale: Option<f32>,
    /// Of the layers, first to last.
    pub layers: Option<List<f32>>,
}

impl fmt::Display for LrFactors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { weights, biases, embeddings, scale, layers } = self;
        let single = [("weights", weights), ("biases", biases), ("embeddings", embeddings), ("scale", scale)];
        let single = single.into_iter().filter_map(|(part, factor)| Some(format!("{part}={}", (*factor)?)));
        let layers = layers.iter().map(|layers| format!("layers={layers}"));
        f.write_str(&single.chain(layers).collect::<Vec<String>>().join(","))
    }
}

impl FromStr for LrFactors {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut found: BTreeMap<&str, List<f32>> = BTreeMap::new();
        let mut rest = text;
        while let Some((part, values)) = rest.split_once('=') {
            // The values end before the name of the next part.
            let next = values.find('=').and_then(|next| values[..next].rfind(','));
            let (values, others) = next.map_or((values, ""), |next| (&values[..next], &values[next + 1..]));
            let part = part.trim();
            if found.insert(part, values.parse()?).is_some() {
                return Err(Error::Config(format!("expected one entry for each part, found {part} twice")));
            }
            rest = others;
        }
        let layers = found.remove("layers");
        let single = |part| {
            found.get(part).filter(|factors| factors.len() == 1)?;
            found.remove(part).map(|factors| factors[0])
        };
        let [weights, biases, embeddings, scale] = ["weights", "biases", "embeddings", "scale"].map(single);
        let factors = Self { weights, biases, embeddings, scale, layers };
        if !rest.is_empty() || !found.is_empty() || factors == Self::default() {
            let expected = "weights, biases, embeddings or scale with a number, or layers with numbers";
            return Err(Error::Config(format!(
                "expected {expected}, such as biases=0.5,layers=1,0.1, found {text:?}"
            )));
        }
        Ok(factors)
    }
}

/// Parses a value.
///
/// # Errors
/// A description of the expected value.
pub fn parse<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| match std::any::type_name::<T>() {
        "f32" | "f64" => format!("expected a number, found {text:?}"),
        "u64" | "usize" => format!("expected a whole number from 0 on, found {text:?}"),
        _ => error.to_string(),
    })
}

/// Parses a whole number of at least 1.
///
/// # Errors
/// A description of the expected value.
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a whole number, 1 or more".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// Parses a whole number within bounds.
///
/// # Errors
/// A description of the expected value.
pub fn within(text: &str, bounds: RangeInclusive<usize>) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| bounds.contains(number));
    number.ok_or_else(|| format!("expected a whole number from {} to {}", bounds.start(), bounds.end()))
}

/// Parses a number of threads.
///
/// # Errors
/// A description of the expected value.
pub fn threads(text: &str) -> Result<usize, String> {
    within(text, 1..=1024)
}

/// Parses a time, such as `60s`, `1h 5m` or a number of seconds.
///
/// # Errors
/// A description of the expected value.
pub fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let span =
        || text.parse::<Span>().ok()?.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?.try_into().ok();
    let duration = seconds.or_else(span);
    duration.filter(|time| !time.is_zero()).ok_or_else(|| "expected a time such as 60s, 5m or 1h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_the_names_of_their_parts() {
        let read = |text: &str| text.parse::<LrFactors>();
        let factors = LrFactors {
            biases: Some(0.5),
            scale: Some(6.0),
            layers: Some([1.0, 0.1, 3.0].into()),
            ..LrFactors::default()
        };
        assert_eq!(read("layers=1,0.1,3,scale=6, biases=0.5").unwrap(), factors);
        let text = "biases=0.5,scale=6,layers=1,0.1,3";
        assert_eq!((factors.to_string(), read(text).unwrap()), (text.to_owned(), factors));
        for text in
            ["", "0.5", "bias=1", "weights", "weights=1,2,biases=1", "weights=1,x=2", "layers=1,biases"]
        {
            assert!(read(text).is_err(), "{text}");
        }
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(error("scale=1,scale=2"), "expected one entry for each part, found scale twice");
        assert_eq!(error("scale=a"), "expected a number, found \"a\"; separate several by commas");
        assert!(error("bias=1").ends_with("such as biases=0.5,layers=1,0.1, found \"bias=1\""));
    }

    #[test]
    fn times_have_units_up_to_weeks() {
        for (text, seconds) in [
            ("90", 90.0),
            ("60s", 60.0),
            ("1h 5m", 3900.0),
            ("5min", 300.0),
            ("500ms", 0.5),
            ("2days", 172_800.0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "0s", "-5m", "x", "1month", "inf"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
