//! Inputs of which most are zero, and where those are that are not.

use std::sync::Arc;

use super::groups::{Groups, QUAD, SAMPLE_ROWS};
use crate::data::{Features, Rows, Scaling};

/// Below this share of groups that are not zero it pays to skip those that are.
const SPARSE_SHARE: f64 = 0.6;

/// Groups of which a word has the bits.
pub const GROUPS_OF_WORD: usize = u64::BITS as usize;

/// What some neighbouring rows of a data set hold that is not zero. A batch takes rows from anywhere in memory, so what it
/// takes stands together, and as it is stored: a quarter of the bytes of MNIST.
#[derive(Debug)]
pub struct PackedRows {
    groups: Arc<Groups>,
    /// A bit for each group that is not zero: [rows, words of a row], the lowest bit first.
    words: Vec<u64>,
    /// The values of those groups.
    values: Packed,
    /// Where the groups of each row begin, and where those of the last one end.
    begins: Vec<usize>,
    /// The first row.
    first: usize,
}

/// Groups of inputs: there are only those of one kind.
#[derive(Debug, Default)]
pub struct Packed {
    bytes: Vec<[u8; QUAD]>,
    floats: Vec<[f32; QUAD]>,
}

impl PackedRows {
    /// In these groups; there are none, and the first will be row 0.
    pub fn new(groups: Arc<Groups>) -> Self {
        Self { groups, words: Vec::new(), values: Packed::default(), begins: vec![0], first: 0 }
    }

    /// The groups.
    pub fn groups(&self) -> &Arc<Groups> {
        &self.groups
    }

    /// Forgets all rows. The first will be row `row`.
    pub fn begin(&mut self, row: usize) {
        self.words.clear();
        self.values.bytes.clear();
        self.values.floats.clear();
        self.begins.truncate(1);
        self.first = row;
    }

    /// Takes the rows up to `end`, this one not included; those that it has are the same.
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
            // As they stand in memory.
            rows.for_each(|row| {
                let (whole, rest) = row.as_chunks();
                self.take_row(|group| whole.get(group).copied().unwrap_or_else(|| padded(rest)));
            });
        } else {
            rows.for_each(|row| self.take_row(|group| groups.values(row, group)));
        }
    }

    /// Takes a row, of which `values` gives the groups.
    #[inline(always)]
    fn take_row<T: Input>(&mut self, values: impl Fn(usize) -> [T; QUAD]) {
        let Self { groups, words, values: to, begins, .. } = self;
        let (to, count) = (T::packed_mut(to), groups.len());
        let mut end = to.len();
        // Room for all, without asking for each group whether it is taken.
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

    /// A bit for each group of a row that is not zero, the lowest first.
    #[inline(always)]
    pub fn words(&self, row: usize) -> &[u64] {
        let count = self.groups.len().div_ceil(GROUPS_OF_WORD);
        &self.words[(row - self.first) * count..][..count]
    }

    /// Rows stand anywhere in memory: asked for at once, they come while others are on their way.
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

    /// The values of a row, from those on of which the first bit is in this word.
    #[inline(always)]
    pub fn values_from<T: Input>(&self, row: usize, word: usize) -> &[[T; QUAD]] {
        let before: u32 = self.words(row)[..word].iter().map(|word| word.count_ones()).sum();
        let place = row - self.first;
        &T::packed(&self.values)[self.begins[place] + before as usize..self.begins[place + 1]]
    }
}

/// Fewer than four values, and zeros.
fn padded<T: Input>(rest: &[T]) -> [T; QUAD] {
    let mut quad = [T::default(); QUAD];
    quad[..rest.len()].copy_from_slice(rest);
    quad
}

/// What values are divided by; nothing changes a number that is divided by 1.
pub fn divisor(scaling: Scaling) -> f32 {
    match scaling {
        Scaling::Bytes => 255.0,
        Scaling::AsIs => 1.0,
    }
}

/// What a table holds.
pub trait Input: Copy + Default + PartialEq + 'static {
    /// Whether all four are 0.
    #[inline(always)]
    fn is_zero(quad: [Self; QUAD]) -> bool {
        quad == [Self::default(); QUAD]
    }

    /// The four values as network inputs.
    #[inline(always)]
    fn scaled(quad: [Self; QUAD], divisor: f32) -> [f32; QUAD] {
        quad.map(|value| value.number() / divisor)
    }

    /// A row as network inputs.
    #[inline(always)]
    fn scale_row(row: &[Self], divisor: f32, to: &mut [f32]) {
        to.iter_mut().zip(row).for_each(|(to, value)| *to = value.number() / divisor);
    }

    /// The value as a float.
    fn number(self) -> f32;

    /// Groups of this kind.
    fn packed(values: &Packed) -> &[[Self; QUAD]];

    /// Groups of this kind, mutably.
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

/// Whether enough neighbouring inputs are zero that skipping them pays, judged by the first rows.
pub fn is_sparse(rows: &Rows<'_>) -> bool {
    share_taken(rows, &Groups::neighbours(rows.inputs)) < SPARSE_SHARE
}

/// The share of the groups that are not zero in the first rows.
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

    /// Rows of more than a word, a word and less, taken as they come.
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
