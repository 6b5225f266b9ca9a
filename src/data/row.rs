//! The cells of a row of text, without their quotes.

use super::places::{BLOCK, Blocks, WithBlocks, in_blocks};

/// The most bytes of a text in which cells are found.
pub(super) const MOST_BYTES: usize = u32::MAX as usize;

/// Bytes in front of cells that were copied, so that a cell's last bytes can be read at once.
const FRONT: usize = 16;

/// The cells of one row after the other; memory is kept from row to row.
#[derive(Default)]
pub(super) struct Cells {
    /// Where each cell begins, and one behind the last; a cell ends one byte before the next begins. Behind them there may be
    /// room for more.
    bounds: Vec<u32>,
    /// The text of a row with quotes, without them.
    unquoted: Vec<u8>,
    /// The first cell of this row that a quote behind a backslash ends before its text does.
    escaped: Option<usize>,
}

/// A row whose cells are known.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    /// Some text in which the cells stand, one byte between two of them.
    pub text: &'a [u8],
    /// Those of its cells, and room behind them.
    bounds: &'a [u32],
    length: usize,
    /// The first cell that a quote behind a backslash ends before its text does: it was meant as part of the text.
    pub escaped: Option<usize>,
}

/// Rows whose cells have been found.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub text: &'a [u8],
    /// Where cells begin in this text, and one behind the last; a cell ends one byte before the next begins. There is room behind.
    pub bounds: &'a [u32],
    /// The place of each row's first cell among them.
    pub firsts: &'a [u32],
}

impl Cells {
    /// The cells of the row that stands at this place in a text, of less than [`MOST_BYTES`].
    #[inline]
    pub(super) fn of<'a>(
        &'a mut self,
        text: &'a [u8],
        (start, end): (usize, usize),
        delimiter: u8,
        may_have_quotes: bool,
    ) -> Row<'a> {
        if may_have_quotes && memchr::memchr(b'"', &text[start..end]).is_some() {
            self.unquote(&text[start..end], delimiter);
            let length = self.bounds.len() - 1;
            self.bounds.extend([0; BLOCK]);
            return Row { text: &self.unquoted, bounds: &self.bounds, length, escaped: self.escaped };
        }
        let length = in_blocks(Find { bounds: &mut self.bounds, text, start, end, delimiter });
        Row::new(text, &self.bounds, length)
    }

    /// The same of a row with quotes; the states are those of the `csv` crate.
    fn unquote(&mut self, row: &[u8], delimiter: u8) {
        self.bounds.clear();
        self.escaped = None;
        self.unquoted.clear();
        self.unquoted.resize(FRONT, 0);
        self.bounds.push(FRONT as u32);
        let mut rest = row;
        loop {
            if let [b'"', quoted @ ..] = rest {
                rest = quoted;
                // Two quotes stand for one; a single one ends what is quoted.
                loop {
                    let length = memchr::memchr(b'"', rest).unwrap_or(rest.len());
                    self.unquoted.extend_from_slice(&rest[..length]);
                    rest = rest.get(length + 1..).unwrap_or_default();
                    let [b'"', after @ ..] = rest else { break };
                    self.unquoted.push(b'"');
                    rest = after;
                }
                if self.unquoted.ends_with(b"\\") && rest.first().is_some_and(|next| *next != delimiter) {
                    self.escaped.get_or_insert(self.bounds.len() - 1);
                }
            }
            let length = memchr::memchr(delimiter, rest).unwrap_or(rest.len());
            self.unquoted.extend_from_slice(&rest[..length]);
            self.unquoted.push(delimiter);
            self.bounds.push(self.unquoted.len() as u32);
            match rest.get(length + 1..) {
                Some(next) => rest = next,
                None => break,
            }
        }
    }
}

/// Finds the cells of a row without quotes, and says how many there are.
struct Find<'a> {
    bounds: &'a mut Vec<u32>,
    text: &'a [u8],
    start: usize,
    end: usize,
    delimiter: u8,
}

impl WithBlocks for Find<'_> {
    type Output = usize;

    #[inline(always)]
    fn with_blocks(self, blocks: impl Blocks) -> usize {
        let Self { bounds, text, start, end, delimiter } = self;
        let (mut at, mut count) = (start, 1);
        loop {
            make_room(bounds, count);
            if at >= end {
                break;
            }
            let mut found = blocks.places_in(&text[at..], [delimiter]);
            if end - at < BLOCK {
                found &= (1 << (end - at)) - 1;
            }
            if let Some(room) = bounds[count..].first_chunk_mut() {
                blocks.write(found, at as u32 + 1, room);
            }
            count += found.count_ones() as usize;
            at += BLOCK;
        }
        bounds[0] = start as u32;
        bounds[count] = end as u32 + 1;
        count
    }
}

/// Makes room behind so many bounds: for those of a block, for the first and the last, and for what is read beyond them.
#[inline(always)]
pub(super) fn make_room(bounds: &mut Vec<u32>, count: usize) {
    if bounds.len() < count + 2 * BLOCK {
        bounds.resize(2 * (count + 2 * BLOCK), 0);
    }
}

impl<'a> Row<'a> {
    /// A row of so many cells in `text`, which begin and end at these bounds; there is room behind them.
    #[inline]
    pub(super) fn new(text: &'a [u8], bounds: &'a [u32], length: usize) -> Self {
        Self { text, bounds, length, escaped: None }
    }

    /// How many cells there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Where a cell begins in `text`.
    #[inline(always)]
    pub(super) fn start(&self, column: usize) -> usize {
        self.bounds[column] as usize
    }

    /// Where a cell ends in `text`.
    #[inline(always)]
    pub(super) fn end(&self, column: usize) -> usize {
        self.bounds[column + 1] as usize - 1
    }

    /// Where each of the cells from here on begins in `text`, and one behind the last; a cell ends one byte before the next begins.
    /// Behind them there are some that stand for nothing.
    #[inline(always)]
    pub(super) fn bounds(&self, first: usize) -> &'a [u32] {
        &self.bounds[first..]
    }

    /// A cell.
    #[inline]
    pub(super) fn cell(&self, column: usize) -> &'a [u8] {
        &self.text[self.start(column)..self.end(column)]
    }

    /// The text up to the end of a cell, and the length of this.
    #[inline]
    pub(super) fn up_to(&self, column: usize) -> (&'a [u8], usize) {
        let (start, end) = (self.start(column), self.end(column));
        (&self.text[..end], end - start)
    }

    /// All cells.
    pub(super) fn cells(&self) -> impl Iterator<Item = &'a [u8]> {
        (0..self.len()).map(|column| self.cell(column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(row: &str) -> Vec<String> {
        // With text around it, and at the end of all text.
        let mut found = [("x,y\n", "\nz,\"u\",v\n"), ("", ""), ("x,\n", "")].map(|(before, after)| {
            let text = [before, row, after].concat();
            let place = (before.len(), before.len() + row.len());
            let mut cells = Cells::default();
            let row = cells.of(text.as_bytes(), place, b',', true);
            row.cells().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect::<Vec<_>>()
        });
        assert!(found[0] == found[1] && found[1] == found[2], "{found:?}");
        std::mem::take(&mut found[0])
    }

    #[test]
    fn quotes_behind_backslashes_are_seen_where_they_end_a_cell_early() {
        for (row, expected) in [
            (r#"1,"a \"b\" c",x"#, Some(1)),
            (r#""\"a\"",x"#, Some(0)),
            (r#"1,"C:\",x"#, None),
            (r#"1,"C:\""#, None),
            (r#"1,"a\""b",x"#, None),
            (r#"1,a\"b,x"#, None),
            (r#"1,"a"b,x"#, None),
        ] {
            let mut cells = Cells::default();
            // Of a row before nothing is left.
            cells.of(br#""\"a""#, (0, 5), b',', true);
            assert_eq!(cells.of(row.as_bytes(), (0, row.len()), b',', true).escaped, expected, "{row}");
        }
    }

    #[test]
    fn cells_are_those_of_the_csv_crate() {
        let long = "1.5,".repeat(100) + ",,x";
        let pieces =
            ["", "a", "\"a\"", "\"a,b\"", "\"\"", "\"a\"\"b\"", "\"a\"b\"c\"", "a\"b", "\"\"\"\"", " \"a\""];
        let rows = pieces.iter().flat_map(|a| pieces.iter().map(move |b| format!("{a},{b}")));
        for row in rows.chain([long, "a\rb".into(), "x".into(), ",".repeat(200)]) {
            let mut reader = csv::ReaderBuilder::new()
                .has_headers(false)
                .terminator(csv::Terminator::Any(b'\n'))
                .from_reader(row.as_bytes());
            let expected: Vec<String> =
                reader.records().next().unwrap().unwrap().iter().map(str::to_owned).collect();
            assert_eq!(cells(&row), expected, "{row}");
        }
    }
}
