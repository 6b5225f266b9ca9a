//! Inputs and targets of a batch, as one part of the work gathers them.

use std::ops::Range;

use super::packed_rows::{Input, PackedRows, divisor};
use super::sparse_rows::SparseRows;
use crate::data::{Features, Rows, TargetsRef};
use crate::step::Targets;
use crate::vectors::vectorized_loops;

/// A share of a batch: targets and weights of some of its rows. Its inputs are either all inputs of these
/// rows or of the whole batch, or lists of all rows of the batch for some groups of inputs.
#[derive(Debug, Default)]
pub struct Inputs {
    /// Rows of the batch that the targets belong to.
    rows: Range<usize>,
    /// Rows of the batch that the dense inputs belong to.
    dense_rows: Range<usize>,
    /// Dense inputs, [rows, inputs].
    dense: Vec<f32>,
    /// Inputs that are not zero, if they are sparse.
    lists: Option<SparseRows>,
    /// Class of each row, or empty.
    classes: Vec<u32>,
    /// Target values, row after row, or empty.
    values: Vec<f32>,
    /// Weight of each row.
    weights: Vec<f32>,
}

/// Inputs of a share.
pub enum ShareInputs<'a> {
    /// All inputs of these rows of the batch, concatenated.
    Rows(Range<usize>, &'a [f32]),
    /// Lists of some groups.
    SparseRows(&'a SparseRows),
}

impl Inputs {
    /// Returns the rows of the batch that the targets belong to.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Returns the gathered inputs.
    pub fn held(&self) -> ShareInputs<'_> {
        match &self.lists {
            Some(lists) => ShareInputs::SparseRows(lists),
            None => ShareInputs::Rows(self.dense_rows.clone(), &self.dense),
        }
    }

    /// Returns the targets of the share's rows.
    pub fn targets(&self, smoothing: f32) -> Targets<'_> {
        match self.values[..] {
            [] => Targets::Classes { classes: &self.classes, smoothing },
            _ => Targets::Values(&self.values),
        }
    }

    /// Returns the weight of each row of the share in the loss.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Gathers targets and weights of the rows `order[share]`.
    pub fn gather_targets(&mut self, rows: &Rows<'_>, order: &[u32], share: Range<usize>) {
        self.rows = share;
        let order = order[self.rows()].iter().map(|row| *row as usize);
        self.classes.clear();
        self.values.clear();
        match rows.targets {
            TargetsRef::Classes(classes) => self.classes.extend(order.clone().map(|row| classes[row])),
            TargetsRef::Values { columns, values } => {
                order
                    .clone()
                    .for_each(|row| self.values.extend_from_slice(&values[row * columns..][..columns]));
            }
        }
        self.weights.clear();
        self.weights.extend(order.map(|row| rows.weight(row)));
    }

    /// Gathers the inputs of the rows `order[share]`. Allocates only if they need more memory than ever
    /// before.
    pub fn gather_rows(&mut self, rows: &Rows<'_>, order: &[u32], share: Range<usize>) {
        let order = &order[share.clone()];
        (self.dense_rows, self.lists) = (share, None);
        match rows.features {
            Features::Bytes(bytes) => self.copy(bytes, rows, order),
            Features::Floats(floats) => self.copy(floats, rows, order),
        }
    }

    /// Builds the lists of adjacent sections of groups for all rows of `order`.
    pub fn gather_lists(
        &mut self,
        rows: &Rows<'_>,
        order: &[u32],
        packed: &PackedRows,
        sections: impl Iterator<Item = Range<usize>> + Clone,
    ) {
        let lists = self.lists.get_or_insert_with(SparseRows::default);
        match rows.features {
            Features::Bytes(_) => lists.take::<u8>(packed, rows.scaling, order, sections),
            Features::Floats(_) => lists.take::<f32>(packed, rows.scaling, order, sections),
        }
    }

    fn copy<T: Input>(&mut self, values: &[T], Rows { inputs, scaling, .. }: &Rows<'_>, order: &[u32]) {
        let rows = order.iter().map(|row| &values[*row as usize * inputs..][..*inputs]);
        let divisor = divisor(*scaling);
        self.dense.resize(order.len() * inputs, 0.0);
        vectorized_loops!({
            for (to, row) in self.dense.chunks_exact_mut((*inputs).max(1)).zip(rows.clone()) {
                T::scale_row(row, divisor, to);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::groups::{Groups, QUAD};
    use super::super::partition::range;
    use super::super::sparse_rows::Quad;
    use super::*;
    use crate::data::Scaling;

    fn quads(list: &[Quad]) -> Vec<(u32, [f32; QUAD])> {
        list.iter().map(|quad| (quad.row, quad.values)).collect()
    }

    /// Concatenates the lists of all parts, for several numbers of parts.
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
            let mut packed = PackedRows::new(Arc::new(Groups::neighbours(11)));
            packed.extend(&rows, 3);
            for parts in 1..5 {
                let mut lists = Vec::new();
                for part in 0..parts {
                    let mut inputs = Inputs::default();
                    // Twice: no entry of the first time may remain.
                    for order in [&[0u32, 0, 0][..], &[2, 1, 0, 1]] {
                        let sections = range(3, part, parts).map(|group| group..group + 1);
                        inputs.gather_lists(&rows, order, &packed, sections);
                    }
                    let ShareInputs::SparseRows(held) = inputs.held() else { panic!("lists") };
                    lists.extend(held.each().map(|(group, list)| (group, quads(list))));
                    inputs.gather_rows(&rows, &[0, 1], 1..2);
                    let ShareInputs::Rows(share, dense) = inputs.held() else { panic!("rows") };
                    assert_eq!((share, dense), (1..2, &[0.2, 0., 0., 0., 0., 0., 0., 0., 0., 0.4, 0.][..]));
                }
                let second = [0.2, 0.0, 0.0, 0.0];
                let last = [0.0, 0.4, 0.0, 0.0];
                let first = vec![(0, [0.8, 0.0, 0.0, 0.2]), (1, second), (3, second)];
                let third = vec![(1, last), (2, [0.0, 0.0, 1.0, 0.0]), (3, last)];
                assert_eq!(lists, [(0, first), (2, third)]);
            }
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
            inputs.gather_targets(&rows, &[2, 0], 0..2);
            match targets {
                TargetsRef::Classes(_) => {
                    let classes = &[5, 3];
                    assert_eq!(inputs.targets(0.25), Targets::Classes { classes, smoothing: 0.25 });
                    assert_eq!(inputs.weights(), [2.5, 0.5]);
                }
                TargetsRef::Values { .. } => {
                    assert_eq!(inputs.targets(0.25), Targets::Values(&[5.0, 6.0, 1.0, 2.0]));
                    assert_eq!(inputs.weights(), [1.0, 1.0]);
                }
            }
            inputs.gather_targets(&rows, &[2, 0, 1], 1..3);
            assert_eq!(inputs.weights.len(), 2);
        }
    }
}
