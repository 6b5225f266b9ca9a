//! Lists of a batch's nonzero inputs.

use std::ops::Range;

use super::groups::QUAD;
use super::packed_rows::{GROUPS_OF_WORD, Input, PackedRows, divisor};
use crate::data::Scaling;
use crate::vectors::vectorized_loops;

/// A group of inputs of a row, not all of them zero.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Quad {
    /// Row of the batch.
    pub row: u32,
    /// Inputs; zeros for missing inputs.
    pub values: [f32; QUAD],
}

/// For some groups of inputs, the rows of a batch in which they are not zero.
///
/// The lists of a section of groups are concatenated, the longest first: a processor predicts the end of a
/// list if earlier lists were as long, and a misprediction costs as much as some rows.
#[derive(Debug, Default)]
pub struct SparseRows {
    /// Groups that are not zero in all rows, with the end of each group's list.
    ends: Vec<(u32, u32)>,
    quads: Vec<Quad>,
    /// For each group of the used words, the number of its rows; later the position of the next row.
    places: Vec<u32>,
    /// For each length, the number of groups with such lists; later the position of the next group.
    lengths: Vec<u32>,
}

impl SparseRows {
    /// Iterates over the groups and their lists, each in the order of the rows.
    #[inline(always)]
    pub fn each(&self) -> impl Iterator<Item = (usize, &[Quad])> {
        let mut start = 0;
        self.ends.iter().map(move |(group, end)| {
            let list = &self.quads[start as usize..*end as usize];
            start = *end;
            (*group as usize, list)
        })
    }

    /// Builds the lists of adjacent sections of groups for the rows of `order`.
    pub fn take<T: Input>(
        &mut self,
        packed: &PackedRows,
        scaling: Scaling,
        order: &[u32],
        sections: impl Iterator<Item = Range<usize>> + Clone,
    ) {
        let start = sections.clone().next().map_or(0, |section| section.start);
        let taken = start..sections.clone().last().map_or(start, |section| section.end);
        let words = taken.start / GROUPS_OF_WORD..taken.end.div_ceil(GROUPS_OF_WORD);
        let first = words.start * GROUPS_OF_WORD;
        vectorized_loops!({
            packed.fetch::<T>(order);
            self.places.clear();
            self.places.resize(words.len() * GROUPS_OF_WORD, 0);
            for (word, places) in words.clone().zip(self.places.as_chunks_mut().0) {
                let mask = bits_below(taken.end, word) & !bits_below(taken.start, word);
                *places = rows_of_bits(order.iter().map(|row| packed.words(*row as usize)[word] & mask));
            }
            self.ends.clear();
            for section in sections.clone() {
                self.sort(&section, first, order.len());
            }
            self.put::<T>(packed, divisor(scaling), order, &taken);
        });
    }

    /// Copies the rows' values in some groups into the lists. `places` has the start of each group's list,
    /// beginning with the first group of the first word.
    #[inline(always)]
    fn put<T: Input>(&mut self, packed: &PackedRows, divisor: f32, order: &[u32], taken: &Range<usize>) {
        let Self { places, quads, ends, .. } = self;
        let count = ends.last().map_or(0, |(_, end)| *end as usize);
        // Overwrites the lists of earlier batches.
        if quads.len() < count {
            quads.resize(count, Quad::default());
        }
        let (quads, places) = (&mut quads[..count], places.as_chunks_mut::<GROUPS_OF_WORD>().0);
        let first = taken.start / GROUPS_OF_WORD;
        for (row, number) in (0..).zip(order.iter().map(|row| *row as usize)) {
            let mut values = packed.values_from::<T>(number, first);
            let words = (first..).zip(&packed.words(number)[first..]);
            for ((word, bits), places) in words.zip(&mut *places) {
                let before = bits & bits_below(taken.start, word);
                let mut bits = bits & bits_below(taken.end, word);
                let own;
                (own, values) = values.split_at(bits.count_ones() as usize);
                bits ^= before;
                for quad in &own[before.count_ones() as usize..] {
                    let to = &mut places[bits.trailing_zeros() as usize % GROUPS_OF_WORD];
                    quads[*to as usize] = Quad { row, values: T::scaled(*quad, divisor) };
                    *to += 1;
                    bits &= bits.wrapping_sub(1);
                }
            }
        }
    }

    /// Appends the lists of a section, the longest first; lists of the same length are in the order of the
    /// groups. Stores the start of each in `places`.
    #[inline(always)]
    fn sort(&mut self, section: &Range<usize>, first: usize, longest: usize) {
        let Self { ends, places, lengths, .. } = self;
        let places = &mut places[section.start - first..section.end - first];
        lengths.clear();
        lengths.resize(longest + 1, 0);
        places.iter().for_each(|rows| lengths[longest - *rows as usize] += 1);
        let mut place = 0;
        for groups in lengths.iter_mut() {
            place += std::mem::replace(groups, place);
        }
        let before = ends.len();
        let mut end = ends.last().map_or(0, |(_, end)| *end);
        ends.resize(before + lengths[longest] as usize, (0, 0));
        let sorted = &mut ends[before..];
        for (group, rows) in (section.start as u32..).zip(places.iter()) {
            if *rows == 0 {
                continue;
            }
            let to = &mut lengths[longest - *rows as usize];
            sorted[*to as usize] = (group, *rows);
            *to += 1;
        }
        for (group, list) in sorted {
            places[*group as usize - section.start] = end;
            end += *list;
            *list = end;
        }
    }
}

/// Returns the bits of a word that belong to groups below `end`.
#[inline(always)]
fn bits_below(end: usize, word: usize) -> u64 {
    let others = ((word + 1) * GROUPS_OF_WORD).saturating_sub(end);
    u64::MAX.checked_shr(others as u32).unwrap_or(0)
}

/// Counts for each bit the words in which it is set.
#[inline(always)]
fn rows_of_bits(words: impl Iterator<Item = u64>) -> [u32; GROUPS_OF_WORD] {
    const HALF: usize = GROUPS_OF_WORD / 2;
    let mut rows = [0; GROUPS_OF_WORD];
    for word in words {
        let (low, high) = (word as u32, (word >> HALF) as u32);
        for bit in 0..HALF {
            rows[bit] += u32::from(low & 1 << bit != 0);
            rows[HALF + bit] += u32::from(high & 1 << bit != 0);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::groups::Groups;
    use super::*;
    use crate::data::{Features, Rows, TargetsRef};

    /// Number of rows in which each of five groups is not zero: 0, 3, 1, 3 and 2.
    #[test]
    fn the_longest_lists_of_a_section_come_first() {
        let lengths = [0, 3, 1, 3, 2];
        let value = |i: usize| u8::from(i % 20 % QUAD == 2 && i / 20 < lengths[i % 20 / QUAD]);
        let values: Vec<u8> = (0..4 * 20).map(value).collect();
        let features = Features::Bytes(values);
        let (targets, scaling) = (TargetsRef::Classes(&[]), Scaling::AsIs);
        let rows = Rows { inputs: 20, features: &features, targets, weights: &[], scaling, total: None };
        let mut packed = PackedRows::new(Arc::new(Groups::neighbours(20)));
        packed.extend(&rows, 4);
        let mut lists = SparseRows::default();
        for (edges, want) in [
            (&[0, 5][..], vec![(1, 3), (3, 3), (4, 2), (2, 1)]),
            (&[0, 1, 3, 3, 5], vec![(1, 3), (2, 1), (3, 3), (4, 2)]),
            (&[2, 4, 5], vec![(3, 3), (2, 1), (4, 2)]),
            (&[0, 1], vec![]),
            (&[0], vec![]),
        ] {
            lists.take::<u8>(
                &packed,
                scaling,
                &[3, 2, 1, 0],
                edges.windows(2).map(|edges| edges[0]..edges[1]),
            );
            assert_eq!(lists.each().map(|(group, list)| (group, list.len())).collect::<Vec<_>>(), want);
            for (_, list) in lists.each() {
                // The first rows of the data set are the last of the batch.
                let places: Vec<u32> = (4 - list.len() as u32..4).collect();
                assert_eq!(list.iter().map(|quad| quad.row).collect::<Vec<_>>(), places);
                assert!(list.iter().all(|quad| quad.values == [0.0, 0.0, 1.0, 0.0]));
            }
        }
    }

    /// Sections that begin and end within words, and at their ends.
    #[test]
    fn lists_hold_what_the_rows_do() {
        const GROUPS: usize = 150;
        let value = |row: usize, group: usize| ((row * 31 + group * 17) % 11).saturating_sub(7) as u8;
        let input = |i: usize| if i % QUAD == 1 { value(i / QUAD / GROUPS, i / QUAD % GROUPS) } else { 0 };
        let features = Features::Bytes((0..7 * GROUPS * QUAD).map(input).collect());
        let (targets, scaling) = (TargetsRef::Classes(&[]), Scaling::AsIs);
        let rows =
            Rows { inputs: GROUPS * QUAD, features: &features, targets, weights: &[], scaling, total: None };
        let mut packed = PackedRows::new(Arc::new(Groups::neighbours(GROUPS * QUAD)));
        packed.extend(&rows, 7);
        let (mut lists, order) = (SparseRows::default(), [5, 0, 6, 3]);
        for [start, end] in [[0, 150], [3, 70], [63, 65], [64, 128], [70, 71], [128, 150]] {
            lists.take::<u8>(&packed, scaling, &order, std::iter::once(start..end));
            let mut found = Vec::new();
            for (group, list) in lists.each() {
                let values = (0..).zip(order).map(|(row, number)| (row, value(number as usize, group)));
                let quad = |(row, value)| Quad { row, values: [0.0, f32::from(value), 0.0, 0.0] };
                let want: Vec<Quad> = values.filter(|(_, value)| *value > 0).map(quad).collect();
                assert!(!want.is_empty() && list == want, "{group} of {start}..{end}");
                found.push(group);
            }
            found.sort_unstable();
            let holds = |group: &usize| order.iter().any(|row| value(*row as usize, *group) > 0);
            assert_eq!(found, (start..end).filter(holds).collect::<Vec<_>>());
        }
    }
}
