//! Rows that are lines: no quoted cell holds a line end, and no line is blank. They are counted, and found where they are parsed.

use super::places::{BLOCK, Blocks, WithBlocks, in_blocks};
use super::quotes::{Before, Quotes};

/// Lines at the start of a text, each of which is a row.
#[derive(Debug, PartialEq)]
pub(super) struct Lines {
    pub rows: usize,
    /// Where the last of them ends, behind its line end.
    pub end: usize,
    /// Bytes of each line end: one for LF, two for CR and LF.
    pub line_end: usize,
    /// Whether a quote stands in them or behind them.
    pub has_quotes: bool,
}

/// The whole lines of a text, so many at most. Nothing where one of them, or of the bytes that were looked at behind them, may be no
/// row, or a part of one.
pub(super) fn lines(text: &[u8], delimiter: u8, most: usize) -> Option<Lines> {
    // The second half of a line end may be still to come.
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    in_blocks(Count { text, delimiter, most })
}

/// See [`lines`].
struct Count<'a> {
    text: &'a [u8],
    delimiter: u8,
    most: usize,
}

impl WithBlocks for Count<'_> {
    type Output = Option<Lines>;

    #[inline(always)]
    fn with_blocks(self, blocks: impl Blocks) -> Option<Lines> {
        // Most texts have no quotes: they are followed only where the first one shows.
        self.count::<false>(blocks).or_else(|| self.count::<true>(blocks))
    }
}

impl Count<'_> {
    /// Counts lines, which may have quotes or have none.
    #[inline(always)]
    fn count<const QUOTES: bool>(&self, blocks: impl Blocks) -> Option<Lines> {
        let Self { text, delimiter, most } = *self;
        let (mut rows, mut end, mut at) = (0, 0, 0);
        // 1 where the next block begins a line, where it stands behind a CR, and behind a quote that begins a line.
        let (mut begins, mut after_return, mut after_quote) = (1, 0, 0);
        // Whether there is any CR, and any without LF or LF without CR.
        let (mut returns, mut alone, mut before) = (0, 0, Before::default());
        while at < text.len() && rows < most {
            let block = &text[at..];
            let mut feeds = blocks.places_in(block, [b'\n']);
            let return_places = blocks.places_in(block, [b'\r']);
            let blanks = blocks.places_in(block, [b' ', b'\t', b'\x0c']);
            let begun = feeds << 1 | begins;
            let mut odd = begun & (feeds | return_places | blanks);
            if QUOTES {
                let Quotes { all, inside, faults, .. } = before.quotes(block, delimiter, blocks);
                // A line that begins with a quote may be blank, too, if nothing else than blanks and quotes follows.
                odd |= faults | inside & (feeds | return_places);
                odd |= ((begun & all) << 1 | after_quote) & (blanks | all);
                after_quote = (begun & all) >> (BLOCK - 1);
            } else {
                odd |= blocks.places_in(block, [b'"']);
            }
            if odd != 0 {
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
        let line_end = 1 + usize::from(returns != 0);
        (returns == 0 || alone == 0).then_some(Lines { rows, end, line_end, has_quotes: QUOTES })
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::in_all_blocks;
    use super::*;

    /// Rows, their end and bytes of a line end.
    fn found(text: &str, most: usize) -> Option<(usize, usize, usize)> {
        let mut found = in_all_blocks(|| Count { text: text.as_bytes(), delimiter: b',', most }).into_iter();
        let (_, first) = found.next().unwrap();
        assert!(found.all(|(_, other)| other == first), "{text:?}");
        first.map(|Lines { rows, end, line_end, has_quotes }| {
            assert_eq!(has_quotes, text.contains('"'));
            (rows, end, line_end)
        })
    }

    #[test]
    fn whole_lines_are_counted_at_every_place_of_a_block() {
        for length in (0..70).chain([127, 128, 129, 500]) {
            let text = "x".repeat(length);
            for row in [text.clone() + "1,2", format!("\"{text},2\",\"\""), format!("{text}1,\"\"\"a\"")] {
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
        }
        // Several in a block.
        assert_eq!(found(&"1\n".repeat(100), 50), Some((50, 100, 1)));
        assert_eq!(found(&"\"1\"\n".repeat(100), 50), Some((50, 200, 1)));
        assert_eq!(found("1,2", 5), Some((0, 0, 1)));
        assert_eq!(found("", 5), Some((0, 0, 1)));
        // The rest of a quoted cell is still to come.
        assert_eq!(found("1,2\n\"1,2", 5), Some((1, 4, 1)));
    }

    #[test]
    fn what_may_be_no_line_of_its_own_is_left_to_others() {
        let odd_ones = [
            "\n",
            " \n",
            "\t1\n",
            "\x0c\n",
            "1\"2\n",
            "1\r2\n",
            "1\r\n",
            "\r\n",
            "\r",
            "1\r",
            "\"\"\n",
            "\" \"\n",
            "1,\"a\nb\"\n",
            "1,\"a\rb\"\n",
            "1,\"a\"b\"c\"\n",
        ];
        for length in [0, 3, 60, 61, 62, 63, 64, 65] {
            for row in ["1".repeat(length + 1), format!("\"{}\"", "1".repeat(length + 1))] {
                for odd in odd_ones {
                    assert_eq!(found(&format!("{row}\n{odd}2\n"), 9), None, "{row:?} {odd:?}");
                    assert_eq!(found(&format!("{row}\n{row}\n{odd}"), 9), None, "{row:?} {odd:?}");
                }
                assert_eq!(found(&format!("{row}\r\n2\n"), 9), None);
            }
        }
        for odd in ["\n1", " 1\n", "\"\"\n"] {
            assert_eq!(found(odd, 9), None);
        }
    }
}
