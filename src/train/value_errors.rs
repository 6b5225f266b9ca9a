//! How far predicted values are from those that rows have.

use crate::data::TargetScale;
use crate::step::{Loss, Target};

/// Measures of predicted values over some rows, computed in f64.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueErrors {
    /// Mean loss of a row.
    pub loss: f64,
    /// Square root of the mean of the squared errors.
    pub rmse: f64,
    /// Mean of the absolute errors.
    pub mae: f64,
    /// Coefficient of determination, the mean over the outputs of 1 - (squared errors) / (squared differences from the
    /// mean of the rows). An output whose rows are all the same counts 1 if it is predicted exactly, else 0.
    pub r2: f64,
}

impl ValueErrors {
    /// Of the outputs of a network against `values`, both [rows, columns]. Where the network learnt scaled values, the loss is
    /// that of these, and all else is measured in the units of the values.
    pub fn of(
        loss: Loss,
        outputs: &[f32],
        values: &[f32],
        columns: usize,
        scale: Option<&TargetScale>,
    ) -> Self {
        match scale {
            None => Self::unscaled(loss, outputs, values, columns),
            Some(scale) => {
                let scaled = Self::unscaled(loss, outputs, &scale.scaled(values), columns);
                let errors = Self::unscaled(loss, &scale.restored(outputs), values, columns);
                Self { loss: scaled.loss, ..errors }
            }
        }
    }

    fn unscaled(loss: Loss, outputs: &[f32], values: &[f32], columns: usize) -> Self {
        let rows = (values.len() / columns) as f64;
        let mut gradient = vec![0.0; columns];
        let pairs = outputs.chunks_exact(columns).zip(values.chunks_exact(columns));
        let sum: f64 = pairs.clone().map(|(y, t)| loss.row(y, Target::Values(t), 0.0, &mut gradient)).sum();
        let errors = || outputs.iter().zip(values).map(|(y, t)| f64::from(*y) - f64::from(*t));
        let squared = |column: usize| -> f64 {
            errors().skip(column).step_by(columns).map(|error| error * error).sum()
        };
        let determination = |column: usize| {
            let of_column = || values.iter().skip(column).step_by(columns).copied().map(f64::from);
            let mean = of_column().sum::<f64>() / rows;
            let spread: f64 = of_column().map(|value| (value - mean).powi(2)).sum();
            match (spread, squared(column)) {
                (0.0, errors) => f64::from(u8::from(errors == 0.0)),
                (spread, errors) => 1.0 - errors / spread,
            }
        };
        let all = values.len() as f64;
        Self {
            loss: sum / rows,
            rmse: ((0..columns).map(squared).sum::<f64>() / all).sqrt(),
            mae: errors().map(f64::abs).sum::<f64>() / all,
            r2: (0..columns).map(determination).sum::<f64>() / columns as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first example of scikit-learn's `r2_score`, `mean_absolute_error` and `mean_squared_error`, and one of two
    /// outputs.
    #[test]
    fn measures_are_the_published_ones() {
        let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-6, "{got}, want {want}");
        let of = |loss, outputs: &[f32], values: &[f32], columns| {
            ValueErrors::of(loss, outputs, values, columns, None)
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
        assert_eq!(of(Loss::Mse, &[1.0, 1.0], &[1.0, 1.0], 1).r2, 1.0);
        assert_eq!(of(Loss::Mse, &[1.0, 2.0], &[1.0, 1.0], 1).r2, 0.0);
        // The same values as a network learns them that are 3 + 2 y.
        let scale = TargetScale { center: vec![3.0], width: vec![2.0] };
        let scaled = scale.scaled(&[2.5, 0.0, 2.0, 8.0]);
        let same = ValueErrors::of(Loss::Mse, &scaled, &[3.0, -0.5, 2.0, 7.0], 1, Some(&scale));
        assert_eq!((same.rmse, same.mae, same.r2), (one.rmse, one.mae, one.r2));
        near(same.loss, 0.375 / 4.0);
    }
}
