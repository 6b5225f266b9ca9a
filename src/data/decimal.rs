//! Decimals straight from bytes: the nearest f32, as the standard library has it, or nothing where that takes more.
//!
//! Digits without their point are a whole number, and a power of ten divides it. Where a float holds both exactly,
//! the quotient is rounded once, as it should be (W. D. Clinger, "How to read floating point numbers accurately",
//! 1990).

/// A byte in all bytes of a word, as a factor.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Whole numbers below this fit f32 exactly; only eight digits without a point can be greater.
const EXACT: i32 = 1 << f32::MANTISSA_DIGITS;

/// Masks of the last bytes of a word, by their number.
static CELLS: [u64; 16] = {
    let mut cells = [u64::MAX; 16];
    let mut size = 0;
    while size < 8 {
        cells[size] = !(u64::MAX >> (8 * size));
        size += 1;
    }
    cells
};

/// Where the point stands, counted from the end of a cell: in most tables, where it stood in the cell before.
///
/// Cells that are looked at together.
pub(super) const GROUP: usize = 8;

/// Characters are the bytes of a word, the last one the highest. All are looked at together, without a branch that
/// depends on a digit, the sign or the length, as in `number::small_at_end`.
pub(super) struct NumberForm {
    /// Zeros, and the point: what leaves digits as numbers when it is taken away.
    zeros: u64,
    /// What sets the top bit of a byte by addition where it is too great.
    limits: u64,
    /// Mask of the digits behind the point, or of all.
    behind: u64,
    /// Mask of the digits in front of the point.
    in_front: u64,
    /// Characters at least, without a minus, and how many more there may be.
    least: usize,
    span: usize,
    /// What divides the digits: a power of ten.
    power: f32,
}

/// By the number of digits behind the point, and without one.
static FORMS: [NumberForm; 9] = [
    NumberForm::with_point(0, 1.0),
    NumberForm::with_point(1, 1e1),
    NumberForm::with_point(2, 1e2),
    NumberForm::with_point(3, 1e3),
    NumberForm::with_point(4, 1e4),
    NumberForm::with_point(5, 1e5),
    NumberForm::with_point(6, 1e6),
    NumberForm::with_point(7, 1e7),
    NumberForm {
        zeros: ONES * 0x30,
        limits: ONES * 0x76,
        behind: u64::MAX,
        in_front: 0,
        least: 1,
        span: 7,
        power: 1.0,
    },
];

impl NumberForm {
    const fn with_point(digits: u32, power: f32) -> Self {
        let point = 0xff << (56 - 8 * digits);
        let in_front = (1 << (56 - 8 * digits)) - 1;
        let least = if digits == 0 { 2 } else { digits as usize + 1 };
        Self {
            zeros: (ONES * 0x30) & !point | (ONES * b'.' as u64) & point,
            limits: (ONES * 0x76) & !point | (ONES * 0x7f) & point,
            behind: !(in_front | point),
            in_front,
            least,
            span: 8 - least,
            power,
        }
    }

    /// The layout of the cell of `length` bytes that ends with `last`, if it has one at all.
    #[inline]
    pub(super) fn of(last: [u8; 8], length: usize) -> &'static Self {
        let before = 64u32.saturating_sub(8 * length as u32);
        let others = !u64::MAX.checked_shl(before).unwrap_or(0);
        let points = (u64::from_le_bytes(last) ^ (ONES * u64::from(b'.'))) | others;
        // The top bit of the first byte that is a point; behind it the difference may borrow.
        let points = points.wrapping_sub(ONES) & !points & (ONES * 0x80);
        let point = points & points.wrapping_neg();
        &FORMS[point.leading_zeros() as usize / 8]
    }

    /// The digits of a cell as a number, if it is written like this: `length` bytes that begin with `first` and
    /// end with `last`, in front of which more text may stand.
    #[inline(always)]
    pub(super) fn number(&self, last: [u8; 8], length: usize, first: u8) -> Option<i32> {
        let minus = first == b'-';
        let size = length.wrapping_sub(usize::from(minus));
        if size.wrapping_sub(self.least) > self.span {
            return None;
        }
        // At most 8: the mask only saves a check.
        let digits = (u64::from_le_bytes(last) ^ self.zeros) & CELLS[size & 15];
        // A sum that overflows its byte has a top bit in `digits` already.
        let others = (digits.wrapping_add(self.limits) | digits) & (ONES * 0x80);
        let number = self.join(digits);
        // There is no negative zero, which bytes have not either.
        let sign = -i32::from(minus);
        (others == 0 && number < EXACT).then_some((number ^ sign) - sign)
    }

    /// A group of cells of `length` bytes each that stand side by side, as `number` reads each, if none has a minus.
    ///
    /// `text` begins 8 bytes before the end of the first.
    #[inline(always)]
    pub(super) fn group(&self, text: &[u8], length: usize) -> Option<[i32; GROUP]> {
        // Eight digits without a point may be too many for f32.
        if length.wrapping_sub(self.least) > self.span || length == 8 && self.behind == u64::MAX {
            return None;
        }
        let text = text.get(..8 + (GROUP - 1) * length)?;
        let (mut numbers, mut others) = ([0; GROUP], 0);
        for (cell, number) in numbers.iter_mut().enumerate() {
            let last = *text.get(cell * length..)?.first_chunk()?;
            let digits = (u64::from_le_bytes(last) ^ self.zeros) & CELLS[length & 15];
            others |= digits.wrapping_add(self.limits) | digits;
            *number = self.join(digits);
        }
        (others & (ONES * 0x80) == 0).then_some(numbers)
    }

    /// Digits without the point between them, as a number.
    #[inline(always)]
    fn join(&self, digits: u64) -> i32 {
        whole((digits & self.behind) | (digits & self.in_front) << 8) as i32
    }

    /// Puts the point into numbers that stand as bits where floats will: many fit a vector register.
    #[inline]
    pub(super) fn divide(&self, numbers: &mut [f32]) {
        numbers.iter_mut().for_each(|number| *number = number.to_bits() as i32 as f32 / self.power);
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

/// A cell of up to eight characters, digits with a point or without, perhaps with a minus.
#[inline]
pub(super) fn decimal(cell: &[u8]) -> Option<f32> {
    let digits = cell.strip_prefix(b"-").unwrap_or(cell);
    let mut last = [b'0'; 8];
    last.get_mut(8usize.checked_sub(digits.len())?..)?.copy_from_slice(digits);
    let layout = NumberForm::of(last, digits.len());
    layout.number(last, cell.len(), *cell.first()?).map(|number| number as f32 / layout.power)
}

/// A cell of up to 19 digits, with a point or without, perhaps with a minus.
///
/// The quotient in f64 is within 3 of its last places, two roundings of at most half a place each. Rounding it to
/// f32 is right unless a number halfway between two floats is as near as that: then nothing.
pub(super) fn long_decimal(cell: &[u8]) -> Option<f32> {
    const DIGITS: usize = 19;
    const POWERS: [f64; DIGITS + 1] = [
        1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19,
    ];
    /// The bits that f64 has more than f32, where they stand for half of the last place of f32.
    const HALF: u64 = 1 << (f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS - 1);
    let (minus, text) = match cell {
        [b'-', text @ ..] => (true, text),
        text => (false, text),
    };
    let (mut number, mut point) = (0, None);
    if text.len() > DIGITS + 1 {
        return None;
    }
    for (place, byte) in (1..).zip(text) {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            number = u64::wrapping_mul(10, number).wrapping_add(digit.into());
        } else if *byte == b'.' && point.is_none() {
            point = Some(place);
        } else {
            return None;
        }
    }
    let digits = text.len() - usize::from(point.is_some());
    let behind = point.map_or(0, |place| text.len() - place);
    // From 1e-19 to 1e19, or 0: a normal number in f32.
    let value = number as f64 / POWERS.get(behind)?;
    let rest = value.to_bits() & (2 * HALF - 1);
    let is_clear = rest.abs_diff(HALF) > 3;
    let value = value as f32;
    ((1..=DIGITS).contains(&digits) && is_clear).then_some(if minus { 0.0 - value } else { value })
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
    fn long_decimals_are_what_the_standard_library_says() {
        let mut checked = 0;
        let mut check = |cell: &str| {
            if let Some(value) = long_decimal(cell.as_bytes()) {
                let expected: f32 = cell.parse().unwrap();
                assert_eq!(value.to_bits(), (expected + 0.0).to_bits(), "{cell}");
                checked += 1;
            }
        };
        for number in numbers(20_000) {
            let digits = number.to_string();
            for point in 0..=digits.len() {
                let (whole, rest) = digits.split_at(point);
                check(&format!("{whole}.{rest}"));
                check(&format!("-0.{rest}"));
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
        assert!(checked > 500_000, "{checked}");
        for cell in ["0.14901960784313725", "-12345678.9", "0.000000000000000001", "9999999999999999999"] {
            assert!(long_decimal(cell.as_bytes()).is_some(), "{cell}");
        }
        for cell in ["", "-", ".", "1.2.3", "+1", "1e3", " 1", "12345678901234567890", "16777217", "0.1x"] {
            assert_eq!(long_decimal(cell.as_bytes()), None, "{cell}");
        }
    }

    #[test]
    fn a_layout_reads_what_is_written_like_it_and_nothing_else() {
        let cells =
            ["", "-", ".", "-.", "7", "-7", "7.", ".7", "-0", "-.5", "1.5", "-12.25", "1.2.3", "1,5", "--1"];
        let more = [
            "1234567",
            "-1234567",
            "16777215",
            "-16777215",
            "16777216",
            "123456789",
            "1.234567",
            "-1.234567",
            "12345.678",
            "0.0000001",
            ".1234567",
        ];
        for cell in cells.into_iter().chain(more) {
            for front in ["9999.9999", "-------.", "........"] {
                let text = [front, cell].concat();
                let last = *text.as_bytes().last_chunk().unwrap();
                let first = cell.bytes().next().unwrap_or(b'-');
                let size = cell.trim_start_matches('-').len();
                let read = |layout: &NumberForm| {
                    let number = layout.number(last, cell.len(), first)?;
                    let mut values = [f32::from_bits(number as u32)];
                    layout.divide(&mut values);
                    Some(values[0])
                };
                let expected = cell.parse::<f32>().ok();
                let expected = expected.filter(|value| size <= 8 && value.abs() < EXACT as f32);
                let found: Vec<f32> = FORMS.iter().filter_map(read).collect();
                assert_eq!(found, Vec::from_iter(expected), "{text}");
                assert_eq!(read(NumberForm::of(last, cell.len())), expected, "{text}");
            }
        }
    }

    #[test]
    fn a_group_is_what_its_cells_are() {
        let tables = [
            "0.000",
            "12.34",
            "7",
            "1234567.",
            ".1234567",
            "1234567",
            "1.5",
            "-1.5",
            "12345678",
            "1234567.5",
        ];
        for (cell, is_group) in tables.into_iter().zip([[true; 7].as_slice(), &[false; 3]].concat()) {
            let layout =
                NumberForm::of(*["00000000", cell].concat().as_bytes().last_chunk().unwrap(), cell.len());
            for other in 0..GROUP {
                for digit in ["3", "x"] {
                    // One cell differs in its last digit.
                    let place = cell.rfind(|c: char| c.is_ascii_digit()).unwrap();
                    let mut cells = [cell; GROUP].map(str::to_string);
                    cells[other].replace_range(place..=place, digit);
                    let text = "9.999999".to_string() + &cells.concat();
                    let found = layout.group(&text.as_bytes()[cell.len()..], cell.len());
                    let values = found.map(|numbers| numbers.map(|number| number as f32 / layout.power));
                    let expected = cells.map(|cell| cell.parse::<f32>().ok());
                    let expected =
                        expected.iter().copied().collect::<Option<Vec<f32>>>().filter(|_| is_group);
                    assert_eq!(values.map(Vec::from), expected, "{text}");
                }
            }
        }
    }

    #[test]
    fn no_byte_is_taken_for_a_digit() {
        for byte in 0..=255u8 {
            for place in 0..4 {
                let mut cell = *b"1.25";
                cell[place] = byte;
                let expected: Option<f32> = str::from_utf8(&cell).ok().and_then(|cell| cell.parse().ok());
                let expected = expected.filter(|_| byte != b'+' && !byte.is_ascii_alphabetic());
                assert_eq!(decimal(&cell), expected, "{byte} at {place}");
            }
        }
    }
}
