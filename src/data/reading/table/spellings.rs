//! Labels that differ only in spelling, and rows without a target, once all rows of a table are here.

use std::collections::HashMap;

use super::Table;
use crate::data::columns::classes::{Classes, Label};

/// What labels have in common that differ only in case, or in blanks around them.
pub(crate) fn folded(label: &str) -> String {
    label.trim().to_lowercase()
}

/// The most frequent spelling of each of these names, which have so many rows: its place among them; of equally frequent ones the first.
pub(crate) fn best_spellings<'a>(names: impl Iterator<Item = &'a String>, rows: &[usize]) -> Vec<usize> {
    let folded: Vec<String> = names.map(|name| folded(name)).collect();
    let mut best: HashMap<&String, usize> = HashMap::new();
    for (name, folded) in folded.iter().enumerate() {
        let best = best.entry(folded).or_insert(name);
        if rows[name] > rows[*best] {
            *best = name;
        }
    }
    folded.iter().map(|folded| best[folded]).collect()
}

impl Table {
    /// Joins labels that differ only in spelling into one class, named by the most frequent of them, of equally frequent ones the
    /// first. All rows are here.
    pub(crate) fn join_spellings(&mut self) {
        let mut rows = vec![0; self.names.len()];
        self.numbers.iter().for_each(|label| rows[*label as usize] += 1);
        let best = best_spellings(self.names.iter().map(|name| &name.text), &rows);
        let joined: Vec<Label> = best.into_iter().map(|label| self.names[label].clone()).collect();
        (self.classes, self.class_of) = Classes::from_labels(&joined);
        self.labels.clear();
        self.classify();
    }

    /// Leaves out the rows, of `width` inputs and `values` values to predict, that have no label or miss a value; gives the numbers of the
    /// others, if there were such rows. All rows are here.
    pub(crate) fn drop_without_target(&mut self, width: usize, values: usize) -> Option<Vec<u32>> {
        let none = self.names.iter().position(|name| name.text.is_empty());
        let rows = self.features.len() / width;
        let has_target = |row: &u32| match values {
            0 => none.is_none_or(|none| self.numbers[*row as usize] as usize != none),
            values => self.values[*row as usize * values..][..values].iter().all(|value| !value.is_nan()),
        };
        let kept: Vec<u32> = (0..rows as u32).filter(has_target).collect();
        if kept.len() == rows {
            return None;
        }
        self.keep_rows(width, values, &kept);
        if let Some(none) = none {
            self.names.remove(none);
            self.files.remove(none);
            self.numbers.iter_mut().filter(|number| **number as usize > none).for_each(|number| *number -= 1);
        }
        (self.class_of, self.labels) = (Vec::new(), Vec::new());
        self.classify();
        Some(kept)
    }
}
