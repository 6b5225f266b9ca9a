//! Rows that are lines: without quotes, which may hold line ends, and without blank lines between them. They are counted, and found
//! where they are parsed.

use super::places::{BLOCK, Blocks, WithBlocks, in_blocks};

/// Lines at the start of a text, each of which is a row.
#[derive(Debug, PartialEq)]
pub(super) struct Lines {
    pub rows: usize,
    /// Where the last of them ends, behind its line end.
    pub end: usize,
    /// Bytes of each line end: one for LF, two for CR and LF.
    pub line_end: usize,
}

/// The whole lines of a text, so many at most. Nothing where one of them, or of the bytes that were looked at behind them, may be no
/// row, or a part of one.
pub(super) fn lines(text: &[u8], most: usize) -> Option<Lines> {
    in_blocks(Count { text, most })
}

/// See [`lines`].
struct Count<'a> {
    text: &'a [u8],
    most: usize,
}

impl WithBlocks for Count<'_> {
    type Output = Option<Lines>;

    #[inline(always)]
    fn with_blocks(self, blocks: impl Blocks) -> Option<Lines> {
        let Self { text, most } = self;
        let (mut rows, mut end, mut at) = (0, 0, 0);
        // 1 where the next block begins a line, and where it stands behind a CR.
        let (mut begins, mut after_return) = (1, 0);
        // Whether there is any CR, and any without LF or LF without CR.
        let (mut returns, mut alone) = (0, 0);
        while at < text.len() && rows < most {
            let block = &text[at..];
            let mut feeds = blocks.places_in(block, [b'\n']);
            let return_places = blocks.places_in(block, [b'\r']);
            let blanks = blocks.places_in(block, [b' ', b'\t', b'\x0c']);
            let begun = feeds << 1 | begins;
            if begun & (feeds | return_places | blanks) | blocks.places_in(block, [b'"']) != 0 {
                return None;
            }
            returns |= return_places;
            alone |= (return_places << 1 | after_return) ^ feeds;
            (begins, after_return) = (feeds >> (BLOCK - 1), return_places >> (BLOCK - 1));
            for _ in 0..(rows + feeds.count_ones() as usize).saturating_sub(most) {
                // Without the last.
                feeds &= !(1 << (BLOCK - 1 - feeds.leading_zeros() as usize));
            }
            rows += feeds.count_ones() as usize;
            if feeds != 0 {
                end = at + BLOCK - feeds.leading_zeros() as usize;
            }
            at += BLOCK;
        }
        (returns == 0 || alone == 0).then_some(Lines { rows, end, line_end: 1 + usize::from(returns != 0) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::in_all_blocks;
    use super::*;

    fn found(text: &str, most: usize) -> Option<(usize, usize, usize)> {
        let mut found = in_all_blocks(|| Count { text: text.as_bytes(), most }).into_iter();
        let (_, first) = found.next().unwrap();
        assert!(found.all(|(_, other)| other == first), "{text:?}");
        first.map(|Lines { rows, end, line_end }| (rows, end, line_end))
    }

    #[test]
    fn whole_lines_are_counted_at_every_place_of_a_block() {
        for length in (0..70).chain([127, 128, 129, 500]) {
            let row = "x".repeat(length) + "1,2";
            for end in ["\n", "\r\n"] {
                let line = row.clone() + end;
                for rest in ["", "1", "1,2"] {
                    let text = line.repeat(5) + rest;
                    for most in [1, 2, 5, 6, 4096] {
                        let rows = most.min(5);
                        assert_eq!(
                            found(&text, most),
                            Some((rows, rows * line.len(), end.len())),
                            "{text:?}"
                        );
                    }
                }
            }
        }
        // Several in a block.
        assert_eq!(found(&"1\n".repeat(100), 50), Some((50, 100, 1)));
        assert_eq!(found("1,2", 5), Some((0, 0, 1)));
        assert_eq!(found("", 5), Some((0, 0, 1)));
    }

    #[test]
    fn what_may_be_no_line_of_its_own_is_left_to_others() {
        for length in [0, 3, 60, 61, 62, 63, 64, 65] {
            let row = "1".repeat(length + 1);
            for odd in
                ["\n", " \n", "\t1\n", "\x0c\n", "\"1\"\n", "1\"2\n", "1\r2\n", "1\r\n", "\r\n", "\r", "1\r"]
            {
                assert_eq!(found(&format!("{row}\n{odd}2\n"), 9), None, "{row:?} {odd:?}");
                assert_eq!(found(&format!("{row}\n{row}\n{odd}"), 9), None, "{row:?} {odd:?}");
            }
            assert_eq!(found(&format!("{row}\r\n2\n"), 9), None);
        }
        for odd in ["\n1", " 1\n", "\"1\"\n"] {
            assert_eq!(found(odd, 9), None);
        }
    }
}
