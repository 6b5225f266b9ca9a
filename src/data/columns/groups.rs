//! Which rows belong together.

use std::collections::HashMap;

/// Numbers groups in the order in which they come.
#[derive(Default)]
pub(crate) struct Groups {
    numbers: HashMap<Box<[u8]>, u32>,
    count: u32,
    /// Groups that were not taken yet; those without a name have one row each.
    new: Vec<Option<Box<[u8]>>>,
}

impl Groups {
    /// The number of the group that a cell names, or of a new group if it is missing; `None` where there are more than
    /// can be counted.
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

    /// The groups that have come since the last call.
    pub(crate) fn take_new(&mut self) -> Vec<Option<Box<[u8]>>> {
        std::mem::take(&mut self.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
