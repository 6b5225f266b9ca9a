//! Inputs of which most are zero: where those are that are not, and the lists of a batch.

use std::ops::Range;

use crate::data::{Features, Rows, Scaling};

/// Below this share of inputs in quads that are not zero it pays to skip those that are.
const SPARSE_SHARE: f64 = 0.6;

/// Rows that are looked at to find out.
const SAMPLE_ROWS: usize = 256;

/// Inputs that are taken or skipped together.
pub const QUAD: usize = 4;

/// Four neighbouring inputs of a row, not all of them zero.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Quad {
    /// Which row of the batch.
    pub row: u32,
    /// The inputs; behind the last of a row, zeros.
    pub values: [f32; QUAD],
}

/// Which quads of some neighbouring rows of a data set hold anything: a bit for each.
#[derive(Debug, Default)]
pub struct ZeroMap {
    /// [rows, words of a row], the lowest bit first.
    words: Vec<u64>,
    /// Which rows.
    rows: Range<usize>,
}

impl ZeroMap {
    /// Forgets all rows. The next one will be row `row`.
    pub fn begin(&mut self, row: usize) {
        self.words.clear();
        self.rows = row..row;
    }

    /// Takes the rows up to `end`, this one not included; those that it has are the same.
    pub fn extend(&mut self, rows: &Rows<'_>, end: usize) {
        let new = self.rows.end..end.max(self.rows.end);
        let values = new.start * rows.inputs..new.end * rows.inputs;
        match rows.features {
            Features::Bytes(bytes) => self.take(&bytes[values], rows.inputs),
            Features::Floats(floats) => self.take(&floats[values], rows.inputs),
        }
        self.rows.end = new.end;
    }

    fn take<T: Input>(&mut self, values: &[T], inputs: usize) {
        const BITS: usize = u64::BITS as usize;
        self.words.reserve(values.len() / inputs * Self::row_words(inputs));
        for row in values.chunks_exact(inputs) {
            for values in row.chunks(QUAD * BITS) {
                let (quads, rest) = values.as_chunks();
                let mut word = 0;
                for (bit, quad) in quads.iter().enumerate() {
                    word |= u64::from(!T::is_zero(*quad)) << bit;
                }
                if !rest.is_empty() {
                    word |= u64::from(!T::is_zero(padded(rest))) << quads.len();
                }
                self.words.push(word);
            }
        }
    }

    fn row_words(inputs: usize) -> usize {
        inputs.div_ceil(QUAD).div_ceil(u64::BITS as usize)
    }

    /// Asks for what is known of some rows at once, as [`Input::fetch`] does for the rows.
    fn fetch(&self, rows: &[u32], inputs: usize) {
        let count = Self::row_words(inputs);
        let words = rows.iter().map(|row| self.words[(*row as usize - self.rows.start) * count]);
        std::hint::black_box(words.filter(|word| *word == 0).count());
    }

    /// Those of the quads `quads` of a row that hold anything.
    #[inline(always)]
    fn each(&self, row: usize, inputs: usize, quads: &Range<usize>, mut take: impl FnMut(usize)) {
        const BITS: usize = u64::BITS as usize;
        let count = Self::row_words(inputs);
        let words = &self.words[(row - self.rows.start) * count..][..count];
        let numbers = quads.start / BITS..quads.end.div_ceil(BITS);
        for (first, word) in (numbers.start * BITS..).step_by(BITS).zip(&words[numbers]) {
            let mut word = *word;
            if quads.start > first {
                word &= u64::MAX << (quads.start - first);
            }
            if quads.end - first < BITS {
                word &= (1 << (quads.end - first)) - 1;
            }
            while word != 0 {
                take(first + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
    }
}

/// For some quads of inputs, the rows of a batch in which they are not zero.
#[derive(Debug, Default)]
pub struct Lists {
    /// The first quad.
    first: usize,
    /// Room for every row of the batch in each list.
    room: usize,
    /// Where the list of each quad ends: the first begins at 0, the second at `room`.
    ends: Vec<usize>,
    quads: Vec<Quad>,
}

impl Lists {
    /// Number of the first quad.
    pub fn first(&self) -> usize {
        self.first
    }

    /// The lists of one quad after the other, in the order of the rows.
    #[inline(always)]
    pub fn each(&self) -> impl Iterator<Item = &[Quad]> {
        let starts = (0..).step_by(self.room);
        starts.zip(&self.ends).map(|(start, end)| &self.quads[start..*end])
    }

    /// Makes the lists of the quads `quads` for the rows that `order` names.
    pub fn take<T: Input>(
        &mut self,
        values: &[T],
        rows: &Rows<'_>,
        order: &[u32],
        zeros: &ZeroMap,
        quads: Range<usize>,
    ) {
        let (inputs, divisor) = (rows.inputs, divisor(rows.scaling));
        let row = |number: u32| &values[number as usize * inputs..][..inputs];
        zeros.fetch(order, inputs);
        let columns = quads.start * QUAD..(quads.end * QUAD).min(inputs);
        T::fetch(order.iter().map(|number| &row(*number)[columns.clone()]));
        (self.first, self.room) = (quads.start, order.len().max(1));
        self.ends.clear();
        self.ends.extend((0..quads.len()).map(|list| list * self.room));
        // What stands there from batches before is written over.
        if self.quads.len() < quads.len() * self.room {
            self.quads.resize(quads.len() * self.room, Quad::default());
        }
        let (ends, to) = (&mut self.ends, &mut self.quads);
        for (place, number) in (0..).zip(order) {
            let values = row(*number);
            zeros.each(*number as usize, inputs, &quads, |quad| {
                let end = &mut ends[quad - quads.start];
                let values = T::scaled(quad_of(values, quad), divisor);
                to[*end] = Quad { row: place, values };
                *end += 1;
            });
        }
    }
}

/// Four values of a row, zeros behind its end.
#[inline(always)]
fn quad_of<T: Input>(row: &[T], number: usize) -> [T; QUAD] {
    let rest = &row[QUAD * number..];
    rest.first_chunk().copied().unwrap_or_else(|| padded(rest))
}

/// Fewer than four values, and zeros.
pub fn padded<T: Input>(rest: &[T]) -> [T; QUAD] {
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

    /// As the network takes them.
    #[inline(always)]
    fn scaled(quad: [Self; QUAD], divisor: f32) -> [f32; QUAD] {
        quad.map(|value| value.number() / divisor)
    }

    /// As a float.
    fn number(self) -> f32;

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
}

impl Input for f32 {
    #[inline(always)]
    fn number(self) -> f32 {
        self
    }
}

/// Whether so many inputs are zero that skipping them pays, by the first rows.
pub fn is_sparse(rows: &Rows<'_>) -> bool {
    share_taken(rows) < SPARSE_SHARE
}

/// The share of the first rows' inputs that stand in quads which are not zero.
pub fn share_taken(rows: &Rows<'_>) -> f64 {
    fn share<T: Input>(values: &[T], width: usize) -> f64 {
        let quads = values.chunks_exact(width).flat_map(|row| row.chunks(QUAD));
        let taken = quads.filter(|quad| quad.iter().any(|value| *value != T::default()));
        taken.map(<[T]>::len).sum::<usize>() as f64 / values.len().max(1) as f64
    }
    let values = rows.inputs * rows.len().min(SAMPLE_ROWS);
    match rows.features {
        Features::Bytes(bytes) => share(&bytes[..values], rows.inputs),
        Features::Floats(floats) => share(&floats[..values], rows.inputs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TargetsRef;

    /// Rows of more than a word, a word and less, taken as they come; any range of quads.
    #[test]
    fn maps_name_what_is_not_zero() {
        for (first, inputs) in [(0, 1), (0, 3), (1, 4), (0, 17), (2, 255), (0, 256), (0, 257), (0, 784)] {
            let values: Vec<u8> = (0..5 * inputs).map(|i| u8::from((i * 7 + 3) % 11 == 0)).collect();
            let features = [2, 2, 5].map(|rows| Features::Bytes(values[..rows * inputs].to_vec()));
            let mut zeros = ZeroMap::default();
            zeros.begin(first);
            for features in &features {
                let (targets, scaling) = (TargetsRef::Classes(&[]), Scaling::AsIs);
                let rows = Rows { inputs, features, targets, weights: &[], scaling, total: None };
                zeros.extend(&rows, rows.len());
            }
            let count = inputs.div_ceil(QUAD);
            for quads in [0..count, 0..1, count / 3..count / 2 + 1, count..count] {
                for (row, values) in values.chunks(inputs).enumerate().skip(first) {
                    let mut got = Vec::new();
                    zeros.each(row, inputs, &quads, |quad| got.push(quad));
                    let holds = |quad: &usize| quad_of(values, *quad) != [0; QUAD];
                    assert_eq!(got, quads.clone().filter(holds).collect::<Vec<_>>(), "{inputs} {quads:?}");
                }
            }
        }
    }
}
