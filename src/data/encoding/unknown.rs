//! Cells that hold what no training row held.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

/// What such a cell holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnknownKind {
    /// A category that no training row has.
    Category,
    /// No category, in a column where no training row misses one.
    MissingCategory,
    /// No number, in a column where no training row misses one.
    MissingNumber,
}

/// How many cells of each input column hold what no training row held. As JSON their number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnknownCells(BTreeMap<(UnknownKind, usize), u64>);

impl UnknownCells {
    /// Counts one more cell of an input column, which are counted from 0.
    pub(crate) fn add(&mut self, kind: UnknownKind, column: usize) {
        *self.0.entry((kind, column)).or_default() += 1;
    }

    /// Adds those of other rows.
    pub fn extend(&mut self, others: &Self) {
        for (key, cells) in &others.0 {
            *self.0.entry(*key).or_default() += cells;
        }
    }

    /// Cells of all columns.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The columns with such cells of one kind, and how many each has.
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
