//! Some rows that are looked at together before they are parsed one by one: where their cells stand, and which inputs they are.
//!
//! What is the same for all rows is done once for all of them, and nothing waits for the end of a row that is as long as it is.

use std::ops::Range;

use super::categories::{MISSING, Numbering};
use super::classes::Interner;
use super::columns::{Columns, Run};
use super::decimal::{CELLS, Decimals};
use super::notation::ReadAs;
use super::piece::Piece;
use super::places::{BLOCK, Blocks, WithBlocks, in_blocks};
use super::row::{Cells, Row, make_room};
use super::unquoted::Unquoted;

/// Rows are looked at together that have about so many bytes: what is found of them stays in the nearest cache.
const BYTES: usize = 1 << 13;

/// Stands for a label that is not known. No label has this number.
const UNKNOWN: u32 = u32::MAX;

/// Bits of a word.
pub(super) const WORD: usize = u32::BITS as usize;

/// Divides columns of numbers into those that are read together.
pub(super) fn together(columns: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = columns.end;
    columns.step_by(CELLS).map(move |first| first..end.min(first + CELLS))
}

/// What was found of some rows; memory is kept from rows to rows.
#[derive(Default)]
pub(super) struct Ahead {
    /// Where each cell of all rows begins, and what stands between rows, and one behind the last; there may be room for more.
    bounds: Vec<u32>,
    /// The place of each row's first cell among them; nothing of a row that has not as many cells as the table.
    firsts: Vec<Option<usize>>,
    /// Inputs of each row; 0 where none have been read.
    width: usize,
    /// The inputs of all rows, and room for what is read together beyond them.
    inputs: Vec<f32>,
    /// Of each row a bit for each input that is still to be read, from the lowest of some words on.
    unread: Vec<u32>,
    /// The number of each row's label, if it is known.
    labels: Vec<u32>,
    /// The text of rows some of which have quotes.
    unquoted: Unquoted,
    /// The columns that are read together, and the first input of each.
    runs: Vec<(usize, Range<usize>)>,
    /// For rows of which nothing was found.
    cells: Cells,
}

/// What was read of a row.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    /// A bit for each input that is still to be read, from the lowest of the first word on.
    pub unread: &'a [u32],
    /// The number of its label, if it is known.
    pub label: Option<u32>,
}

/// What texts are known.
pub(super) struct Texts<'a> {
    /// Of the columns of categories, in their order.
    pub numberings: &'a [Numbering],
    pub labels: &'a Interner,
}

impl Ahead {
    /// How many rows of a piece are looked at together.
    pub(super) fn rows(piece: &Piece) -> usize {
        (BYTES * piece.rows.len() / piece.text.len().max(1)).max(1)
    }

    /// Finds the cells of some rows of a piece; whether each row has as many as the table.
    pub(super) fn look(
        &mut self,
        piece: &Piece,
        rows: &[(usize, usize)],
        (columns, delimiter): (&Columns, u8),
    ) -> bool {
        self.firsts.clear();
        self.labels.clear();
        self.width = 0;
        in_blocks(Look { ahead: self, piece, rows, width: columns.count, delimiter });
        self.firsts.iter().all(Option::is_some)
    }

    /// Reads the inputs of rows that were looked at and have as many cells as the table, one row after the other. Those that are no
    /// short decimals and no known texts have any value.
    pub(super) fn read(
        &mut self,
        piece: &Piece,
        columns: &Columns,
        read_as: ReadAs,
        decimals: &mut Decimals,
        texts: Texts<'_>,
    ) -> &[f32] {
        let (width, rows) = (columns.inputs(), self.firsts.len());
        self.width = width;
        self.inputs.resize(rows * width + CELLS, 0.0);
        self.unread.clear();
        self.unread.resize(rows * words(width), 0);
        self.labels.resize(rows, UNKNOWN);
        in_blocks(Read { ahead: self, piece, columns, read_as, decimals, texts });
        &self.inputs[..rows * width]
    }

    /// One of these rows, and what [`Ahead::read`] has read of it, if that was called.
    #[inline]
    pub(super) fn row<'a>(
        &'a mut self,
        piece: &'a Piece,
        row: usize,
        (place, cells, delimiter): ((usize, usize), usize, u8),
    ) -> (Row<'a>, Known<'a>) {
        let Some(first) = self.firsts[row] else {
            let row = self.cells.of(&piece.text, place, delimiter, piece.has_quotes);
            return (row, Known { unread: &[], label: None });
        };
        let words = words(self.width);
        let unread = &self.unread[row * words..][..words];
        let label = self.labels.get(row).copied().filter(|label| *label != UNKNOWN);
        (Row::new(text(&self.unquoted, piece), &self.bounds[first..], cells), Known { unread, label })
    }
}

/// The text in which the cells of a piece's rows were found.
#[inline]
fn text<'a>(unquoted: &'a Unquoted, piece: &'a Piece) -> &'a [u8] {
    if piece.has_quotes { unquoted.text() } else { &piece.text }
}

/// How many words have a bit for each of so many inputs.
fn words(inputs: usize) -> usize {
    inputs.div_ceil(WORD)
}

/// See [`Ahead::look`].
struct Look<'a> {
    ahead: &'a mut Ahead,
    piece: &'a Piece,
    rows: &'a [(usize, usize)],
    width: usize,
    delimiter: u8,
}

impl WithBlocks for Look<'_> {
    type Output = ();

    #[inline(always)]
    fn with_blocks(self, blocks: impl Blocks) {
        let Self { ahead: Ahead { bounds, firsts, unquoted, .. }, piece, rows, width, delimiter } = self;
        let (Some((start, _)), Some((_, end))) = (rows.first(), rows.last()) else { return };
        let (place, has_quotes) = ((*start, *end), piece.has_quotes);
        let count = match has_quotes {
            true => unquoted.copy(&piece.text, place, delimiter, bounds, blocks),
            false => Some(find_cells(&piece.text, place, delimiter, bounds, blocks)),
        };
        let Some(count) = count else { return firsts.resize(rows.len(), None) };
        let now = |place| if has_quotes { unquoted.place(place) } else { place };
        let mut first = 0;
        for (start, end) in rows {
            // Behind a row there may be two bytes of a line end, and blank lines.
            while (bounds[first] as usize) < now(*start) {
                first += 1;
            }
            // Behind the last bound stand those of other pieces.
            let is_whole =
                bounds[..=count].get(first + width).is_some_and(|bound| *bound as usize == now(*end) + 1);
            firsts.push(is_whole.then_some(first));
            first += if is_whole { width } else { 0 };
        }
    }
}

/// Writes where each cell begins from one place of a text to another, where a line may end, and returns the place of the last bound.
#[inline(always)]
fn find_cells(
    text: &[u8],
    (start, end): (usize, usize),
    delimiter: u8,
    bounds: &mut Vec<u32>,
    blocks: impl Blocks,
) -> usize {
    let (mut at, mut count) = (start, 1);
    // The line end behind the last row is looked for, too.
    while at <= end && at < text.len() {
        make_room(bounds, count);
        let found = blocks.places_in(&text[at..], [delimiter, b'\n', b'\r']);
        if let Some(room) = bounds[count..].first_chunk_mut() {
            blocks.write(found, at as u32 + 1, room);
        }
        count += found.count_ones() as usize;
        at += BLOCK;
    }
    (bounds[0], bounds[count]) = (start as u32, text.len() as u32 + 1);
    count
}

/// See [`Ahead::read`].
struct Read<'a> {
    ahead: &'a mut Ahead,
    piece: &'a Piece,
    columns: &'a Columns,
    read_as: ReadAs,
    decimals: &'a mut Decimals,
    texts: Texts<'a>,
}

impl WithBlocks for Read<'_> {
    type Output = ();

    #[inline(always)]
    fn with_blocks(self, blocks: impl Blocks) {
        let Self { ahead, piece, columns, read_as, decimals, texts } = self;
        let Ahead { bounds, firsts, unquoted, width, inputs, unread, labels, runs, .. } = ahead;
        let text = text(unquoted, piece);
        let (width, words) = (*width, words(*width));
        let firsts = || firsts.iter().flatten();
        runs.clear();
        for (input, run) in columns.runs_and_inputs() {
            if let Run::Numbers(columns) = run {
                let first = columns.start;
                runs.extend(
                    together(columns.clone()).map(|columns| (input + columns.start - first, columns)),
                );
            }
        }
        // One row after the other, and categories behind them: more numbers may be written than there are.
        for (row, first) in firsts().enumerate() {
            for (input, columns) in &*runs {
                if let Some(room) = inputs[row * width + input..].first_chunk_mut() {
                    let cells = &bounds[first + columns.start..];
                    let others = blocks.decimals(decimals, text, cells, columns.len(), read_as, room);
                    mark(&mut unread[row * words..], *input, others);
                }
            }
        }
        // One column after the other: what is found in one row does not wait for that of the row before.
        let place = |first: usize, column: usize| {
            let (start, end) = (bounds[first + column] as usize, bounds[first + column + 1] as usize - 1);
            (&text[..end], end - start)
        };
        let categories = columns.runs_and_inputs().filter_map(|(input, run)| match run {
            Run::Category(column) => Some((input, *column)),
            Run::Numbers(_) => None,
        });
        for ((input, column), numbering) in categories.zip(texts.numberings) {
            for (row, first) in firsts().enumerate() {
                let (bytes, length) = place(*first, column);
                // A missing one may be refused.
                let number = numbering.find_recent(bytes, length).unwrap_or(MISSING);
                inputs[row * width + input] = number as f32;
                mark(&mut unread[row * words..], input, u32::from(number == MISSING));
            }
        }
        if let Some(column) = columns.target {
            for (label, first) in labels.iter_mut().zip(firsts()) {
                let (bytes, length) = place(*first, column);
                *label = texts.labels.find_recent(bytes, length).unwrap_or(UNKNOWN);
            }
        }
    }
}

/// Sets the bits of some inputs from this one on.
#[inline(always)]
fn mark(words: &mut [u32], input: usize, bits: u32) {
    let (word, bits) = (input / WORD, u64::from(bits) << (input % WORD));
    words[word] |= bits as u32;
    if bits >> WORD != 0 {
        words[word + 1] |= (bits >> WORD) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::spare::Spare;

    fn columns(count: usize, runs: Vec<Run>) -> Columns {
        Columns { count, runs, ..Columns::default() }
    }

    fn piece(text: &str, rows: &[&str], has_quotes: bool) -> Piece {
        let mut at = 0;
        let places = rows.iter().map(|row| {
            let start = at + text[at..].find(row).unwrap();
            at = start + row.len();
            (start, at)
        });
        let rows = places.collect();
        let text = text.as_bytes().to_vec();
        let (name, spare) = (std::path::Path::new("t").into(), Spare::default());
        Piece { name, text, rows, has_quotes, before: 0, line: 1, spare }
    }

    fn read_as(empty: bool) -> ReadAs {
        ReadAs { point: b'.', empty }
    }

    #[test]
    fn rows_are_those_that_are_found_one_by_one() {
        let mut ahead = Ahead::default();
        let columns = columns(3, vec![Run::Numbers(0..2), Run::Category(2)]);
        let long = "1.5,2,".to_owned() + &"a".repeat(300);
        let some = ["1,2,a", "1,2", "-3.5,,", "1,2,3,4", ",,", &long, "x,7.25,b", "1,2,c"];
        for end in ["\n", "\r\n", "\r", "\n\n", "\n \n"] {
            for last in ["", end] {
                for first in 0..some.len() {
                    // Cells with quotes, and some with a quote in the middle, where rows are found one by one.
                    let (quoted, odd) = (first % 3 == 1, first % 3 == 2);
                    let written = |cell: &str| if quoted { format!("\"{cell}\"") } else { cell.to_owned() };
                    let rows = some.iter().cycle().skip(first).take(40);
                    let rows: Vec<String> =
                        rows.map(|row| row.split(',').map(written).collect::<Vec<_>>().join(",")).collect();
                    let rows: Vec<String> =
                        rows.into_iter().map(|row| if odd { row.replace('a', "a\"") } else { row }).collect();
                    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
                    let text = format!("in front of them{end}{}{last}", rows.join(end));
                    let piece = piece(&text, &rows, quoted || odd);
                    for (rows, places) in rows.chunks(5).zip(piece.rows.chunks(5)) {
                        let are_alike = rows.iter().all(|row| row.matches(',').count() == 2);
                        let is_odd = odd && rows.iter().any(|row| row.contains('"'));
                        let found = ahead.look(&piece, places, (&columns, b','));
                        // Of the row behind these some bytes are looked at, too.
                        assert!(found == (are_alike && !is_odd) || odd && !found, "{rows:?}");
                        for (row, (text, place)) in rows.iter().zip(places).enumerate() {
                            let (found, known) = ahead.row(&piece, row, (*place, columns.count, b','));
                            let expected = if quoted { text.replace('"', "") } else { (*text).to_owned() };
                            let expected: Vec<&[u8]> =
                                expected.as_bytes().split(|byte| *byte == b',').collect();
                            assert_eq!(found.cells().collect::<Vec<_>>(), expected, "{text} {end:?}");
                            assert!(known.unread.is_empty() && known.label.is_none());
                        }
                    }
                }
            }
        }
    }

    /// A row of one cell that ends where one of forty has ended in the piece before.
    #[test]
    fn bounds_of_a_piece_before_count_for_no_row() {
        let columns = columns(40, vec![Run::Numbers(0..40)]);
        let (whole, one) = (["1"; 40].join(","), "1".repeat(79));
        let mut ahead = Ahead::default();
        for (last, cells) in [(&whole, 40), (&one, 1), (&whole, 40), (&one, 1)] {
            let rows = [&whole[..], last];
            let piece = piece(&(whole.clone() + "\n" + last), &rows, false);
            assert_eq!(ahead.look(&piece, &piece.rows, (&columns, b',')), cells == 40);
            assert_eq!(ahead.row(&piece, 1, (piece.rows[1], 40, b',')).0.len(), cells);
        }
    }

    /// Numbers of two runs, more than a word has bits, around columns of categories, of which one is the label.
    #[test]
    fn inputs_are_those_of_their_cells() {
        let runs = vec![
            Run::Category(0),
            Run::Numbers(1..41),
            Run::Category(41),
            Run::Category(42),
            Run::Numbers(44..70),
        ];
        let columns = Columns { target: Some(43), ..columns(72, runs) };
        let texts = ["a", "bb", "a text of more bytes than are compared", "", "new", " a"];
        let numbers = ["1.5", "-12.25", "", "12345678901234567890", "-7", "x", "0.000123", "9"];
        let mut numberings: Vec<Numbering> = (0..3).map(|_| Numbering::new()).collect();
        let mut labels = Interner::new("label");
        for (row, text) in (1..).zip(&texts[..3]) {
            numberings.iter_mut().for_each(|numbering| {
                numbering.add(text.as_bytes(), false, row).unwrap();
            });
            labels.add(text.as_bytes(), row).unwrap();
        }
        numberings[1].add(b"", true, 4).unwrap();
        // What has come is kept at hand when it comes for the second time.
        for text in &texts[..4] {
            numberings.iter_mut().for_each(|numbering| {
                numbering.find(text.as_bytes(), text.len());
            });
            labels.find(text.as_bytes(), text.len());
        }
        let (mut ahead, mut decimals) = (Ahead::default(), Decimals::new());
        // Fewer rows than before, and more.
        for rows in [7, 2, 40] {
            for (empty, quoted) in [(false, false), (true, false), (false, true), (true, true)] {
                let cell = |row: usize, column: usize| match column {
                    0 | 41..44 => texts[(row + column) % texts.len()],
                    _ => numbers[(row * row + column * 5) % numbers.len()],
                };
                let written = |row: usize, column: usize| match quoted && (row + column) % 3 > 0 {
                    true => format!("\"{}\"", cell(row, column)),
                    false => cell(row, column).to_owned(),
                };
                let rows: Vec<String> = (0..rows)
                    .map(|row| (0..72).map(|column| written(row, column)).collect::<Vec<_>>().join(","))
                    .collect();
                let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
                let piece = piece(&format!("in front of all of them\n{}\n", rows.join("\n")), &rows, quoted);
                assert!(ahead.look(&piece, &piece.rows, (&columns, b',')));
                let known = Texts { numberings: &numberings, labels: &labels };
                let inputs = ahead.read(&piece, &columns, read_as(empty), &mut decimals, known).to_vec();
                assert_eq!(inputs.len(), rows.len() * columns.inputs());
                let inputs_of_rows = inputs.chunks(columns.inputs());
                for ((row, inputs), place) in inputs_of_rows.enumerate().zip(&piece.rows) {
                    let (_, known) = ahead.row(&piece, row, (*place, 72, b','));
                    let of_inputs = (0..1).chain(1..41).chain(41..43).chain(44..70);
                    for ((input, value), column) in inputs.iter().enumerate().zip(of_inputs) {
                        let is_read = known.unread[input / WORD] >> (input % WORD) & 1 == 0;
                        let expected = match (column, cell(row, column)) {
                            (0 | 41 | 42, text) => (text == "a" || text == "bb")
                                .then(|| texts.iter().position(|other| *other == text).unwrap() as f32 + 1.0),
                            (_, "") => empty.then_some(f32::NAN),
                            (_, number) => number.parse().ok().filter(|_| number.len() < 17),
                        };
                        let found = is_read.then_some(value.to_bits());
                        assert_eq!(found, expected.map(f32::to_bits), "{row} {column}");
                    }
                    let beyond = known.unread[known.unread.len() - 1] >> (columns.inputs() % WORD);
                    assert_eq!(beyond, 0);
                    let label = ["a", "bb"].iter().position(|text| *text == cell(row, 43));
                    assert_eq!(known.label, label.map(|label| label as u32));
                }
            }
        }
    }
}
