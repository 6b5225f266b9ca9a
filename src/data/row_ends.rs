//! Where the rows of a text end. Quotes are followed, as they may hold line ends.

use memchr::{memchr, memchr_iter};

use super::places::{BLOCK, Blocks};
use super::row::Cells;

/// What a quote would mean as the next byte; the same states as those of the `csv` crate.
#[derive(Clone, Copy, Default, PartialEq)]
enum State {
    /// It opens a quoted cell at the start of a cell, and is a byte like any other elsewhere.
    #[default]
    Outside,
    /// It closes the cell, or is the first of two that stand for one.
    Inside,
    /// It is the second of two.
    AfterQuote,
}

/// How far the rows of a piece have been found.
#[derive(Default)]
pub(super) struct RowEnds {
    pub rows: Vec<(usize, usize)>,
    /// Where the next row begins.
    pub start: usize,
    /// Where it was looked for its end so far.
    place: usize,
    state: State,
    marks: Marks,
    /// Line ends so far, without those inside quoted cells.
    pub lines: u64,
    /// Where the latest quoted cell began.
    pub opened: usize,
    pub has_quotes: bool,
}

/// Blocks of text in which line ends and quotes are found at once.
const BLOCKS: usize = 8;

/// Line ends and quotes of some text, in their order.
struct Marks {
    /// Where those are that were found last, `count` of them.
    places: [usize; BLOCKS * BLOCK],
    count: usize,
    /// The next of them.
    next: usize,
    /// How far the text was looked through.
    end: usize,
}

impl Default for Marks {
    fn default() -> Self {
        Self { places: [0; BLOCKS * BLOCK], count: 0, next: 0, end: 0 }
    }
}

impl Marks {
    /// The next one from this place on, in a text that may grow from call to call.
    #[inline(always)]
    fn next(&mut self, text: &[u8], place: usize, blocks: impl Blocks) -> Option<usize> {
        loop {
            while let Some(found) = self.places[..self.count].get(self.next) {
                self.next += 1;
                if *found >= place {
                    return Some(*found);
                }
            }
            if place.max(self.end) >= text.len() {
                return None;
            }
            self.find(text, place, blocks);
        }
    }

    /// Finds those of some blocks, from this place on at least. How many a block has changes from block to block: nothing branches
    /// on it as long as there are few.
    #[inline(always)]
    fn find(&mut self, text: &[u8], place: usize, blocks: impl Blocks) {
        const FEW: usize = 2;
        (self.count, self.next, self.end) = (0, 0, place.max(self.end));
        for room in 1..=BLOCKS {
            let rest = &text[self.end.min(text.len())..];
            let mut found = blocks.places_in(rest, *b"\n\r\"");
            let count = found.count_ones() as usize;
            for places in self.places[self.count..room * BLOCK].chunks_exact_mut(FEW) {
                for place in places {
                    *place = self.end + found.trailing_zeros() as usize;
                    found &= found.wrapping_sub(1);
                }
                if found == 0 {
                    break;
                }
            }
            self.count += count;
            self.end += rest.len().min(BLOCK);
        }
    }
}

impl RowEnds {
    /// Whether the text so far ends inside a quoted cell.
    pub(super) fn is_quoted(&self) -> bool {
        self.state == State::Inside
    }

    /// The end of the row that begins at `start`, without its line end, if it has been read.
    #[inline(always)]
    pub(super) fn row_end(&mut self, text: &[u8], delimiter: u8, blocks: impl Blocks) -> Option<usize> {
        loop {
            match self.state {
                State::Outside => {
                    let Some(at) = self.marks.next(text, self.place, blocks) else {
                        self.place = text.len();
                        return None;
                    };
                    self.place = at + 1;
                    if text[at] != b'"' {
                        let is_second_half = text[at] == b'\n' && at > 0 && text[at - 1] == b'\r';
                        self.lines += u64::from(!is_second_half);
                        return Some(at);
                    }
                    self.has_quotes = true;
                    if at == self.start || text[at - 1] == delimiter {
                        (self.state, self.opened) = (State::Inside, at);
                    }
                }
                State::Inside => {
                    let Some(at) = self.marks.next(text, self.place, blocks) else {
                        self.place = text.len();
                        return None;
                    };
                    self.place = at + 1;
                    if text[at] == b'"' {
                        self.state = State::AfterQuote;
                    }
                }
                State::AfterQuote => {
                    let is_second = *text.get(self.place)? == b'"';
                    self.place += usize::from(is_second);
                    self.state = if is_second { State::Inside } else { State::Outside };
                }
            }
        }
    }
}

/// Whether a row is a line of blanks, which is as empty as an empty one.
#[inline]
pub(super) fn is_blank(row: &[u8], delimiter: u8) -> bool {
    may_be_blank(&row[0]) && is_all_blank(row, delimiter)
}

fn may_be_blank(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || *byte == b'"'
}

#[cold]
fn is_all_blank(row: &[u8], delimiter: u8) -> bool {
    row.iter().all(may_be_blank) && {
        let mut cells = Cells::default();
        let row = cells.of(row, (0, row.len()), delimiter, true);
        (row.len() == 1 && !row.cell(0).is_empty() || delimiter.is_ascii_whitespace())
            && (0..row.len()).all(|column| row.cell(column).trim_ascii().is_empty())
    }
}

/// Line ends: LF, CR, or both.
pub(super) fn count_lines(text: &[u8]) -> u64 {
    let feeds = memchr_iter(b'\n', text).count();
    let alone = |at: &usize| text.get(at + 1) != Some(&b'\n');
    let returns = memchr(b'\r', text)
        .map_or(0, |first| memchr_iter(b'\r', &text[first..]).filter(|at| alone(&(first + at))).count());
    (feeds + returns) as u64
}

#[cfg(test)]
mod tests {
    use super::super::places::{WithBlocks, in_all_blocks};
    use super::*;

    /// All marks of a text of which so many bytes come at a time, those left out that are passed.
    struct All<'a>(&'a [u8], usize, usize);

    impl WithBlocks for All<'_> {
        type Output = Vec<usize>;

        #[inline(always)]
        fn with_blocks(self, blocks: impl Blocks) -> Vec<usize> {
            let Self(text, at_a_time, passed) = self;
            let (mut marks, mut found, mut place) = (Marks::default(), Vec::new(), 0);
            for end in (0..text.len()).step_by(at_a_time).chain([text.len()]) {
                while let Some(mark) = marks.next(&text[..end], place, blocks) {
                    found.push(mark);
                    place = mark + 1 + passed;
                }
                place = place.max(end);
            }
            found
        }
    }

    #[test]
    fn marks_are_found_in_their_order_however_the_text_comes() {
        for dense in [1, 2, 5, 90, 3000] {
            let spread = |place: u64| place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let byte = |place| {
                if spread(place) % dense == 0 { b"\n\r\""[spread(place + 7) as usize % 3] } else { b'a' }
            };
            for length in [0, 1, 63, 64, 65, 511, 512, 513, 3000] {
                let text: Vec<u8> = (0..length).map(byte).collect();
                for at_a_time in [1, 64, 100, 512, 5000] {
                    for passed in [0, 3, 100] {
                        let mut next = 0;
                        let mut expected: Vec<usize> =
                            (0..text.len()).filter(|at| text[*at] != b'a').collect();
                        expected.retain(|at| {
                            let is_next = *at >= next;
                            next = if is_next { at + 1 + passed } else { next };
                            is_next
                        });
                        for (kind, found) in in_all_blocks(|| All(&text, at_a_time, passed)) {
                            assert_eq!(found, expected, "{kind} {dense} {length} {at_a_time} {passed}");
                        }
                    }
                }
            }
        }
    }
}
