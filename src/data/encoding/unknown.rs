//! Cells with values that no training row held.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

/// The kind of an unknown cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnknownKind {
    /// A category that no training row holds.
    Category,
    /// A missing category, in a column without missing categories in training rows.
    MissingCategory,
    /// A missing number, in a column without missing numbers in training rows.
    MissingNumber,
}

/// The number of unknown cells per input column. Serialized as the total number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnknownCells(BTreeMap<(UnknownKind, usize), u64>);

impl UnknownCells {
    /// Counts one more cell of an input column, given by its index.
    pub(crate) fn add(&mut self, kind: UnknownKind, column: usize) {
        *self.0.entry((kind, column)).or_default() += 1;
    }

    /// Adds the counts of other rows.
    pub fn extend(&mut self, others: &Self) {
        for (key, cells) in &others.0 {
            *self.0.entry(*key).or_default() += cells;
        }
    }

    /// The total number of unknown cells.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The columns with unknown cells of one kind, and the number of these cells in each.
    pub fn columns(&self, kind: UnknownKind) -> Vec<(usize, u64)> {
        let of_kind = self.0.iter().filter(|((it, _), _)| *it == kind);
        of_kind.map(|((_, column), cells)| (*column, *cells)).collect()
    }
}

impl Serialize for UnknownCells {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.count().serialize(to)
    }
}
