//! Some rows without their quotes, and where their cells stand: what `row.rs` does for one row, for several at once.

use super::places::{BLOCK, Blocks};
use super::quotes::Before;
use super::row::make_room;

/// Bytes in front of the text: more than are looked at in front of a cell.
const FRONT: usize = BLOCK;

/// The text of some rows without its quotes; memory is kept from use to use.
#[derive(Default)]
pub(super) struct Unquoted {
    /// Behind `FRONT` other bytes, and with room behind it.
    text: Vec<u8>,
    length: usize,
    /// Where the text with quotes began.
    start: usize,
    blocks: Vec<Block>,
}

/// A block of the text with quotes.
struct Block {
    /// A bit for each byte that was left out.
    left_out: u64,
    /// Where the others stand now.
    place: u32,
}

impl Unquoted {
    /// Takes the quotes out of the text from `start` on, where a row begins, up to `end`, where a line may end. Writes where each cell
    /// begins and returns the place of the last bound. Nothing where a quote stands inside a cell that it does not begin.
    #[inline(always)]
    pub(super) fn copy(
        &mut self,
        text: &[u8],
        (start, end): (usize, usize),
        delimiter: u8,
        bounds: &mut Vec<u32>,
        blocks: impl Blocks,
    ) -> Option<usize> {
        self.start = start;
        self.blocks.clear();
        // Whole blocks are copied, of which some bytes count.
        self.text.resize(FRONT + (end - start) + 3 * BLOCK, 0);
        let mut before = Before::default();
        let (mut at, mut to, mut count, mut faults) = (start, FRONT, 1, 0);
        while at <= end && at < text.len() {
            make_room(bounds, count);
            let found = before.quotes(&text[at..], delimiter, blocks);
            faults |= found.faults;
            self.blocks.push(Block { left_out: found.left_out, place: to as u32 });
            let marks = closed_up(found.marks, found.left_out);
            if let Some(room) = bounds[count..].first_chunk_mut() {
                blocks.write(marks, to as u32 + 1, room);
            }
            count += marks.count_ones() as usize;
            let length = (text.len() - at).min(BLOCK);
            to = self.copy_block(&text[at..], length, found.left_out, to);
            at += length;
        }
        self.blocks.push(Block { left_out: 0, place: to as u32 });
        self.length = to;
        (bounds[0], bounds[count]) = (FRONT as u32, to as u32 + 1);
        (faults == 0).then_some(count)
    }

    /// Copies so many of the first bytes of a text but for those that are left out, and returns where the next belong.
    #[inline(always)]
    fn copy_block(&mut self, text: &[u8], length: usize, mut left_out: u64, mut to: usize) -> usize {
        let mut from = 0;
        loop {
            let end = (left_out.trailing_zeros() as usize).min(length);
            // A whole block, without a call.
            match (text[from..].first_chunk::<BLOCK>(), self.text[to..].first_chunk_mut()) {
                (Some(bytes), Some(room)) => *room = *bytes,
                _ => self.text[to..to + (end - from)].copy_from_slice(&text[from..end]),
            }
            to += end - from;
            if left_out == 0 {
                return to;
            }
            left_out &= left_out - 1;
            from = end + 1;
        }
    }

    /// The text, with other bytes in front of it.
    #[inline]
    pub(super) fn text(&self) -> &[u8] {
        &self.text[..self.length]
    }

    /// Where the byte stands that had this place in the text with quotes, or, of one that was left out, the next one.
    #[inline(always)]
    pub(super) fn place(&self, place: usize) -> usize {
        let place = place - self.start;
        let (block, byte) = (&self.blocks[place / BLOCK], place % BLOCK);
        let left_out = (block.left_out & ((1 << byte) - 1)).count_ones() as usize;
        block.place as usize + byte - left_out
    }
}

/// The bits of a word that are not left out, side by side from the lowest on.
#[inline(always)]
fn closed_up(mut bits: u64, mut left_out: u64) -> u64 {
    while left_out != 0 {
        let below = (1u64 << left_out.trailing_zeros()) - 1;
        bits = bits & below | (bits >> 1) & !below;
        left_out = (left_out & (left_out - 1)) >> 1;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::super::places::{WithBlocks, in_all_blocks};
    use super::super::row::Cells;
    use super::*;

    /// Cells as they are written; the last have quotes inside, which the others do not begin with.
    const CELLS: [&str; 19] = [
        "",
        "a",
        "\"\"",
        "\"a\"",
        "\"a,b\"",
        "\"\"\"\"",
        "\"a\"\"b\"",
        "\"\"\"a\"\"\"",
        "\"a\"b",
        "\"a\nb,\r\n\"",
        "\",\"",
        "-12.5",
        "\"C:\\\"",
        "\"a text that is longer than a block, which has 64 bytes, and then some more, with a \"\" in it\"",
        "another one of 63 bytes, so that what stands behind it is moved",
        "a\"b",
        "\"C:\\\"x",
        "\"a\"b\"c\"",
        " \"a\"",
    ];
    const WITHOUT_ODD: usize = CELLS.len() - 4;

    struct Copy<'a>(&'a [u8], &'a [(usize, usize)]);

    impl WithBlocks for Copy<'_> {
        type Output = Option<Vec<Vec<Vec<u8>>>>;

        /// The cells of each row.
        #[inline(always)]
        fn with_blocks(self, blocks: impl Blocks) -> Self::Output {
            let Self(text, rows) = self;
            let (mut unquoted, mut bounds) = (Unquoted::default(), vec![7; 3]);
            let place = (rows[0].0, rows[rows.len() - 1].1);
            // What was there before is gone.
            unquoted.copy(b"\"x\",\"y\"", (0, 7), b',', &mut bounds, blocks);
            let last = unquoted.copy(text, place, b',', &mut bounds, blocks)?;
            assert!(bounds.len() > last + BLOCK && unquoted.text().len() <= FRONT + text.len());
            let cells = |(start, end): &(usize, usize)| {
                let (start, end) = (unquoted.place(*start), unquoted.place(*end));
                let from = bounds[..last].iter().position(|bound| *bound as usize == start).unwrap();
                let ends = bounds[from + 1..=last].iter().map(|bound| *bound as usize - 1);
                let mut ends: Vec<usize> = ends.take_while(|place| *place < end).collect();
                ends.push(bounds[from + 1 + ends.len()] as usize - 1);
                assert_eq!(ends[ends.len() - 1], end);
                let starts = bounds[from..].iter().map(|bound| *bound as usize);
                starts.zip(ends).map(|(start, end)| unquoted.text()[start..end].to_vec()).collect()
            };
            Some(rows.iter().map(cells).collect())
        }
    }

    #[test]
    fn cells_are_those_of_each_row_by_itself() {
        let spread = |number: usize| (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 40;
        let mut odd_ones = 0;
        for case in 0..1500 {
            let cells = if case % 4 == 0 { CELLS.len() } else { WITHOUT_ODD };
            let line_end = ["\n", "\r\n", "\r", "\n\"\"\n"][case % 3 + case / 1000];
            let (mut text, mut rows, mut is_odd) = ("in \"front\" of them\n".to_owned(), Vec::new(), false);
            for row in 0..1 + case % 7 {
                let start = text.len();
                for cell in 0..1 + spread(case + row) % 5 {
                    text.push_str(if cell == 0 { "" } else { "," });
                    let chosen = spread(case * 1000 + row * 10 + cell) % cells;
                    is_odd |= chosen >= WITHOUT_ODD;
                    text.push_str(CELLS[chosen]);
                }
                rows.push((start, text.len()));
                text.push_str(line_end);
            }
            // The end of the last row is that of the text, or other rows follow.
            match case % 5 {
                0 => text.truncate(rows[rows.len() - 1].1),
                1 => text.push_str(&"1,\"2\"\n".repeat(30)),
                _ => {}
            }
            let (text, mut by_itself) = (text.as_bytes(), Cells::default());
            let mut cells = |place: &(usize, usize)| {
                by_itself.of(text, *place, b',', true).cells().map(<[u8]>::to_vec).collect::<Vec<_>>()
            };
            let expected: Vec<Vec<Vec<u8>>> = rows.iter().map(&mut cells).collect();
            for (kind, found) in in_all_blocks(|| Copy(text, &rows)) {
                let expected = (!is_odd).then_some(&expected);
                assert_eq!(found.as_ref(), expected, "{kind} {}", String::from_utf8_lossy(text));
            }
            odd_ones += usize::from(is_odd);
        }
        assert!(odd_ones > 100);
    }
}
