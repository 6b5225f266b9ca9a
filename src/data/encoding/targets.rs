//! The targets of rows.

use serde::{Deserialize, Serialize};

use super::statistics::{is_coarse, moments};

/// The targets of a data set's rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// One class per row, counted from 0.
    Classes(Vec<u32>),
    /// Numbers in row-major order.
    Values {
        /// Numbers per row.
        columns: usize,
        /// `[rows, columns]`
        values: Vec<f32>,
    },
}

/// Borrowed [`Targets`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TargetsRef<'a> {
    /// One class per row, counted from 0.
    Classes(&'a [u32]),
    /// Numbers in row-major order.
    Values {
        /// Numbers per row.
        columns: usize,
        /// `[rows, columns]`
        values: &'a [f32],
    },
}

impl From<Vec<u32>> for Targets {
    fn from(labels: Vec<u32>) -> Self {
        Targets::Classes(labels)
    }
}

impl Targets {
    /// Borrows the targets.
    pub fn view(&self) -> TargetsRef<'_> {
        match self {
            Targets::Classes(labels) => TargetsRef::Classes(labels),
            Targets::Values { columns, values } => TargetsRef::Values { columns: *columns, values },
        }
    }
}

impl<'a> TargetsRef<'a> {
    /// The classes; empty if targets are values.
    pub fn labels(self) -> &'a [u32] {
        match self {
            TargetsRef::Classes(labels) => labels,
            TargetsRef::Values { .. } => &[],
        }
    }
}

/// Returns each value `count` times.
pub(crate) fn repeated(values: &[f32], count: usize) -> Vec<f32> {
    values.iter().flat_map(|value| std::iter::repeat_n(*value, count)).collect()
}

/// The scaling of values to predict for training: (value - center) / width, with both per column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetScale {
    /// The mean of each column over the training rows.
    pub center: Vec<f64>,
    /// The standard deviation of each column; 1 if all values are equal.
    pub width: Vec<f64>,
}

impl TargetScale {
    /// Learns mean and standard deviation from values in row-major order.
    pub(crate) fn learn(values: &[f32], columns: usize) -> Self {
        let of_column = |column: usize| {
            let column = values.get(column..).unwrap_or_default().iter().step_by(columns);
            moments(&column.copied().collect::<Vec<f32>>())
        };
        let (center, width): (Vec<f64>, Vec<f64>) = (0..columns).map(of_column).unzip();
        Self {
            center,
            width: width.into_iter().map(|width| if width == 0.0 { 1.0 } else { width }).collect(),
        }
    }

    /// The columns whose values are so far from 0 that the 32-bit floats in which they are stored hardly distinguish
    /// them.
    pub(crate) fn coarse(&self) -> impl Iterator<Item = usize> {
        let scales = self.center.iter().zip(&self.width).zip(0..);
        scales.filter(|((center, width), _)| is_coarse(**center, **width)).map(|(_, column)| column)
    }

    /// Scales values for training.
    pub fn scaled(&self, values: &[f32]) -> Vec<f32> {
        self.each(values, |value, center, width| (value - center) / width)
    }

    /// Converts outputs of a network to values in the original scale.
    pub fn restored(&self, outputs: &[f32]) -> Vec<f32> {
        self.each(outputs, |output, center, width| output * width + center)
    }

    fn each(&self, values: &[f32], of: impl Fn(f64, f64, f64) -> f64) -> Vec<f32> {
        let scales = self.center.iter().zip(&self.width).cycle();
        values
            .iter()
            .zip(scales)
            .map(|(value, (center, width))| of((*value).into(), *center, *width) as f32)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled_values_have_mean_0_and_deviation_1_and_come_back() {
        let values = vec![1000.0, 5.0, 1010.0, 5.0, 1040.0, 5.0, 1030.0, 5.0];
        let scale = TargetScale::learn(&values, 2);
        assert_eq!((values.len(), &scale.center, scale.width[1]), (8, &vec![1020.0, 5.0], 1.0));
        assert!((scale.width[0] - 250.0f64.sqrt()).abs() < 1e-12);
        let scaled = scale.scaled(&values);
        let column: Vec<f64> = scaled.iter().step_by(2).map(|value| f64::from(*value)).collect();
        assert!(column.iter().sum::<f64>().abs() < 1e-6);
        assert!((column.iter().map(|value| value * value).sum::<f64>() - 4.0).abs() < 1e-6);
        assert!(scaled.iter().skip(1).step_by(2).all(|value| *value == 0.0));
        for (value, restored) in values.iter().zip(scale.restored(&scaled)) {
            assert!((value - restored).abs() <= 1e-6 * value, "{value} {restored}");
        }
    }
}
