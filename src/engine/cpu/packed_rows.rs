//! Sparse inputs: groups that are not zero, and their positions.

use std::sync::Arc;

use super::groups::{Groups, QUAD, SAMPLE_ROWS};
use crate::data::{Features, Rows, Scaling};

/// Share of nonzero groups below which skipping the others pays.
const SPARSE_SHARE: f64 = 0.6;

/// Groups per word of bits.
pub const GROUPS_OF_WORD: usize = u64::BITS as usize;

/// Nonzero groups of some adjacent rows of a data set. A batch reads rows from anywhere in memory, so the
/// data of a row is contiguous and in its stored form: a quarter of the bytes of MNIST.
#[derive(Debug)]
pub struct PackedRows {
    groups: Arc<Groups>,
    /// A bit for each group, set if it is not zero: [rows, words of a row], the lowest bit first.
    words: Vec<u64>,
    /// Values of these groups.
    values: Packed,
    /// Start of the groups of each row, and the end of the last row.
    begins: Vec<usize>,
    /// The first row.
    first: usize,
}

/// Groups of inputs, of one of the two kinds.
#[derive(Debug, Default)]
pub struct Packed {
    bytes: Vec<[u8; QUAD]>,
    floats: Vec<[f32; QUAD]>,
}

impl PackedRows {
    /// Creates an empty set with these groups, whose first row will be row 0.
    pub fn new(groups: Arc<Groups>) -> Self {
        Self { groups, words: Vec::new(), values: Packed::default(), begins: vec![0], first: 0 }
    }

    /// Returns the groups.
    pub fn groups(&self) -> &Arc<Groups> {
        &self.groups
    }

    /// Removes all rows. The first will be row `row`.
    pub fn begin(&mut self, row: usize) {
        self.words.clear();
        self.values.bytes.clear();
        self.values.floats.clear();
        self.begins.truncate(1);
        self.first = row;
    }

    /// Adds the rows before `end`; rows already present must be unchanged.
    pub fn extend(&mut self, rows: &Rows<'_>, end: usize) {
        let start = self.first + self.begins.len() - 1;
        let values = start * rows.inputs..end.max(start) * rows.inputs;
        match rows.features {
            Features::Bytes(bytes) => self.take(&bytes[values], rows.inputs),
            Features::Floats(floats) => self.take(&floats[values], rows.inputs),
        }
    }

    fn take<T: Input>(&mut self, values: &[T], inputs: usize) {
        let groups = Arc::clone(&self.groups);
        let rows = values.chunks_exact(inputs);
        if groups.are_neighbours() {
            // Groups are contiguous in memory.
            rows.for_each(|row| {
                let (whole, rest) = row.as_chunks();
                self.take_row(|group| whole.get(group).copied().unwrap_or_else(|| padded(rest)));
            });
        } else {
            rows.for_each(|row| self.take_row(|group| groups.values(row, group)));
        }
    }

    /// Adds a row; `values` returns its groups.
    #[inline(always)]
    fn take_row<T: Input>(&mut self, values: impl Fn(usize) -> [T; QUAD]) {
        let Self { groups, words, values: to, begins, .. } = self;
        let (to, count) = (T::packed_mut(to), groups.len());
        let mut end = to.len();
        // Room for all groups avoids a capacity check per group.
        to.resize(end + count, [T::default(); QUAD]);
        for first in (0..count).step_by(GROUPS_OF_WORD) {
            let mut word = 0;
            for group in first..count.min(first + GROUPS_OF_WORD) {
                let quad = values(group);
                let holds = !T::is_zero(quad);
                to[end] = quad;
                end += usize::from(holds);
                word |= u64::from(holds) << (group - first);
            }
            words.push(word);
        }
        to.truncate(end);
        begins.push(end);
    }

    /// Returns a bit for each group of a row, set if it is not zero, the lowest first.
    #[inline(always)]
    pub fn words(&self, row: usize) -> &[u64] {
        let count = self.groups.len().div_ceil(GROUPS_OF_WORD);
        &self.words[(row - self.first) * count..][..count]
    }

    /// Prefetches rows, which may be anywhere in memory, so that their loads overlap.
    #[inline(always)]
    pub fn fetch<T: Input>(&self, rows: &[u32]) {
        const LINE: usize = 64;
        let (words, values) = (rows.iter().map(|row| self.words(*row as usize)), T::packed(&self.values));
        std::hint::black_box(words.filter(|words| words[0] == 0).count());
        let values = rows.iter().flat_map(|row| {
            let place = *row as usize - self.first;
            values[self.begins[place]..self.begins[place + 1]].iter().step_by(LINE / (QUAD * size_of::<T>()))
        });
        std::hint::black_box(values.filter(|quad| T::is_zero(**quad)).count());
    }

    /// Returns the values of a row from the first group of word `word` on.
    #[inline(always)]
    pub fn values_from<T: Input>(&self, row: usize, word: usize) -> &[[T; QUAD]] {
        let before: u32 = self.words(row)[..word].iter().map(|word| word.count_ones()).sum();
        let place = row - self.first;
        &T::packed(&self.values)[self.begins[place] + before as usize..self.begins[place + 1]]
    }
}

/// Pads fewer than four values with zeros.
fn padded<T: Input>(rest: &[T]) -> [T; QUAD] {
    let mut quad = [T::default(); QUAD];
    quad[..rest.len()].copy_from_slice(rest);
    quad
}

/// Returns the divisor of values; division by 1 changes no number.
pub fn divisor(scaling: Scaling) -> f32 {
    match scaling {
        Scaling::Bytes => 255.0,
        Scaling::AsIs => 1.0,
    }
}

/// Number type of a table.
pub trait Input: Copy + Default + PartialEq + 'static {
    /// Returns whether all four values are 0.
    #[inline(always)]
    fn is_zero(quad: [Self; QUAD]) -> bool {
        quad == [Self::default(); QUAD]
    }

    /// Converts four values to network inputs.
    #[inline(always)]
    fn scaled(quad: [Self; QUAD], divisor: f32) -> [f32; QUAD] {
        quad.map(|value| value.number() / divisor)
    }

    /// Converts a row to network inputs.
    #[inline(always)]
    fn scale_row(row: &[Self], divisor: f32, to: &mut [f32]) {
        to.iter_mut().zip(row).for_each(|(to, value)| *to = value.number() / divisor);
    }

    /// Converts the value to a float.
    fn number(self) -> f32;

    /// Returns the groups of this kind.
    fn packed(values: &Packed) -> &[[Self; QUAD]];

    /// Returns the groups of this kind, mutably.
    fn packed_mut(values: &mut Packed) -> &mut Vec<[Self; QUAD]>;
}

impl Input for u8 {
    #[inline(always)]
    fn number(self) -> f32 {
        f32::from(self)
    }

    fn packed(values: &Packed) -> &[[Self; QUAD]] {
        &values.bytes
    }

    fn packed_mut(values: &mut Packed) -> &mut Vec<[Self; QUAD]> {
        &mut values.bytes
    }
}

impl Input for f32 {
    #[inline(always)]
    fn number(self) -> f32 {
        self
    }

    fn packed(values: &Packed) -> &[[Self; QUAD]] {
        &values.floats
    }

    fn packed_mut(values: &mut Packed) -> &mut Vec<[Self; QUAD]> {
        &mut values.floats
    }
}

/// Returns whether skipping zeros in adjacent inputs pays, judged by the first rows.
pub fn is_sparse(rows: &Rows<'_>) -> bool {
    share_taken(rows, &Groups::neighbours(rows.inputs)) < SPARSE_SHARE
}

/// Returns the share of groups that are not zero in the first rows.
pub fn share_taken(rows: &Rows<'_>, groups: &Groups) -> f64 {
    fn taken<T: Input>(values: &[T], width: usize, groups: &Groups) -> usize {
        let in_row = |row| (0..groups.len()).filter(|group| !T::is_zero(groups.values(row, *group))).count();
        values.chunks_exact(width).map(in_row).sum()
    }
    let count = rows.len().min(SAMPLE_ROWS);
    let values = ..rows.inputs * count;
    let taken = match rows.features {
        Features::Bytes(bytes) => taken(&bytes[values], rows.inputs, groups),
        Features::Floats(floats) => taken(&floats[values], rows.inputs, groups),
    };
    taken as f64 / (count * groups.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TargetsRef;

    /// Rows longer than a word, as long, and shorter.
    #[test]
    fn what_is_not_zero_is_kept() {
        for (first, inputs) in [(0, 1), (0, 3), (1, 4), (0, 17), (2, 255), (0, 256), (0, 257), (0, 784)] {
            let values: Vec<u8> = (0..5 * inputs).map(|i| u8::from((i * 7 + 3) % 11 == 0)).collect();
            let features = [2, 2, 5].map(|rows| Features::Bytes(values[..rows * inputs].to_vec()));
            let rows = |features| {
                let (targets, scaling) = (TargetsRef::Classes(&[]), Scaling::AsIs);
                Rows { inputs, features, targets, weights: &[], scaling, total: None }
            };
            for groups in [Groups::neighbours(inputs), Groups::from_rows(&rows(&features[2]))] {
                let count = groups.len();
                let mut packed = PackedRows::new(Arc::new(groups));
                packed.begin(first);
                for features in &features {
                    let rows = rows(features);
                    packed.extend(&rows, rows.len());
                }
                for (row, values) in values.chunks(inputs).enumerate().skip(first) {
                    let value = |group| packed.groups().values(values, group);
                    let holds: Vec<bool> = (0..count).map(|group| value(group) != [0; QUAD]).collect();
                    for (word, bits) in packed.words(row).iter().enumerate() {
                        let own = word * GROUPS_OF_WORD..count.min((word + 1) * GROUPS_OF_WORD);
                        let set =
                            own.zip(0..).fold(0, |set, (group, bit)| set | u64::from(holds[group]) << bit);
                        assert_eq!(*bits, set, "{inputs}");
                        let want = (word * GROUPS_OF_WORD..count).filter(|group| holds[*group]).map(value);
                        assert_eq!(packed.values_from::<u8>(row, word), want.collect::<Vec<_>>());
                    }
                }
            }
        }
    }
}
