//! Eight decimals at once with AVX-512: what `decimal.rs` does, with instructions that the compiler does not find.
//!
//! The text of neighbouring cells is loaded as it stands, in two vectors, and each cell is moved into a lane of its own. One
//! after the other they would take as long as all else.

use std::arch::x86_64::{__m256, __m512d, __m512i};

use pulp::x86::V4;
use pulp::{Simd, cast};

use super::decimal::{CELLS, CHARACTERS, HALF, LANES};
use super::notation::ReadAs;

/// Bytes of two vectors, among which the cells must stand.
const BYTES: usize = 128;

/// Bits of a character and of a word.
const BITS: u64 = u8::BITS as u64;
const WORD: u64 = u64::BITS as u64;

/// For each number of digits behind a point, where each byte of a word comes from so that the point is closed from the front; and
/// for eight, which stands for no point, the word as it is.
const CLOSED: [[u64; LANES]; 2] = {
    const WHOLE: u64 = 0x0706_0504_0302_0100;
    let (mut closed, mut behind) = ([[WHOLE; LANES]; 2], 0);
    while behind < LANES {
        // The first byte becomes 0, and each up to the point is the one in front of it.
        let kept = u64::MAX.unbounded_shl((WORD - BITS * behind as u64) as u32);
        closed[0][behind] = WHOLE & kept | (WHOLE << BITS | 0x80) & !kept;
        behind += 1;
    }
    closed
};

/// Places of bytes count from the first of every two words on.
const SECOND: u64 = 0x0808_0808_0808_0808;
const IN_PAIR: [u64; LANES] = [0, SECOND, 0, SECOND, 0, SECOND, 0, SECOND];

/// What digits are multiplied by, for each number of them behind a point.
const SCALES: [[f64; LANES]; 2] =
    [[1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7], [1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15]];

/// So many last places of f64 a value must be from one that is halfway between two f32. Three roundings make one or two; a power
/// of two can be asked for with one test.
const NEAR: u64 = 16;

/// A lane for each cell: the digits of a word, perhaps with a point among them.
struct Words {
    /// The digits without the point.
    numbers: __m512i,
    /// Digits behind the point; eight where there is none.
    behind: __m512i,
    /// A bit for each that has a point.
    points: u8,
    /// Not 0 where other characters stand.
    others: __m512i,
}

/// Reads the first `count` cells, as many as are read together at most, as [`super::decimal::Decimals::read`] does. Nothing where
/// they stand too far from one another, or at either end of a text.
#[inline(always)]
pub(super) fn read(
    v4: V4,
    text: &[u8],
    bounds: &[u32],
    count: usize,
    read_as: ReadAs,
    numbers: &mut [f32; CELLS],
) -> Option<u32> {
    let mut unread = 0;
    for (first, numbers) in (0..count).step_by(LANES).zip(numbers.as_chunks_mut().0) {
        let bits;
        (*numbers, bits) = read_lanes(v4, text, &bounds[first..], (count - first).min(LANES), read_as)?;
        unread |= u32::from(bits) << first;
    }
    Some(unread)
}

/// The same of eight cells at most.
#[inline(always)]
fn read_lanes(
    v4: V4,
    text: &[u8],
    bounds: &[u32],
    count: usize,
    ReadAs { point, empty }: ReadAs,
) -> Option<([f32; LANES], u8)> {
    let (f, all) = (v4.avx512f, |number: u64| cast::<_, __m512i>(v4.splat_u64s(number)));
    let starts: &[u32; LANES] = bounds.first_chunk()?;
    let ends: &[u32; LANES] = bounds.get(1..)?.first_chunk()?;
    let first = (ends[0] as usize).checked_sub(CHARACTERS + 2)?.min(text.len().checked_sub(BYTES)?);
    if *ends.get(count.checked_sub(1)?)? as usize > first + BYTES + 1 {
        return None;
    }
    let [low, high] = cast::<[u8; BYTES], [__m512i; 2]>(*text[first..].first_chunk()?);
    let (starts, ends) = (f._mm512_cvtepu32_epi64(cast(*starts)), f._mm512_cvtepu32_epi64(cast(*ends)));
    // Lengths and sizes count bits.
    let lengths = f._mm512_sub_epi64(f._mm512_slli_epi64::<3>(f._mm512_sub_epi64(ends, starts)), all(BITS));
    let are_there = f._mm512_test_epi64_mask(lengths, lengths);
    let wanted = u8::MAX >> (LANES - count);

    // The last 16 characters of each: the pair of double words in which the one in front of them stands, and those behind.
    let places = f._mm512_sub_epi64(ends, all((first + CHARACTERS + 2) as u64));
    let in_pairs = f._mm512_shuffle_epi32::<0b10_10_00_00>(f._mm512_srli_epi64::<2>(places));
    let pair = |skipped: u64| {
        let places = f._mm512_add_epi32(in_pairs, all(skipped | (skipped + 1) << 32));
        f._mm512_permutex2var_epi32(low, places, high)
    };
    let in_front = f._mm512_slli_epi64::<3>(f._mm512_and_si512(places, all(3)));
    let begun = f._mm512_add_epi64(in_front, all(BITS));
    let left = f._mm512_sub_epi64(all(WORD), begun);
    let joined = |first, second, begun, left| {
        f._mm512_or_si512(f._mm512_srlv_epi64(first, begun), f._mm512_sllv_epi64(second, left))
    };
    let (middle, last) = (pair(2), pair(4));
    let back = joined(middle, last, begun, left);
    // One character before it, for a minus in front of as many digits.
    let shifted = joined(middle, last, in_front, f._mm512_add_epi64(left, all(BITS)));

    // Which cells begin with a minus, if they stand in these words after so many bits of them, and their sizes without it.
    let without_minus = |words, turned, may_begin| {
        // Turned round, a word has the first character of its cell in front.
        let others = f._mm512_xor_si512(f._mm512_rolv_epi64(words, turned), all(b'-'.into()));
        let minus = f._mm512_mask_testn_epi64_mask(may_begin, others, all(0xff));
        (minus, f._mm512_mask_sub_epi64(lengths, minus, lengths, all(BITS)))
    };
    // Digits there must be.
    let has_digits = |sizes, points| {
        let digits = f._mm512_mask_sub_epi64(sizes, points, sizes, all(BITS));
        f._mm512_test_epi64_mask(digits, digits)
    };
    let several = f._mm512_cmpgt_epu64_mask(lengths, all(BITS));
    let (minus, sizes) = without_minus(shifted, f._mm512_sub_epi64(lengths, all(BITS)), several);
    let are_long = f._mm512_cmpgt_epu64_mask(sizes, all(WORD));
    let (numbers, scales, minus, are_numbers) = if are_long & wanted == 0 {
        let back = Words::new(v4, back, sizes, point);
        let are_numbers = has_digits(sizes, back.points);
        let are_numbers = f._mm512_mask_testn_epi64_mask(are_numbers, back.others, back.others);
        // Nothing stands behind a point that is not there.
        let (low, high): (__m512d, __m512d) = (cast(SCALES[0]), cast(v4.splat_f64s(1.0)));
        (back.numbers, f._mm512_permutex2var_pd(low, back.behind, high), minus, are_numbers)
    } else {
        let front = joined(pair(0), middle, begun, left);
        let begins_in_front = f._mm512_cmpgt_epu64_mask(lengths, all(WORD));
        let words = f._mm512_mask_mov_epi64(back, begins_in_front, front);
        let (minus, sizes) = without_minus(words, lengths, are_there);
        let front_sizes = f._mm512_max_epi64(f._mm512_sub_epi64(sizes, all(WORD)), all(0));
        let front = Words::new(v4, front, front_sizes, point);
        let back = Words::new(v4, back, f._mm512_min_epi64(sizes, all(WORD)), point);
        let tens = f._mm512_mask_mov_epi64(all(100_000_000), back.points, all(10_000_000));
        let numbers = f._mm512_add_epi64(f._mm512_mul_epu32(front.numbers, tens), back.numbers);
        let behind = f._mm512_maskz_add_epi64(front.points, front.behind, all(LANES as u64));
        let behind = f._mm512_mask_mov_epi64(behind, back.points, back.behind);
        let [low, high] = SCALES.map(cast::<_, __m512d>);
        let are_numbers = has_digits(sizes, front.points | back.points) & !(front.points & back.points);
        let are_numbers = f._mm512_mask_cmple_epu64_mask(are_numbers, sizes, all(2 * WORD));
        let others = f._mm512_or_si512(front.others, back.others);
        let are_numbers = f._mm512_mask_testn_epi64_mask(are_numbers, others, others);
        (numbers, f._mm512_permutex2var_pd(low, behind, high), minus, are_numbers)
    };
    // An empty cell has no value.
    let values = v4.avx512dq._mm512_cvtepi64_pd(numbers);
    let values = f._mm512_mask_mul_pd(cast(v4.splat_f64s(f64::NAN)), are_there, values, scales);
    // Halfway, the bits that f32 has not are `HALF`: they overflow to less than twice `NEAR`.
    let rest = f._mm512_add_epi64(cast(values), all(HALF + NEAR));
    let are_numbers = f._mm512_mask_test_epi64_mask(are_numbers, rest, all(2 * HALF - 2 * NEAR));
    // There is no negative zero, which bytes have not either.
    let values = f._mm512_mask_sub_pd(values, minus, cast(v4.splat_f64s(0.0)), values);
    let numbers: __m256 = f._mm512_cvtpd_ps(values);
    let are_read = if empty { are_numbers | !are_there } else { are_numbers };
    Some((cast(numbers), !are_read & wanted))
}

impl Words {
    /// The last bits of each word, so many of them.
    #[inline(always)]
    fn new(v4: V4, text: __m512i, sizes: __m512i, point: u8) -> Self {
        let (f, bw) = (v4.avx512f, v4.avx512bw);
        let all = |number: u64| cast::<_, __m512i>(v4.splat_u64s(number));
        let bytes = |byte: u8| cast::<_, __m512i>(v4.splat_u8s(byte));
        let cells = f._mm512_sllv_epi64(all(u64::MAX), f._mm512_sub_epi64(all(WORD), sizes));
        let digits = f._mm512_and_si512(f._mm512_xor_si512(text, bytes(b'0')), cells);
        // Of several points the last; the others are no digits.
        let points = bw._mm512_movm_epi8(bw._mm512_cmpeq_epi8_mask(digits, bytes(point ^ b'0')));
        let behind = f._mm512_srli_epi64::<3>(v4.avx512cd._mm512_lzcnt_epi64(points));
        let [low, high] = CLOSED.map(cast::<_, __m512i>);
        let places = f._mm512_or_si512(f._mm512_permutex2var_epi64(low, behind, high), cast(IN_PAIR));
        let digits = bw._mm512_shuffle_epi8(digits, places);
        // Pairs of digits, then pairs of pairs, then both.
        let pairs = bw._mm512_maddubs_epi16(digits, cast(v4.splat_u16s(10 | 1 << 8)));
        let fours = bw._mm512_madd_epi16(pairs, cast(v4.splat_u32s(100 | 1 << 16)));
        let first = f._mm512_mul_epu32(fours, all(10_000));
        Self {
            numbers: f._mm512_add_epi64(first, f._mm512_srli_epi64::<32>(fours)),
            behind,
            points: f._mm512_test_epi64_mask(points, points),
            others: bw._mm512_subs_epu8(digits, bytes(9)),
        }
    }
}

#[cfg(test)]
mod tests {
    use pulp::NullaryFnOnce;

    use super::super::decimal::short_decimal;
    use super::*;

    struct ReadCells<'a>(V4, &'a [u8], &'a [u32], usize, bool);

    impl NullaryFnOnce for ReadCells<'_> {
        type Output = Option<Vec<Option<f32>>>;

        #[inline(always)]
        fn call(self) -> Self::Output {
            let Self(v4, text, bounds, count, empty) = self;
            let mut numbers = [0.0; CELLS];
            let unread = read(v4, text, bounds, count, ReadAs { point: b'.', empty }, &mut numbers)?;
            assert_eq!(u64::from(unread) >> count, 0);
            let numbers = numbers[..count].iter().enumerate();
            Some(numbers.map(|(cell, number)| (unread >> cell & 1 == 0).then_some(*number)).collect())
        }
    }

    /// What is read of cells between two texts, where the processor has such vectors.
    fn read_cells(front: &[u8], cells: &[&[u8]], behind: &[u8], empty: bool) -> Option<Vec<Option<f32>>> {
        let (mut text, mut bounds) = (front.to_vec(), vec![front.len() as u32]);
        for cell in cells {
            text.extend_from_slice(cell);
            text.push(b',');
            bounds.push(text.len() as u32);
        }
        text.extend_from_slice(behind);
        bounds.extend([0; CELLS + LANES]);
        let v4 = V4::try_new()?;
        v4.vectorize(ReadCells(v4, &text, &bounds, cells.len(), empty))
    }

    const FRONT: &[u8] = b"-1.5,7.25,9999999999999999,";

    #[test]
    fn cells_are_read_beside_others_of_any_length() {
        let texts: [&[u8]; 15] = [
            b"",
            b"7",
            b"-7",
            b".5",
            b"-.5",
            b"5.",
            b"12345678",
            b"-12345678",
            b"1234567.",
            b"123456789",
            b"-0",
            b"-123456.12345678",
            b"1234567890123456",
            b"0.12345678901234",
            b"-0.00",
        ];
        let number = |text: &[u8]| str::from_utf8(text).ok()?.parse::<f32>().ok();
        for (first, text) in texts.iter().enumerate() {
            for other in texts {
                for count in [1, 2, 7, 8, 9, 16, 25, 32] {
                    // Two groups of eight that are long do not fit into two vectors each.
                    let others = if other.len() > 12 { b"3.5" } else { other };
                    let mut cells = vec![others; count];
                    cells[first % count] = text;
                    let Some(read) = read_cells(FRONT, &cells, &[b'.'; 128], true) else {
                        assert!(V4::try_new().is_none(), "{count} {text:?} {other:?}");
                        return;
                    };
                    for (cell, read) in cells.iter().zip(read) {
                        match (read, number(cell)) {
                            (Some(read), Some(number)) => {
                                assert_eq!(read.to_bits(), (number + 0.0).to_bits())
                            }
                            (read, number) => {
                                assert!(number.is_none() && cell.is_empty(), "{cell:?} {number:?}");
                                assert!(read.is_some_and(f32::is_nan));
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_is_left_to_others() {
        let faults: [&[u8]; 14] = [
            b"-",
            b".",
            b"-.",
            b"--1",
            b"1-",
            b"1234567-9",
            b"12345678-9",
            b"1.2.3",
            b"12345678.1.",
            b".123456789.1",
            b"1e5",
            b"+1",
            b"12345678901234567",
            b"1 ",
        ];
        for fault in faults.into_iter().chain([&b""[..]]) {
            for place in 0..9 {
                let mut cells = vec![&b"2.5"[..]; 9];
                cells[place] = fault;
                let Some(read) = read_cells(FRONT, &cells, &[b'1'; 128], false) else { return };
                let expected: Vec<Option<f32>> = (0..9).map(|cell| (cell != place).then_some(2.5)).collect();
                assert_eq!(read, expected, "{fault:?}");
            }
        }
        // Halfway between two floats, and beside it.
        let Some(read) = read_cells(FRONT, &[b"16777217", b"16777219", b"16777218"], &[0; 128], false) else {
            return;
        };
        assert_eq!(read, [None, None, Some(16_777_218.0)]);
    }

    #[test]
    fn every_byte_at_every_place_is_read_as_one_alone_is() {
        for byte in (0..=255u8).filter(|byte| *byte != b',') {
            for cell in [&b"1.25"[..], b"12345678", b"-123.4567890123"] {
                for place in 0..cell.len() {
                    let mut cell = cell.to_vec();
                    cell[place] = byte;
                    let cells = [&b"8.5"[..], &cell, b"-25"];
                    let Some(read) = read_cells(FRONT, &cells, &[b'5'; 128], false) else { return };
                    assert_eq!(read, [Some(8.5), short_decimal(&cell, b'.'), Some(-25.0)], "{byte} {place}");
                }
            }
        }
    }

    #[test]
    fn cells_at_the_ends_of_a_text_and_far_ones_are_left_to_others() {
        let cells = [&b"1.5"[..], b"-2", b"3"];
        let expected = Some(vec![Some(1.5), Some(-2.0), Some(3.0)]);
        for front in 0..30 {
            for behind in [0, 100, 128, 200] {
                // The last 16 characters of a cell and the one in front of them are read, and the text has enough for two vectors.
                let fits = front + 3 > CHARACTERS && front + 9 + behind >= BYTES;
                let read = read_cells(&vec![b'9'; front], &cells, &vec![b'9'; behind], false);
                let expected = expected.clone().filter(|_| fits && V4::try_new().is_some());
                assert_eq!(read, expected, "{front} {behind}");
            }
        }
        let far = [b"1", &[b'0'; 120][..], b"2"];
        assert_eq!(read_cells(FRONT, &far, &[b'9'; 128], false), None);
        let near = [b"1", &[b'0'; 100][..], b"2"];
        let expected = V4::try_new().map(|_| vec![Some(1.0), None, Some(2.0)]);
        assert_eq!(read_cells(FRONT, &near, &[b'9'; 128], false), expected);
    }
}
