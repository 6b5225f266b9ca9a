//! Labels that differ only in case, or in blanks around them; and rows without a label or a value to predict.

use std::collections::HashMap;

use super::Reader;
use crate::data::reading::table::folded;

impl Reader {
    /// Whether labels that differ only in spelling are joined when all rows are here.
    pub(crate) fn folds_labels(&self) -> bool {
        self.values == 0 && self.schema().is_some_and(|schema| schema.folds_labels)
    }

    /// Whether rows without a target are left out when all rows are here.
    pub(crate) fn drops_missing_target(&self) -> bool {
        self.schema().is_some_and(|schema| schema.drops_missing_target)
    }

    /// How many rows were left out because they have no target.
    pub fn dropped_rows(&self) -> usize {
        self.dropped
    }

    /// Which rows of the file the rows are, counted from 0, where some were left out because they have no target.
    pub fn kept_rows(&self) -> Option<&[u32]> {
        self.kept.as_deref()
    }
}

/// Marks the names that differ only in spelling from another name with more rows, or with as many and further in front.
pub(crate) fn rarer_spellings(names: &[String], rows: &[usize]) -> Vec<bool> {
    let mut groups: HashMap<String, Vec<usize>> = HashMap::new();
    for (name, text) in names.iter().enumerate() {
        groups.entry(folded(text)).or_default().push(name);
    }
    let mut is_rarer = vec![false; names.len()];
    for group in groups.into_values() {
        let best = group.iter().copied().rev().max_by_key(|name| rows[*name]);
        group.into_iter().filter(|name| Some(*name) != best).for_each(|name| is_rarer[name] = true);
    }
    is_rarer
}
