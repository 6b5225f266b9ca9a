//! Decimals straight from bytes: the nearest f32, as the standard library has it, or nothing where that takes more.
//!
//! Digits without their point are a whole number, which a power of ten multiplies or divides (W. D. Clinger, "How to read floating
//! point numbers accurately", 1990).

use super::notation::ReadAs;

/// Characters that are looked at together.
pub(super) const CHARACTERS: usize = 16;

/// A byte in all bytes of a word, as a factor.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Digits of a number that u64 holds.
const DIGITS: usize = 19;

const POWERS: [f64; DIGITS + 1] = [
    1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19,
];

/// Cells that are read together at most.
pub(super) const CELLS: usize = 32;

/// Characters of a word.
const WORD: usize = 8;

/// Cells of which vectors hold a word each.
pub(super) const LANES: usize = 8;

/// The length of a cell that is not looked at.
const NO_LENGTH: u64 = u64::MAX;

/// Some cells, of which vectors hold several side by side; memory is kept from use to use.
pub(super) struct Decimals {
    /// The last characters of each, the very last in the highest byte; more text may stand in front of them.
    back: [u64; CELLS],
    /// Those in front of them.
    front: [u64; CELLS],
    /// Characters of each; [`NO_LENGTH`] where it is not looked at.
    lengths: [u64; CELLS],
    /// Characters without a minus, and whether there is one.
    sizes: [u64; CELLS],
    minus: [u64; CELLS],
    /// What was read.
    pub numbers: [f32; CELLS],
    /// 1 for each that was not read.
    unread: [u32; CELLS],
}

/// 1 for each cell that there is, where so many are wanted from the middle on to the left.
const THERE: [u32; 2 * CELLS] = {
    let mut there = [0; 2 * CELLS];
    let mut cell = 0;
    while cell < CELLS {
        there[cell] = 1;
        cell += 1;
    }
    there
};

impl Decimals {
    pub(super) fn new() -> Self {
        let [back, front, lengths, sizes, minus] = [[0; CELLS]; 5];
        Self { back, front, lengths, sizes, minus, numbers: [0.0; CELLS], unread: [0; CELLS] }
    }

    /// Reads the first `count` cells between neighbouring `bounds` of a text, as many as are read together at most, each of which
    /// ends one byte before the next begins: digits, one `point` among them or none, behind a minus perhaps, 16 characters at
    /// most. Behind the bounds of these cells there are as many as lanes, which stand for nothing. Returns a bit for each cell that
    /// is something else, or ends among the first 16 characters of the text. An empty one is, unless `empty` says that it is NaN.
    ///
    /// Plain loops over arrays, which the compiler makes vectors of, a whole number of them.
    #[expect(
        clippy::needless_range_loop,
        reason = "with iterators the compiler makes vectors of only some of these loops"
    )]
    #[inline(always)]
    pub(super) fn read(
        &mut self,
        text: &[u8],
        bounds: &[u32],
        count: usize,
        ReadAs { point, empty }: ReadAs,
    ) -> u32 {
        let count = count.min(CELLS);
        let lanes = count.next_multiple_of(LANES).min(CELLS);
        let (starts, ends, there) = (&bounds[..lanes], &bounds[1..=lanes], &THERE[CELLS - count..][..lanes]);
        // The length that is no fault; none has that if all are.
        let empty = if empty { 0 } else { NO_LENGTH - 1 };
        for cell in 0..lanes {
            let length = u64::from(ends[cell].wrapping_sub(starts[cell]).wrapping_sub(1));
            // What has too few characters in front of it is left to others.
            self.lengths[cell] = if ends[cell] > CHARACTERS as u32 { length } else { NO_LENGTH };
        }
        for (cell, end) in ends.iter().enumerate() {
            // One comparison with the length of the text instead of two.
            let first = (*end as usize).max(CHARACTERS + 1) - (CHARACTERS + 1);
            let Some(last) = text.get(first..first + CHARACTERS).and_then(|last| last.first_chunk()) else {
                nothing_there();
                continue;
            };
            let last = u128::from_le_bytes(*last);
            (self.back[cell], self.front[cell]) = ((last >> 64) as u64, last as u64);
        }
        let mut are_words = true;
        for cell in 0..lanes {
            let length = self.lengths[cell];
            // No choice between two addresses, which would be followed one by one.
            let is_short = u64::from(length <= WORD as u64).wrapping_neg();
            let word = self.back[cell] & is_short | self.front[cell] & !is_short;
            let first = word >> (length.wrapping_mul(8).wrapping_neg() & 63) & 0xff;
            self.minus[cell] = u64::from((first == u64::from(b'-')) & (length != 0));
            self.sizes[cell] = length.wrapping_sub(self.minus[cell]);
            are_words &= self.sizes[cell] & u64::from(there[cell]).wrapping_neg() <= WORD as u64;
        }
        if are_words {
            for cell in 0..lanes {
                let (number, is_number) =
                    word(self.back[cell], self.sizes[cell], self.minus[cell] != 0, point);
                self.numbers[cell] = number;
                self.unread[cell] = u32::from(!is_number & (self.lengths[cell] != empty)) & there[cell];
            }
        } else {
            for cell in 0..lanes {
                let (front, back) = (self.front[cell], self.back[cell]);
                let (number, is_number) =
                    two_words(front, back, self.sizes[cell], self.minus[cell] != 0, point);
                self.numbers[cell] = number;
                self.unread[cell] = u32::from(!is_number & (self.lengths[cell] != empty)) & there[cell];
            }
        }
        let unread = self.unread[..lanes].iter().fold(0, |all, unread| all | unread);
        if unread == 0 { 0 } else { self.places(count) }
    }

    /// A bit for each of the first cells that was not read.
    #[inline(never)]
    fn places(&self, count: usize) -> u32 {
        self.unread[..count].iter().zip(0..).fold(0, |places, (unread, cell)| places | unread << cell)
    }
}

/// Keeps the compiler from asking for each cell whether its text is there without a branch, which costs more.
#[cold]
#[inline(never)]
fn nothing_there() {}

/// A cell of so many characters, all in the last bytes of a word, and whether it is a number.
#[inline(always)]
fn word(text: u64, size: u64, minus: bool, point: u8) -> (f32, bool) {
    let word = Word::new(text, size, point);
    let value = f64::from(word.number.cast_signed()) * small_power(word.behind);
    // An empty cell has no value.
    let value = if size == 0 { f64::NAN } else { value };
    let (number, is_clear) = rounded(value, minus);
    let is_sized = size.wrapping_sub(1) < WORD as u64;
    (number, is_sized & (word.others == 0) & ((size > 1) | !word.has_point) & is_clear)
}

/// The same of two words.
#[inline(always)]
fn two_words(front: u64, back: u64, size: u64, minus: bool, point: u8) -> (f32, bool) {
    let front = Word::new(front, size.saturating_sub(WORD as u64), point);
    let back = Word::new(back, size.min(WORD as u64), point);
    let number = u64::from(front.number) * if back.has_point { 10_000_000 } else { 100_000_000 }
        + u64::from(back.number);
    let behind = back.behind + if front.has_point { WORD as u64 + front.behind } else { 0 };
    // Below 10^16, which i64 holds, too, and is easier to convert.
    let (factors, most) = (small_power(behind), if behind & 8 == 0 { 1.0 } else { 1e-8 });
    let value = number.cast_signed() as f64 * (factors * most);
    let value = if size == 0 { f64::NAN } else { value };
    let (number, is_clear) = rounded(value, minus);
    let is_sized = size.wrapping_sub(1) < CHARACTERS as u64;
    let has_digits = (size > 1) | !back.has_point;
    let has_points = front.has_point & back.has_point;
    (number, is_sized & ((front.others | back.others) == 0) & has_digits & !has_points & is_clear)
}

/// Some digits, perhaps with a point among them.
struct Word {
    /// The digits without the point.
    number: u32,
    has_point: bool,
    /// Digits behind the point.
    behind: u64,
    /// Not 0 where other characters stand among them.
    others: u64,
}

impl Word {
    /// The last `size` bytes of a word, eight at most, of which the last one is the highest.
    #[inline(always)]
    fn new(text: u64, size: u64, point: u8) -> Self {
        let cell = if size == 0 { 0 } else { u64::MAX << (64u64.wrapping_sub(size.wrapping_mul(8)) & 63) };
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
        // As many ones as bytes, summed in the highest.
        let behind = (behind & ONES).wrapping_mul(ONES) >> 56;
        Self { number: whole(digits), has_point, behind, others }
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

/// 10^-exponent for an exponent below 8; of a greater one the last three bits count. No table: vectors would have to look their
/// places up one by one.
#[inline(always)]
fn small_power(exponent: u64) -> f64 {
    let factor = |bit: u64, factor: f64| if exponent & bit == 0 { 1.0 } else { factor };
    factor(1, 1e-1) * factor(2, 1e-2) * factor(4, 1e-4)
}

/// The bits that f64 has more than f32, where they stand for half of the last place of f32.
pub(super) const HALF: u64 = 1 << (f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS - 1);

/// A value, behind a minus perhaps, as f32, and whether it is right; nothing is said of NaN.
///
/// The value is within 9 of its last places: a number, four powers of ten, three products of these and the last product are
/// each rounded by 2^-53 of it at most. Rounding it to f32 is right unless a number halfway between two floats is as near as that.
#[inline(always)]
fn rounded(value: f64, minus: bool) -> (f32, bool) {
    const NEAR: u64 = 9;
    // From 1e-19 to 1e19, or 0: a normal number in f32.
    let rest = value.to_bits() & (2 * HALF - 1);
    let is_clear = rest.wrapping_sub(HALF - NEAR) > 2 * NEAR;
    let value = value as f32;
    // There is no negative zero, which bytes have not either.
    (if minus { 0.0 - value } else { value }, is_clear)
}

/// A cell of at most 16 characters beside a minus: digits, one `point` among them or none.
#[inline]
pub(super) fn short_decimal(cell: &[u8], point: u8) -> Option<f32> {
    let digits = cell.strip_prefix(b"-").unwrap_or(cell);
    let mut last = [0; CHARACTERS];
    last.get_mut(CHARACTERS.checked_sub(digits.len())?..)?.copy_from_slice(digits);
    let (text, size) = (u128::from_le_bytes(last), digits.len() as u64);
    let (number, is_number) =
        two_words(text as u64, (text >> 64) as u64, size, digits.len() < cell.len(), point);
    is_number.then_some(number)
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
    let (number, is_clear) = rounded(number as f64 / *POWERS.get(behind.unwrap_or(0))?, minus);
    is_clear.then_some(number)
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
        for cell in ["7", "-7", "1.5", "-.5", "12345.678", "-1234567.1234567", "-", ".", "x", "1-2", ""] {
            for front in *b"9.-\0\xff" {
                for (place, count) in [(0, 1), (5, 9), (CELLS - 1, CELLS)] {
                    let (mut text, mut bounds) = (vec![front; CHARACTERS], vec![CHARACTERS as u32]);
                    for other in 0..count {
                        text.extend(if other == place { cell.as_bytes() } else { b"25" });
                        text.push(front);
                        bounds.push(text.len() as u32);
                    }
                    bounds.extend([0; LANES]);
                    let mut decimals = Decimals::new();
                    decimals.read(&text, &bounds, count, ReadAs { point: b'.', empty: true });
                    assert_eq!(decimals.numbers[place].is_nan(), cell.is_empty() || cell == "-");
                    let others = decimals.read(&text, &bounds, count, ReadAs { point: b'.', empty: false });
                    let mut numbers = decimals.numbers[..count].to_vec();
                    let found = (others & 1 << place == 0).then_some(numbers[place]);
                    assert_eq!(found, cell.parse().ok(), "{cell} behind {front} at {place}");
                    assert_eq!(others & !(1 << place), 0);
                    numbers.remove(place);
                    assert!(numbers.iter().all(|number| *number == 25.0), "{numbers:?}");
                }
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
