//! How the values of a data set become the inputs of a network.

use std::fmt;
use std::str::FromStr;

use super::dataset::{Dataset, Features, Scaling};
use crate::{Error, Result};

/// What is to be done with the values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scale {
    /// Images are divided by 255, the columns of every other table are standardised.
    #[default]
    Auto,
    /// (value - mean) / standard deviation, both of the column over the training rows.
    Standard,
    /// The value itself.
    None,
    /// value / 255
    Bytes,
}

impl FromStr for Scale {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Scale::Auto),
            "standard" => Ok(Scale::Standard),
            "none" => Ok(Scale::None),
            "bytes" => Ok(Scale::Bytes),
            _ => {
                let expected = "auto, standard, none or bytes".to_owned();
                Err(Error::Setting { setting: "scale", expected, found: format!("{text:?}") })
            }
        }
    }
}

/// Mean and standard deviation of each input over the training rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Standard {
    /// Mean of each input.
    pub mean: Vec<f64>,
    /// Standard deviation (dividing by the number of rows) of each input; 1 where all values are the same.
    pub deviation: Vec<f64>,
}

/// How values become inputs: learnt on the training rows, kept in the model, applied to every other set.
#[derive(Debug, Clone, PartialEq)]
pub enum Transform {
    /// value / 255
    Bytes,
    /// The value itself.
    None,
    /// (value - mean) / deviation, computed in f64 and rounded once.
    Standard(Standard),
}

impl Transform {
    /// How values that have gone through `apply` become inputs where they are read.
    pub fn scaling(&self) -> Scaling {
        match self {
            Transform::Bytes => Scaling::Bytes,
            Transform::None | Transform::Standard(_) => Scaling::AsIs,
        }
    }

    /// The rows as network inputs: nothing is left to do where they are read but to divide bytes.
    ///
    /// # Errors
    /// [`Error::Config`] when memory does not hold them.
    pub fn rows(&self, mut rows: Dataset) -> Result<Dataset> {
        self.apply(&mut rows.features)?;
        if self.scaling() == Scaling::AsIs {
            rows.features.make_floats()?;
        } else if let Features::Floats(floats) = &mut rows.features {
            floats.iter_mut().for_each(|value| *value /= 255.0);
        }
        Ok(rows)
    }

    /// Does to the values of whole rows what is not done where they are read.
    pub(super) fn apply(&self, features: &mut Features) -> Result<()> {
        if let Transform::Standard(standard) = self {
            let width = standard.mean.len();
            let floats = features.make_floats()?;
            for row in floats.chunks_exact_mut(width) {
                for ((value, mean), deviation) in row.iter_mut().zip(&standard.mean).zip(&standard.deviation)
                {
                    *value = ((f64::from(*value) - mean) / deviation) as f32;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transform::Bytes => "1/255",
            Transform::None => "1",
            Transform::Standard(_) => "standard",
        })
    }
}

impl Standard {
    /// Of rows of `width` values. Two passes, in f64 (T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing
    /// the sample variance", 1983).
    pub(super) fn of(features: &Features, width: usize) -> Self {
        match features {
            Features::Bytes(values) => Self::of_values(values, width),
            Features::Floats(values) => Self::of_values(values, width),
        }
    }

    /// The first input whose values are so far from 0 that 32-bit floats, which the rows are read as, hardly tell them
    /// apart.
    pub(super) fn coarse(&self) -> Option<usize> {
        let is_coarse = |(mean, deviation): (&f64, &f64)| {
            // Half the distance between two neighbours.
            let rounding = mean.abs() * f64::from(f32::EPSILON) / 2.0;
            rounding > 0.02 * deviation
        };
        self.mean.iter().zip(&self.deviation).position(is_coarse)
    }

    fn of_values<T: Copy + Into<f64>>(values: &[T], width: usize) -> Self {
        let rows = (values.len() / width).max(1) as f64;
        let mut mean = vec![0.0; width];
        for row in values.chunks_exact(width) {
            mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += (*value).into());
        }
        mean.iter_mut().for_each(|sum| *sum /= rows);
        // The sum of the differences themselves takes away what rounding has left of the mean.
        let mut sums = vec![(0.0, 0.0); width];
        for row in values.chunks_exact(width) {
            for (((sum, squares), mean), value) in sums.iter_mut().zip(&mean).zip(row) {
                let difference: f64 = (*value).into() - mean;
                *sum += difference;
                *squares += difference * difference;
            }
        }
        let deviation = sums
            .iter()
            .zip(&mean)
            .map(|((sum, squares), mean)| {
                let deviation = ((squares - sum * sum / rows) / rows).max(0.0).sqrt();
                // What is left of rounding in a column of equal values is no deviation.
                if deviation > 1e-12 * mean.abs() && deviation > f64::from(f32::MIN_POSITIVE) {
                    deviation
                } else {
                    1.0
                }
            })
            .collect();
        Self { mean, deviation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_mean_0_and_deviation_1_behind_it() {
        let rows: Vec<[f32; 4]> =
            (0..97u8).map(|i| [f32::from(i), 1e6 + f32::from(i % 7), 5.5, f32::from(i) * 1e30]).collect();
        let mut features = Features::Floats(rows.concat());
        let standard = Standard::of(&features, 4);
        assert_eq!((standard.mean[2], standard.deviation[2]), (5.5, 1.0));
        assert!((standard.mean[0] - 48.0).abs() < 1e-12);
        assert!((standard.deviation[0] - ((97.0f64 * 97.0 - 1.0) / 12.0).sqrt()).abs() < 1e-12);
        Transform::Standard(standard).apply(&mut features).unwrap();
        let Features::Floats(values) = &features else { panic!("floats") };
        for column in [0, 1, 3] {
            let of = |power: i32| {
                values.chunks_exact(4).map(|row| f64::from(row[column]).powi(power)).sum::<f64>() / 97.0
            };
            assert!(of(1).abs() < 1e-6 && (of(2) - 1.0).abs() < 1e-6, "{column}: {} {}", of(1), of(2));
        }
        assert!(values.chunks_exact(4).all(|row| row[2] == 0.0));
    }

    #[test]
    fn values_far_from_0_are_found() {
        let of =
            |mean: f64, deviation: f64| Standard { mean: vec![0.0, mean], deviation: vec![1.0, deviation] };
        // Seconds since 1970 within minutes; years; a great constant.
        assert_eq!(of(1.7e9, 58.0).coarse(), Some(1));
        assert_eq!(of(1.7e9, 1e6).coarse(), None);
        assert_eq!(of(2000.0, 5.0).coarse(), None);
        assert_eq!(of(-3e8, 1.0).coarse(), Some(1));
    }

    #[test]
    fn bytes_are_standardised_as_the_numbers_that_they_are() {
        let mut bytes = Features::Bytes(vec![0, 10, 4, 20]);
        let mut floats = Features::Floats(vec![0.0, 10.0, 4.0, 20.0]);
        let standard = Standard::of(&bytes, 2);
        assert_eq!(standard, Standard { mean: vec![2.0, 15.0], deviation: vec![2.0, 5.0] });
        assert_eq!(standard, Standard::of(&floats, 2));
        let transform = Transform::Standard(standard);
        transform.apply(&mut bytes).unwrap();
        transform.apply(&mut floats).unwrap();
        assert_eq!(bytes, floats);
        assert_eq!(bytes, Features::Floats(vec![-1.0, -1.0, 1.0, 1.0]));
        assert_eq!((transform.scaling(), transform.to_string().as_str()), (Scaling::AsIs, "standard"));
    }
}
