//! Augmentation: images distorted at random in training, differently in every epoch, so that a network cannot memorise
//! them.
//!
//! P. Y. Simard, D. Steinkraus, J. C. Platt, "Best practices for convolutional neural networks applied to visual document
//! analysis", ICDAR 2003; D. C. Ciresan and others, "Deep, big, simple neural nets for handwritten digit recognition",
//! Neural Computation 2010; T. DeVries, G. W. Taylor, "Improved regularization of convolutional neural networks with
//! cutout", 2017.

mod distort;

pub use distort::{Distortion, ImageSize};
pub(crate) use distort::{Pixel, Work};

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::setting::demand;
use crate::error::{Error, Result};

/// Ranges of the random distortions of images. The default distorts nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Augment {
    /// Largest angle of a rotation, in degrees.
    pub rotate: f32,
    /// Largest angle of a shear, in degrees.
    pub shear: f32,
    /// Largest relative change of width and of height, each drawn separately.
    pub zoom: f32,
    /// Largest shift in each direction, in pixels.
    pub shift: f32,
    /// Whether half of the images are mirrored left to right.
    pub flip: bool,
    /// Elastic displacement, if any.
    pub elastic: Option<Elastic>,
    /// Side of a square of background at a random place, in pixels; 0 for none.
    pub cutout: u32,
}

/// Displacement of each pixel by a smooth random field: uniform noise from -1 to 1 per pixel and direction, smoothed by a
/// Gaussian, and multiplied by `alpha`.
///
/// The field is drawn on a lattice and interpolated by cubic B-splines of the Gaussian's variance; its mean square equals
/// the mean square of the smoothed noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Elastic {
    /// Factor of the smoothed noise, in pixels.
    pub alpha: f32,
    /// Standard deviation of the Gaussian, in pixels.
    pub sigma: f32,
}

impl Augment {
    /// Distortions that suit handwritten digits of 28 x 28 pixels.
    pub const DIGITS: Self = Self {
        rotate: 15.0,
        shear: 15.0,
        zoom: 0.15,
        shift: 1.5,
        flip: false,
        elastic: Some(Elastic { alpha: 24.0, sigma: 6.0 }),
        cutout: 0,
    };

    /// Returns whether nothing is distorted.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns these distortions with all ranges multiplied by `factor`; mirrored images and squares of background are
    /// left out.
    #[must_use]
    pub fn scaled(self, factor: f32) -> Self {
        Self {
            rotate: factor * self.rotate,
            shear: factor * self.shear,
            zoom: factor * self.zoom,
            shift: factor * self.shift,
            flip: false,
            elastic: self.elastic.map(|it| Elastic { alpha: factor * it.alpha, ..it }),
            cutout: 0,
        }
    }

    /// Checks that all ranges are possible.
    ///
    /// # Errors
    /// [`Error::Setting`] for the first that is not.
    pub fn validate(&self) -> Result<()> {
        let Self { rotate, shear, zoom, shift, elastic, .. } = *self;
        let range = |fits: bool, expected: &str, found: f32| demand(fits, "augment", expected, found);
        range((0.0..=180.0).contains(&rotate), "a rotation from 0 to 180 degrees", rotate)?;
        range((0.0..=60.0).contains(&shear), "a shear from 0 to 60 degrees", shear)?;
        range((0.0..=0.9).contains(&zoom), "a zoom from 0 to 0.9", zoom)?;
        range((0.0..=1e4).contains(&shift), "a shift from 0 to 10000 pixels", shift)?;
        if let Some(Elastic { alpha, sigma }) = elastic {
            range((0.0..=1e4).contains(&alpha), "an elastic displacement from 0 to 10000", alpha)?;
            range((1.0..=1e4).contains(&sigma), "an elastic smoothing from 1 to 10000 pixels", sigma)?;
        }
        Ok(())
    }
}

impl fmt::Display for Augment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rotate, shear, zoom, shift, flip, elastic, cutout } = *self;
        let numbers = [("rotate", rotate), ("shear", shear), ("zoom", zoom), ("shift", shift)];
        let numbers = numbers.into_iter().filter(|(_, range)| *range != 0.0);
        let mut items: Vec<String> = numbers.map(|(name, range)| format!("{name}={range}")).collect();
        items.extend(elastic.map(|Elastic { alpha, sigma }| format!("elastic={alpha}:{sigma}")));
        items.extend(flip.then(|| "flip".to_owned()));
        items.extend((cutout > 0).then(|| format!("cutout={cutout}")));
        f.write_str(&if items.is_empty() { "none".to_owned() } else { items.join(",") })
    }
}

impl FromStr for Augment {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        fn number<T: FromStr>(name: &str, text: &str) -> Result<T> {
            let wrong = |_| Error::Config(format!("expected a number for {name}, found {text:?}"));
            text.parse().map_err(wrong)
        }
        let (mut all, mut seen) = (Self::default(), Vec::new());
        for item in text.split(',').map(str::trim).filter(|_| text != "none") {
            let name = item.split_once('=').map_or(item, |(name, _)| name);
            if seen.contains(&name) {
                return Err(Error::Config(format!("expected each distortion once, found {name} twice")));
            }
            seen.push(name);
            match item.split_once('=') {
                None if item == "digits" => all = Self::DIGITS,
                None if item == "flip" => all.flip = true,
                Some(("rotate", range)) => all.rotate = number("rotate", range)?,
                Some(("shear", range)) => all.shear = number("shear", range)?,
                Some(("zoom", range)) => all.zoom = number("zoom", range)?,
                Some(("shift", range)) => all.shift = number("shift", range)?,
                Some(("cutout", side)) => all.cutout = number("cutout", side)?,
                Some(("elastic", both)) => {
                    let (alpha, sigma) = both.split_once(':').unwrap_or((both, ""));
                    let (alpha, sigma) = (number("elastic", alpha)?, number("elastic=ALPHA:SIGMA", sigma)?);
                    all.elastic = Some(Elastic { alpha, sigma });
                }
                _ => {
                    let expected = "none, digits, or some of rotate=DEGREES, shear=DEGREES, zoom=SHARE, \
                                    shift=PIXELS, elastic=ALPHA:SIGMA, flip and cutout=PIXELS";
                    return Err(Error::Config(format!("expected {expected}, found {item:?}")));
                }
            }
        }
        all.validate()?;
        Ok(all)
    }
}

impl Serialize for Augment {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_back() {
        for text in ["none", "rotate=15", "zoom=0.1,elastic=36:6,flip,cutout=8", "shear=2.5,shift=0.25"] {
            assert_eq!(text.parse::<Augment>().unwrap().to_string(), text);
        }
        let digits = Augment::DIGITS;
        assert_eq!("digits".parse::<Augment>().unwrap(), digits);
        assert_eq!(digits.to_string().parse::<Augment>().unwrap(), digits);
        let own: Augment = "digits, rotate=5, flip".parse().unwrap();
        assert_eq!(own, Augment { rotate: 5.0, flip: true, ..digits });
    }

    #[test]
    fn wrong_texts_are_refused_with_their_reason() {
        for (text, part) in [
            ("", "expected none, digits, or some of rotate=DEGREES"),
            ("letters", "found \"letters\""),
            ("rotate", "found \"rotate\""),
            ("rotate=x", "expected a number for rotate, found \"x\""),
            ("rotate=-1", "a rotation from 0 to 180 degrees, found -1"),
            ("rotate=nan", "a rotation from 0 to 180 degrees"),
            ("zoom=1", "a zoom from 0 to 0.9"),
            ("elastic=36", "expected a number for elastic=ALPHA:SIGMA"),
            ("elastic=36:0.5", "an elastic smoothing from 1"),
            ("cutout=1.5", "expected a number for cutout"),
            ("rotate=5,rotate=9", "expected each distortion once, found rotate twice"),
            ("flip, zoom=0.1, flip", "expected each distortion once, found flip twice"),
        ] {
            let error = text.parse::<Augment>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
