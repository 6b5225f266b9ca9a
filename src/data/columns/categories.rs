//! Columns of categories: the different texts of each, numbered in the order of appearance.

use super::classes::Classes;
use super::label_type::LabelType;
use super::labels::Label;

/// The number of a missing cell in a column of categories.
pub(crate) const MISSING: u32 = 0;

/// The categories of a column by number, counted from 1 in the order of appearance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dictionary {
    pub(crate) labels: Vec<Label>,
    /// The type of the categories, if they are typed.
    pub(crate) label_type: Option<LabelType>,
}

impl Dictionary {
    /// The text with this number, as first written; `None` for a missing cell.
    pub fn text(&self, number: u32) -> Option<&str> {
        let label = self.labels.get((number as usize).checked_sub(1)?);
        label.map(|label| label.text.as_str())
    }

    /// The count of numbers: one for each text, and one for missing cells.
    pub fn numbers(&self) -> usize {
        self.labels.len() + 1
    }

    /// The index among these classes of the text with each number; `None` for unknown ones.
    pub(crate) fn classes_in(&self, classes: &Classes) -> Vec<Option<u32>> {
        let find = classes.finder();
        (0..self.numbers() as u32).map(|number| find(self.text(number)?)).collect()
    }

    /// The categories of the texts with these numbers, in natural order.
    pub(crate) fn categories(&self, numbers: impl Iterator<Item = u32>) -> Classes {
        let labels: Vec<Label> = numbers
            .filter_map(|number| self.labels.get((number as usize).checked_sub(1)?).cloned())
            .collect();
        Classes::from_typed(&labels, self.label_type).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::columns::labels::Interner;

    #[test]
    fn cells_are_numbered_and_missing_ones_have_a_number_of_their_own() {
        let mut interner = Interner::new("category", MISSING + 1);
        let mut number = |cell: &[u8], is_missing| match interner.find(cell) {
            Some(number) => Ok(number),
            None if is_missing => Ok(interner.insert(cell, MISSING)),
            None => interner.add(cell, 3),
        };
        for (cell, is_missing, expected) in [
            ("red", false, 1),
            ("", true, 0),
            ("blue", false, 2),
            (" red", false, 1),
            ("NA", true, 0),
            ("NA", true, 0),
            ("7", false, 3),
            ("", true, 0),
        ] {
            assert_eq!(number(cell.as_bytes(), is_missing), Ok(expected), "{cell:?}");
        }
        assert!(number(b"\xff", false).is_err());
        let dictionary = Dictionary { labels: interner.take_new(), label_type: None };
        assert_eq!((dictionary.numbers(), dictionary.text(2), dictionary.text(0)), (4, Some("blue"), None));
        assert_eq!(dictionary.categories([0, 3, 1].into_iter()).names(), ["7", "red"]);
    }
}
