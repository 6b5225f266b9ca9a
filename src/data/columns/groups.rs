//! Groups of rows that belong together.

use std::collections::HashMap;

/// Numbers groups in the order of appearance.
#[derive(Default)]
pub(crate) struct Groups {
    numbers: HashMap<Box<[u8]>, u32>,
    count: u32,
    /// Groups not yet taken; groups without a name have one row each.
    new: Vec<Option<Box<[u8]>>>,
}

impl Groups {
    /// The number of the group named by a cell, or of a new group if the cell is missing; `None` if there are too many
    /// groups to number.
    pub(crate) fn number(&mut self, cell: &[u8], is_missing: bool) -> Option<u32> {
        let cell = cell.trim_ascii();
        if let Some(number) = self.numbers.get(cell).filter(|_| !is_missing) {
            return Some(*number);
        }
        let number = self.count;
        self.count = number.checked_add(1)?;
        if !is_missing {
            self.numbers.insert(cell.into(), number);
        }
        self.new.push((!is_missing).then(|| cell.into()));
        Some(number)
    }

    /// Takes the groups that appeared since the last call.
    pub(crate) fn take_new(&mut self) -> Vec<Option<Box<[u8]>>> {
        std::mem::take(&mut self.new)
    }
}

/// A number without insignificant zeros, `1` for `01` and `1.0`, with the decimal mark `point`; other cells unchanged,
/// without surrounding blanks.
pub(crate) fn plain(cell: &[u8], point: u8) -> &[u8] {
    let cell = cell.trim_ascii();
    let at = cell.iter().position(|byte| *byte == point).unwrap_or(cell.len());
    let (whole, fraction) = (&cell[..at], cell.get(at + 1..).unwrap_or_default());
    if whole.is_empty() || !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
        return cell;
    }
    let zeros = |digits: &mut dyn Iterator<Item = &u8>| digits.take_while(|digit| **digit == b'0').count();
    let from = zeros(&mut whole[..at - 1].iter());
    let decimals = fraction.len() - zeros(&mut fraction.iter().rev());
    &cell[from..if decimals == 0 { at } else { at + 1 + decimals }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_equal_are_one_group() {
        for (cell, point, expected) in [
            ("1", b'.', "1"),
            (" 1.0 ", b'.', "1"),
            ("007", b'.', "7"),
            ("0", b'.', "0"),
            ("000.00", b'.', "0"),
            ("10.250", b'.', "10.25"),
            ("3.", b'.', "3"),
            ("1,0", b',', "1"),
            ("1.000", b',', "1.000"),
            ("1,000", b'.', "1,000"),
            (".5", b'.', ".5"),
            ("1.0.0", b'.', "1.0.0"),
            ("a1.0", b'.', "a1.0"),
            ("", b'.', ""),
            (".", b'.', "."),
        ] {
            assert_eq!(str::from_utf8(plain(cell.as_bytes(), point)), Ok(expected), "{cell}");
        }
    }

    #[test]
    fn groups_are_numbered_as_they_come() {
        let mut groups = Groups::default();
        let numbers: Vec<Option<u32>> = ["b", "a", " b", "", "a", ""]
            .iter()
            .map(|cell| groups.number(cell.as_bytes(), cell.is_empty()))
            .collect();
        assert_eq!(numbers, [0, 1, 0, 2, 1, 3].map(Some));
    }
}
