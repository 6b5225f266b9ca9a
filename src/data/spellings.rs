//! Labels that differ only in case, or in blanks around them.

use std::collections::HashMap;

use super::classes::{Classes, Label};
use super::table::Table;

/// What labels have in common that differ only in case, or in blanks around them.
pub(super) fn folded(label: &str) -> String {
    label.trim().to_lowercase()
}

impl Table {
    /// How many rows have each label, in the order in which labels come in the file.
    fn rows_of_labels(&self) -> Vec<usize> {
        let mut rows = vec![0; self.names.len()];
        self.numbers.iter().for_each(|label| rows[*label as usize] += 1);
        rows
    }

    /// Of labels that differ only in spelling makes one class, named by the most frequent of them, of equally frequent ones the
    /// first. All rows are here.
    pub(super) fn join_spellings(&mut self) {
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
        (self.classes, self.class_of) = Classes::of(&joined);
        self.labels.clear();
        self.classify();
    }
}

/// Which of these names differ from another that has more rows, or as many and stands before it, in nothing but spelling.
pub(super) fn rarer_spellings(names: &[String], rows: &[usize]) -> Vec<bool> {
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
