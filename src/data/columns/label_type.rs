//! Types of labels and categories, and labels that are booleans, numbers or codes.

use crate::named::named;

/// The type of typed labels or categories, as in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelType {
    /// Text, compared byte for byte.
    Text,
    /// `True` and `False`.
    Boolean,
    /// Whole numbers.
    Integer,
    /// Whole numbers of a floating type.
    Float,
}

named!(LabelType { Text = "text", Boolean = "boolean", Integer = "integer", Float = "float" });

/// Parses a label as a boolean: `True`, `true` and 1, or `False`, `false` and 0.
pub(crate) fn truth(label: &str) -> Option<bool> {
    match number(label) {
        Some(1.0) => Some(true),
        Some(0.0) => Some(false),
        Some(_) => None,
        None if label.eq_ignore_ascii_case("true") => Some(true),
        None => label.eq_ignore_ascii_case("false").then_some(false),
    }
}

/// The classes of false and true, if all of these names are booleans.
pub(super) fn by_truth(names: &[String]) -> [Option<u32>; 2] {
    let mut classes = [None; 2];
    for (name, class) in names.iter().zip(0..) {
        match truth(name).map(|truth| &mut classes[usize::from(truth)]) {
            Some(place @ None) => *place = Some(class),
            _ => return [None; 2],
        }
    }
    classes
}

/// Parses a label as a finite number.
///
/// Numbers beyond the exact whole numbers of f64 are text, so that different ones never become equal.
pub(super) fn number(label: &str) -> Option<f64> {
    const GREATEST: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;
    label.parse().ok().filter(|value: &f64| value.abs() < GREATEST).map(|value| value + 0.0)
}

/// Whether a cell is a code with a leading zero: only digits, such as `007`, but not `0` or `00.5`.
pub(crate) fn has_leading_zero(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    let digits = cell.strip_prefix(b"-").or(cell.strip_prefix(b"+")).unwrap_or(cell);
    digits.len() > 1 && digits[0] == b'0' && digits.iter().all(u8::is_ascii_digit)
}

/// Whether a cell is a code rather than a number: a whole number with a leading zero, or with more digits than f64
/// represents.
pub(crate) fn is_code(cell: &[u8]) -> bool {
    const SHORTEST: usize = 16;
    const GREATEST: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;
    let cell = cell.trim_ascii();
    let digits = cell.strip_prefix(b"-").unwrap_or(cell);
    let is_long = || {
        let text = str::from_utf8(cell).unwrap_or_default();
        text.parse().is_ok_and(|value: f64| value.abs() >= GREATEST && value.to_string() != text)
    };
    has_leading_zero(cell) || digits.len() >= SHORTEST && digits.iter().all(u8::is_ascii_digit) && is_long()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_more_than_numbers() {
        for code in ["007", "00", " 01", "1152921504606846972", "-10001234567890123"] {
            assert!(is_code(code.as_bytes()), "{code}");
        }
        for number in
            ["0", "7", "0.5", "00.5", "", "-", "9007199254740991", "31570458000000000", "1e300", "0x1"]
        {
            assert!(!is_code(number.as_bytes()), "{number}");
        }
    }
}
