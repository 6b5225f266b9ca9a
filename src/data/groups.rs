//! Which rows belong together, and when they are of.

use std::collections::HashMap;
use std::time::UNIX_EPOCH;

/// Numbers groups in the order in which they come.
#[derive(Default)]
pub(super) struct Groups {
    numbers: HashMap<Box<[u8]>, u32>,
    count: u32,
    /// Groups that nobody has taken yet; those without a name are of a row each.
    new: Vec<Option<Box<[u8]>>>,
}

impl Groups {
    /// The number of the group that a cell names, or of a group of its own if it is missing; nothing where there are more than
    /// can be counted.
    pub(super) fn number(&mut self, cell: &[u8], is_missing: bool) -> Option<u32> {
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
    pub(super) fn take_new(&mut self) -> Vec<Option<Box<[u8]>>> {
        std::mem::take(&mut self.new)
    }
}

/// A finite number, or the seconds from 1970 to a date or a time of a day (RFC 3339, a blank in the place of T, without a zone
/// UTC).
pub(super) fn time(cell: &[u8]) -> Option<f64> {
    let text = str::from_utf8(cell.trim_ascii()).ok()?;
    if let Ok(number) = text.parse::<f64>() {
        return Some(number).filter(|number| number.is_finite());
    }
    let date = text.as_bytes();
    let is_date = date.len() == 10 && date[4] == b'-' && date[7] == b'-';
    let text = if is_date { format!("{text} 00:00:00") } else { text.to_owned() };
    let found = humantime::parse_rfc3339_weak(&text).ok()?;
    // Before 1970 the difference is the other way.
    Some(match found.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_secs_f64(),
        Err(before) => -before.duration().as_secs_f64(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_numbers_or_dates() {
        for (cell, expected) in [
            ("2019", 2019.0),
            (" -1.5e3 ", -1500.0),
            ("1970-01-02", 86_400.0),
            ("2000-03-01 00:00:01", 951_868_801.0),
            ("2000-03-01T00:00:01Z", 951_868_801.0),
            ("2000-03-01T00:00:01.25Z", 951_868_801.25),
        ] {
            assert_eq!(time(cell.as_bytes()), Some(expected), "{cell}");
        }
        for cell in ["", "soon", "inf", "NaN", "01.02.2020", "2020-13-01", "2020-1-1"] {
            assert_eq!(time(cell.as_bytes()), None, "{cell}");
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
