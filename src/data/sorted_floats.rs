//! Sorts numbers by their bits, as numbers are compared.

/// Bits of a pass.
const DIGIT: u32 = 11;

/// Values of a digit.
const BUCKETS: usize = 1 << DIGIT;

/// These numbers in ascending order, NaNs left out; 0 and -0 are one number.
///
/// A radix sort from the lowest digit on; a digit that is the same in all numbers needs no pass.
pub(super) fn sorted(values: Vec<f32>) -> Vec<f32> {
    let mut keys: Vec<u32> = values.iter().filter(|value| !value.is_nan()).map(|value| key(*value)).collect();
    drop(values);
    let mut counts = [[0u32; BUCKETS]; 3];
    for key in &keys {
        for (digit, counts) in (0..).zip(&mut counts) {
            counts[bucket(*key, digit)] += 1;
        }
    }
    let mut others = vec![0; keys.len()];
    for (digit, counts) in (0..).zip(&mut counts) {
        if counts.iter().any(|count| *count as usize == keys.len()) {
            continue;
        }
        // Where the next key of each bucket goes.
        let mut place = 0;
        for count in counts.iter_mut() {
            place += std::mem::replace(count, place);
        }
        for key in &keys {
            let place = &mut counts[bucket(*key, digit)];
            others[*place as usize] = *key;
            *place += 1;
        }
        std::mem::swap(&mut keys, &mut others);
    }
    keys.into_iter().map(value).collect()
}

/// Bits that are ordered as the numbers are: those of negative ones turned round.
fn key(value: f32) -> u32 {
    let bits = (value + 0.0).to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

fn value(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}

fn bucket(key: u32, digit: u32) -> usize {
    (key >> (DIGIT * digit)) as usize % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_the_order_of_the_standard_library() {
        let special =
            [0.0, -0.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, -1e-45, f32::INFINITY, 1.0, -1.0];
        for count in [0, 1, 2, 3, 17, 257, 5000] {
            let spread = |number: u32| f32::from_bits(number.wrapping_mul(0x9e37_79b9));
            let mut values: Vec<f32> = (0..count).map(spread).chain(special).chain([f32::NAN]).collect();
            values.truncate(count as usize + 7);
            let mut expected: Vec<f32> = values.iter().copied().filter(|value| !value.is_nan()).collect();
            expected.sort_by(f32::total_cmp);
            // As numbers: -0 has become 0.
            assert_eq!(sorted(values), expected);
            let whole: Vec<f32> = (0..count).map(|number| (number * 7 % 100) as f32).collect();
            let mut expected = whole.clone();
            expected.sort_by(f32::total_cmp);
            assert_eq!(sorted(whole), expected);
        }
    }
}
