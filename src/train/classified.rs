//! Metrics of predicted classes.

use super::class_figures::{ClassFigures, class_figures, mean_of};
use super::probabilities::{best, log_sum_exp};
use crate::engine::Evaluation;

/// Maximum number of classes for the AUC and the average precision.
const MOST_CLASSES: usize = 100;

/// Computes the mean loss and the predictions of rows with these labels, weighted by `counts`, from network
/// outputs, [rows, classes].
pub(super) fn evaluation(outputs: &[f32], labels: &[u32], counts: &[f64]) -> Evaluation {
    let rows = || outputs.chunks_exact(outputs.len() / labels.len().max(1));
    let losses = rows().zip(labels).map(|(row, label)| log_sum_exp(row) - f64::from(row[*label as usize]));
    let loss = weighted_sum(losses, counts) / counts.iter().sum::<f64>();
    Evaluation { loss, predictions: rows().map(|row| best(row) as u32).collect() }
}

/// Returns the sum of the values, weighted by `counts`. Values of rows with a count of 0 may be infinite.
pub(super) fn weighted_sum(of_rows: impl IntoIterator<Item = f64>, counts: &[f64]) -> f64 {
    of_rows
        .into_iter()
        .zip(counts)
        .filter(|(_, count)| **count > 0.0)
        .map(|(value, count)| value * count)
        .sum()
}

/// Returns the share of the rows, weighted by `counts`, whose prediction equals their label.
pub(super) fn accuracy(labels: &[u32], predictions: &[u32], counts: &[f64]) -> f64 {
    let correct = labels.iter().zip(predictions).map(|(label, prediction)| f64::from(label == prediction));
    weighted_sum(correct, counts) / counts.iter().sum::<f64>()
}

/// Returns the mean recall of the classes that have rows.
pub(super) fn balanced_accuracy(labels: &[u32], predictions: &[u32], counts: &[f64], classes: usize) -> f64 {
    mean_of(&class_figures(labels, predictions, counts, classes), ClassFigures::recall)
}

/// Returns the AUC of rows with these labels from network outputs, [rows, classes]; `None` for rows of one
/// class, and for more than 100 classes.
pub(super) fn auc(outputs: &[f32], labels: &[u32], counts: &[f64]) -> Option<f64> {
    Some(Classified::new(outputs, &[], labels).auc(counts)).filter(|auc| auc.is_finite())
}

/// Returns the rows in ascending order of their score of a class.
fn ranks(scores: &[f64], classes: usize, class: usize) -> Vec<u32> {
    // Integers sort fastest.
    let key = |score: f64| {
        let bits = score.to_bits() as i64;
        bits ^ (((bits >> 63) as u64) >> 1) as i64
    };
    let mut rows: Vec<(i64, u32)> =
        scores.iter().skip(class).step_by(classes).zip(0..).map(|(score, row)| (key(*score), row)).collect();
    rows.sort_unstable();
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Rows with classes, and values that all resamples share.
pub(super) struct Classified<'a> {
    labels: &'a [u32],
    predictions: &'a [u32],
    losses: Vec<f64>,
    /// For each class, the rows in ascending order of its probability.
    ranked: Vec<Vec<u32>>,
    /// Logarithms of the probabilities, [rows, classes].
    scores: Vec<f64>,
    classes: usize,
    /// First class that F1, AUC and average precision are means over.
    first: usize,
}

impl<'a> Classified<'a> {
    /// Prepares rows for metrics; `predictions` may be empty if no metric depends on the predicted classes.
    pub(super) fn new(logits: &[f32], predictions: &'a [u32], labels: &'a [u32]) -> Self {
        let classes = logits.len() / labels.len().max(1);
        let (mut losses, mut scores) = (Vec::new(), Vec::new());
        for (row, label) in logits.chunks_exact(classes.max(1)).zip(labels) {
            let log_sum = log_sum_exp(row);
            let log_of = |class: usize| f64::from(row[class]) - log_sum;
            losses.push(-log_of(*label as usize));
            scores.extend((0..classes).map(log_of));
        }
        let measured = if classes > MOST_CLASSES { 0 } else { classes };
        let ranked = (0..measured).map(|class| ranks(&scores, classes, class)).collect();
        Self { labels, predictions, losses, ranked, scores, classes, first: 0 }
    }

    /// Prepares rows with labels of 0 or 1, with F1, AUC and average precision of label 1.
    pub(super) fn of_label(logits: &[f32], predictions: &'a [u32], labels: &'a [u32]) -> Self {
        Self { first: 1, ..Self::new(logits, predictions, labels) }
    }

    /// Returns the number of operations of [`Self::measures`].
    pub(super) fn steps(&self) -> usize {
        self.labels.len() * (1 + self.ranked.len())
    }

    /// Returns accuracy, balanced accuracy, F1, log loss, AUC and average precision, with rows weighted by
    /// `counts`.
    pub(super) fn measures(&self, counts: &[f64]) -> [f64; 6] {
        let Self { labels, predictions, losses, classes, .. } = self;
        let figures = class_figures(labels, predictions, counts, *classes);
        [
            accuracy(labels, predictions, counts),
            mean_of(&figures, ClassFigures::recall),
            mean_of(&figures[self.first..], ClassFigures::f1),
            weighted_sum(losses.iter().copied(), counts) / counts.iter().sum::<f64>(),
            self.auc(counts),
            self.average_precision(counts),
        ]
    }

    /// Returns the mean of the areas of the classes that occur, as scikit-learn does.
    pub(super) fn auc(&self, counts: &[f64]) -> f64 {
        self.mean(|class| self.area(class, counts))
    }

    pub(super) fn average_precision(&self, counts: &[f64]) -> f64 {
        self.mean(|class| self.precision(class, counts))
    }

    /// Returns the mean over the classes for which `of` is defined; NaN if there are none.
    fn mean(&self, of: impl Fn(usize) -> Option<f64>) -> f64 {
        let found: Vec<f64> = (self.first..self.ranked.len()).filter_map(of).collect();
        found.iter().sum::<f64>() / found.len() as f64
    }

    /// Returns the average precision of a class: the sum over the thresholds of precision times the increase
    /// of recall. `None` without rows of the class, or of other classes.
    fn precision(&self, class: usize, counts: &[f64]) -> Option<f64> {
        let (mut inside, mut all, mut sum) = (0.0, 0.0, 0.0);
        for equal in self.ranked[class].chunk_by(|a, b| self.score(*a, class) == self.score(*b, class)).rev()
        {
            let own = self.count_of(class, equal, counts);
            (inside, all) = (inside + own[0], all + own[0] + own[1]);
            sum += if own[0] > 0.0 { own[0] * inside / all } else { 0.0 };
        }
        (inside > 0.0 && all > inside).then(|| sum / inside)
    }

    fn score(&self, row: u32, class: usize) -> f64 {
        self.scores[row as usize * self.classes + class]
    }

    /// Returns the counts of the rows of a class, and of the other rows.
    fn count_of(&self, class: usize, rows: &[u32], counts: &[f64]) -> [f64; 2] {
        let mut found = [0.0; 2];
        for row in rows.iter().map(|row| *row as usize) {
            found[usize::from(self.labels[row] as usize != class)] += counts[row];
        }
        found
    }

    /// Returns the share of pairs of a row of the class and a row of another in which the first has the
    /// higher probability of the class; ties count half.
    fn area(&self, class: usize, counts: &[f64]) -> Option<f64> {
        let (mut below, mut inside, mut pairs) = (0.0, 0.0, 0.0);
        for equal in self.ranked[class].chunk_by(|a, b| self.score(*a, class) == self.score(*b, class)) {
            let [own, others] = self.count_of(class, equal, counts);
            pairs += own * (below + 0.5 * others);
            below += others;
            inside += own;
        }
        (below > 0.0 && inside > 0.0).then(|| pairs / (below * inside))
    }
}
