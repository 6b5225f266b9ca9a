//! Divides rows into training, validation and test rows: of each class the same share, by seed.

use crate::random::{Purpose, words};

/// Which rows of a data set are left out of training.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Split {
    /// Share of the rows of each class that validate.
    pub validation: f64,
    /// Share of the rows of each class that test.
    pub test: f64,
    /// Decides which.
    pub seed: u64,
}

/// The numbers of the rows of each part, in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// Those that train.
    pub train: Vec<u32>,
    /// Those that validate.
    pub validation: Vec<u32>,
    /// Those that test.
    pub test: Vec<u32>,
}

impl Split {
    /// Whether all rows train.
    pub fn is_none(&self) -> bool {
        self.validation == 0.0 && self.test == 0.0
    }

    /// Divides rows with these labels. In each class the rows are taken in a random order; the first round(share x rows)
    /// of them test, the next validate, the others train: at least one, where the class has a row at all.
    pub fn parts(&self, labels: &[u32]) -> Parts {
        let mut rows: Vec<(u32, u32, u32)> = labels
            .iter()
            .zip(0..)
            .map(|(label, row)| (*label, words(self.seed, Purpose::Split, [row, 0])[0], row))
            .collect();
        rows.sort_unstable();
        let mut parts = Parts::default();
        for class in rows.chunk_by(|a, b| a.0 == b.0) {
            let count = |share: f64, most: usize| ((share * class.len() as f64).round() as usize).min(most);
            let test = count(self.test, class.len() - 1);
            let validation = count(self.validation, class.len() - 1 - test);
            let row = |(_, _, row): &(u32, u32, u32)| *row;
            parts.test.extend(class[..test].iter().map(row));
            parts.validation.extend(class[test..test + validation].iter().map(row));
            parts.train.extend(class[test + validation..].iter().map(row));
        }
        for part in [&mut parts.train, &mut parts.validation, &mut parts.test] {
            part.sort_unstable();
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_is_divided_alike_and_each_row_is_in_one_part() {
        let labels: Vec<u32> = (0..1000).map(|row| if row < 900 { 0 } else { 1 + row % 2 }).collect();
        let split = Split { validation: 0.1, test: 0.2, seed: 5 };
        let parts = split.parts(&labels);
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
        assert_eq!(split.parts(&labels), parts);
        assert_ne!(Split { seed: 6, ..split }.parts(&labels), parts);
        // The rows that test are spread over the file.
        assert!(parts.test.iter().filter(|row| **row < 450).count() > 60);
    }

    #[test]
    fn a_class_keeps_a_row_to_train() {
        let parts = Split { validation: 0.5, test: 0.5, seed: 1 }.parts(&[0, 0, 1, 2]);
        assert_eq!((parts.test.len(), parts.validation.len(), parts.train.len()), (1, 0, 3));
        assert_eq!(Split::default().parts(&[1, 0, 1]).train, [0, 1, 2]);
    }
}
