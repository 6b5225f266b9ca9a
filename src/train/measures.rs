//! How good predictions are, with intervals: what they would have been for other rows of the same kind.

use crate::data::TargetsRef;
use crate::random::{Purpose, words};

/// Resamples of the bootstrap, and how many there are at least where rows are many.
const RESAMPLES: usize = 1000;
const LEAST_RESAMPLES: usize = 100;

/// Steps that all resamples may take together before there are fewer of them.
const STEPS: usize = 300_000_000;

/// The most classes of which the AUC is computed.
const MOST_CLASSES: usize = 100;

/// The share of resamples on either side of an interval.
const TAIL: f64 = 0.025;

/// A measure of predictions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// What it is called in JSON.
    pub name: &'static str,
    /// Over the rows.
    pub value: f64,
    /// The 2.5th and the 97.5th percentile of the measure over resamples of the rows, drawn with replacement (B. Efron,
    /// "Bootstrap methods: another look at the jackknife", 1979).
    pub interval: [f64; 2],
}

/// Measures of predictions of rows with these targets from the outputs of a network, [rows, outputs] (of values: in the
/// units of the targets).
///
/// Of classes: accuracy; balanced accuracy, the mean recall of the classes that occur; F1, its mean over the classes that
/// occur; log loss, the mean of -log of the probability of the right class; AUC, the probability that a row of a class has a
/// higher probability of it than a row of another, the mean over the classes that occur (NaN of more than 100 classes). Of values: RMSE, MAE and R2, the
/// mean over the outputs.
pub fn measures(outputs: &[f32], targets: TargetsRef<'_>) -> Vec<Measure> {
    match targets {
        TargetsRef::Classes(labels) => {
            let rows = Classified::new(outputs, labels);
            let steps = labels.len() * (1 + rows.ranked.len());
            with_intervals(
                steps,
                ["accuracy", "balanced_accuracy", "macro_f1", "log_loss", "auc"],
                labels.len(),
                |counts| rows.measures(counts),
            )
        }
        TargetsRef::Values { columns, values } => {
            with_intervals(values.len(), ["rmse", "mae", "r2"], values.len() / columns, |counts| {
                of_values(outputs, values, columns, counts)
            })
        }
    }
}

/// The measures that `of` computes in so many steps of rows, each of which counts as often as it is told.
fn with_intervals<const N: usize>(
    steps: usize,
    names: [&'static str; N],
    rows: usize,
    of: impl Fn(&[u32]) -> [f64; N],
) -> Vec<Measure> {
    let values = of(&vec![1; rows]);
    let mut counts = vec![0; rows];
    let resamples = (STEPS / steps.max(1)).clamp(LEAST_RESAMPLES, RESAMPLES) as u32;
    let resamples: Vec<[f64; N]> = (0..resamples)
        .map(|resample| {
            counts.fill(0);
            for draw in 0..rows.div_ceil(4) as u32 {
                for word in
                    words(0, Purpose::Bootstrap, [draw, resample]).iter().take(rows - 4 * draw as usize)
                {
                    counts[((u64::from(*word) * rows as u64) >> 32) as usize] += 1;
                }
            }
            of(&counts)
        })
        .collect();
    let measure = |(index, name): (usize, &'static str)| {
        let mut found: Vec<f64> =
            resamples.iter().map(|values| values[index]).filter(|value| value.is_finite()).collect();
        found.sort_unstable_by(f64::total_cmp);
        let at = |rank: f64| found.get((rank * found.len() as f64) as usize).copied().unwrap_or(f64::NAN);
        Measure { name, value: values[index], interval: [at(TAIL), at(1.0 - TAIL)] }
    };
    names.into_iter().enumerate().map(measure).collect()
}

/// Rows with classes, as far as it is the same for every resample.
struct Classified<'a> {
    labels: &'a [u32],
    predictions: Vec<u32>,
    losses: Vec<f64>,
    /// For each class, the rows in ascending order of its probability.
    ranked: Vec<Vec<u32>>,
    /// Logarithms of the probabilities, [rows, classes].
    scores: Vec<f64>,
    classes: usize,
}

impl<'a> Classified<'a> {
    fn new(logits: &[f32], labels: &'a [u32]) -> Self {
        let classes = logits.len() / labels.len().max(1);
        let (mut predictions, mut losses, mut scores) = (Vec::new(), Vec::new(), Vec::new());
        for (row, label) in logits.chunks_exact(classes.max(1)).zip(labels) {
            let best = (0..classes).fold(0, |best, class| if row[class] > row[best] { class } else { best });
            let sum: f64 = row.iter().map(|logit| (f64::from(*logit) - f64::from(row[best])).exp()).sum();
            let log_of = |class: usize| f64::from(row[class]) - f64::from(row[best]) - sum.ln();
            predictions.push(best as u32);
            losses.push(-log_of(*label as usize));
            scores.extend((0..classes).map(log_of));
        }
        let ranked = (0..if classes > MOST_CLASSES { 0 } else { classes })
            .map(|class| {
                let mut rows: Vec<u32> = (0..labels.len() as u32).collect();
                let score = |row: &u32| scores[*row as usize * classes + class];
                rows.sort_unstable_by(|a, b| score(a).total_cmp(&score(b)));
                rows
            })
            .collect();
        Self { labels, predictions, losses, ranked, scores, classes }
    }

    fn measures(&self, counts: &[u32]) -> [f64; 5] {
        // Rows of each class, rows taken for it, and both.
        let mut figures = vec![[0u64; 3]; self.classes];
        let (mut all, mut loss) = (0u64, 0.0);
        let rows = self.labels.iter().zip(&self.predictions).zip(&self.losses).zip(counts);
        for (((label, prediction), of_row), count) in rows {
            let count = u64::from(*count);
            figures[*label as usize][0] += count;
            figures[*prediction as usize][1] += count;
            figures[*label as usize][2] += if label == prediction { count } else { 0 };
            all += count;
            loss += if count > 0 { of_row * count as f64 } else { 0.0 };
        }
        let mean_of = |of: &dyn Fn([u64; 3]) -> f64| {
            let occurring: Vec<f64> =
                figures.iter().filter(|figures| figures[0] > 0).map(|figures| of(*figures)).collect();
            occurring.iter().sum::<f64>() / occurring.len() as f64
        };
        let correct: u64 = figures.iter().map(|figures| figures[2]).sum();
        let areas: Vec<f64> = (0..self.ranked.len()).filter_map(|class| self.area(class, counts)).collect();
        [
            correct as f64 / all as f64,
            mean_of(&|[samples, _, correct]| correct as f64 / samples as f64),
            mean_of(&|[samples, predicted, correct]| 2.0 * correct as f64 / (samples + predicted) as f64),
            loss / all as f64,
            areas.iter().sum::<f64>() / areas.len() as f64,
        ]
    }

    /// The share of pairs of a row of the class and another in which the first has the higher probability of the class;
    /// equal ones count half.
    fn area(&self, class: usize, counts: &[u32]) -> Option<f64> {
        let score = |row: u32| self.scores[row as usize * self.classes + class];
        let (mut below, mut inside, mut pairs) = (0u64, 0u64, 0.0);
        for equal in self.ranked[class].chunk_by(|a, b| score(*a) == score(*b)) {
            let (mut others, mut own) = (0u64, 0u64);
            for row in equal {
                let count = u64::from(counts[*row as usize]);
                if self.labels[*row as usize] as usize == class { own += count } else { others += count }
            }
            pairs += own as f64 * (below as f64 + 0.5 * others as f64);
            below += others;
            inside += own;
        }
        (below > 0 && inside > 0).then(|| pairs / (below as f64 * inside as f64))
    }
}

fn of_values(outputs: &[f32], values: &[f32], columns: usize, counts: &[u32]) -> [f64; 3] {
    let (mut squared, mut absolute, mut all) = (vec![0.0; columns], 0.0, 0.0);
    let (mut sums, mut squares) = (vec![0.0; columns], vec![0.0; columns]);
    // Near the values, so that their squares do not cancel.
    let near: Vec<f64> = values.iter().take(columns).map(|value| f64::from(*value)).collect();
    let rows = outputs.chunks_exact(columns).zip(values.chunks_exact(columns)).zip(counts);
    for ((outputs, values), count) in rows.filter(|(_, count)| **count > 0) {
        let count = f64::from(*count);
        all += count;
        for column in 0..columns {
            let value = f64::from(values[column]);
            let error = f64::from(outputs[column]) - value;
            squared[column] += count * error * error;
            absolute += count * error.abs();
            sums[column] += count * (value - near[column]);
            squares[column] += count * (value - near[column]).powi(2);
        }
    }
    let determination = |column: usize| {
        let spread = squares[column] - sums[column] * sums[column] / all;
        match squared[column] {
            errors if spread > 0.0 => 1.0 - errors / spread,
            errors => f64::from(u8::from(errors == 0.0)),
        }
    };
    let cells = all * columns as f64;
    [
        (squared.iter().sum::<f64>() / cells).sqrt(),
        absolute / cells,
        (0..columns).map(determination).sum::<f64>() / columns as f64,
    ]
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
    /// roc_auc_score(multi_class="ovr").
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
            &measures(&logits, TargetsRef::Classes(&labels)),
            &[
                ("accuracy", 0.625),
                ("balanced_accuracy", 0.611_111_111),
                ("macro_f1", 0.623_809_524),
                ("log_loss", 0.682_222_144),
                ("auc", 0.877_777_778),
            ],
        );
        let two = [0.0, 1.0, 0.0, -1.0, 0.0, 0.5, 0.0, 2.0, 0.0, 0.5];
        near(
            &measures(&two, TargetsRef::Classes(&[1, 0, 0, 1, 1])),
            &[
                ("accuracy", 0.8),
                ("balanced_accuracy", 0.75),
                ("macro_f1", 0.761_904_762),
                ("log_loss", 0.440_321_071),
                ("auc", 0.916_666_667),
            ],
        );
    }

    #[test]
    fn measures_of_values_are_those_of_scikit_learn() {
        let (outputs, values) = ([2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0]);
        near(
            &measures(&outputs, TargetsRef::Values { columns: 1, values: &values }),
            &[("rmse", 0.375f64.sqrt()), ("mae", 0.5), ("r2", 0.948_608_137)],
        );
        let (outputs, values) = ([0.0, 2.0, -1.0, 2.0, 8.0, -5.0], [0.5, 1.0, -1.0, 1.0, 7.0, -6.0]);
        near(
            &measures(&outputs, TargetsRef::Values { columns: 2, values: &values }),
            &[("rmse", 0.708_333_333f64.sqrt()), ("mae", 0.75), ("r2", 0.936_800_529)],
        );
    }

    /// The accuracy of n rows has a deviation of sqrt(p (1 - p) / n): its 95 % are 1.96 times that to either side.
    #[test]
    fn intervals_are_as_wide_as_theory_says() {
        let rows = 2000;
        let labels: Vec<u32> = (0..rows).map(|row| u32::from(row % 5 == 0)).collect();
        let logits: Vec<f32> = (0..rows).flat_map(|_| [1.0, 0.0]).collect();
        let accuracy = measures(&logits, TargetsRef::Classes(&labels))[0];
        assert_eq!(accuracy.value, 0.8);
        let half = 1.96 * (0.8 * 0.2 / f64::from(rows)).sqrt();
        for (bound, expected) in accuracy.interval.iter().zip([0.8 - half, 0.8 + half]) {
            assert!((bound - expected).abs() < 0.2 * half, "{accuracy:?}, and not {expected}");
        }
    }
}
