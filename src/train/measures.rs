//! Metrics of predictions with confidence intervals.

use super::classified::Classified;
use super::label_scores::{LabelledRows, means};
use super::value_errors::TargetErrors;
use crate::data::TargetsRef;
use crate::random::{Purpose, words};
use crate::step::{Levels, Loss};

/// Number of bootstrap resamples, and its minimum for many rows.
const RESAMPLES: usize = 1000;
const LEAST_RESAMPLES: usize = 100;

/// Limit of the operations of all resamples, above which their number is reduced.
const STEPS: usize = 300_000_000;

/// Share of resamples below, and above, an interval.
const TAIL: f64 = 0.025;

/// 97.5th percentile of the normal distribution.
const Z: f64 = 1.959_963_985;

/// Metrics of predicted classes and of predicted values.
const OF_CLASSES: [&str; 6] =
    ["accuracy", "balanced_accuracy", "macro_f1", "log_loss", "auc", "average_precision"];
const OF_VALUES: [&str; 3] = ["rmse", "mae", "r2"];
/// For each quantile: its loss, and the share of the rows whose value is at most the quantile.
const OF_QUANTILES: [&str; 2] = ["pinball_loss", "rows_below"];
/// Share of the rows of which all labels are right.
const EXACT_MATCH: &str = "exact_match";

/// Metrics of classes that are 1 for perfect predictions.
const SHARES: [&str; 7] =
    ["accuracy", "balanced_accuracy", "macro_f1", "auc", "average_precision", EXACT_MATCH, OF_QUANTILES[1]];

/// A metric of predictions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// Name in JSON.
    pub name: &'static str,
    /// Index of the target, from 0; `None` for all targets together.
    pub target: Option<usize>,
    /// Value over the rows.
    pub value: f64,
    /// 95 % interval. For an accuracy, and for other shares that are 0 or 1, Wilson's interval (E. B. Wilson,
    /// "Probable inference, the law of succession, and statistical inference", 1927); otherwise the 2.5th and
    /// the 97.5th percentile over resamples of the rows with replacement (B. Efron, "Bootstrap methods:
    /// another look at the jackknife", 1979).
    pub interval: [f64; 2],
}

/// Computes the metrics of predictions for rows with these targets from the outputs of a network with this loss, [rows,
/// outputs] (for values, in the units of the targets), and the predicted class of each row, if targets are classes. Rows
/// are weighted by `counts`.
///
/// Metrics of classes: accuracy; balanced accuracy, the mean recall of the classes that have rows; F1, the
/// mean over the classes that have rows or are predicted (0 for a class that is only predicted); log loss,
/// the mean of -log of the probability of the true class; AUC, the probability that a row of a class has a
/// higher probability of the class than a row of another, and average precision, the sum over the thresholds
/// of a class's probability of precision times the increase of recall, both the mean over the classes that
/// have rows, and NaN for more than 100 classes. Metrics of values: RMSE, MAE and R2, of all targets together
/// as in [`ValueErrors`](super::ValueErrors), and of each target if there are several. Metrics of labels of 0 or 1: the
/// metrics of classes for each label, with F1, AUC and average precision of label 1; their means over the labels for which they
/// are defined; and the share of the rows of which all labels are right. Metrics of quantiles: for each level the pinball
/// loss in the unit of the target, and the share of the rows whose value is at most the quantile; the mean of the losses,
/// if there are several; RMSE, MAE and R2 of the level nearest to 0.5.
pub fn measures(
    loss: Loss,
    outputs: &[f32],
    predictions: &[u32],
    targets: TargetsRef<'_>,
    counts: &[f64],
) -> Vec<Measure> {
    match targets {
        TargetsRef::Classes(labels) => {
            let rows = Classified::new(outputs, predictions, labels);
            let names: Vec<_> = OF_CLASSES.iter().map(|name| (*name, None)).collect();
            with_intervals(rows.steps(), &names, counts, |counts| rows.measures(counts).to_vec())
        }
        TargetsRef::Values { columns, values } if loss.of_labels() => {
            let rows = LabelledRows::new(outputs, values, columns);
            let classified = rows.classified();
            let each = if columns > 1 { &classified[..] } else { &[] };
            let of = |target| OF_CLASSES.iter().map(move |name| (*name, target));
            let names = of(None).chain([(EXACT_MATCH, None)]);
            let names: Vec<_> = names.chain((0..each.len()).flat_map(|target| of(Some(target)))).collect();
            let steps = classified.iter().map(Classified::steps).sum();
            with_intervals(steps, &names, counts, |counts| {
                let of_labels: Vec<[f64; 6]> = classified.iter().map(|rows| rows.measures(counts)).collect();
                let own = of_labels.iter().take(each.len()).flatten().copied();
                means(&of_labels).into_iter().chain([rows.exact_match(counts)]).chain(own).collect()
            })
        }
        TargetsRef::Values { columns, values } if let Some(levels) = loss.levels() => {
            let target = |level| (columns > 1).then_some(level);
            let middle = target(levels.middle());
            let each = (0..columns).flat_map(|level| OF_QUANTILES.map(|name| (name, target(level))));
            let all = (columns > 1).then_some((OF_QUANTILES[0], None));
            let names = all.into_iter().chain(OF_VALUES.map(|name| (name, middle))).chain(each);
            let names: Vec<_> = names.collect();
            with_intervals(values.len(), &names, counts, |counts| {
                let errors = TargetErrors::from_outputs(outputs, values, columns, counts)[levels.middle()];
                let mut found = quantile_measures(levels, outputs, values, counts);
                let mean = found.iter().step_by(2).sum::<f64>() / columns as f64;
                found.splice(0..0, [errors.rmse, errors.mae, errors.r2]);
                found.splice(0..0, all.map(|_| mean));
                found
            })
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

/// Returns for each level the pinball loss, and the share of the rows whose value is at most the quantile, weighted by
/// `counts`.
fn quantile_measures(levels: Levels, outputs: &[f32], values: &[f32], counts: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; 2 * levels.count()];
    let rows = outputs.chunks_exact(levels.count()).zip(values.chunks_exact(levels.count()));
    for ((outputs, values), count) in rows.zip(counts).filter(|(_, count)| **count > 0.0) {
        for (level, (output, value)) in outputs.iter().zip(values).enumerate() {
            let loss = Loss::Quantile(levels).term((*output).into(), (*value).into(), level);
            sums[2 * level] += count * loss;
            sums[2 * level + 1] += if value <= output { *count } else { 0.0 };
        }
    }
    let all = counts.iter().sum::<f64>();
    sums.into_iter().map(|sum| sum / all).collect()
}

/// Returns the metrics that `of` computes from rows with given weights, with intervals.
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
            // All resamples of rows that are all right, or all wrong, are identical.
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
    // Rounding may exceed the range of a share.
    [-half, half].map(|half| ((share + z_squares / 2.0 + half) / (1.0 + z_squares)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::classified::evaluation;

    /// The metrics of classes, each the most probable one.
    fn of_classes(logits: &[f32], labels: &[u32], counts: &[f64]) -> Vec<Measure> {
        let predictions = evaluation(logits, labels, counts).predictions;
        measures(Loss::CrossEntropy, logits, &predictions, TargetsRef::Classes(labels), counts)
    }

    fn near(measures: &[Measure], expected: &[(&str, f64)]) {
        for (measure, (name, value)) in measures.iter().zip(expected) {
            assert_eq!(measure.name, *name);
            assert!((measure.value - value).abs() < 1e-7, "{name}: {} and not {value}", measure.value);
            let [low, high] = measure.interval;
            assert!(low <= measure.value && measure.value <= high, "{measure:?}");
        }
        assert_eq!(measures.len(), expected.len());
    }

    /// Compares with scikit-learn's accuracy_score, balanced_accuracy_score, f1_score(average="macro"),
    /// log_loss, roc_auc_score(multi_class="ovr") and the mean of average_precision_score.
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
            &of_classes(&logits, &labels, &[1.0; 8]),
            &[
                ("accuracy", 0.625),
                ("balanced_accuracy", 0.611_111_111),
                ("macro_f1", 0.623_809_524),
                ("log_loss", 0.682_222_144),
                ("auc", 0.877_777_778),
                ("average_precision", 0.861_111_111),
            ],
        );
        let counts = [1.0, 2.0, 0.0, 1.0, 1.0, 0.5, 3.0, 1.0];
        let weighted = of_classes(&logits, &labels, &counts)[5];
        assert!((weighted.value - 0.803_703_704).abs() < 1e-8, "{weighted:?}");
        let two = [0.0, 1.0, 0.0, -1.0, 0.0, 0.5, 0.0, 2.0, 0.0, 0.5];
        near(
            &of_classes(&two, &[1, 0, 0, 1, 1], &[1.0; 5]),
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
            &measures(
                Loss::Mse,
                &outputs,
                &[],
                TargetsRef::Values { columns: 1, values: &values },
                &[1.0; 4],
            ),
            &[("rmse", 0.375f64.sqrt()), ("mae", 0.5), ("r2", 0.948_608_137)],
        );
        let (outputs, values) = ([0.0, 2.0, -1.0, 2.0, 8.0, -5.0], [0.5, 1.0, -1.0, 1.0, 7.0, -6.0]);
        near(
            &measures(
                Loss::Mse,
                &outputs,
                &[],
                TargetsRef::Values { columns: 2, values: &values },
                &[1.0; 3],
            ),
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

    /// The standard deviation of the accuracy of n rows is sqrt(p (1 - p) / n): the 95 % interval is 1.96
    /// times this value to either side.
    #[test]
    fn intervals_are_as_wide_as_theory_says() {
        let rows = 2000;
        let labels: Vec<u32> = (0..rows).map(|row| u32::from(row % 5 == 0)).collect();
        let logits: Vec<f32> = (0..rows).flat_map(|_| [1.0, 0.0]).collect();
        let accuracy = of_classes(&logits, &labels, &vec![1.0; rows as usize])[0];
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
