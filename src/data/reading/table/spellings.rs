//! Labels that differ only in spelling, and rows without a target, processed after the last row of a table.

use std::collections::HashMap;

use super::Table;
use crate::data::columns::labels::Label;

/// A marker of missing labels in at least one of this many rows may be a label.
const LARGE_SHARE: usize = 20;

/// The common form of labels that differ only in case, or in surrounding blanks.
pub(crate) fn folded(label: &str) -> String {
    label.trim().to_lowercase()
}

/// For each name, the index of its most frequent spelling, the first of equally frequent ones; `rows` counts the rows
/// of each name.
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
    /// Joins labels that differ only in spelling into one class, named by the most frequent spelling, the first of
    /// equally frequent ones. Requires all rows.
    pub(crate) fn join_spellings(&mut self) {
        let mut rows = vec![0; self.names.len()];
        self.numbers.iter().for_each(|label| rows[*label as usize] += 1);
        let best = best_spellings(self.names.iter().map(|name| &name.text), &rows);
        let joined: Vec<Label> = best.into_iter().map(|label| self.names[label].clone()).collect();
        self.find_classes(Some(&joined));
        self.classify();
    }

    /// A marker of missing labels that may be a label, and its number of rows: a marker at least half as frequent as
    /// the median label, or in a large share of the rows. `is_said` is true for markers given by the user. Requires
    /// all rows.
    pub(crate) fn doubtful_marker(&self, is_said: impl Fn(&str) -> bool) -> Option<(&str, usize)> {
        let mut rows = vec![0; self.names.len()];
        self.numbers.iter().for_each(|label| rows[*label as usize] += 1);
        let of_labels = self.names.iter().zip(&rows).filter(|(name, _)| name.marker().is_none());
        let mut of_labels: Vec<usize> = of_labels.map(|(_, rows)| *rows).collect();
        of_labels.sort_unstable();
        let usual = of_labels.get(of_labels.len() / 2).copied().unwrap_or(0);
        let is_frequent = |rows: usize| {
            of_labels.len() < 2 || rows * 2 >= usual || rows * LARGE_SHARE >= self.numbers.len()
        };
        self.names.iter().zip(&rows).find_map(|(name, rows)| {
            let marker = name.marker().filter(|marker| !marker.is_empty() && !is_said(marker))?;
            is_frequent(*rows).then_some((marker, *rows))
        })
    }

    /// Leaves out the rows that have no label or miss a value; rows have `width` inputs and `values` values to predict.
    /// Returns the numbers of the other rows, if any rows were left out. Requires all rows.
    pub(crate) fn drop_without_target(&mut self, width: usize, values: usize) -> Option<Vec<u32>> {
        let are_missing: Vec<bool> = self.names.iter().map(|name| name.marker().is_some()).collect();
        let rows = self.features.len() / width;
        let has_target = |row: &u32| match values {
            0 => !are_missing[self.numbers[*row as usize] as usize],
            values => self.values[*row as usize * values..][..values].iter().all(|value| !value.is_nan()),
        };
        let kept: Vec<u32> = (0..rows as u32).filter(has_target).collect();
        if kept.len() == rows {
            return None;
        }
        self.keep_rows(width, values, &kept);
        let mut kept_names = 0;
        let places: Vec<u32> = are_missing
            .iter()
            .map(|is_missing| {
                kept_names += u32::from(!is_missing);
                kept_names.saturating_sub(1)
            })
            .collect();
        self.numbers.iter_mut().for_each(|number| *number = places[*number as usize]);
        let mut is_kept = are_missing.iter().map(|is_missing| !is_missing);
        self.names.retain(|_| is_kept.next().unwrap_or(true));
        let mut is_kept = are_missing.iter().map(|is_missing| !is_missing);
        self.files.retain(|_| is_kept.next().unwrap_or(true));
        (self.class_of, self.labels) = (Vec::new(), Vec::new());
        self.classify();
        Some(kept)
    }
}
