//! The inputs of a batch: all of them, or only those that are not zero; and what its rows should give.

use crate::data::{Features, Rows, Scaling, TargetsRef};
use crate::step::Target;

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

/// The quads of some rows, those of the same inputs side by side.
#[derive(Debug, Default)]
pub struct Sparse {
    starts: Vec<u32>,
    quads: Vec<Quad>,
    /// Numbers of the quads, in the order of the rows; behind them what a batch before has left.
    found: Vec<u32>,
    /// Where those of each row end.
    ends: Vec<usize>,
}

impl Sparse {
    /// The quads of the inputs from 4 * `number` on, in the order of their rows.
    pub fn list(&self, number: usize) -> &[Quad] {
        &self.quads[self.starts[number] as usize..self.starts[number + 1] as usize]
    }

    fn take<'a, T: Input>(
        &mut self,
        width: usize,
        rows: impl ExactSizeIterator<Item = &'a [T]> + Clone,
        scaling: Scaling,
    ) {
        let count = width.div_ceil(QUAD);
        self.starts.clear();
        self.starts.resize(count + 1, 0);
        // What stands there from batches before is written over.
        let room = self.found.len().max(rows.len() * count);
        self.found.resize(room, 0);
        self.ends.clear();
        let mut taken = 0;
        for values in rows.clone() {
            // Every number is written and the next one over it, if its quad was zero: whether it is cannot be foretold.
            let found = &mut self.found[taken..taken + count];
            let mut more = 0;
            let mut take = |number, quad| {
                found[more] = number as u32;
                more += usize::from(!T::is_zero(quad));
            };
            let (quads, rest) = values.as_chunks();
            for (number, quad) in quads.iter().enumerate() {
                take(number, *quad);
            }
            if !rest.is_empty() {
                take(quads.len(), padded(rest));
            }
            taken += more;
            self.ends.push(taken);
        }
        for number in &self.found[..taken] {
            self.starts[*number as usize + 1] += 1;
        }
        for number in 0..count {
            self.starts[number + 1] += self.starts[number];
        }
        self.quads.resize(taken, Quad::default());
        let mut begin = 0;
        // `starts[n]` walks to the end of list n, which is the start of list n + 1 ...
        for ((row, values), end) in (0..).zip(rows).zip(&self.ends) {
            for number in &self.found[begin..*end] {
                let place = &mut self.starts[*number as usize];
                let values = T::scaled(quad(values, *number as usize), scaling);
                self.quads[*place as usize] = Quad { row, values };
                *place += 1;
            }
            begin = *end;
        }
        // ... so all starts are one list too far.
        self.starts.copy_within(..count, 1);
        self.starts[0] = 0;
    }
}

/// Four values of a row, zeros behind its end.
fn quad<T: Input>(row: &[T], number: usize) -> [T; QUAD] {
    let rest = &row[QUAD * number..];
    rest.first_chunk().copied().unwrap_or_else(|| padded(rest))
}

/// Fewer than four values, and zeros.
fn padded<T: Input>(rest: &[T]) -> [T; QUAD] {
    let mut quad = [T::default(); QUAD];
    quad[..rest.len()].copy_from_slice(rest);
    quad
}

/// What a table holds.
trait Input: Copy + Default + PartialEq + 'static {
    fn is_zero(quad: [Self; QUAD]) -> bool {
        quad == [Self::default(); QUAD]
    }

    fn scaled(quad: [Self; QUAD], scaling: Scaling) -> [f32; QUAD] {
        match scaling {
            Scaling::Bytes => quad.map(|value| value.number() / 255.0),
            Scaling::AsIs => quad.map(Self::number),
        }
    }

    fn number(self) -> f32;
}

impl Input for u8 {
    fn number(self) -> f32 {
        f32::from(self)
    }
}

impl Input for f32 {
    fn number(self) -> f32 {
        self
    }
}

/// The inputs of some rows, and what they should give.
#[derive(Debug, Default)]
pub struct Inputs {
    rows: usize,
    /// [rows, inputs], unless they are sparse.
    pub dense: Vec<f32>,
    /// The inputs that are not zero, if they are sparse.
    pub sparse: Option<Sparse>,
    /// The class of each row, or nothing.
    classes: Vec<u32>,
    /// The values that each row should give, so many of them, or nothing.
    values: Vec<f32>,
    columns: usize,
    /// How much each row counts.
    weights: Vec<f32>,
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

impl Inputs {
    /// How many rows they are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What a row should give.
    pub fn target(&self, row: usize, smoothing: f32) -> Target<'_> {
        match self.classes.get(row) {
            Some(class) => Target::Class { class: *class as usize, smoothing },
            None => Target::Values(&self.values[row * self.columns..][..self.columns]),
        }
    }

    /// How much a row counts in the loss.
    pub fn weight(&self, row: usize) -> f32 {
        self.weights[row]
    }

    /// Takes targets and weights of the rows that `order` names.
    pub fn gather_targets(&mut self, rows: &Rows<'_>, order: &[u32]) {
        let order = order.iter().map(|row| *row as usize);
        self.classes.clear();
        self.values.clear();
        match rows.targets {
            TargetsRef::Classes(classes) => self.classes.extend(order.clone().map(|row| classes[row])),
            TargetsRef::Values { columns, values } => {
                self.columns = columns;
                order
                    .clone()
                    .for_each(|row| self.values.extend_from_slice(&values[row * columns..][..columns]));
            }
        }
        self.weights.clear();
        self.weights.extend(order.map(|row| rows.weight(row)));
    }

    /// Takes the inputs of the rows that `order` names. Memory is only taken when they need more than ever before.
    pub fn gather(&mut self, rows: &Rows<'_>, order: &[u32], sparse: bool) {
        self.rows = order.len();
        if !sparse {
            self.sparse = None;
        } else if self.sparse.is_none() {
            self.sparse = Some(Sparse::default());
        }
        match rows.features {
            Features::Bytes(bytes) => self.take(bytes, rows, order),
            Features::Floats(floats) => self.take(floats, rows, order),
        }
    }

    fn take<T: Input>(&mut self, values: &[T], Rows { inputs, scaling, .. }: &Rows<'_>, order: &[u32]) {
        let rows = order.iter().map(|row| &values[*row as usize * inputs..][..*inputs]);
        // Rows stand anywhere in memory: asked for at once, they come while others are on their way.
        const LINE: usize = 64;
        let lines = rows.clone().flat_map(|row| row.iter().step_by(LINE / size_of::<T>()));
        std::hint::black_box(lines.filter(|value| **value == T::default()).count());
        if let Some(sparse) = &mut self.sparse {
            return sparse.take(*inputs, rows, *scaling);
        }
        self.dense.clear();
        for row in rows {
            let (quads, rest) = row.as_chunks();
            self.dense.extend(quads.iter().flat_map(|quad| T::scaled(*quad, *scaling)));
            let quad = T::scaled(padded(rest), *scaling);
            self.dense.extend_from_slice(&quad[..rest.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TargetsRef;

    fn quads(list: &[Quad]) -> Vec<(u32, [f32; QUAD])> {
        list.iter().map(|quad| (quad.row, quad.values)).collect()
    }

    #[test]
    fn lists_hold_what_is_not_zero() {
        let mut values = vec![0u8; 3 * 11];
        for (row, column, value) in [(0, 10, 255), (1, 0, 51), (1, 9, 102), (2, 0, 204), (2, 3, 51)] {
            values[11 * row + column] = value;
        }
        let floats = Features::Floats(values.iter().map(|value| f32::from(*value)).collect());
        for features in [Features::Bytes(values), floats] {
            let (targets, scaling) = (TargetsRef::Classes(&[0, 1, 0]), Scaling::Bytes);
            let rows =
                Rows { inputs: 11, features: &features, targets, weights: &[], scaling, total: Some(3) };
            assert!(is_sparse(&rows));
            let mut inputs = Inputs::default();
            // Twice: nothing of the first time may be left.
            for order in [&[0u32, 0, 0][..], &[2, 1, 0, 1]] {
                inputs.gather(&rows, order, true);
            }
            let sparse = inputs.sparse.as_ref().unwrap();
            let second = [0.2, 0.0, 0.0, 0.0];
            assert_eq!(quads(sparse.list(0)), [(0, [0.8, 0.0, 0.0, 0.2]), (1, second), (3, second)]);
            assert_eq!(quads(sparse.list(1)), []);
            let last = [0.0, 0.4, 0.0, 0.0];
            assert_eq!(quads(sparse.list(2)), [(1, last), (2, [0.0, 0.0, 1.0, 0.0]), (3, last)]);
            inputs.gather(&rows, &[1], false);
            assert_eq!(inputs.dense, [0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.4, 0.0]);
        }
    }

    #[test]
    fn targets_are_classes_or_values() {
        let features = Features::Floats(vec![0.0; 3]);
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let (classes, values) =
            (TargetsRef::Classes(&[3, 4, 5]), TargetsRef::Values { columns: 2, values: &values });
        let mut inputs = Inputs::default();
        for (targets, weights) in [(values, &[][..]), (classes, &[0.5, 1.5, 2.5]), (values, &[])] {
            let rows = Rows {
                inputs: 1,
                features: &features,
                targets,
                weights,
                scaling: Scaling::AsIs,
                total: Some(3),
            };
            inputs.gather_targets(&rows, &[2, 0]);
            match targets {
                TargetsRef::Classes(_) => {
                    assert_eq!(inputs.target(1, 0.25), Target::Class { class: 3, smoothing: 0.25 });
                    assert_eq!((inputs.weight(0), inputs.weight(1)), (2.5, 0.5));
                }
                TargetsRef::Values { .. } => {
                    assert_eq!(inputs.target(0, 0.25), Target::Values(&[5.0, 6.0]));
                    assert_eq!(inputs.target(1, 0.25), Target::Values(&[1.0, 2.0]));
                    assert_eq!(inputs.weight(0), 1.0);
                }
            }
        }
    }
}
