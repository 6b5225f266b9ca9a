//! How work is divided between threads: rows evenly, columns in whole vectors.

use std::ops::Range;

/// Numbers of the widest vector of any processor: half a line of its cache, or a whole one.
pub const LANES: usize = 16;

/// A way to cut `0..length` into parts: which of them is part `number` of `count`.
pub type Divide = fn(length: usize, number: usize, count: usize) -> Range<usize>;

/// Part `number` of `0..length` divided into `count` nearly equal parts.
pub fn range(length: usize, number: usize, count: usize) -> Range<usize> {
    number * length / count..(number + 1) * length / count
}

/// The same in whole vectors, as far as they go: the last part may end within one, and with few vectors some parts are
/// empty.
pub fn columns(length: usize, number: usize, count: usize) -> Range<usize> {
    let edge = |number: usize| ((number * length.div_ceil(LANES)).div_ceil(count) * LANES).min(length);
    edge(number)..edge(number + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_in_their_order() {
        for count in [1, 2, 3, 7] {
            for length in [0, 1, 5, 16, 17, 100, 300] {
                for divide in [range as Divide, columns] {
                    let parts = (0..count).flat_map(|number| divide(length, number, count));
                    assert_eq!(parts.collect::<Vec<_>>(), (0..length).collect::<Vec<_>>());
                }
                let begins = (0..count).map(|number| columns(length, number, count).start);
                assert!(begins.into_iter().all(|begin| begin % LANES == 0 || begin == length));
            }
        }
    }
}
