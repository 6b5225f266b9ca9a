//! Errors of predicted values.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{classified::weighted_sum, exact};
use crate::data::TargetScale;
use crate::step::{Loss, Targets};

/// Metrics of predicted values over some rows, computed in f64. RMSE, MAE and R2 are means over all targets,
/// whatever their units; RMSE is the square root of the mean of the squares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueErrors {
    /// Mean loss of a row.
    #[serde(with = "exact")]
    pub loss: f64,
    /// Square root of the mean over the targets of the mean squared error.
    #[serde(with = "exact")]
    pub rmse: f64,
    /// Mean over the targets of the mean absolute error.
    #[serde(with = "exact")]
    pub mae: f64,
    /// Mean over the targets of the coefficient of determination.
    #[serde(with = "exact")]
    pub r2: f64,
    /// Errors of each target, in its unit, in the order of the outputs; of quantiles only those of the level nearest to 0.5.
    pub targets: Vec<TargetErrors>,
}

/// Metrics of the predicted values of one target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TargetErrors {
    /// Square root of the mean of the squared errors.
    #[serde(with = "exact")]
    pub rmse: f64,
    /// Mean of the absolute errors.
    #[serde(with = "exact")]
    pub mae: f64,
    /// Coefficient of determination: 1 - (squared errors) / (squared differences from the mean of the rows).
    /// If all rows are equal, 1 for exact predictions, else 0; NaN for a single row.
    #[serde(with = "exact")]
    pub r2: f64,
}

impl ValueErrors {
    /// Computes the errors of network outputs against `values`, both [rows, columns]. If the network was
    /// trained on scaled values, the loss is measured on these, and all other metrics in the units of the
    /// values. Rows are weighted by `counts`.
    pub fn from_outputs(
        loss: Loss,
        outputs: &[f32],
        values: &[f32],
        columns: usize,
        scale: Option<&TargetScale>,
        counts: &[f64],
    ) -> Self {
        let mut outputs = Cow::from(outputs);
        loss.levels().into_iter().for_each(|levels| levels.sort(outputs.to_mut()));
        let (own, own_values) = match scale {
            None => (outputs.clone(), Cow::from(values)),
            Some(scale) => (scale.restored(&outputs).into(), scale.scaled(values).into()),
        };
        let mut targets = TargetErrors::from_outputs(&own, values, columns, counts);
        if let Some(levels) = loss.levels() {
            targets = vec![targets[levels.middle()]];
        }
        Self::together(mean_loss(loss, &outputs, &own_values, columns, counts), targets)
    }

    fn together(loss: f64, targets: Vec<TargetErrors>) -> Self {
        let [rmse, mae, r2] = TargetErrors::together(&targets);
        Self { loss, rmse, mae, r2, targets }
    }
}

impl TargetErrors {
    /// Computes the errors of each column of outputs against `values`, both [rows, columns], weighted by
    /// `counts`.
    pub(super) fn from_outputs(outputs: &[f32], values: &[f32], columns: usize, counts: &[f64]) -> Vec<Self> {
        let mut sums = vec![Sums::default(); columns];
        // Subtracted from the values, so that the squares do not cancel.
        let near: Vec<f64> = values.iter().take(columns).map(|value| f64::from(*value)).collect();
        let rows = outputs.chunks_exact(columns).zip(values.chunks_exact(columns)).zip(counts);
        let is_single = counts.iter().filter(|count| **count > 0.0).count() < 2;
        for ((outputs, values), count) in rows.filter(|(_, count)| **count > 0.0) {
            for (((sums, near), output), value) in sums.iter_mut().zip(&near).zip(outputs).zip(values) {
                let value = f64::from(*value);
                let error = f64::from(*output) - value;
                sums.squared_errors += count * error * error;
                sums.errors += count * error.abs();
                sums.values += count * (value - near);
                sums.squares += count * (value - near).powi(2);
            }
        }
        let all = counts.iter().sum();
        sums.into_iter().map(|sums| sums.errors(all, is_single)).collect()
    }

    /// Returns RMSE, MAE and R2 of all targets together.
    pub(super) fn together(targets: &[Self]) -> [f64; 3] {
        let mean = |of: fn(&Self) -> f64| targets.iter().map(of).sum::<f64>() / targets.len() as f64;
        [mean(|target| target.rmse.powi(2)).sqrt(), mean(|target| target.mae), mean(|target| target.r2)]
    }
}

/// Sums over the rows of a target.
#[derive(Clone, Default)]
struct Sums {
    squared_errors: f64,
    /// Sum of absolute errors.
    errors: f64,
    /// Sum of differences from a value near all of them.
    values: f64,
    squares: f64,
}

impl Sums {
    /// Computes the metrics over rows of this total weight; `is_single` is whether there is only one row.
    fn errors(self, rows: f64, is_single: bool) -> TargetErrors {
        let spread = self.squares - self.values * self.values / rows;
        let r2 = match self.squared_errors {
            _ if is_single => f64::NAN,
            errors if spread > 0.0 => 1.0 - errors / spread,
            errors => f64::from(u8::from(errors == 0.0)),
        };
        TargetErrors { rmse: (self.squared_errors / rows).sqrt(), mae: self.errors / rows, r2 }
    }
}

fn mean_loss(loss: Loss, outputs: &[f32], values: &[f32], columns: usize, counts: &[f64]) -> f64 {
    let mut gradient = vec![0.0; columns];
    let pairs = outputs.chunks_exact(columns).zip(values.chunks_exact(columns));
    let losses = pairs.map(|(y, t)| loss.row(y, Targets::Values(t), 0.0, &mut gradient));
    weighted_sum(losses, counts) / counts.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the first example of scikit-learn's `r2_score`, `mean_absolute_error` and
    /// `mean_squared_error`, and an example with two outputs.
    #[test]
    fn measures_are_the_published_ones() {
        let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-6, "{got}, want {want}");
        let of = |loss, outputs: &[f32], values: &[f32], columns| {
            ValueErrors::from_outputs(
                loss,
                outputs,
                values,
                columns,
                None,
                &vec![1.0; values.len() / columns],
            )
        };
        let one = of(Loss::Mse, &[2.5, 0.0, 2.0, 8.0], &[3.0, -0.5, 2.0, 7.0], 1);
        near(one.loss, 0.375);
        near(one.rmse, 0.375f64.sqrt());
        near(one.mae, 0.5);
        near(one.r2, 0.948_608_137);
        let (outputs, values) = ([0.0, 2.0, -1.0, 2.0, 8.0, -5.0], [0.5, 1.0, -1.0, 1.0, 7.0, -6.0]);
        let two = of(Loss::Mae, &outputs, &values, 2);
        near(two.loss, 0.75);
        near(two.mae, 0.75);
        near(two.rmse, 0.708_333_333f64.sqrt());
        near(two.r2, 0.936_800_529);
        // multioutput="raw_values"
        for (target, [rmse, mae, r2]) in
            two.targets.iter().zip([[0.416_666_667f64.sqrt(), 0.5, 0.965_437_788], [1.0, 1.0, 0.908_163_265]])
        {
            near(target.rmse, rmse);
            near(target.mae, mae);
            near(target.r2, r2);
        }
        assert_eq!(of(Loss::Mse, &[1.0, 1.0], &[1.0, 1.0], 1).r2, 1.0);
        assert_eq!(of(Loss::Mse, &[1.0, 2.0], &[1.0, 1.0], 1).r2, 0.0);
        // The same values, 3 + 2 y, for a network that learns y.
        let scale = TargetScale { center: vec![3.0], width: vec![2.0] };
        let scaled = scale.scaled(&[2.5, 0.0, 2.0, 8.0]);
        let same =
            ValueErrors::from_outputs(Loss::Mse, &scaled, &[3.0, -0.5, 2.0, 7.0], 1, Some(&scale), &[1.0; 4]);
        assert_eq!((same.rmse, same.mae, same.r2), (one.rmse, one.mae, one.r2));
        near(same.loss, 0.375 / 4.0);
    }

    #[test]
    fn a_single_row_has_no_coefficient_of_determination() {
        for (output, rmse) in [(1.0, 0.0), (3.0, 2.0)] {
            let one = ValueErrors::from_outputs(Loss::Mse, &[output], &[1.0], 1, None, &[1.0]);
            assert_eq!((one.rmse, one.mae), (rmse, rmse));
            assert!(one.r2.is_nan() && one.targets[0].r2.is_nan());
        }
    }
}
