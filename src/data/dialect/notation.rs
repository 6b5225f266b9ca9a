//! The notation of a table's numbers: the decimal mark, and the separator of groups of digits.

use std::borrow::Cow;

/// The notation of a table's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Notation {
    /// The decimal mark: a point or a comma.
    pub point: u8,
    /// Whether the other mark may separate groups of three digits.
    pub grouped: bool,
}

impl Notation {
    /// Converts a number to the notation of the standard library; other text stays invalid.
    pub(crate) fn plain(self, text: &str) -> Cow<'_, str> {
        if self.grouped
            && let Some(number) = grouped(text.as_bytes(), self.point)
        {
            return Cow::Owned(number.digits);
        }
        match self.point {
            // Text with a point is not a number in this notation.
            b',' if text.contains('.') => Cow::Borrowed("?"),
            b',' => Cow::Owned(text.replacen(',', ".", 1)),
            _ => Cow::Borrowed(text),
        }
    }
}

/// A number whose whole part is divided into groups of three digits.
pub(crate) struct Grouped {
    /// The digits with a decimal point and without group separators.
    pub digits: String,
    /// Whether the grouping is certain: with at least two separators, or a fraction after them.
    pub is_sure: bool,
}

/// Parses a number with separators between groups of three digits: commas, or points if `point` is a comma.
pub(crate) fn grouped(cell: &[u8], point: u8) -> Option<Grouped> {
    let mark = if point == b',' { b'.' } else { b',' };
    let (sign, number) = match cell {
        [b'-', number @ ..] => ("-", number),
        [b'+', number @ ..] => ("", number),
        number => ("", number),
    };
    let (whole, fraction) = match number.iter().position(|byte| *byte == point) {
        Some(at) => (&number[..at], &number[at + 1..]),
        None => (number, &[][..]),
    };
    let groups: Vec<&[u8]> = whole.split(|byte| *byte == mark).collect();
    let digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    let (first, others) = groups.split_first().filter(|(_, others)| !others.is_empty())?;
    let is_grouped =
        (1..=3).contains(&first.len()) && first[0] != b'0' && others.iter().all(|group| group.len() == 3);
    (is_grouped && groups.iter().all(|group| digits(group)) && digits(fraction)).then(|| Grouped {
        digits: format!(
            "{sign}{}.{}",
            String::from_utf8_lossy(&groups.concat()),
            String::from_utf8_lossy(fraction)
        ),
        is_sure: others.len() > 1 || !fraction.is_empty(),
    })
}
