//! Groups of inputs that are used or skipped together: four inputs that are zero in the same rows of a
//! sample.

use std::ops::Range;

use crate::data::{Features, Rows};
use crate::vectors::vectorized_loops;

/// Rows in the sample.
pub const SAMPLE_ROWS: usize = 256;

/// Inputs per group.
pub const QUAD: usize = 4;

/// Most inputs for which groups are learnt: the time grows with their square and is a hundredth of a second
/// for this number.
const MOST_INPUTS: usize = 1 << 12;

/// A bit for each of the first rows: whether an input is not zero in it.
type NonZeroRows = [u64; SAMPLE_ROWS / u64::BITS as usize];

/// Inputs in groups of four; the last group may have fewer. The first layer's weights are in the order of the
/// groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    /// Inputs of each group, padded with the number of inputs, which is not the index of an input.
    groups: Vec<[u32; QUAD]>,
    /// Position of each input in the concatenated groups.
    places: Vec<u32>,
    /// Work of all groups before each group, and of all groups.
    work: Vec<usize>,
}

impl Groups {
    /// Creates groups of four adjacent inputs.
    pub fn neighbours(inputs: usize) -> Self {
        let order: Vec<u32> = (0..inputs as u32).collect();
        Self::new(inputs, order.chunks(QUAD).map(|group| (group.to_vec(), 1)).collect())
    }

    /// Creates groups from the first rows. Each group begins with the ungrouped input that is most often not
    /// zero, and adds three more in sequence: each time the input with the most rows in common with the
    /// group, minus the rows that only the input has.
    pub fn from_rows(rows: &Rows<'_>) -> Self {
        if rows.inputs > MOST_INPUTS {
            return Self::neighbours(rows.inputs);
        }
        let columns = match rows.features {
            Features::Bytes(values) => columns(values, rows),
            Features::Floats(values) => columns(values, rows),
        };
        let count = |held: &NonZeroRows| held.iter().map(|word| word.count_ones()).sum::<u32>();
        let mut free: Vec<u32> = (0..rows.inputs as u32).collect();
        let mut groups = Vec::new();
        vectorized_loops!({
            free.sort_by_key(|input| std::cmp::Reverse(count(&columns[*input as usize])));
            while !free.is_empty() {
                let first = free.remove(0);
                let (mut group, mut held) = (vec![first], columns[first as usize]);
                while group.len() < QUAD && !free.is_empty() {
                    let gain = |input: u32| {
                        let column = &columns[input as usize];
                        let common = std::array::from_fn(|word| column[word] & held[word]);
                        (2 * count(&common)).wrapping_sub(count(column)) as i32
                    };
                    let (mut best, mut most) = (0, i32::MIN);
                    for (place, input) in free.iter().enumerate() {
                        let gain = gain(*input);
                        if gain > most {
                            (best, most) = (place, gain);
                        }
                    }
                    let input = free.remove(best);
                    held.iter_mut().zip(&columns[input as usize]).for_each(|(held, column)| *held |= column);
                    group.push(input);
                }
                group.sort_unstable();
                groups.push((group, 1 + count(&held) as usize));
            }
        });
        // In the order of the inputs, as far as possible; the incomplete group, created last, is at the end.
        groups.sort_by_key(|(group, _)| (group.len() < QUAD, group[0]));
        Self::new(rows.inputs, groups)
    }

    fn new(inputs: usize, groups: Vec<(Vec<u32>, usize)>) -> Self {
        let mut places = vec![0; inputs];
        for (input, place) in groups.iter().flat_map(|(group, _)| group).zip(0..) {
            places[*input as usize] = place;
        }
        let sum = |sum: &mut usize, (_, work): &(_, usize)| {
            *sum += work;
            Some(*sum)
        };
        let work = std::iter::once(0).chain(groups.iter().scan(0, sum)).collect();
        let whole = |(group, _): &(Vec<u32>, _)| {
            std::array::from_fn(|place| group.get(place).map_or(inputs as u32, |input| *input))
        };
        Self { groups: groups.iter().map(whole).collect(), places, work }
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Returns whether inputs are in original order.
    pub fn are_neighbours(&self) -> bool {
        self.places.iter().zip(0..).all(|(place, input)| *place == input)
    }

    /// Returns the position of each input in the concatenated groups.
    pub fn positions(&self) -> impl Iterator<Item = usize> {
        self.places.iter().map(|place| *place as usize)
    }

    /// Returns section `number` of all groups divided into `count` sections of nearly equal work.
    pub fn section(&self, number: usize, count: usize) -> Range<usize> {
        let all = self.work[self.len()];
        let edge = |number: usize| self.work.partition_point(|work| work * count < all * number);
        edge(number)..edge(number + 1)
    }

    /// Returns a group's values in a row, with zeros for missing inputs.
    #[inline(always)]
    pub fn values<T: Copy + Default>(&self, row: &[T], group: usize) -> [T; QUAD] {
        self.groups[group].map(|input| row.get(input as usize).copied().unwrap_or_default())
    }
}

/// Returns for each input the first rows in which it is not zero.
fn columns<T: Default + PartialEq>(values: &[T], rows: &Rows<'_>) -> Vec<NonZeroRows> {
    let mut columns = vec![NonZeroRows::default(); rows.inputs];
    for (number, row) in values.chunks_exact(rows.inputs).take(rows.len().min(SAMPLE_ROWS)).enumerate() {
        for (column, value) in columns.iter_mut().zip(row) {
            column[number / 64] |= u64::from(*value != T::default()) << (number % 64);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::super::packed_rows::share_taken;
    use super::*;
    use crate::data::{Scaling, TargetsRef};

    fn rows(features: &Features, inputs: usize) -> Rows<'_> {
        let (targets, scaling) = (TargetsRef::Classes(&[]), Scaling::AsIs);
        Rows { inputs, features, targets, weights: &[], scaling, total: None }
    }

    #[test]
    fn every_input_is_in_one_group_and_every_group_in_one_section() {
        for inputs in [1, 3, 4, 17, 63, 65, 257] {
            let values: Vec<u8> = (0..20 * inputs).map(|i| u8::from((i * 37 + i / 5) % 11 < 3)).collect();
            let floats = Features::Floats(values.iter().map(|value| -f32::from(*value)).collect());
            let bytes = Features::Bytes(values);
            let learnt = Groups::from_rows(&rows(&bytes, inputs));
            assert_eq!(learnt, Groups::from_rows(&rows(&floats, inputs)));
            let row: Vec<f32> = (1..=inputs).map(|value| value as f32).collect();
            for groups in [Groups::neighbours(inputs), learnt] {
                assert_eq!(groups.len(), inputs.div_ceil(QUAD));
                let standing: Vec<f32> = (0..groups.len()).flat_map(|it| groups.values(&row, it)).collect();
                for (place, value) in groups.positions().zip(&row) {
                    assert_eq!(standing[place], *value);
                }
                // Padding after the last input is 0.
                assert!(standing[inputs..].iter().all(|value| *value == 0.0));
                for count in [1, 2, 3, 7] {
                    let sections = (0..count).map(|number| groups.section(number, count));
                    assert_eq!(sections.flatten().collect::<Vec<_>>(), (0..groups.len()).collect::<Vec<_>>());
                }
            }
            assert!(Groups::neighbours(inputs).are_neighbours());
        }
    }

    /// Every fourth input is not zero in the same rows, and the first group more often: it has as much work
    /// as all others.
    #[test]
    fn inputs_that_go_together_are_a_group() {
        let value = |i: usize| {
            let (row, input) = (i / 16 % 8, i % 4);
            u8::from(if input == 0 { row < 6 } else { row == input })
        };
        let features = Features::Bytes((0..64 * 16).map(value).collect());
        let rows = rows(&features, 16);
        let groups = Groups::from_rows(&rows);
        assert!(!groups.are_neighbours());
        let inputs: Vec<u8> = (0..16).collect();
        for first in 0..4 {
            assert_eq!(groups.values(&inputs, first), [0, 4, 8, 12].map(|input| first as u8 + input));
        }
        assert_eq!((groups.section(0, 2), groups.section(1, 2)), (0..1, 1..4));
        // 6, 1, 1 and 1 of 8 rows; with adjacent inputs always 6.
        assert_eq!(share_taken(&rows, &groups), 9.0 / 32.0);
        assert_eq!(share_taken(&rows, &Groups::neighbours(16)), 6.0 / 8.0);
    }

    #[test]
    fn very_many_inputs_stay_neighbours() {
        let inputs = MOST_INPUTS + 1;
        let features = Features::Bytes((0..2 * inputs).map(|i| u8::from(i % 8 == 0)).collect());
        assert_eq!(Groups::from_rows(&rows(&features, inputs)), Groups::neighbours(inputs));
    }
}
