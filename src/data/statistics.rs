//! Means, deviations and quantiles of the columns of a table. NaN stands for a missing value, which none of them counts.

use super::dataset::Features;

/// A column of rows as they stand in a table.
#[derive(Clone, Copy)]
pub(super) struct Column<'a> {
    pub features: &'a Features,
    /// Columns of a row.
    pub width: usize,
    /// Which of them.
    pub column: usize,
}

impl<'a> Column<'a> {
    /// Its values, row after row.
    pub(super) fn values(self) -> impl ExactSizeIterator<Item = f32> + 'a {
        let rows = self.features.len() / self.width;
        (0..rows).map(move |row| {
            let place = row * self.width + self.column;
            match self.features {
                Features::Bytes(values) => values[place].into(),
                Features::Floats(values) => values[place],
            }
        })
    }
}

/// Mean and standard deviation (dividing by the number of values) of each column; the deviation is 0 where all values are
/// the same.
pub(super) struct Moments {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Moments {
    /// Of rows of `width` values. Two passes, in f64 (T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing
    /// the sample variance", 1983).
    pub(super) fn of(features: &Features, width: usize) -> Self {
        match features {
            Features::Bytes(values) => Self::of_values(values, width),
            Features::Floats(values) => Self::of_values(values, width),
        }
    }

    /// Mean and deviation of a column.
    pub(super) fn of_column(&self, column: usize) -> (f64, f64) {
        (self.mean[column], self.deviation[column])
    }

    fn of_values<T: Copy + Into<f64>>(values: &[T], width: usize) -> Self {
        let (mut mean, mut counts) = (vec![0.0; width], vec![0.0_f64; width]);
        for row in values.chunks_exact(width) {
            for ((sum, count), value) in mean.iter_mut().zip(&mut counts).zip(row) {
                let value: f64 = (*value).into();
                let is_there = !value.is_nan();
                *sum += if is_there { value } else { 0.0 };
                *count += f64::from(u8::from(is_there));
            }
        }
        counts.iter_mut().for_each(|count| *count = count.max(1.0));
        mean.iter_mut().zip(&counts).for_each(|(sum, count)| *sum /= count);
        // The sum of the differences themselves takes away what rounding has left of the mean.
        let mut sums = vec![(0.0, 0.0); width];
        for row in values.chunks_exact(width) {
            for (((sum, squares), mean), value) in sums.iter_mut().zip(&mean).zip(row) {
                let value: f64 = (*value).into();
                let difference = if value.is_nan() { 0.0 } else { value - mean };
                *sum += difference;
                *squares += difference * difference;
            }
        }
        let deviation = sums
            .iter()
            .zip(&mean)
            .zip(&counts)
            .map(|(((sum, squares), mean), count)| {
                let deviation = ((squares - sum * sum / count) / count).max(0.0).sqrt();
                // What is left of rounding in a column of equal values is no deviation.
                if deviation > 1e-12 * mean.abs() && deviation > f64::from(f32::MIN_POSITIVE) {
                    deviation
                } else {
                    0.0
                }
            })
            .collect();
        Self { mean, deviation }
    }
}

/// Whether values about a center are so far from 0 that 32-bit floats hardly tell apart what lies within a width.
pub(super) fn is_coarse(center: f64, width: f64) -> bool {
    // Half the distance between two neighbours.
    let rounding = center.abs() * f64::from(f32::EPSILON) / 2.0;
    rounding > 0.02 * if width > 0.0 { width } else { 1.0 }
}

/// The quantile of values at a rank from 0 to 1, between two of them interpolated (the definition that NumPy takes, too);
/// nothing of no values. Changes their order.
pub(super) fn quantile(values: &mut [f32], rank: f64) -> Option<f64> {
    let place = rank * values.len().checked_sub(1)? as f64;
    let lower = place.floor() as usize;
    let (_, value, above) = values.select_nth_unstable_by(lower, f32::total_cmp);
    let value = f64::from(*value);
    let next = above.iter().copied().min_by(f32::total_cmp).map_or(value, f64::from);
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
        }
        assert_eq!(quantile(&mut [3.0], 0.3), Some(3.0));
        assert_eq!(quantile(&mut [], 0.5), None);
    }

    #[test]
    fn missing_values_do_not_count() {
        let nan = f32::NAN;
        let features = Features::Floats(vec![1.0, nan, 5.5, 3.0, nan, 5.5, nan, nan, 5.5]);
        let moments = Moments::of(&features, 3);
        assert_eq!([0, 1, 2].map(|column| moments.of_column(column)), [(2.0, 1.0), (0.0, 0.0), (5.5, 0.0)]);
        let column = |column| Column { features: &features, width: 3, column };
        assert_eq!(column(2).values().collect::<Vec<_>>(), [5.5; 3]);
    }

    #[test]
    fn moments_are_right_far_from_0() {
        let rows: Vec<[f32; 3]> =
            (0..97u8).map(|i| [f32::from(i), 1e6 + f32::from(i % 7), f32::from(i) * 1e30]).collect();
        let moments = Moments::of(&Features::Floats(rows.concat()), 3);
        let (mean, deviation) = moments.of_column(0);
        assert!((mean - 48.0).abs() < 1e-12);
        assert!((deviation - ((97.0f64 * 97.0 - 1.0) / 12.0).sqrt()).abs() < 1e-12);
        let bytes = Moments::of(&Features::Bytes(vec![0, 10, 4, 20]), 2);
        assert_eq!([bytes.of_column(0), bytes.of_column(1)], [(2.0, 2.0), (15.0, 5.0)]);
        let (mean, deviation) = moments.of_column(1);
        let exact: Vec<f64> = rows.iter().map(|row| f64::from(row[1]) - 1e6).collect();
        let expected = exact.iter().sum::<f64>() / 97.0;
        assert!((mean - 1e6 - expected).abs() < 1e-8);
        let squares = exact.iter().map(|value| (value - expected).powi(2)).sum::<f64>() / 97.0;
        assert!((deviation - squares.sqrt()).abs() < 1e-9);
    }
}
