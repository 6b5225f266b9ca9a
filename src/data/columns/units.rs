//! Signs and units next to numbers: `$1,200`, `12%`, `3 kg`; other decimal marks and dates count as such.

use crate::data::dialect::notation::Notation;
use crate::data::dialect::number::float;

/// Signs of currencies.
const CURRENCIES: &str = "$€£¥₹₽₩₺₪₫฿¢";

/// Decimal marks.
pub(crate) const DECIMALS: [char; 2] = ['.', ','];

/// Blanks and marks that separate groups of digits.
const MARKS: &str = ".,' \u{a0}\u{2009}\u{202f}";

/// The longest word that is treated as a unit.
const LONGEST_UNIT: usize = 8;

/// Letters after a number that are not a unit.
const ORDINALS: [&str; 4] = ["st", "nd", "rd", "th"];

/// The "unit" of dates with the year last: whether the day or the month is first is ambiguous.
pub(crate) const DATE: &str = "date";

/// The notation of a target's numbers with a sign or a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Units {
    /// The common sign or unit: `%`, `$`.
    pub unit: String,
    /// The decimal mark.
    pub point: u8,
}

impl Units {
    /// The number in a cell with this unit: `85.7%`, `-$2,834.82`, `(3 EUR)`.
    pub(crate) fn number(&self, cell: &[u8]) -> Option<f32> {
        let cell = cell.trim_ascii();
        let inner = cell.strip_prefix(b"(").and_then(|cell| cell.strip_suffix(b")"));
        let text = str::from_utf8(inner.unwrap_or(cell)).ok()?;
        if unit(text.as_bytes())? != self.unit {
            return None;
        }
        let is_negative = inner.is_some() || text.starts_with('-');
        let is_of_number = |letter: &char| letter.is_ascii_digit() || ".,".contains(*letter);
        let digits: String = text.chars().filter(is_of_number).collect();
        let notation = Notation { point: self.point, grouped: true };
        let number = float(digits.trim_end_matches(['.', ',']).as_bytes(), notation).ok()?;
        Some(if is_negative { 0.0 - number } else { number })
    }
}

/// The unit next to a number in a cell; a blank if blanks separate its digits, or a decimal mark if that is the only
/// sign.
pub(crate) fn unit(cell: &[u8]) -> Option<String> {
    let text = str::from_utf8(cell).ok()?.trim().trim_start_matches(['-', '+']);
    if is_date(text) {
        return Some(DATE.to_owned());
    }
    let (before, rest) = text.split_at(text.find(|letter: char| letter.is_ascii_digit())?);
    let is_of_number = |letter: char| letter.is_ascii_digit() || MARKS.contains(letter);
    let (number, behind) = rest.split_at(rest.find(|letter| !is_of_number(letter)).unwrap_or(rest.len()));
    let number = number.trim();
    let groups: Vec<&str> = number.split(char::is_whitespace).collect();
    let is_grouped =
        groups[1..].iter().all(|group| group.bytes().take_while(u8::is_ascii_digit).count() == 3);
    let (before, behind) = (before.trim_end(), behind.trim());
    let is_code = |text: &str| text.len() == 3 && text.bytes().all(|letter| letter.is_ascii_uppercase());
    let is_currency = |text: &str| text.chars().count() == 1 && CURRENCIES.contains(text);
    let is_word = |text: &str| {
        text.len() <= LONGEST_UNIT
            && !ORDINALS.contains(&text)
            && text.chars().all(|letter| letter.is_alphabetic() || "°²³/".contains(letter))
    };
    let is_unit = |text: &str| ["%", "‰"].contains(&text) || is_currency(text) || is_word(text);
    match (before, behind) {
        ("", "") if groups.len() == 1 => decimal(number).map(String::from),
        ("", "") => is_grouped.then(|| " ".to_owned()),
        ("", unit) => (is_grouped && is_unit(unit)).then(|| unit.to_owned()),
        (sign, "") => (is_grouped && (is_currency(sign) || is_code(sign))).then(|| sign.to_owned()),
        _ => None,
    }
}

/// Whether a cell is a date with the year last: two numbers of one or two digits and one of four, perhaps with a time.
fn is_date(text: &str) -> bool {
    let date = text.split([' ', 'T']).next().unwrap_or_default();
    let parts: Vec<&str> = date.split(['/', '.', '-']).collect();
    let is_number = |(part, lengths): (&&str, [usize; 2])| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    parts.len() == 3 && parts.iter().zip([[1, 2], [1, 2], [4, 4]]).all(is_number)
}

/// The decimal mark of a number without other marks.
fn decimal(number: &str) -> Option<char> {
    let is_mark = |letter: &char| !letter.is_ascii_digit();
    let mark = number.chars().find(is_mark).filter(|mark| DECIMALS.contains(mark))?;
    (number.chars().filter(is_mark).count() == 1 && !number.ends_with(mark)).then_some(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_beside_numbers() {
        for (cell, expected) in [
            ("12%", "%"),
            ("-12.5 %", "%"),
            ("$1,200", "$"),
            ("€ 3.50", "€"),
            ("3,50€", "€"),
            ("USD 12", "USD"),
            ("12 kg", "kg"),
            ("7km/h", "km/h"),
            ("1 234", " "),
            ("1\u{a0}234\u{a0}567,5", " "),
            ("1 234 €", "€"),
            ("-1,25", ","),
            ("1.5", "."),
            ("31/12/2024", "date"),
            ("3.1.2024 10:30", "date"),
        ] {
            assert_eq!(unit(cell.as_bytes()).as_deref(), Some(expected), "{cell}");
        }
        for cell in [
            "",
            "kg",
            "3rd",
            "12 34",
            "1 2345",
            "2020-01-02",
            "12:30",
            "A1",
            "Q1 2",
            "4 Main St",
            "room 5",
            "12",
            "1,",
            "1,2,3",
            "1.234,5",
            "$x",
        ] {
            assert_eq!(unit(cell.as_bytes()), None, "{cell}");
        }
    }
}
