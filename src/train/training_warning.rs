//! Warnings about useless networks.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::{ValueErrors, class_figures, only_class};
use crate::data::Classes;

/// A sign that a trained network is not useful.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TrainingWarning {
    /// The network predicts one class for every row.
    OneClass {
        /// Name of the class.
        class: String,
        /// Name of the set of rows.
        #[serde(deserialize_with = "rows")]
        rows: RowsName,
    },
    /// The network is no better than always predicting the most frequent class.
    NoBetter {
        /// Name of the class.
        class: String,
        /// Share of the rows that are of this class.
        share: f64,
        /// Name of the set of rows.
        #[serde(deserialize_with = "rows")]
        rows: RowsName,
    },
    /// The predicted values are no better than the mean of all rows.
    NoBetterThanMean {
        /// Name of the set of rows.
        #[serde(deserialize_with = "rows")]
        rows: RowsName,
    },
}

/// `training`, `validation` or `test`.
type RowsName = &'static str;

/// Deserializes the name of a set of rows.
fn rows<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RowsName, D::Error> {
    let name = String::deserialize(deserializer)?;
    let known = ["training", "validation", "test"].into_iter().find(|known| *known == name);
    known.ok_or_else(|| serde::de::Error::custom("the rows have an unknown name"))
}

impl TrainingWarning {
    /// Returns the warning for predicted values, if any.
    pub(super) fn for_values(errors: &ValueErrors, rows: &'static str) -> Option<Self> {
        (errors.r2 <= 0.0).then_some(TrainingWarning::NoBetterThanMean { rows })
    }

    /// Returns the warning for these predictions of rows weighted by `counts`, if any.
    pub(crate) fn for_predictions(
        labels: &[u32],
        predictions: &[u32],
        counts: &[f64],
        classes: &Classes,
        rows: &'static str,
    ) -> Option<Self> {
        let figures = class_figures(labels, predictions, counts, classes.len());
        // Rows of one class allow no conclusion.
        let (most, figure) = (0..).zip(&figures).max_by(|(_, a), (_, b)| a.samples.total_cmp(&b.samples))?;
        let (count, all) = (figure.samples, counts.iter().sum::<f64>());
        if only_class(labels).is_some() || count == all {
            return None;
        }
        let first = *predictions.first()?;
        if predictions.iter().all(|prediction| *prediction == first) {
            return Some(TrainingWarning::OneClass { class: classes.name(first).to_owned(), rows });
        }
        let correct: f64 = figures.iter().map(|figures| figures.correct).sum();
        (correct <= count).then(|| TrainingWarning::NoBetter {
            class: classes.name(most).to_owned(),
            share: count / all,
            rows,
        })
    }
}

impl fmt::Display for TrainingWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrainingWarning::OneClass { class, rows } => {
                write!(f, "the network predicts {class:?} for all {rows} rows")
            }
            TrainingWarning::NoBetterThanMean { rows } => {
                write!(f, "the network predicts the {rows} rows no better than their mean does")
            }
            TrainingWarning::NoBetter { class, share, rows } => write!(
                f,
                "the network is no better than always predicting {class:?}, which is right for {:.2} % of the {rows} rows",
                share * 100.0
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_networks_that_beat_a_constant_are_trusted() {
        let warning = |labels: &[u32], predictions: &[u32]| {
            TrainingWarning::for_predictions(
                labels,
                predictions,
                &vec![1.0; labels.len()],
                &Classes::numbered(3),
                "test",
            )
        };
        let (class, rows) = ("1".to_owned(), "test");
        assert_eq!(
            warning(&[0, 1, 1, 2], &[1, 1, 1, 1]),
            Some(TrainingWarning::OneClass { class: class.clone(), rows })
        );
        assert_eq!(
            warning(&[0, 1, 1, 2], &[0, 0, 1, 0]),
            Some(TrainingWarning::NoBetter { class, share: 0.5, rows })
        );
        assert_eq!(warning(&[0, 1, 1, 2], &[0, 0, 1, 2]), None);
        assert_eq!(warning(&[1, 1], &[0, 0]), None);
        assert_eq!(warning(&[], &[]), None);
    }
}
