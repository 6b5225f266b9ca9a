//! Divides rows into training, validation and test rows: the same share of each class, at random by a seed.

pub(crate) mod folds;

use serde::Serialize;

use crate::random::{Purpose, words};

/// The division of a data set into training, validation and test rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Split {
    /// Share of validation rows in each class.
    #[serde(rename = "validation_fraction")]
    pub validation: f64,
    /// Share of test rows in each class.
    #[serde(rename = "test_fraction")]
    pub test: f64,
    /// The seed of the random order.
    #[serde(skip)]
    pub seed: u64,
    /// The fold whose rows are the test rows, instead of a share; validation rows are a share of the other rows.
    pub fold: Option<Fold>,
}

/// One of the parts of a cross-validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Fold {
    /// The number of the fold, from 0.
    pub index: usize,
    /// The number of folds.
    pub count: usize,
}

/// The indices of the rows of each part, in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// Training rows.
    pub train: Vec<u32>,
    /// Validation rows.
    pub validation: Vec<u32>,
    /// Test rows.
    pub test: Vec<u32>,
}

impl Split {
    /// Whether all rows are training rows.
    pub fn is_none(&self) -> bool {
        self.validation == 0.0 && self.test == 0.0 && self.fold.is_none()
    }

    /// Divides rows with these labels. In each class the rows are taken in a random order; the first round(share x
    /// rows) are test rows, the next validation rows, the others training rows: at least one, if the class has any row.
    pub fn parts(&self, labels: &[u32]) -> Vec<Part> {
        let mut rows: Vec<(u32, u32, u32)> = labels
            .iter()
            .zip(0..)
            .map(|(label, row)| (*label, words(self.seed, Purpose::Split, [row, 0])[0], row))
            .collect();
        rows.sort_unstable();
        let mut part_of = vec![Part::Train; labels.len()];
        for class in rows.chunk_by(|a, b| a.0 == b.0) {
            let count = |share: f64, most: usize| ((share * class.len() as f64).round() as usize).min(most);
            let test = count(self.test, class.len() - 1);
            let validation = count(self.validation, class.len() - 1 - test);
            class[..test + validation].iter().for_each(|(.., row)| part_of[*row as usize] = Part::Validation);
            class[..test].iter().for_each(|(.., row)| part_of[*row as usize] = Part::Test);
        }
        part_of
    }

    /// Divides rows so that each group stays together. Groups are taken in a random order; a group joins the test rows
    /// if that brings their number nearer to test x rows, or else the validation rows likewise; at least one group
    /// trains.
    pub fn parts_of_groups(&self, groups: &[u32]) -> Vec<Part> {
        let count = groups.iter().max().map_or(0, |greatest| *greatest as usize + 1);
        let mut sizes = vec![0usize; count];
        groups.iter().for_each(|group| sizes[*group as usize] += 1);
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_by_key(|group| (words(self.seed, Purpose::Split, [*group, 1])[0], *group));
        let rows = groups.len() as f64;
        let (mut part_of, mut taken) = (vec![Part::Train; count], [0usize; 2]);
        for group in order.into_iter().take(count.saturating_sub(1)) {
            let parts = [(Part::Test, self.test), (Part::Validation, self.validation)];
            let size = sizes[group as usize];
            // Only if the group brings the part nearer to its share.
            let is_nearer = |share: f64, taken: usize| {
                let off = |taken: usize| (taken as f64 - share * rows).abs();
                off(taken + size) < off(taken)
            };
            let next = parts.iter().zip(&mut taken).find(|((_, share), taken)| is_nearer(*share, **taken));
            if let Some(((part, _), taken)) = next {
                part_of[group as usize] = *part;
                *taken += size;
            }
        }
        groups.iter().map(|group| part_of[*group as usize]).collect()
    }

    /// Divides rows by time: about the last round(test x rows) are test rows, about the round(validation x rows) before
    /// them validation rows. Rows of the same time stay together: the parts are cut at the nearest positions between
    /// different times. With too few different times for the parts, all rows are training rows.
    pub fn parts_by_time(&self, times: &[f64]) -> Vec<Part> {
        let order = by_time(times);
        let count = |share: f64, most: usize| ((share * times.len() as f64).round() as usize).min(most);
        let test = count(self.test, times.len().saturating_sub(1));
        let validation = count(self.validation, times.len().saturating_sub(1 + test));
        let (test_from, validation_from) = (times.len() - test, times.len() - test - validation);
        let wanted = [(validation, validation_from, Part::Validation), (test, test_from, Part::Test)];
        let wanted: Vec<_> = wanted.into_iter().filter(|(count, ..)| *count > 0).collect();
        let places: Vec<usize> = wanted.iter().map(|(_, from, _)| *from).collect();
        let mut part_of = vec![Part::Train; times.len()];
        for (from, (.., part)) in cuts(times, &order, &places).unwrap_or_default().into_iter().zip(wanted) {
            order[from..].iter().for_each(|row| part_of[*row as usize] = part);
        }
        part_of
    }
}

/// The row indices in order of time.
pub(crate) fn by_time(times: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..times.len() as u32).collect();
    order.sort_by(|a, b| times[*a as usize].total_cmp(&times[*b as usize]));
    order
}

/// Distinct positions between rows of different times, in the given order, each the nearest to a wanted position that
/// leaves room for the later ones; `None` if there are too few. Wanted positions must ascend.
pub(crate) fn cuts(times: &[f64], order: &[u32], wanted: &[usize]) -> Option<Vec<usize>> {
    let time = |place: usize| times[order[place] as usize];
    let all: Vec<usize> = (1..order.len()).filter(|place| time(place - 1) != time(*place)).collect();
    let mut left = &all[..];
    let mut found = Vec::with_capacity(wanted.len());
    for (behind, wanted) in (0..wanted.len()).rev().zip(wanted) {
        let free = left.get(..left.len().checked_sub(behind)?)?;
        let nearest = (0..free.len()).min_by_key(|index| free[*index].abs_diff(*wanted))?;
        found.push(free[nearest]);
        left = &left[nearest + 1..];
    }
    Some(found)
}

/// The use of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A training row.
    Train,
    /// A validation row.
    Validation,
    /// A test row.
    Test,
    /// An unused row: its time is after the fold.
    None,
}

impl From<Vec<Part>> for Parts {
    fn from(part_of: Vec<Part>) -> Self {
        let mut parts = Self::default();
        for (row, part) in (0..).zip(part_of) {
            match part {
                Part::Train => parts.train.push(row),
                Part::Validation => parts.validation.push(row),
                Part::Test => parts.test.push(row),
                Part::None => {}
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_stay_together_and_the_last_rows_test() {
        let groups: Vec<u32> = (0..1000).map(|row| row * 7 % 50).collect();
        let split = Split { validation: 0.1, test: 0.2, seed: 5, fold: None };
        let parts = Parts::from(split.parts_of_groups(&groups));
        assert_eq!((parts.test.len(), parts.validation.len(), parts.train.len()), (200, 100, 700));
        let of = |rows: &[u32]| -> std::collections::BTreeSet<u32> {
            rows.iter().map(|row| groups[*row as usize]).collect()
        };
        let (train, validation, test) = (of(&parts.train), of(&parts.validation), of(&parts.test));
        assert!(train.is_disjoint(&validation) && train.is_disjoint(&test) && test.is_disjoint(&validation));
        assert_ne!(Parts::from(Split { seed: 6, ..split }.parts_of_groups(&groups)), parts);
        // A group that is far too large joins the training rows.
        let large: Vec<u32> = (0..100).map(|row| row.max(60)).map(|row| row - 60).collect();
        for seed in 0..20 {
            let parts = Split { validation: 0.0, test: 0.2, seed, fold: None }.parts_of_groups(&large);
            let parts = Parts::from(parts);
            assert_eq!(parts.test.len(), 20, "{seed}");
        }
        // One group cannot be divided, and two only by half.
        assert_eq!(Parts::from(split.parts_of_groups(&[0, 0, 0])).train, [0, 1, 2]);
        assert_eq!(Parts::from(split.parts_of_groups(&[0, 1, 0, 1])).train.len(), 4);
        let half = Split { validation: 0.0, test: 0.4, seed: 5, fold: None };
        assert_eq!(Parts::from(half.parts_of_groups(&[0, 1, 0, 1])).train.len(), 2);
        assert_eq!(split.parts_of_groups(&[]), []);

        let times: Vec<f64> = (0..1000).map(|row| f64::from(row * 7 % 1000) - 500.0).collect();
        let parts = Parts::from(split.parts_by_time(&times));
        assert_eq!((parts.test.len(), parts.validation.len(), parts.train.len()), (200, 100, 700));
        let least = |rows: &[u32]| rows.iter().map(|row| times[*row as usize]).fold(f64::INFINITY, f64::min);
        assert_eq!(
            (least(&parts.test), least(&parts.validation), least(&parts.train)),
            (300.0, 200.0, -500.0)
        );
        assert_eq!(split.parts_by_time(&[]), []);
    }

    #[test]
    fn rows_of_one_time_stay_together() {
        let split = Split { validation: 0.1, test: 0.2, seed: 5, fold: None };
        let parts = Parts::from(split.parts_by_time(&[3.0, 1.0, 3.0, 2.0, 3.0]));
        assert_eq!(
            (&parts.test[..], &parts.validation[..], &parts.train[..]),
            (&[0, 2, 4][..], &[3][..], &[1][..])
        );
        // Ten rows a day: the cuts move to the next midnight.
        let days: Vec<f64> = (0..100).map(|row| f64::from(row / 10)).collect();
        for (share, rows) in [(0.2, 20), (0.22, 20), (0.28, 30), (0.01, 10), (0.99, 90)] {
            let parts = Split { validation: 0.0, test: share, seed: 5, fold: None }.parts_by_time(&days);
            let parts = Parts::from(parts);
            assert_eq!(parts.test, (100 - rows..100).collect::<Vec<u32>>(), "{share}");
        }
        // Two times make two parts, one makes one: all rows train, which the reader refuses.
        for times in [[1.0, 1.0, 1.0, 2.0], [1.0; 4]] {
            let parts = Parts::from(Split { validation: 0.3, test: 0.3, ..split }.parts_by_time(&times));
            assert_eq!(parts.train, [0, 1, 2, 3]);
        }
        let parts = Split { validation: 0.0, test: 0.5, ..split }.parts_by_time(&[1.0, 0.0, -0.0]);
        assert_eq!(Parts::from(parts).test, [0]);
    }

    #[test]
    fn each_class_is_divided_alike_and_each_row_is_in_one_part() {
        let labels: Vec<u32> = (0..1000).map(|row| if row < 900 { 0 } else { 1 + row % 2 }).collect();
        let split = Split { validation: 0.1, test: 0.2, seed: 5, fold: None };
        let parts = Parts::from(split.parts(&labels));
        for (part, counts) in
            [(&parts.test, [180, 10, 10]), (&parts.validation, [90, 5, 5]), (&parts.train, [630, 35, 35])]
        {
            let count = |class: u32| part.iter().filter(|row| labels[**row as usize] == class).count();
            assert_eq!([count(0), count(1), count(2)], counts);
            assert!(part.is_sorted());
        }
        let mut all = [parts.train.clone(), parts.validation.clone(), parts.test.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<u32>>());
        assert_eq!(Parts::from(split.parts(&labels)), parts);
        assert_ne!(Parts::from(Split { seed: 6, ..split }.parts(&labels)), parts);
        // The test rows are spread over the file.
        assert!(parts.test.iter().filter(|row| **row < 450).count() > 60);
    }

    #[test]
    fn a_class_keeps_a_row_to_train() {
        let parts = Split { validation: 0.5, test: 0.5, seed: 1, fold: None }.parts(&[0, 0, 1, 2]);
        let parts = Parts::from(parts);
        assert_eq!((parts.test.len(), parts.validation.len(), parts.train.len()), (1, 0, 3));
        assert_eq!(Split::default().parts(&[1, 0, 1]), [Part::Train; 3]);
    }
}
