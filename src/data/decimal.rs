//! Decimals straight from bytes: the nearest f32, as the standard library has it, or nothing where that takes more.
//!
//! Digits without their point are a whole number, and a power of ten divides it (W. D. Clinger, "How to read floating
//! point numbers accurately", 1990).

/// Characters that are looked at together.
pub(super) const CHARACTERS: usize = 16;

/// A byte in all bytes of a word, as a factor.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Digits of a number that u64 holds.
const DIGITS: usize = 19;

static POWERS: [f64; DIGITS + 1] = [
    1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19,
];

/// A cell of `length` characters, 16 at most beside a minus, that ends with `last` and begins with `first`: digits, one
/// `point` among them or none. In front of it more text may stand.
///
/// Eight characters are looked at together, without a branch that depends on a digit, the sign or the place of the point:
/// they change from cell to cell, and would be guessed wrong.
#[inline(always)]
pub(super) fn decimal(last: &[u8; CHARACTERS], first: u8, length: usize, point: u8) -> Option<f32> {
    let minus = first == b'-';
    let size = length.wrapping_sub(usize::from(minus));
    if size.wrapping_sub(1) >= CHARACTERS {
        return None;
    }
    let (front, back) = last.split_at(8);
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    if size <= 8 {
        let word = Word::new(word(back), size, point);
        let is_number = word.others == 0 && (size > 1 || !word.has_point);
        return if is_number { quotient(word.number.into(), word.decimals, minus) } else { None };
    }
    let (front, back) = (Word::new(word(front), size - 8, point), Word::new(word(back), 8, point));
    let number = u64::from(front.number) * if back.has_point { 10_000_000 } else { 100_000_000 }
        + u64::from(back.number);
    let decimals = back.decimals + if front.has_point { 8 + front.decimals } else { 0 };
    let is_number = front.others | back.others == 0 && !(front.has_point && back.has_point);
    if is_number { quotient(number, decimals, minus) } else { None }
}

/// Some digits, perhaps with a point among them.
struct Word {
    /// The digits without the point.
    number: u32,
    has_point: bool,
    /// Digits behind the point.
    decimals: usize,
    /// Not 0 where other characters stand among them.
    others: u64,
}

impl Word {
    /// The last `size` bytes of a word, of which the last one is the highest; there is one at least.
    #[inline(always)]
    fn new(text: u64, size: usize, point: u8) -> Self {
        let cell = u64::MAX << (64 - 8 * size);
        // The top bit of the first byte that is a point; behind it the difference may borrow.
        let points = (text ^ (ONES * u64::from(point))) | !cell;
        let points = points.wrapping_sub(ONES) & !points & (ONES * 0x80);
        let point = (points & points.wrapping_neg()) >> 7;
        let has_point = point != 0;
        // All bytes where there is no point.
        let in_front = point.wrapping_sub(1);
        let behind = !(in_front | (point * 0xff));
        let digits = (text ^ (ONES * 0x30)) & cell;
        // What the point leaves is closed from the front.
        let digits = (digits & behind) | (digits & in_front) << (8 * u32::from(has_point));
        // The top bit of a byte is set where it is greater than 9: 0x76 + 9 is 0x7f. A sum that overflows its byte has a top
        // bit in `digits` already.
        let others = (digits.wrapping_add(ONES * 0x76) | digits) & (ONES * 0x80);
        let decimals = if has_point { point.leading_zeros() as usize / 8 } else { 0 };
        Self { number: whole(digits), has_point, decimals, others }
    }
}

/// Eight digits as a number, the first in the lowest byte: pairs of digits, then pairs of pairs.
#[inline(always)]
fn whole(digits: u64) -> u32 {
    const PAIRS: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let outer = (pairs & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let inner = (pairs >> 16 & PAIRS).wrapping_mul(1 + (10_000 << 32));
    (outer.wrapping_add(inner) >> 32) as u32
}

/// A number with so many of its digits behind the point, as f32.
///
/// The quotient in f64 is within 3 of its last places, two roundings of at most half a place each. Rounding it to
/// f32 is right unless a number halfway between two floats is as near as that: then nothing.
#[inline(always)]
fn quotient(number: u64, decimals: usize, minus: bool) -> Option<f32> {
    /// The bits that f64 has more than f32, where they stand for half of the last place of f32.
    const HALF: u64 = 1 << (f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS - 1);
    // From 1e-19 to 1e19, or 0: a normal number in f32.
    let value = number as f64 / POWERS.get(decimals)?;
    let rest = value.to_bits() & (2 * HALF - 1);
    let is_clear = rest.abs_diff(HALF) > 3;
    let value = value as f32;
    // There is no negative zero, which bytes have not either.
    is_clear.then_some(if minus { 0.0 - value } else { value })
}

/// A whole cell as `decimal` reads it.
#[inline]
pub(super) fn short_decimal(cell: &[u8], point: u8) -> Option<f32> {
    let digits = cell.strip_prefix(b"-").unwrap_or(cell);
    let mut last = [0; CHARACTERS];
    last.get_mut(CHARACTERS.checked_sub(digits.len())?..)?.copy_from_slice(digits);
    decimal(&last, *cell.first()?, cell.len(), point)
}

/// A cell of up to 19 digits, with a point or without, perhaps with a minus.
pub(super) fn long_decimal(cell: &[u8], point: u8) -> Option<f32> {
    let (minus, text) = match cell {
        [b'-', text @ ..] => (true, text),
        text => (false, text),
    };
    let (mut number, mut behind) = (0, None);
    if text.len() > DIGITS + 1 {
        return None;
    }
    for (place, byte) in (1..).zip(text) {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            number = u64::wrapping_mul(10, number).wrapping_add(digit.into());
        } else if *byte == point && behind.is_none() {
            behind = Some(text.len() - place);
        } else {
            return None;
        }
    }
    let digits = text.len() - usize::from(behind.is_some());
    if !(1..=DIGITS).contains(&digits) {
        return None;
    }
    quotient(number, behind.unwrap_or(0), minus)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers of every length, spread by a linear congruential generator.
    fn numbers(count: usize) -> impl Iterator<Item = u64> {
        let step = |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        std::iter::successors(Some(1), step)
            .take(count)
            .zip((0..60).cycle())
            .map(|(state, shift)| state >> shift)
    }

    #[test]
    fn decimals_are_what_the_standard_library_says() {
        let mut counts = [0; 3];
        let mut check = |cell: &str| {
            let expected: f32 = cell.parse().unwrap();
            let comma = cell.replacen('.', ",", 1);
            let found = [
                short_decimal(cell.as_bytes(), b'.'),
                short_decimal(comma.as_bytes(), b','),
                long_decimal(cell.as_bytes(), b'.'),
            ];
            for (found, count) in found.into_iter().zip(&mut counts) {
                if let Some(value) = found {
                    assert_eq!(value.to_bits(), (expected + 0.0).to_bits(), "{cell}");
                    *count += 1;
                }
            }
        };
        for number in numbers(20_000) {
            let digits = number.to_string();
            for point in 0..=digits.len() {
                let (whole, rest) = digits.split_at(point);
                check(&format!("{whole}.{rest}"));
                check(&format!("-0.{rest}"));
                check(&format!("-{digits}"));
            }
            // Numbers halfway between two floats, and their neighbours.
            let float = f32::from_bits(0x3000_0000 + (number % 0x2c00_0000) as u32);
            let half = (f64::from(float) + f64::from(float.next_up())) / 2.0;
            for near in [half.next_down(), half, half.next_up()] {
                for decimals in 0..20 {
                    check(&format!("{near:.decimals$}"));
                }
            }
        }
        assert!(counts.iter().all(|count| *count > 500_000), "{counts:?}");
        for cell in ["0", "-0", "7.", ".7", "-123456.7890123", "1234567890123456", "0.1490196078431"] {
            assert!(short_decimal(cell.as_bytes(), b'.').is_some(), "{cell}");
        }
        for cell in ["0.14901960784313725", "-12345678.9", "0.000000000000000001", "9999999999999999999"] {
            assert!(long_decimal(cell.as_bytes(), b'.').is_some(), "{cell}");
        }
        for cell in
            ["", "-", ".", "-.", "1.2.3", "--1", "+1", "1e3", " 1", "1,5", "12345678901234567890", "0.1x"]
        {
            assert_eq!(short_decimal(cell.as_bytes(), b'.'), None, "{cell}");
            assert_eq!(long_decimal(cell.as_bytes(), b'.'), None, "{cell}");
        }
        // Halfway between two floats.
        assert_eq!(short_decimal(b"16777217", b'.'), None);
    }

    #[test]
    fn what_stands_in_front_of_a_cell_does_not_matter() {
        for cell in ["7", "-7", "1.5", "-.5", "12345.678", "-1234567.1234567", "-", ".", "x", "1-2"] {
            for front in [b'9', b'.', b'-', 0, 0xff] {
                let text = [&[front; CHARACTERS], cell.as_bytes()].concat();
                let found = decimal(text.last_chunk().unwrap(), cell.as_bytes()[0], cell.len(), b'.');
                assert_eq!(found, cell.parse().ok(), "{cell} behind {front}");
            }
        }
    }

    #[test]
    fn no_byte_is_taken_for_a_digit() {
        for byte in 0..=255u8 {
            for cell in [&b"1.25"[..], b"-123.4567890123"] {
                for place in 0..cell.len() {
                    let mut cell = cell.to_vec();
                    cell[place] = byte;
                    let expected: Option<f32> = str::from_utf8(&cell).ok().and_then(|cell| cell.parse().ok());
                    let expected = expected.filter(|_| byte != b'+' && !byte.is_ascii_alphabetic());
                    assert_eq!(short_decimal(&cell, b'.'), expected, "{byte} at {place}");
                }
            }
        }
    }
}
