//! Some of the rows of a data set.

use super::Dataset;
use crate::data::encoding::targets::{Targets, TargetsRef};
use crate::random::{Purpose, words};

impl Dataset {
    /// So many of the rows, chosen by the seed, in their order; all of them where there are no more.
    #[must_use]
    pub fn sample(self, rows: usize, seed: u64) -> Self {
        if rows >= self.rows() {
            return self;
        }
        let key =
            |row: u32| u64::from(words(seed, Purpose::Sample, [row, 0])[0]) << u32::BITS | u64::from(row);
        let mut keyed: Vec<u64> = (0..self.rows() as u32).map(key).collect();
        keyed.select_nth_unstable(rows);
        let mut chosen: Vec<u32> = keyed[..rows].iter().map(|keyed| *keyed as u32).collect();
        chosen.sort_unstable();
        let numbers = || chosen.iter().map(|row| *row as usize);
        let targets = match self.targets.view() {
            TargetsRef::Classes(classes) => numbers().map(|row| classes[row]).collect::<Vec<u32>>().into(),
            TargetsRef::Values { columns, values } => {
                let values = numbers().flat_map(|row| values[row * columns..][..columns].iter().copied());
                Targets::Values { columns, values: values.collect() }
            }
        };
        Self {
            inputs: self.inputs,
            features: self.features.rows(self.inputs, &chosen),
            targets,
            weights: numbers().filter_map(|row| self.weights.get(row).copied()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dataset::Features;

    #[test]
    fn rows_are_chosen_with_all_that_is_theirs() {
        for (rows, wanted) in [(257, 63), (65, 1), (17, 17), (3, 5)] {
            let features = Features::Floats((0..3 * rows).map(|value| value as f32).collect());
            let targets = (0..rows as u32).collect::<Vec<u32>>().into();
            let weights = (0..rows).map(|row| row as f32).collect();
            let all = Dataset { inputs: 3, features, targets, weights };
            let chosen = all.clone().sample(wanted, 7);
            assert_eq!(chosen.rows(), wanted.min(rows));
            assert!(chosen.labels().is_sorted_by(|a, b| a < b));
            let Features::Floats(values) = &chosen.features else { panic!("they were floats") };
            for (place, row) in chosen.labels().iter().map(|row| *row as f32).enumerate() {
                assert_eq!(values[3 * place..][..3], [3.0 * row, 3.0 * row + 1.0, 3.0 * row + 2.0]);
                assert_eq!(chosen.weights[place], row);
            }
            assert_eq!(all.clone().sample(wanted, 7), chosen);
            assert!(wanted != 63 || all.sample(wanted, 8) != chosen);
        }
    }
}
