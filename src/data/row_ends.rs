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

/// Line ends and quotes, which are found for a block of text at once.
#[derive(Default)]
struct Marks {
    /// Where the block begins.
    start: usize,
    length: usize,
    /// A bit for each of its bytes that is one.
    found: u64,
}

impl Marks {
    /// The first one from this place on, in a text that may grow from call to call.
    #[inline(always)]
    fn next(&mut self, text: &[u8], place: usize, blocks: impl Blocks) -> Option<usize> {
        loop {
            let passed = place.saturating_sub(self.start);
            if passed < self.length {
                let found = self.found & u64::MAX << passed;
                if found != 0 {
                    return Some(self.start + found.trailing_zeros() as usize);
                }
            }
            self.start = place.max(self.start + self.length);
            let rest = &text[self.start..];
            self.length = rest.len().min(BLOCK);
            if rest.is_empty() {
                return None;
            }
            self.found = blocks.places_in(rest, *b"\n\r\"");
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
                    let Some(found) = memchr(b'"', &text[self.place..]) else {
                        self.place = text.len();
                        return None;
                    };
                    self.place += found + 1;
                    self.state = State::AfterQuote;
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
pub(super) fn is_blank(row: &[u8], delimiter: u8) -> bool {
    let may_be = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'"';
    may_be(&row[0]) && row.iter().all(may_be) && {
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
