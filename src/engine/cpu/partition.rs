//! Division of work between threads: rows evenly, columns in whole vectors.

use std::ops::Range;

/// Lanes of the widest vector of any processor: half a cache line, or a whole one.
pub const LANES: usize = 16;

/// Returns part `number` of `0..length` divided into `count` nearly equal parts.
pub fn range(length: usize, number: usize, count: usize) -> Range<usize> {
    number * length / count..(number + 1) * length / count
}

/// Divides as [`range`] does, in whole vectors as far as possible: the last part may end within a vector, and
/// with few vectors some parts are empty.
pub fn columns(length: usize, number: usize, count: usize) -> Range<usize> {
    let edge = |number: usize| ((number * length.div_ceil(LANES)).div_ceil(count) * LANES).min(length);
    edge(number)..edge(number + 1)
}

/// Divides `vectors` vectors into nearly equal runs of at most `most`.
pub fn runs(vectors: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let count = vectors.div_ceil(most);
    (0..count).map(move |number| range(vectors, number, count))
}

/// Evaluates an expression with the length of a run, at most `most` and 5, as a constant:
/// `by_length!(length, most, N => f::<N>())`. `most` is a constant too, so no code is compiled for longer
/// runs.
macro_rules! by_length {
    ($length:expr, $most:expr, $N:ident => $work:expr) => {
        by_length!(@each $length, $most, $N => $work, 5 4 3 2)
    };
    (@each $length:expr, $most:expr, $N:ident => $work:expr, $($count:literal)*) => {
        debug_assert!($length <= $most && $most <= 5, "the length of a run");
        match $length {
            $($count if const { $most >= $count } => {
                const $N: usize = $count;
                $work
            })*
            _ => {
                const $N: usize = 1;
                $work
            }
        }
    };
}

pub(super) use by_length;

/// Divides columns into nearly equal pieces of at most `most` whole vectors: a multiple of `parts` pieces, if
/// it is more than one and there are enough vectors.
pub fn pieces(columns: usize, most: usize, parts: usize) -> Vec<Range<usize>> {
    let vectors = columns.div_ceil(LANES);
    let least = vectors.div_ceil(most);
    let count = if least > 1 { least.next_multiple_of(parts).min(vectors) } else { 1 };
    let edge = |number: usize| (number * vectors / count * LANES).min(columns);
    (0..count).map(|number| edge(number)..edge(number + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_in_their_order() {
        for count in [1, 2, 3, 7] {
            for length in [0, 1, 5, 16, 17, 100, 300] {
                for divide in [range, columns] {
                    let parts = (0..count).flat_map(|number| divide(length, number, count));
                    assert_eq!(parts.collect::<Vec<_>>(), (0..length).collect::<Vec<_>>());
                }
                let begins = (0..count).map(|number| columns(length, number, count).start);
                assert!(begins.into_iter().all(|begin| begin % LANES == 0 || begin == length));
            }
        }
    }

    #[test]
    fn runs_and_pieces_cover_all() {
        for vectors in 0..40 {
            for most in 1..6 {
                let covered: Vec<usize> = runs(vectors, most).flatten().collect();
                assert_eq!(covered, (0..vectors).collect::<Vec<_>>());
                assert!(runs(vectors, most).all(|run| (1..=most).contains(&run.len())));
            }
        }
        for columns in [1, 5, 16, 17, 80, 81, 100, 300, 512, 2500] {
            for (most, parts) in [(5, 2), (2, 3), (10, 1), (1, 7)] {
                let (pieces, vectors) = (pieces(columns, most, parts), columns.div_ceil(LANES));
                assert!(pieces.len() == 1 || pieces.len() == vectors || pieces.len().is_multiple_of(parts));
                let fits = |piece: &Range<usize>| (1..=most * LANES).contains(&piece.len());
                assert!(pieces.iter().all(|piece| piece.start % LANES == 0 && fits(piece)));
                assert_eq!(
                    pieces.into_iter().flatten().collect::<Vec<_>>(),
                    (0..columns).collect::<Vec<_>>()
                );
            }
        }
    }
}
