//! The order in which an epoch takes the rows.
//!
//! Every row has a random key that depends only on seed, epoch and row; the order is the stable sort by key. Therefore
//! every engine can compute it, or any part of it, independently.

pub(crate) mod sorted;

use std::ops::Range;

use crate::data::dataset::BLOCK_ROWS;
use crate::random::{Purpose, words};
use crate::vectors::vectorized_loops;

/// The order in which epoch `epoch` (from 1) takes the rows of `range`: a permutation of it.
pub fn order(seed: u64, epoch: usize, range: Range<u32>) -> Vec<u32> {
    // Key and row as one number. All are different, so that an unstable sort equals the stable sort by key.
    let mut keyed = vec![0; range.len()];
    vectorized_loops!(for (keyed, row) in keyed.iter_mut().zip(range.clone()) {
        let key = words(seed, Purpose::Order, [row, epoch as u32])[0];
        *keyed = u64::from(key) << u32::BITS | u64::from(row);
    });
    sort(&mut keyed);
    keyed.into_iter().map(|keyed| keyed as u32).collect()
}

/// Minimum quantity of numbers for which a radix sort is faster than comparisons.
const LEAST: usize = 1 << 10;

/// Bits per pass of the radix sort.
const BITS: u32 = 11;

/// Sorts numbers whose lower halves ascend, by a radix sort of the upper halves, lowest bits first (D. E. Knuth, "The
/// Art of Computer Programming", 5.2.5, algorithm R).
fn sort(numbers: &mut Vec<u64>) {
    if numbers.len() < LEAST {
        return numbers.sort_unstable();
    }
    let mut sorted = vec![0; numbers.len()];
    for shift in (u32::BITS..u64::BITS).step_by(BITS as usize) {
        let digit = |number: u64| (number >> shift) as usize & ((1 << BITS) - 1);
        // The position of the next number with each digit.
        let mut places = [0u32; 1 << BITS];
        numbers.iter().for_each(|number| places[digit(*number)] += 1);
        let mut before = 0;
        for place in &mut places {
            (*place, before) = (before, before + *place);
        }
        for number in &*numbers {
            let place = &mut places[digit(*number)];
            sorted[*place as usize] = *number;
            *place += 1;
        }
        std::mem::swap(numbers, &mut sorted);
    }
}

/// The order of the first epoch, whose rows stay within their block of [`BLOCK_ROWS`] in file order, so that training
/// can start when the first block has been read. The last block holds the remaining rows.
pub fn first_epoch_block(seed: u64, block: usize, rows: usize) -> Vec<u32> {
    let start = block * BLOCK_ROWS;
    order(seed, 1, start as u32..rows.min(start + BLOCK_ROWS) as u32)
}

/// The rows at `positions` of the order of an epoch over `rows` rows: block by block in the first epoch, over all rows
/// afterwards. In the first epoch, complete blocks are available while later rows are still missing.
pub fn rows_at(seed: u64, epoch: usize, rows: usize, positions: Range<usize>) -> Vec<u32> {
    if epoch > 1 {
        let mut all = order(seed, epoch, 0..rows as u32);
        all.truncate(positions.end);
        all.drain(..positions.start);
        return all;
    }
    let first = positions.start / BLOCK_ROWS;
    let blocks = first..positions.end.div_ceil(BLOCK_ROWS);
    let taken = blocks.flat_map(|block| first_epoch_block(seed, block, rows));
    taken.skip(positions.start - first * BLOCK_ROWS).take(positions.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted_by_their_upper_halves() {
        for count in [0, 1, 3, 1023, 1024, 1025, 5000, 70_000] {
            for kinds in [1, 2, 300, u64::from(u32::MAX)] {
                let key = |row: u64| row.wrapping_mul(0x9e37_79b9_7f4a_7c15) % kinds;
                let mut numbers: Vec<u64> = (0..count).map(|row| key(row) << 32 | row).collect();
                let mut expected = numbers.clone();
                expected.sort();
                sort(&mut numbers);
                assert!(numbers == expected, "{count} of {kinds}");
            }
        }
    }

    #[test]
    fn an_order_is_a_permutation_that_depends_on_seed_and_epoch() {
        let base = order(1, 2, 0..1000);
        let mut sorted = base.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<u32>>());
        assert_eq!(base, order(1, 2, 0..1000));
        assert_ne!(base, order(1, 3, 0..1000));
        assert_ne!(base, order(2, 2, 0..1000));
        let fixed_points = base.iter().zip(0..).filter(|(a, b)| *a == b).count();
        assert!(fixed_points < 10, "{fixed_points} of 1000 rows stayed where they were");
    }

    #[test]
    fn an_order_is_the_sort_of_its_keys() {
        for rows in [0, 1, 2, 3, 17, 63, 65, 257, 5000] {
            let mut rows: Vec<u32> = (5..5 + rows).collect();
            let range = 5..5 + rows.len() as u32;
            rows.sort_by_key(|row| words(4, Purpose::Order, [*row, 3])[0]);
            assert_eq!(order(4, 3, range), rows);
        }
    }

    #[test]
    fn blocks_of_the_first_epoch_keep_their_rows() {
        let rows = 2 * BLOCK_ROWS + 17;
        for (block, size) in [(0, BLOCK_ROWS), (1, BLOCK_ROWS), (2, 17)] {
            let mut taken = first_epoch_block(3, block, rows);
            assert_eq!(taken.len(), size);
            taken.sort_unstable();
            let start = (block * BLOCK_ROWS) as u32;
            assert_eq!(taken, (start..start + size as u32).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn any_positions_of_an_epoch_can_be_had_alone() {
        let rows = 2 * BLOCK_ROWS + 17;
        let first: Vec<u32> = (0..3).flat_map(|block| first_epoch_block(3, block, rows)).collect();
        let second = order(3, 2, 0..rows as u32);
        for range in [0..rows, 0..0, 5..64, BLOCK_ROWS - 1..BLOCK_ROWS + 1, BLOCK_ROWS..rows, rows - 3..rows]
        {
            assert_eq!(rows_at(3, 1, rows, range.clone()), first[range.clone()]);
            assert_eq!(rows_at(3, 2, rows, range.clone()), second[range]);
        }
        assert_eq!(rows_at(3, 1, BLOCK_ROWS, 7..99), first[7..99]);
    }
}
