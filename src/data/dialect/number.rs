//! Cells of a table as numbers, parsed directly from bytes.

use super::notation::{Notation, grouped};
use crate::error::DataFault;

/// Parses a cell as a feature; an error describes the expected content.
#[inline]
pub(crate) fn float(cell: &[u8], notation: Notation) -> Result<f32, &'static str> {
    let plain = if notation.point == b'.' { fast_float2::parse::<f32, _>(cell).ok() } else { None };
    match plain.filter(|value| value.is_finite()) {
        // Turns -0 into 0.
        Some(value) => Ok(value + 0.0),
        None => any_float(cell, notation),
    }
}

/// Maximum number of digits of a number that [`short_number`] parses. With one more digit the quotient, rounded to 64
/// bits, could fall exactly between two 32-bit numbers.
const SHORT: usize = 8;

/// Parses the number at `start`, if it has few digits and at most one mark, and returns it with its end. Most cells of
/// most tables are such numbers, and their lengths need not be known in advance. The text must end with a line end.
#[inline(always)]
pub(crate) fn short_number(text: &[u8], start: usize, point: u8) -> Option<(f32, usize)> {
    const POWERS: [f64; SHORT + 1] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8];
    let is_negative = text[start] == b'-';
    let (first, mut at, mut whole) =
        (start + usize::from(is_negative), start + usize::from(is_negative), 0u64);
    let mut digits = |mut at: usize| {
        loop {
            let digit = text[at].wrapping_sub(b'0');
            if digit > 9 {
                return at;
            }
            whole = whole.wrapping_mul(10).wrapping_add(digit.into());
            at += 1;
        }
    };
    at = digits(at);
    let (mut count, mut decimals) = (at - first, 0);
    if text[at] == point {
        let fraction = at + 1;
        at = digits(fraction);
        decimals = at - fraction;
        count += decimals;
    }
    if !(1..=SHORT).contains(&count) {
        return None;
    }
    let value = (whole as i64 as f64 / POWERS[decimals]) as f32;
    Some((if is_negative { 0.0 - value } else { value }, at))
}

fn any_float(cell: &[u8], notation: Notation) -> Result<f32, &'static str> {
    let text = notation.plain(str::from_utf8(cell.trim_ascii()).map_err(|_| "a number")?);
    let value: f32 = text.parse().map_err(|_| "a number")?;
    if value.is_finite() {
        Ok(value + 0.0)
    } else if text.contains(|c: char| c.is_ascii_digit()) {
        Err("a number that a 32-bit float can hold (at most 3.4e38)")
    } else {
        Err("a finite number")
    }
}

/// Markers of a missing value, in lower case.
pub(crate) const MISSING: [&[u8]; 11] =
    [b"", b"na", b"n/a", b"nan", b"null", b"?", b"-", b"\\n", b"#n/a", b"<na>", b"nat"];

/// Whether a cell is empty or a marker of a missing value.
pub(crate) fn is_missing(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    cell.len() <= 4 && MISSING.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// The expected content in place of a cell that is not a feature, and the kind of fault; `fault` is the parser's
/// message.
pub(crate) fn expected_feature(cell: &[u8], fault: &str) -> (String, Option<DataFault>) {
    let is_damage = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    if fault != "a number" {
        (fault.to_owned(), None)
    } else if cell.iter().any(is_damage) || str::from_utf8(cell).is_err() {
        let hint = "nor text in UTF-8 without control characters: is the file damaged?";
        (format!("{fault} ({hint})"), None)
    } else if [b'.', b','].iter().any(|point| grouped(cell.trim_ascii(), *point).is_some()) {
        let hint = "thousands separators were not detected in the first rows; use --decimal to name the decimal mark, or remove them";
        (format!("{fault} ({hint})"), None)
    } else {
        (format!("{fault} (text among numbers)"), Some(DataFault::TextAndNumbers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: Notation = Notation { point: b'.', grouped: false };
    const COMMA: Notation = Notation { point: b',', grouped: false };

    #[test]
    fn floats_are_what_the_standard_library_says() {
        for cell in [
            "1",
            "-0",
            "-0.0",
            "12.0",
            "0.004",
            "1e-3",
            "+7",
            " 3.25 ",
            "123456.789",
            "3.4028235e38",
            "16777217",
            "0.14901960784313725",
            "-0e0",
            "1e-60",
        ] {
            let expected: f32 = cell.trim().parse().unwrap();
            let comma = cell.replacen('.', ",", 1);
            for found in [float(cell.as_bytes(), POINT), float(comma.as_bytes(), COMMA)] {
                assert_eq!(found.map(f32::to_bits), Ok((expected + 0.0).to_bits()), "{cell}");
            }
        }
        assert_eq!(float(b"inf", POINT), Err("a finite number"));
        assert_eq!([float(b"1.5", COMMA), float(b"1,5", POINT)], [Err("a number"); 2]);
    }

    #[test]
    fn groups_of_three_digits_are_read_where_they_are_said_to_be() {
        for (cell, value, is_sure) in [
            ("1,234,567.8", 1_234_567.8, true),
            ("-1,234.5", -1234.5, true),
            ("+12,345,678", 12_345_678.0, true),
            ("1,234", 1234.0, false),
            ("999,000.", 999_000.0, false),
        ] {
            let swapped: String = cell
                .chars()
                .map(|c| {
                    if c == ',' {
                        '.'
                    } else if c == '.' {
                        ','
                    } else {
                        c
                    }
                })
                .collect();
            for (cell, notation) in [(cell, POINT), (swapped.as_str(), COMMA)] {
                let read = Notation { grouped: true, ..notation };
                assert_eq!(float(cell.as_bytes(), read), Ok(value), "{cell}");
                assert_eq!(float(format!(" {cell} ").as_bytes(), read), Ok(value), "{cell}");
                assert_eq!(grouped(cell.as_bytes(), notation.point).unwrap().is_sure, is_sure, "{cell}");
                assert!(float(cell.as_bytes(), notation).is_err() || cell == "1.234", "{cell}");
            }
        }
        for cell in [
            "1,23",
            "1234,567",
            "0,123",
            ",123",
            "1,234,56",
            "1,,234",
            "1,234.5.6",
            "1,2a4",
            "1,234.x",
            "12",
            "-",
            "",
        ] {
            assert!(grouped(cell.as_bytes(), b'.').is_none(), "{cell}");
        }
        assert_eq!(float(b"1.5", Notation { point: b'.', grouped: true }), Ok(1.5));
    }

    #[test]
    fn what_is_no_feature_says_why() {
        for cell in ["", " ", "x", "1,2", "1_000", "0x10", "--1", "1 2", "\0", "1\0"] {
            assert_eq!(float(cell.as_bytes(), POINT), Err("a number"), "{cell:?}");
        }
        for cell in ["nan", "NaN", "-inf", "Infinity"] {
            assert_eq!(float(cell.as_bytes(), POINT), Err("a finite number"), "{cell}");
        }
        assert!(float(b"1e39", POINT).unwrap_err().contains("3.4e38"));
        assert!(float(b"-1e39", POINT).unwrap_err().contains("3.4e38"));
        assert_eq!(float(b"1\xff", POINT), Err("a number"));
    }

    #[test]
    fn missing_values_and_text_are_told_apart() {
        for cell in ["", " ", "NA", "n/a", "NaN", "null", "?", "-", "\\N", "#N/A", "<NA>", "NaT"] {
            assert!(is_missing(cell.as_bytes()), "{cell}");
        }
        for cell in ["none", "0", "--", "nan1", "x"] {
            assert!(!is_missing(cell.as_bytes()), "{cell}");
        }
        assert!(expected_feature(b"red", "a number").0.contains("text among numbers"));
        assert!(expected_feature(b"1,234", "a number").0.contains("thousands"));
        assert!(expected_feature(b"1.234.567", "a number").0.contains("thousands"));
        assert_eq!(expected_feature(b"1e39", "a small number"), ("a small number".to_owned(), None));
    }
}
