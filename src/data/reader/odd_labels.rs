//! Labels that may be mistakes: of a different kind than the others, or in a single row.

use std::path::PathBuf;

use super::Reader;
use crate::data::columns::classes::is_number;
use crate::data::reading::table::best_spellings;

/// Minimum rows of a table in which a class with a single row is odd.
const MANY_ROWS: usize = 100;

/// Labels of the rarer kind are odd if fewer than one row in this many has such a label.
const ODD_SHARE: usize = 10;

/// A label that may be a mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OddLabel {
    /// The label as written in the table.
    pub label: String,
    /// The row in which the label appeared first.
    pub row: u64,
    /// The file of this row, if it is not the first one of the table.
    pub file: Option<PathBuf>,
    /// The reason.
    pub why: Oddity,
}

/// The reason why a label is odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oddity {
    /// A number among text.
    Number,
    /// Text among numbers.
    Text,
    /// A label that differs from another only in case, or in surrounding blanks, and is not more frequent.
    Spelling,
    /// The label of a single row.
    Single,
}

/// Classes of one kind.
#[derive(Default)]
struct Count {
    classes: usize,
    rows: usize,
}

impl Count {
    /// Whether the labels of this kind are odd in comparison with the other kind.
    fn is_odd_beside(&self, other: &Self) -> bool {
        let is_alone = self.classes == 1 && other.classes > 1;
        self.classes > 0 && (is_alone || self.rows * ODD_SHARE < self.rows + other.rows)
    }
}

/// For each class, given by its name and number of rows, the reason why it is odd, if any.
fn oddities(names: &[String], rows: &[usize]) -> Vec<Option<Oddity>> {
    let are_numbers: Vec<bool> = names.iter().map(|name| is_number(name)).collect();
    let [mut numbers, mut texts] = [Count::default(), Count::default()];
    for (is_number, rows) in are_numbers.iter().zip(rows) {
        let count = if *is_number { &mut numbers } else { &mut texts };
        count.classes += 1;
        count.rows += rows;
    }
    let kind = if numbers.rows < texts.rows {
        numbers.is_odd_beside(&texts).then_some(Oddity::Number)
    } else {
        texts.is_odd_beside(&numbers).then_some(Oddity::Text)
    };
    let has_many_rows = rows.iter().sum::<usize>() >= MANY_ROWS;
    let oddity = |((is_number, rows), is_spelling): ((&bool, &usize), bool)| {
        let own = if *is_number { Oddity::Number } else { Oddity::Text };
        let single = (has_many_rows && *rows == 1).then_some(Oddity::Single);
        kind.filter(|kind| *kind == own).or(is_spelling.then_some(Oddity::Spelling)).or(single)
    };
    let are_rarer = best_spellings(names.iter(), rows).into_iter().zip(0..).map(|(best, name)| best != name);
    are_numbers.iter().zip(rows).zip(are_rarer).map(oddity).collect()
}

impl Reader {
    /// The labels of a table that may be mistakes: text among numbers, numbers among text, and classes of a single row
    /// in tables of 100 rows or more. Empty until all rows are read.
    pub fn odd_labels(&self) -> Vec<OddLabel> {
        if self.table_form().is_none() || self.values() > 0 || !self.is_complete() {
            return Vec::new();
        }
        let names = self.classes().names();
        let mut rows = vec![0; names.len()];
        self.labels().iter().for_each(|label| rows[*label as usize] += 1);
        let firsts = self.table.first_labels();
        let odd = oddities(names, &rows).into_iter().zip(firsts).filter_map(|(why, first)| {
            let (file, row) = self.table.origin(first?);
            let file = file.filter(|file| *file != self.name).map(ToOwned::to_owned);
            let label = self.table.names[first?].text.clone();
            Some(OddLabel { label, row: row?, file, why: why? })
        });
        let mut odd: Vec<OddLabel> = odd.collect();
        // Labels of single rows come last.
        odd.sort_by_key(|odd| odd.why == Oddity::Single);
        odd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_the_rarer_kind_and_single_ones_are_odd() {
        use Oddity::{Number, Single, Spelling, Text};
        let odd = |classes: &[(&str, usize)]| {
            let (names, rows): (Vec<String>, Vec<usize>) =
                classes.iter().map(|(name, rows)| ((*name).to_owned(), *rows)).unzip();
            oddities(&names, &rows)
        };
        for (classes, expected) in [
            (&[("0", 150), ("1", 150), ("yes", 1)][..], &[None, None, Some(Text)][..]),
            (&[("7", 1), ("c0", 50), ("c1", 50)], &[Some(Number), None, None]),
            // A kind with a single label is odd, however frequent the label.
            (&[("1", 2), ("2", 2), ("K", 2)], &[None, None, Some(Text)]),
            (&[("0", 100), ("yes", 1)], &[None, Some(Text)]),
            // Equal numbers of both kinds are codes.
            (&[("1", 2), ("2", 2), ("K", 2), ("L", 2)], &[None; 4]),
            (&[("1", 2), ("K", 2)], &[None; 2]),
            (&[("a", 98), ("b", 1)], &[None; 2]),
            (&[("a", 99), ("b", 1)], &[None, Some(Single)]),
            (&[("1", 1), ("2", 99), ("x", 1)], &[Some(Single), None, Some(Text)]),
            (&[("inf", 9), ("nan", 1)], &[None; 2]),
            (
                &[("YES", 2), ("no", 40), ("no\u{a0}", 1), ("yes", 40)],
                &[Some(Spelling), None, Some(Spelling), None],
            ),
            (&[("A", 5), ("B", 7), ("a", 5)], &[None, None, Some(Spelling)]),
        ] {
            assert_eq!(odd(classes), expected, "{classes:?}");
        }
    }
}
