//! Means, deviations and quantiles of a table's columns. NaN represents a missing value, which all of them ignore.

/// Mean and standard deviation (dividing by the number of values) of a column; the deviation is 0 if all values are
/// equal.
///
/// Two passes, in f64 (T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample variance", 1983).
pub(crate) fn moments(values: &[f32]) -> (f64, f64) {
    let present = || values.iter().filter(|value| !value.is_nan()).map(|value| f64::from(*value));
    let (sum, count) = present().fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    let count = f64::max(count, 1.0);
    let mean = sum / count;
    // The sum of the differences corrects the rounding error of the mean.
    let (sum, squares) = present().fold((0.0, 0.0), |(sum, squares), value| {
        let difference = value - mean;
        (sum + difference, squares + difference * difference)
    });
    let deviation = ((squares - sum * sum / count) / count).max(0.0).sqrt();
    // In a column of equal values, a deviation caused by rounding counts as 0.
    let is_one = deviation > 1e-12 * mean.abs() && deviation > f64::from(f32::MIN_POSITIVE);
    (mean, if is_one { deviation } else { 0.0 })
}

/// Whether values around a center are so far from 0 that 32-bit floats hardly distinguish values within a width; or
/// within 1 if the width is 0, because rounding may have made different values equal.
pub(crate) fn is_coarse(center: f64, width: f64) -> bool {
    // Half the distance between two neighbours.
    let rounding = center.abs() * f64::from(f32::EPSILON) / 2.0;
    rounding > 0.02 * if width > 0.0 { width } else { 1.0 }
}

/// Whether 32-bit floats may have rounded some of these values: false if all are whole numbers below 2^23, among which
/// fractions would be visible.
pub(crate) fn may_be_rounded(mut values: impl Iterator<Item = f32>) -> bool {
    const MOST: f32 = (1u32 << (f32::MANTISSA_DIGITS - 1)) as f32;
    values.any(|value| !value.is_nan() && (value.fract() != 0.0 || value.abs() >= MOST))
}

/// The quantile of values at a rank from 0 to 1, interpolated linearly (NumPy's default definition); `None` for no
/// values. Reorders the values.
pub(crate) fn quantile(values: &mut [f32], rank: f64) -> Option<f64> {
    let lower = (rank * values.len().checked_sub(1)? as f64) as usize;
    let (_, _, above) = values.select_nth_unstable_by(lower, f32::total_cmp);
    if !above.is_empty() {
        above.select_nth_unstable_by(0, f32::total_cmp);
    }
    quantile_of_sorted(values, rank)
}

/// As [`quantile`], for values of which at least the two neighbours of the rank are at their sorted positions.
pub(crate) fn quantile_of_sorted(values: &[f32], rank: f64) -> Option<f64> {
    let place = rank * values.len().checked_sub(1)? as f64;
    let lower = place.floor() as usize;
    let value = f64::from(values[lower]);
    let next = values.get(lower + 1).map_or(value, |next| f64::from(*next));
    let share = place - lower as f64;
    Some(if share == 0.0 { value } else { value + (next - value) * share })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy() {
        // np.quantile([7, 1, 5, 2], [0, 0.25, 0.5, 0.9, 1])
        for (rank, expected) in [(0.0, 1.0), (0.25, 1.75), (0.5, 3.5), (0.9, 6.4), (1.0, 7.0)] {
            let found = quantile(&mut [7.0, 1.0, 5.0, 2.0], rank).unwrap();
            assert!((found - expected).abs() < 1e-12, "{rank}: {found}");
            assert_eq!(quantile_of_sorted(&[1.0, 2.0, 5.0, 7.0], rank), Some(found));
        }
        assert_eq!(quantile(&mut [3.0], 0.3), Some(3.0));
        assert_eq!((quantile(&mut [], 0.5), quantile_of_sorted(&[], 0.5)), (None, None));
    }

    #[test]
    fn whole_numbers_that_floats_hold_are_not_rounded() {
        let rounded = |values: &[f32]| may_be_rounded(values.iter().copied());
        assert!(!rounded(&[400_000.0, 400_001.0, f32::NAN, -8_388_607.0]));
        assert!(rounded(&[400_000.0, 400_000.03]) && rounded(&[1.0, -8_388_608.0]));
    }

    #[test]
    fn missing_values_do_not_count() {
        let nan = f32::NAN;
        assert_eq!(moments(&[1.0, 3.0, nan]), (2.0, 1.0));
        assert_eq!(moments(&[nan, nan]), (0.0, 0.0));
        assert_eq!(moments(&[5.5, 5.5, nan, 5.5]), (5.5, 0.0));
        assert_eq!(moments(&[]), (0.0, 0.0));
    }

    #[test]
    fn moments_are_right_far_from_0() {
        let (mean, deviation) = moments(&(0..97u8).map(f32::from).collect::<Vec<_>>());
        assert!((mean - 48.0).abs() < 1e-12);
        assert!((deviation - ((97.0f64 * 97.0 - 1.0) / 12.0).sqrt()).abs() < 1e-12);
        let (_, great) = moments(&(0..97u8).map(|i| f32::from(i) * 1e30).collect::<Vec<_>>());
        assert!((great / 1e30 - deviation).abs() < 1e-6);
        let far: Vec<f32> = (0..97u8).map(|i| 1e6 + f32::from(i % 7)).collect();
        let (mean, deviation) = moments(&far);
        let exact: Vec<f64> = far.iter().map(|value| f64::from(*value) - 1e6).collect();
        let expected = exact.iter().sum::<f64>() / 97.0;
        assert!((mean - 1e6 - expected).abs() < 1e-8);
        let squares = exact.iter().map(|value| (value - expected).powi(2)).sum::<f64>() / 97.0;
        assert!((deviation - squares.sqrt()).abs() < 1e-9);
    }
}
