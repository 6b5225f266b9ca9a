//! Divides rows into folds: every row is a test row in one fold, and a training row in the others.

use super::{Fold, Part, Split, by_time, cuts};
use crate::data::dataset::rows;
use crate::random::{Purpose, words};

/// The keys by which rows are divided.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kinds<'a> {
    /// The class of each row: every fold has the same share of each class.
    Classes(&'a [u32]),
    /// The group of each row: rows of the same group stay together.
    Groups(&'a [u32]),
    /// The time of each row: test rows are later than training rows.
    Times(&'a [f64]),
}

impl Kinds<'_> {
    /// The maximum number of folds.
    pub(crate) fn most_folds(self) -> usize {
        match self {
            Kinds::Classes(classes) => by_class(classes, 1, 0).iter().flatten().count(),
            // Groups are numbered without gaps.
            Kinds::Groups(groups) => groups.iter().max().map_or(0, |greatest| *greatest as usize + 1),
            Kinds::Times(times) => different(times).saturating_sub(1),
        }
    }

    /// Passes the keys of some rows to `parts`.
    fn with_rows<T>(self, numbers: &[u32], parts: impl FnOnce(Kinds<'_>) -> T) -> T {
        match self {
            Kinds::Classes(classes) => parts(Kinds::Classes(&rows(classes, 1, numbers))),
            Kinds::Groups(groups) => parts(Kinds::Groups(&rows(groups, 1, numbers))),
            Kinds::Times(times) => parts(Kinds::Times(&rows(times, 1, numbers))),
        }
    }
}

impl Split {
    /// Divides rows: the fold's rows are test rows, if there is a fold, and the shares divide the remaining training
    /// rows.
    pub(crate) fn divided(&self, kinds: Kinds<'_>) -> Vec<Part> {
        let Some(fold) = self.fold else { return self.by_shares(kinds) };
        let mut part_of = fold.parts(kinds, self.seed);
        let train: Vec<u32> =
            (0..).zip(&part_of).filter(|(_, part)| **part == Part::Train).map(|(row, _)| row).collect();
        let rest = Split { test: 0.0, fold: None, ..*self };
        let parts = kinds.with_rows(&train, |kinds| rest.by_shares(kinds));
        train.iter().zip(parts).for_each(|(row, part)| part_of[*row as usize] = part);
        part_of
    }

    /// Divides rows by their classes so that copies stay together: rows with the same number in `copies`.
    pub(crate) fn divided_by_class(&self, classes: &[u32], copies: &[u32]) -> Vec<Part> {
        // The number of each row among the different rows, and the class of each different row.
        let mut places = vec![u32::MAX; copies.iter().max().map_or(0, |greatest| *greatest as usize + 1)];
        let mut firsts = Vec::new();
        for (class, copy) in classes.iter().zip(copies) {
            let place = &mut places[*copy as usize];
            if *place == u32::MAX {
                *place = firsts.len() as u32;
                firsts.push(*class);
            }
        }
        let parts = self.divided(Kinds::Classes(&firsts));
        copies.iter().map(|copy| parts[places[*copy as usize] as usize]).collect()
    }

    fn by_shares(&self, kinds: Kinds<'_>) -> Vec<Part> {
        match kinds {
            Kinds::Classes(classes) => self.parts(classes),
            Kinds::Groups(groups) => self.parts_of_groups(groups),
            Kinds::Times(times) => self.parts_by_time(times),
        }
    }
}

impl Fold {
    /// Divides rows into training and test rows.
    fn parts(self, kinds: Kinds<'_>, seed: u64) -> Vec<Part> {
        let fold_of = match kinds {
            Kinds::Classes(classes) => by_class(classes, self.count, seed),
            Kinds::Groups(groups) => by_group(groups, self.count, seed),
            Kinds::Times(times) => return self.by_time(times),
        };
        let is_own = |fold: Option<usize>| fold == Some(self.index);
        fold_of.into_iter().map(|fold| if is_own(fold) { Part::Test } else { Part::Train }).collect()
    }

    /// Divides time into count + 1 parts of equal size, except that rows of the same time stay together; part
    /// `index + 1` is the test part, and the earlier parts are the training part.
    fn by_time(self, times: &[f64]) -> Vec<Part> {
        let order = by_time(times);
        let wanted: Vec<usize> =
            (1..=self.count).map(|stretch| stretch * times.len() / (self.count + 1)).collect();
        // The number of folds never exceeds the number of positions of cuts.
        let ends = cuts(times, &order, &wanted).unwrap_or_default();
        let end = |stretch: usize| ends.get(stretch).copied().unwrap_or(times.len());
        let mut part_of = vec![Part::None; times.len()];
        order[..end(self.index + 1)].iter().for_each(|row| part_of[*row as usize] = Part::Test);
        order[..end(self.index)].iter().for_each(|row| part_of[*row as usize] = Part::Train);
        part_of
    }
}

/// The number of different times.
pub(crate) fn different(times: &[f64]) -> usize {
    let order = by_time(times);
    let ends = order.windows(2).filter(|pair| times[pair[0] as usize] != times[pair[1] as usize]);
    usize::from(!times.is_empty()) + ends.count()
}

/// The fold in which each row is a test row. The rows of a class are dealt to the folds in a random order, class by
/// class; a class of a single row always trains.
fn by_class(classes: &[u32], folds: usize, seed: u64) -> Vec<Option<usize>> {
    let key = |row: u32| words(seed, Purpose::Split, [row, 2])[0];
    let mut rows: Vec<(u32, u32, u32)> =
        classes.iter().zip(0..).map(|(class, row)| (*class, key(row), row)).collect();
    rows.sort_unstable();
    let mut fold_of = vec![None; classes.len()];
    let dealt = rows.chunk_by(|a, b| a.0 == b.0).filter(|class| class.len() > 1).flatten();
    dealt.zip((0..folds).cycle()).for_each(|((.., row), fold)| fold_of[*row as usize] = Some(fold));
    fold_of
}

/// The fold in which each row is a test row: each group, the largest first, joins the fold with the fewest rows so far;
/// the order of groups of the same size is random.
fn by_group(groups: &[u32], folds: usize, seed: u64) -> Vec<Option<usize>> {
    let mut sizes = vec![0usize; Kinds::Groups(groups).most_folds()];
    groups.iter().for_each(|group| sizes[*group as usize] += 1);
    let mut order: Vec<u32> = (0..sizes.len() as u32).collect();
    order.sort_by_key(|group| {
        (std::cmp::Reverse(sizes[*group as usize]), words(seed, Purpose::Split, [*group, 3])[0], *group)
    });
    let (mut taken, mut fold_of) = (vec![0; folds], vec![0; sizes.len()]);
    for group in order {
        let lightest = (0..folds).min_by_key(|fold| taken[*fold]).unwrap_or(0);
        fold_of[group as usize] = lightest;
        taken[lightest] += sizes[group as usize];
    }
    groups.iter().map(|group| Some(fold_of[*group as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::splitting::Parts;

    fn all(kinds: Kinds<'_>, count: usize, validation: f64, seed: u64) -> Vec<Parts> {
        let split = |index| Split { validation, test: 0.0, seed, fold: Some(Fold { index, count }) };
        (0..count).map(|index| split(index).divided(kinds).into()).collect()
    }

    /// Each row tests once, and the parts of a fold are all rows.
    fn check(parts: &[Parts], rows: usize) {
        let mut tested: Vec<u32> = parts.iter().flat_map(|parts| parts.test.clone()).collect();
        tested.sort_unstable();
        assert_eq!(tested, (0..rows as u32).collect::<Vec<u32>>());
        for Parts { train, validation, test } in parts {
            assert!([train, validation, test].iter().all(|rows| rows.is_sorted()));
            let mut all = [&train[..], validation, test].concat();
            all.sort_unstable();
            assert_eq!(all, (0..rows as u32).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn each_row_tests_once_and_classes_are_spread() {
        let classes: Vec<u32> = (0..257).map(|row| if row < 200 { 0 } else { 1 + row % 2 }).collect();
        for (count, seed) in [(2, 1), (3, 1), (5, 7), (17, 7), (257, 7)] {
            let parts = all(Kinds::Classes(&classes), count, 0.25, seed);
            check(&parts, 257);
            assert_eq!(parts, all(Kinds::Classes(&classes), count, 0.25, seed));
            for class in 0..3 {
                let of = |rows: &[u32]| rows.iter().filter(|row| classes[**row as usize] == class).count();
                let tested: Vec<usize> = parts.iter().map(|parts| of(&parts.test)).collect();
                assert!(tested.iter().max().unwrap() - tested.iter().min().unwrap() <= 1, "{tested:?}");
                let first = &parts[0];
                let rest = of(&first.train) + of(&first.validation);
                assert_eq!(of(&first.validation), (0.25 * rest as f64).round() as usize);
            }
            let sizes = parts.iter().map(|parts| parts.test.len());
            assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
        }
        let [one, other] = [1, 2].map(|seed| all(Kinds::Classes(&classes), 5, 0.0, seed));
        assert_ne!(one, other);
        // A class of one row trains in every fold.
        let parts = all(Kinds::Classes(&[0, 0, 1, 0, 0]), 2, 0.0, 1);
        assert!(parts.iter().all(|parts| parts.train.contains(&2)));
    }

    #[test]
    fn groups_stay_together_in_folds_of_about_one_size() {
        let groups: Vec<u32> = (0..400).map(|row| row * 5 % 63).collect();
        let parts = all(Kinds::Groups(&groups), 5, 0.2, 3);
        check(&parts, 400);
        for Parts { train, validation, test } in &parts {
            let of = |rows: &[u32]| -> std::collections::BTreeSet<u32> {
                rows.iter().map(|row| groups[*row as usize]).collect()
            };
            let [train, validation] = [of(train), of(validation)];
            assert!(train.is_disjoint(&validation) && of(test).is_disjoint(&train) && !validation.is_empty());
            assert!(of(test).is_disjoint(&validation) && test.len().abs_diff(80) <= 7, "{}", test.len());
        }
    }

    #[test]
    fn copies_stay_together() {
        // Each row occurs one to three times; the copies of row 4 are not adjacent.
        let mut copies: Vec<u32> =
            (0..100).flat_map(|row| std::iter::repeat_n(row, 1 + row as usize % 3)).collect();
        copies.push(4);
        let classes: Vec<u32> = copies.iter().map(|copy| copy % 2).collect();
        for fold in [None, Some(Fold { index: 1, count: 4 })] {
            let split =
                Split { validation: 0.2, test: if fold.is_some() { 0.0 } else { 0.1 }, seed: 3, fold };
            let parts = Parts::from(split.divided_by_class(&classes, &copies));
            let mut all = [&parts.train[..], &parts.validation, &parts.test].concat();
            all.sort_unstable();
            assert_eq!(all, (0..copies.len() as u32).collect::<Vec<u32>>());
            let of = |rows: &[u32]| -> std::collections::BTreeSet<u32> {
                rows.iter().map(|row| copies[*row as usize]).collect()
            };
            let [train, validation, test] =
                [&parts.train, &parts.validation, &parts.test].map(|rows| of(rows));
            assert!(
                train.is_disjoint(&validation) && train.is_disjoint(&test) && test.is_disjoint(&validation)
            );
            // The same share of different rows of each class.
            for set in [&validation, &test] {
                let even = set.iter().filter(|copy| **copy % 2 == 0).count();
                assert!(even > 0 && even.abs_diff(set.len() - even) <= 1, "{even} of {}", set.len());
            }
        }
        let single: Vec<u32> = (0..100).collect();
        let split = Split { validation: 0.2, test: 0.1, seed: 3, fold: None };
        let classes: Vec<u32> = single.iter().map(|row| row % 3).collect();
        assert_eq!(split.divided_by_class(&classes, &single), split.parts(&classes));
    }

    #[test]
    fn later_rows_test() {
        let times: Vec<f64> = (0..65).map(|row| f64::from(row * 7 % 65)).collect();
        let parts = all(Kinds::Times(&times), 4, 0.25, 3);
        for (index, Parts { train, validation, test }) in (1..).zip(&parts) {
            let of = |rows: &[u32]| -> Vec<f64> {
                let mut times: Vec<f64> = rows.iter().map(|row| times[*row as usize]).collect();
                times.sort_by(f64::total_cmp);
                times
            };
            let numbers = |from: usize, to: usize| (from..to).map(|time| time as f64).collect::<Vec<f64>>();
            assert_eq!(of(test), numbers(13 * index, 13 * index + 13));
            let rest = 13 * index - (13.0 * index as f64 * 0.25).round() as usize;
            assert_eq!(of(train), numbers(0, rest));
            assert_eq!(of(validation), numbers(rest, 13 * index));
        }
    }
}
