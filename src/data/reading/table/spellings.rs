//! Labels that differ only in spelling, and rows without a target, once all rows of a table are here.

use std::collections::HashMap;

use super::Table;
use crate::data::columns::classes::{Classes, Label};

/// What labels have in common that differ only in case, or in blanks around them.
pub(crate) fn folded(label: &str) -> String {
    label.trim().to_lowercase()
}

impl Table {
    /// How many rows have each label, in the order in which labels come in the file.
    fn rows_of_labels(&self) -> Vec<usize> {
        let mut rows = vec![0; self.names.len()];
        self.numbers.iter().for_each(|label| rows[*label as usize] += 1);
        rows
    }

    /// Joins labels that differ only in spelling into one class, named by the most frequent of them, of equally frequent ones the
    /// first. All rows are here.
    pub(crate) fn join_spellings(&mut self) {
        let rows = self.rows_of_labels();
        let mut best: HashMap<String, usize> = HashMap::new();
        for (label, name) in self.names.iter().enumerate() {
            let best = best.entry(folded(&name.text)).or_insert(label);
            if rows[label] > rows[*best] {
                *best = label;
            }
        }
        let joined = self.names.iter().map(|name| self.names[best[&folded(&name.text)]].clone());
        let joined: Vec<Label> = joined.collect();
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
        fn keep<T: Clone>(of_rows: &mut Vec<T>, kept: &[u32]) {
            *of_rows = kept.iter().filter_map(|row| of_rows.get(*row as usize).cloned()).collect();
        }
        self.features.keep_rows(width, &kept);
        keep(&mut self.numbers, &kept);
        keep(&mut self.weights, &kept);
        keep(&mut self.groups, &kept);
        keep(&mut self.times, &kept);
        keep(&mut self.ids, &kept);
        let of_row = |row: &u32| self.values[*row as usize * values..][..values].to_vec();
        self.values = kept.iter().flat_map(of_row).collect();
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
