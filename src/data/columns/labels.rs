//! Labels as written in a column, and their numbers in the order of appearance.

use std::collections::HashMap;

use foldhash::fast::FixedState;

/// Prefix of markers of missing labels; no label begins with it.
const NO_LABEL: char = '\0';

/// A label as written, and the row in which it appeared first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    pub text: String,
    pub row: u64,
}

impl Label {
    /// The cell of a marker of a missing label, if this is one.
    pub(crate) fn marker(&self) -> Option<&str> {
        self.text.strip_prefix(NO_LABEL)
    }
}

/// Numbers the different labels of a column in the order of appearance.
pub(crate) struct Interner {
    /// The term for a label in messages.
    called: &'static str,
    /// Numbers by text, without surrounding blanks.
    numbers: HashMap<Box<[u8]>, u32, FixedState>,
    next: u32,
    /// Labels not yet taken.
    new: Vec<Label>,
}

impl Interner {
    /// Makes an interner whose numbers start at `first`.
    pub(crate) fn new(called: &'static str, first: u32) -> Self {
        Self { called, numbers: HashMap::default(), next: first, new: Vec::new() }
    }

    /// The number of the label in a cell, if it has appeared before.
    #[inline]
    pub(crate) fn find(&self, cell: &[u8]) -> Option<u32> {
        self.numbers.get(cell.trim_ascii()).copied()
    }

    /// Numbers the label in a cell of row `row`, which has not appeared before; an error describes the expected
    /// content.
    pub(crate) fn add(&mut self, cell: &[u8], row: u64) -> Result<u32, String> {
        let text = str::from_utf8(cell.trim_ascii()).ok().filter(|text| !text.contains('\0'));
        let text = text.ok_or_else(|| format!("a {}, text in UTF-8 without NUL bytes", self.called))?;
        self.new.push(Label { text: text.to_owned(), row });
        self.next += 1;
        Ok(self.insert(cell, self.next - 1))
    }

    /// Numbers a marker of a missing label.
    pub(crate) fn missing(&mut self, cell: &[u8], row: u64) -> u32 {
        let marker = String::from_utf8_lossy(cell.trim_ascii());
        self.new.push(Label { text: format!("{NO_LABEL}{marker}"), row });
        self.next += 1;
        self.insert(cell, self.next - 1)
    }

    /// Sets the number of the label in a cell, and returns it.
    pub(crate) fn insert(&mut self, cell: &[u8], number: u32) -> u32 {
        self.numbers.insert(cell.trim_ascii().into(), number);
        number
    }

    /// Takes the labels that appeared since the last call.
    pub(crate) fn take_new(&mut self) -> Vec<Label> {
        std::mem::take(&mut self.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_numbered_as_they_come() {
        let mut interner = Interner::new("label", 0);
        let mut number = |cell: &[u8]| interner.find(cell).map_or_else(|| interner.add(cell, 7), Ok);
        for (cell, expected) in [("9", 0), ("cat", 1), ("9", 0), (" cat ", 1), ("09", 2), ("1234", 3)] {
            assert_eq!(number(cell.as_bytes()), Ok(expected), "{cell}");
        }
        for cell in [&b"\xff"[..], b"a\0"] {
            assert!(number(cell).is_err(), "{cell:?}");
        }
        let texts: Vec<String> = interner.take_new().into_iter().map(|label| label.text).collect();
        assert_eq!(texts, ["9", "cat", "09", "1234"]);
        assert!(interner.take_new().is_empty());
    }
}
