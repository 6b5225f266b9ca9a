//! How good predictions are, with intervals: what they would have been for other rows of the same kind.

use super::classified::Classified;
use super::value_errors::TargetErrors;
use crate::data::TargetsRef;
use crate::random::{Purpose, words};

/// Resamples of the bootstrap, and how many there are at least where rows are many.
const RESAMPLES: usize = 1000;
const LEAST_RESAMPLES: usize = 100;

/// Steps that all resamples may take together before there are fewer of them.
const STEPS: usize = 300_000_000;

/// The share of resamples on either side of an interval.
const TAIL: f64 = 0.025;

/// The 97.5th percentile of the normal distribution.
const Z: f64 = 1.959_963_985;

/// Measures of predicted classes and of predicted values.
const OF_CLASSES: [&str; 6] =
    ["accuracy", "balanced_accuracy", "macro_f1", "log_loss", "auc", "average_precision"];
const OF_VALUES: [&str; 3] = ["rmse", "mae", "r2"];

/// Those of classes that are 1 where all rows are right.
const SHARES: [&str; 5] = ["accuracy", "balanced_accuracy", "macro_f1", "auc", "average_precision"];

/// A measure of predictions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// What it is called in JSON.
    pub name: &'static str,
    /// Which target it is of, counted from 0; nothing for one of all together.
    pub target: Option<usize>,
    /// Over the rows.
    pub value: f64,
    /// 95 % interval. Of an accuracy, Wilson's (E. B. Wilson, "Probable inference, the law of succession, and statistical
    /// inference", 1927), also of other shares that are 0 or 1; else the 2.5th and the 97.5th percentile over resamples of the
    /// rows, drawn with replacement (B. Efron, "Bootstrap methods: another look at the jackknife", 1979).
    pub interval: [f64; 2],
}

/// Measures of predictions of rows with these targets from the outputs of a network, [rows, outputs] (of values: in the
/// units of the targets). Rows are weighted by `counts`.
///
/// Of classes: accuracy; balanced accuracy, the mean recall of the classes that have rows; F1, its mean over the classes that
/// have rows or are predicted (0 for one that is only predicted); log loss, the mean of -log of the probability of the right
/// class; AUC, the probability that a row of a class has a higher probability of it than a row of another, the mean over the
/// classes that have rows; average precision, the sum over the thresholds of a class's probability of precision times the increase of
/// recall, the mean over the classes that have rows (both NaN of more than 100 classes). Of values: RMSE, MAE and R2, of all targets
/// together as in [`ValueErrors`](super::ValueErrors), and of each where there are several.
pub fn measures(outputs: &[f32], targets: TargetsRef<'_>, counts: &[f64]) -> Vec<Measure> {
    match targets {
        TargetsRef::Classes(labels) => {
            let rows = Classified::new(outputs, labels);
            let names: Vec<_> = OF_CLASSES.iter().map(|name| (*name, None)).collect();
            with_intervals(rows.steps(), &names, counts, |counts| rows.measures(counts).to_vec())
        }
        TargetsRef::Values { columns, values } => {
            let of = |target| OF_VALUES.iter().map(move |name| (*name, target));
            let each = if columns > 1 { 0..columns } else { 0..0 };
            let names: Vec<_> = of(None).chain(each.clone().flat_map(|target| of(Some(target)))).collect();
            with_intervals(values.len(), &names, counts, |counts| {
                let errors = TargetErrors::from_outputs(outputs, values, columns, counts);
                let each =
                    errors[each.clone()].iter().flat_map(|target| [target.rmse, target.mae, target.r2]);
                TargetErrors::together(&errors).into_iter().chain(each).collect()
            })
        }
    }
}

/// The measures that `of` computes from rows weighted by the counts it is given.
fn with_intervals(
    steps: usize,
    names: &[(&'static str, Option<usize>)],
    weights: &[f64],
    of: impl Fn(&[f64]) -> Vec<f64>,
) -> Vec<Measure> {
    let (values, rows) = (of(weights), weights.len());
    let mut counts = vec![0.0; rows];
    let resamples = (STEPS / steps.max(1)).clamp(LEAST_RESAMPLES, RESAMPLES) as u32;
    let resamples: Vec<Vec<f64>> = (0..resamples)
        .map(|resample| {
            counts.fill(0.0);
            for draw in 0..rows.div_ceil(4) as u32 {
                for word in
                    words(0, Purpose::Bootstrap, [draw, resample]).iter().take(rows - 4 * draw as usize)
                {
                    let row = ((u64::from(*word) * rows as u64) >> 32) as usize;
                    counts[row] += weights[row];
                }
            }
            of(&counts)
        })
        .collect();
    let [sum, squares] = [1, 2].map(|power| weights.iter().map(|weight| weight.powi(power)).sum::<f64>());
    // Weighted rows are as certain as this number of rows of equal weights.
    let alike = sum * sum / squares;
    let measure = |(index, (name, target)): (usize, &(&'static str, Option<usize>))| {
        let mut found: Vec<f64> =
            resamples.iter().map(|values| values[index]).filter(|value| value.is_finite()).collect();
        found.sort_unstable_by(f64::total_cmp);
        let at = |rank: f64| found.get((rank * found.len() as f64) as usize).copied().unwrap_or(f64::NAN);
        let interval = match (*name, values[index]) {
            ("accuracy", share) => wilson(share, alike),
            // Resamples of rows that are all right, or all wrong, are all alike.
            (name, share @ (0.0 | 1.0)) if SHARES.contains(&name) => wilson(share, alike),
            _ => [at(TAIL), at(1.0 - TAIL)],
        };
        Measure { name, target: *target, value: values[index], interval }
    };
    names.iter().enumerate().map(measure).collect()
}

/// Wilson's interval of a share of `rows` rows, at 95 %.
fn wilson(share: f64, rows: f64) -> [f64; 2] {
    let z_squares = Z * Z / rows;
    let half = (Z * Z / rows * (share * (1.0 - share) + z_squares / 4.0)).sqrt();
    // Rounding may lead out of the shares.
    [-half, half].map(|half| ((share + z_squares / 2.0 + half) / (1.0 + z_squares)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(measures: &[Measure], expected: &[(&str, f64)]) {
        for (measure, (name, value)) in measures.iter().zip(expected) {
            assert_eq!(measure.name, *name);
            assert!((measure.value - value).abs() < 1e-7, "{name}: {} and not {value}", measure.value);
            let [low, high] = measure.interval;
            assert!(low <= measure.value && measure.value <= high, "{measure:?}");
        }
        assert_eq!(measures.len(), expected.len());
    }

    /// What scikit-learn says of the same: accuracy_score, balanced_accuracy_score, f1_score(average="macro"), log_loss,
    /// roc_auc_score(multi_class="ovr"), the mean of average_precision_score.
    #[test]
    fn measures_of_classes_are_those_of_scikit_learn() {
        let labels = [0, 0, 1, 1, 2, 2, 2, 1];
        #[rustfmt::skip]
        let logits = [
            2.0, 0.5, 0.0,
            0.0, 1.0, 0.0,
            0.2, 1.5, 0.1,
            1.0, 0.0, 0.0,
            0.0, 0.0, 3.0,
            0.0, 0.5, 0.5,
            -1.0, 0.0, 1.0,
            0.0, 2.0, -1.0,
        ];
        near(
            &measures(&logits, TargetsRef::Classes(&labels), &[1.0; 8]),
            &[
                ("accuracy", 0.625),
                ("balanced_accuracy", 0.611_111_111),
                ("macro_f1", 0.623_809_524),
                ("log_loss", 0.682_222_144),
                ("auc", 0.877_777_778),
                ("average_precision", 0.861_111_111),
            ],
        );
        let two = [0.0, 1.0, 0.0, -1.0, 0.0, 0.5, 0.0, 2.0, 0.0, 0.5];
        near(
            &measures(&two, TargetsRef::Classes(&[1, 0, 0, 1, 1]), &[1.0; 5]),
            &[
                ("accuracy", 0.8),
                ("balanced_accuracy", 0.75),
                ("macro_f1", 0.761_904_762),
                ("log_loss", 0.440_321_071),
                ("auc", 0.916_666_667),
                ("average_precision", 0.875),
            ],
        );
    }

    #[test]
    fn measures_of_values_are_those_of_scikit_learn() {
        let (outputs, values) = ([2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0]);
        near(
            &measures(&outputs, TargetsRef::Values { columns: 1, values: &values }, &[1.0; 4]),
            &[("rmse", 0.375f64.sqrt()), ("mae", 0.5), ("r2", 0.948_608_137)],
        );
        let (outputs, values) = ([0.0, 2.0, -1.0, 2.0, 8.0, -5.0], [0.5, 1.0, -1.0, 1.0, 7.0, -6.0]);
        near(
            &measures(&outputs, TargetsRef::Values { columns: 2, values: &values }, &[1.0; 3]),
            &[
                ("rmse", 0.708_333_333f64.sqrt()),
                ("mae", 0.75),
                ("r2", 0.936_800_529),
                // multioutput="raw_values"
                ("rmse", 0.416_666_667f64.sqrt()),
                ("mae", 0.5),
                ("r2", 0.965_437_788),
                ("rmse", 1.0),
                ("mae", 1.0),
                ("r2", 0.908_163_265),
            ],
        );
    }

    /// The accuracy of n rows has a deviation of sqrt(p (1 - p) / n): its 95 % are 1.96 times that to either side.
    #[test]
    fn intervals_are_as_wide_as_theory_says() {
        let rows = 2000;
        let labels: Vec<u32> = (0..rows).map(|row| u32::from(row % 5 == 0)).collect();
        let logits: Vec<f32> = (0..rows).flat_map(|_| [1.0, 0.0]).collect();
        let accuracy = measures(&logits, TargetsRef::Classes(&labels), &vec![1.0; rows as usize])[0];
        assert_eq!(accuracy.value, 0.8);
        let half = 1.96 * (0.8 * 0.2 / f64::from(rows)).sqrt();
        for (bound, expected) in accuracy.interval.iter().zip([0.8 - half, 0.8 + half]) {
            assert!((bound - expected).abs() < 0.05 * half, "{accuracy:?}, and not {expected}");
        }
        // Values of R's prop.test(correct = FALSE).
        for (share, rows, expected) in [
            (1.0, 69.0, [0.947_262, 1.0]),
            (0.0, 10.0, [0.0, 0.277_533]),
            (0.8, 50.0, [0.669_629, 0.887_562]),
        ] {
            let found = wilson(share, rows);
            assert!(
                found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 2e-6),
                "{found:?}, not {expected:?}"
            );
        }
    }
}
