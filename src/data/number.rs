//! Cells of a table as numbers, straight from bytes.

use super::decimal::{long_decimal, short_decimal};
use super::notation::{Notation, grouped};

/// Cells of a digit that are looked at together.
pub(super) const GROUP: usize = 8;

/// A feature's value, as small as it can be kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    /// A whole number from 0 to 255.
    Byte(u8),
    /// Any other finite number; NaN where it is missing.
    Float(f32),
}

impl Value {
    /// A whole number below 2^24.
    pub(super) fn of(number: u32) -> Self {
        u8::try_from(number).map_or(Value::Float(number as f32), Value::Byte)
    }
}

impl From<Value> for f32 {
    fn from(value: Value) -> f32 {
        match value {
            Value::Byte(byte) => byte.into(),
            Value::Float(float) => float,
        }
    }
}

/// A cell of one to three digits, which is what most cells of most tables are.
#[inline]
pub(super) fn small(cell: &[u8]) -> Option<u32> {
    let mut last = [b'0'; 4];
    last.get_mut(4usize.checked_sub(cell.len())?..)?.copy_from_slice(cell);
    small_at_end(last, cell.len())
}

/// The same where more text may stand in front of the cell of `length` bytes.
///
/// All digits at once, without a branch that depends on the cell: lengths change from cell to cell, and
/// would be guessed wrong.
#[inline(always)]
pub(super) fn small_at_end(last: [u8; 4], length: usize) -> Option<u32> {
    let is_short = length.wrapping_sub(1) < 3;
    let cell = !(u32::MAX << (8 * (length as u32 & 3)));
    let digits = (u32::from_be_bytes(last) ^ 0x3030_3030) & cell;
    // The top bit of a byte is set where it is greater than 9: 0x76 + 9 is 0x7f.
    let others = (digits.wrapping_add(0x7676_7676) | digits) & 0x8080_8080;
    let value = (digits >> 16) * 100 + (digits >> 8 & 0xff) * 10 + (digits & 0xff);
    (is_short & (others == 0)).then_some(value)
}

/// Digits with a byte behind each, as numbers, if all are digits.
#[inline]
pub(super) fn digits(text: [u8; 2 * GROUP]) -> Option<[u8; GROUP]> {
    const FIRST: u128 = u128::MAX / 0xffff;
    let digits = (u128::from_le_bytes(text) & (FIRST * 0xff)) ^ (FIRST * 0x30);
    // As in `small_at_end`, with nothing beside a digit into which a sum could overflow.
    let others = (digits + FIRST * 0x76) & (FIRST * 0xff80);
    let digits = digits.to_le_bytes();
    (others == 0).then(|| std::array::from_fn(|place| digits[2 * place]))
}

/// A cell as a feature in a column of floats, or what should have stood there.
#[inline]
pub(super) fn float(cell: &[u8], notation: Notation) -> Result<f32, &'static str> {
    match short_decimal(cell, notation.point).or_else(|| long_decimal(cell, notation.point)) {
        Some(value) => Ok(value),
        None => any_float(cell, notation),
    }
}

/// A cell as a feature, or what should have stood there.
#[inline]
pub(super) fn feature(cell: &[u8], notation: Notation) -> Result<Value, &'static str> {
    if let Some(value) = small(cell) {
        return Ok(Value::of(value));
    }
    let value = float(cell, notation)?;
    let is_byte = value.fract() == 0.0 && (0.0..=255.0).contains(&value);
    Ok(if is_byte { Value::Byte(value as u8) } else { Value::Float(value) })
}

fn any_float(cell: &[u8], notation: Notation) -> Result<f32, &'static str> {
    let text = notation.plain(text(cell).ok_or("a number")?);
    let value: f32 = text.parse().map_err(|_| "a number")?;
    if value.is_finite() {
        Ok(value + 0.0)
    } else if text.contains(|c: char| c.is_ascii_digit()) {
        Err("a number that a 32-bit float can hold (at most 3.4e38)")
    } else {
        Err("a finite number")
    }
}

/// Words that stand for a missing value, in small letters.
const MISSING: [&[u8]; 11] =
    [b"", b"na", b"n/a", b"nan", b"null", b"?", b"-", b"\\n", b"#n/a", b"<na>", b"nat"];

/// Whether a cell is empty or stands for a missing value.
pub(super) fn is_missing(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    cell.len() <= 4 && MISSING.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// What errors say of a row without a target, and of a column of text and numbers: a reader tells them from others by it.
pub(super) const NO_TARGET: &str = "every row needs one";
pub(super) const MIXED: &str = "say that the column is one of categories";

/// What should have stood in the place of a cell that is no feature; `fault` is what parsing has said.
pub(super) fn expected_feature(cell: &[u8], fault: &str) -> String {
    let is_damage = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let hint = if fault != "a number" {
        return fault.to_owned();
    } else if cell.iter().any(is_damage) || str::from_utf8(cell).is_err() {
        "no text in UTF-8 without control characters either: is the file damaged?".to_owned()
    } else if [b'.', b','].iter().any(|point| grouped(cell.trim_ascii(), *point).is_some()) {
        "separators of thousands are only read where the first rows show them beyond doubt: remove them"
            .to_owned()
    } else {
        format!("text among numbers: {MIXED}, or that this text stands for a missing value")
    };
    format!("{fault} ({hint})")
}

fn text(cell: &[u8]) -> Option<&str> {
    str::from_utf8(cell.trim_ascii()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: Notation = Notation { point: b'.', grouped: false };
    const COMMA: Notation = Notation { point: b',', grouped: false };

    #[test]
    fn features_are_as_small_as_they_can_be() {
        for (cell, value) in [
            ("0", Value::Byte(0)),
            ("007", Value::Byte(7)),
            ("255", Value::Byte(255)),
            ("12.0", Value::Byte(12)),
            (" 12\t", Value::Byte(12)),
            ("+1e1", Value::Byte(10)),
            ("0255", Value::Byte(255)),
            ("256", Value::Float(256.0)),
            ("999", Value::Float(999.0)),
            ("-1", Value::Float(-1.0)),
            ("0.5", Value::Float(0.5)),
            ("3.4028235e38", Value::Float(f32::MAX)),
            ("1e-60", Value::Byte(0)),
        ] {
            assert_eq!(feature(cell.as_bytes(), POINT), Ok(value), "{cell}");
        }
    }

    #[test]
    fn small_numbers_are_what_the_standard_library_says() {
        let bytes: Vec<u8> = (0..=255).collect();
        let check = |cell: &[u8]| {
            let is_digits = cell.iter().all(u8::is_ascii_digit);
            let expected = text(cell).filter(|_| is_digits).and_then(|text| text.parse().ok());
            assert_eq!(small(cell), expected, "{cell:?}");
            let last = [b"7,9".as_slice(), cell].concat();
            assert_eq!(small_at_end(*last.last_chunk().unwrap(), cell.len()), expected, "{cell:?}");
        };
        for first in &bytes {
            check(&[*first]);
            for second in &bytes {
                check(&[*first, *second]);
                check(&[*first, b'5', *second]);
                check(&[b'1', *first, *second]);
            }
        }
        for cell in ["", "1234", "00000", "12345678"] {
            assert_eq!(small(cell.as_bytes()), None);
        }
        assert_eq!([4, 5, 8].map(|length| small_at_end(*b"1234", length)), [None; 3]);
    }

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
    fn eight_digits_are_read_at_once_and_nothing_else() {
        assert_eq!(digits(*b"0,1,2,3,4,5,6,7,"), Some([0, 1, 2, 3, 4, 5, 6, 7]));
        for byte in 0..=255 {
            for place in 0..GROUP {
                let mut text = *b"0,9\xff0\09,0,9,0,9,";
                text[2 * place] = byte;
                assert_eq!(digits(text).is_some(), byte.is_ascii_digit(), "{byte} at {place}");
            }
        }
    }

    #[test]
    fn what_is_no_feature_says_why() {
        for cell in ["", " ", "x", "1,2", "1_000", "0x10", "--1", "1 2", "\0", "1\0"] {
            assert_eq!(feature(cell.as_bytes(), POINT), Err("a number"), "{cell:?}");
        }
        for cell in ["nan", "NaN", "-inf", "Infinity"] {
            assert_eq!(feature(cell.as_bytes(), POINT), Err("a finite number"), "{cell}");
        }
        assert!(feature(b"1e39", POINT).unwrap_err().contains("3.4e38"));
        assert!(feature(b"-1e39", POINT).unwrap_err().contains("3.4e38"));
        assert_eq!(feature(b"1\xff", POINT), Err("a number"));
    }

    #[test]
    fn missing_values_and_text_are_told_apart() {
        for cell in ["", " ", "NA", "n/a", "NaN", "null", "?", "-", "\\N", "#N/A", "<NA>", "NaT"] {
            assert!(is_missing(cell.as_bytes()), "{cell}");
        }
        for cell in ["none", "0", "--", "nan1", "x"] {
            assert!(!is_missing(cell.as_bytes()), "{cell}");
        }
        assert!(expected_feature(b"red", "a number").contains("text among numbers"));
        assert!(expected_feature(b"1,234", "a number").contains("thousands"));
        assert!(expected_feature(b"1.234.567", "a number").contains("thousands"));
        assert_eq!(expected_feature(b"1e39", "a small number"), "a small number");
    }
}
