//! Levels of quantiles.

use std::fmt;

use crate::error::{Error, Result};

/// Most levels.
const MOST: usize = 16;
/// Levels are whole multiples of 1 / 10,000, so that they are equal exactly if their texts are.
const PARTS: f64 = 10_000.0;

/// Ascending levels of quantiles between 0 and 1, at most 16 with at most four decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Levels {
    count: usize,
    /// Ten-thousandths; 0 after `count`.
    parts: [u16; MOST],
}

impl Levels {
    /// 0.1, 0.5 and 0.9.
    pub const DEFAULT: Self =
        Self { count: 3, parts: [1000, 5000, 9000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] };

    /// Creates levels.
    ///
    /// # Errors
    /// [`Error::Setting`] for levels that are not ascending, not between 0 and 1, too many, or of more than four decimals.
    pub fn new(levels: &[f32]) -> Result<Self> {
        let rounded = |level: f32| (f64::from(level) * PARTS).round();
        let is_exact =
            |level: &f32| (rounded(*level) / PARTS) as f32 == *level && *level > 0.0 && *level < 1.0;
        let are_ascending = levels.windows(2).all(|pair| pair[0] < pair[1]);
        if levels.is_empty() || levels.len() > MOST || !levels.iter().all(is_exact) || !are_ascending {
            let expected = "up to 16 ascending numbers between 0 and 1, with at most four decimals";
            let found: Vec<String> = levels.iter().map(f32::to_string).collect();
            return Err(Error::setting("quantiles", expected, found.join(",")));
        }
        let mut parts = [0; MOST];
        parts.iter_mut().zip(levels).for_each(|(part, level)| *part = rounded(*level) as u16);
        Ok(Self { count: levels.len(), parts })
    }

    /// Returns the number of levels.
    pub fn count(self) -> usize {
        self.count
    }

    /// Returns the level of an output. More outputs than levels begin with the first level again.
    pub fn level(self, output: usize) -> f64 {
        f64::from(self.parts[output % self.count]) / PARTS
    }

    /// Sorts each row of outputs, so that quantiles do not cross (V. Chernozhukov, I. Fernández-Val, A. Galichon, "Quantile
    /// and probability curves without crossing", 2010).
    pub fn sort(self, outputs: &mut [f32]) {
        outputs.chunks_exact_mut(self.count).for_each(|row| row.sort_unstable_by(f32::total_cmp));
    }

    /// Returns the output whose level is nearest to 0.5.
    pub fn middle(self) -> usize {
        let distance = |output: &usize| self.parts[*output].abs_diff(5000);
        (0..self.count).min_by_key(distance).unwrap_or(0)
    }
}

impl fmt::Display for Levels {
    /// Separated by commas.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels: Vec<String> = (0..self.count).map(|output| self.level(output).to_string()).collect();
        f.write_str(&levels.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ascending_decimals_between_0_and_1() {
        let levels = Levels::new(&[0.025, 0.5, 0.975]).unwrap();
        assert_eq!(
            (levels.to_string(), levels.count(), levels.middle()),
            ("0.025,0.5,0.975".to_owned(), 3, 1)
        );
        assert_eq!([0, 2, 4].map(|output| levels.level(output)), [0.025, 0.975, 0.5]);
        assert_eq!(Levels::new(&[0.1, 0.5, 0.9]).unwrap(), Levels::DEFAULT);
        assert_eq!(Levels::new(&[0.2, 0.4, 0.7]).unwrap().middle(), 1);
        for wrong in
            [&[][..], &[0.0], &[1.0], &[0.5, 0.5], &[0.9, 0.1], &[0.123_45], &[f32::NAN], &[0.001; 17]]
        {
            let error = Levels::new(wrong).unwrap_err();
            assert!(
                error.exit_code() == 2 && error.to_string().starts_with("quantiles: expected"),
                "{error}"
            );
        }
    }
}
