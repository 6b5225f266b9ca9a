//! Inputs of which most are zero, and where those are that are not.

use std::ops::Range;
use std::sync::Arc;

use super::groups::{Groups, QUAD, SAMPLE_ROWS};
use crate::data::{Features, Rows, Scaling};

/// Below this share of groups that are not zero it pays to skip those that are.
const SPARSE_SHARE: f64 = 0.6;

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
        const BITS: usize = u64::BITS as usize;
        let Self { groups, words, values: to, begins, .. } = self;
        let (to, count) = (T::packed_mut(to), groups.len());
        let mut end = to.len();
        // Room for all, without asking for each group whether it is taken.
        to.resize(end + count, [T::default(); QUAD]);
        for first in (0..count).step_by(BITS) {
            let mut word = 0;
            for group in first..count.min(first + BITS) {
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

    fn words(&self, row: usize) -> &[u64] {
        let count = self.groups.len().div_ceil(u64::BITS as usize);
        &self.words[(row - self.first) * count..][..count]
    }

    /// Rows stand anywhere in memory: asked for at once, they come while others are on their way.
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

    /// Calls `take` with the number of each of the groups `groups` of a row that are not zero; returns their positions.
    #[inline(always)]
    pub fn each(&self, row: usize, groups: &Range<usize>, mut take: impl FnMut(usize)) -> Range<usize> {
        const BITS: usize = u64::BITS as usize;
        let words = self.words(row);
        let numbers = groups.start / BITS..groups.end.div_ceil(BITS);
        let mut start = self.begins[row - self.first];
        start += words[..numbers.start].iter().map(|word| word.count_ones() as usize).sum::<usize>();
        let mut count = 0;
        for (first, word) in (numbers.start * BITS..).step_by(BITS).zip(&words[numbers]) {
            let mut word = *word;
            if groups.start > first {
                let taken = word & u64::MAX << (groups.start - first);
                start += (word ^ taken).count_ones() as usize;
                word = taken;
            }
            if groups.end - first < BITS {
                word &= (1 << (groups.end - first)) - 1;
            }
            while word != 0 {
                take(first + word.trailing_zeros() as usize);
                count += 1;
                word &= word - 1;
            }
        }
        start..start + count
    }

    /// The values at these positions.
    pub fn quads<T: Input>(&self, place: Range<usize>) -> &[[T; QUAD]] {
        &T::packed(&self.values)[place]
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

    /// The value as a float.
    fn number(self) -> f32;

    /// Groups of this kind.
    fn packed(values: &Packed) -> &[[Self; QUAD]];

    /// Groups of this kind, mutably.
    fn packed_mut(values: &mut Packed) -> &mut Vec<[Self; QUAD]>;

    /// Rows stand anywhere in memory: asked for at once, they come while others are on their way.
    fn fetch<'a>(rows: impl Iterator<Item = &'a [Self]>) {
        const LINE: usize = 64;
        let lines = rows.flat_map(|row| row.iter().step_by(LINE / size_of::<Self>()));
        std::hint::black_box(lines.filter(|value| **value == Self::default()).count());
    }
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

    /// Rows of more than a word, a word and less, taken as they come; any range of groups.
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
                for range in [0..count, 0..1, count / 3..count / 2 + 1, count..count] {
                    for (row, values) in values.chunks(inputs).enumerate().skip(first) {
                        let mut got = Vec::new();
                        let place = packed.each(row, &range, |group| got.push(group));
                        let value = |group| packed.groups().values(values, group);
                        let want: Vec<usize> =
                            range.clone().filter(|group| value(*group) != [0; QUAD]).collect();
                        assert_eq!(got, want, "{inputs} {range:?}");
                        let quads: &[[u8; QUAD]] = packed.quads(place);
                        assert_eq!(quads, want.into_iter().map(value).collect::<Vec<_>>());
                    }
                }
            }
        }
    }
}
