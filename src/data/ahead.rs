//! Some rows that are looked at together before they are parsed one by one: where their cells stand, and which numbers they are.
//!
//! What is the same for all rows is done once for all of them, and nothing waits for the end of a row that is as long as it is.

use std::ops::Range;

use super::columns::{Columns, Run};
use super::decimal::{CELLS, Decimals, LANES};
use super::notation::ReadAs;
use super::piece::Piece;
use super::places::{BLOCK, Blocks, WithBlocks, in_blocks};
use super::row::{Cells, Row};

/// Rows are looked at together that have about so many bytes: what is found of them stays in the nearest cache.
const BYTES: usize = 1 << 13;

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
    /// The numbers of those that have, a whole number of vectors for as many cells as are read together.
    numbers: Vec<[f32; LANES]>,
    /// For as many cells as are read together a bit for each that is no short decimal.
    others: Vec<u32>,
    /// Vectors of each row, and words of `others`.
    in_row: (usize, usize),
    /// For rows of which nothing was found.
    cells: Cells,
}

/// The numbers of a row that was looked at; none of another.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    numbers: &'a [[f32; LANES]],
    others: &'a [u32],
}

impl<'a> Numbers<'a> {
    /// Those of the next cells that are read together, and a bit for each that is something else.
    #[inline]
    pub(super) fn next(&mut self, count: usize) -> Option<(&'a [[f32; LANES]], u32)> {
        let (others, rest) = self.others.split_first()?;
        let (numbers, behind) = self.numbers.split_at_checked(count.div_ceil(LANES))?;
        *self = Self { numbers: behind, others: rest };
        Some((numbers, *others))
    }
}

impl Ahead {
    /// How many rows of a piece are looked at together.
    pub(super) fn rows(piece: &Piece) -> usize {
        (BYTES * piece.rows.len() / piece.text.len().max(1)).max(1)
    }

    /// Looks at some rows of a piece, and reads their numbers, too, if it is said how.
    pub(super) fn look(
        &mut self,
        piece: &Piece,
        rows: &[(usize, usize)],
        (columns, delimiter): (&Columns, u8),
        read_as: Option<ReadAs>,
        decimals: &mut Decimals,
    ) {
        self.firsts.clear();
        self.in_row = (0, 0);
        if piece.has_quotes {
            self.firsts.resize(rows.len(), None);
            return;
        }
        in_blocks(Look { ahead: self, text: &piece.text, rows, columns, delimiter, read_as, decimals });
    }

    /// One of these rows.
    #[inline]
    pub(super) fn row<'a>(
        &'a mut self,
        piece: &'a Piece,
        row: usize,
        (place, width, delimiter): ((usize, usize), usize, u8),
    ) -> (Row<'a>, Numbers<'a>) {
        let Some(first) = self.firsts[row] else {
            let row = self.cells.of(&piece.text, place, delimiter, piece.has_quotes);
            return (row, Numbers { numbers: &[], others: &[] });
        };
        let (vectors, words) = self.in_row;
        let numbers = Numbers {
            numbers: &self.numbers[row * vectors..][..vectors],
            others: &self.others[row * words..][..words],
        };
        (Row::new(&piece.text, &self.bounds[first..], width), numbers)
    }
}

/// See [`Ahead::look`].
struct Look<'a> {
    ahead: &'a mut Ahead,
    text: &'a [u8],
    rows: &'a [(usize, usize)],
    columns: &'a Columns,
    delimiter: u8,
    read_as: Option<ReadAs>,
    decimals: &'a mut Decimals,
}

impl WithBlocks for Look<'_> {
    type Output = ();

    #[inline(always)]
    fn with_blocks(mut self, blocks: impl Blocks) {
        self.find_cells(blocks);
        if let Some(read_as) = self.read_as {
            self.read_numbers(read_as, blocks);
        }
    }
}

impl Look<'_> {
    #[inline(always)]
    fn find_cells(&mut self, blocks: impl Blocks) {
        let (text, bounds, width) = (self.text, &mut self.ahead.bounds, self.columns.count);
        let (Some((start, _)), Some((_, end))) = (self.rows.first(), self.rows.last()) else { return };
        let (mut at, mut count) = (*start, 1);
        // The line end behind the last row is looked for, too.
        while at <= *end && at < text.len() {
            // Room for those of a block, for the first and the last, and for what is read beyond them.
            if bounds.len() < count + 2 * BLOCK {
                bounds.resize(2 * (count + 2 * BLOCK), 0);
            }
            let found = blocks.places_in(&text[at..], [self.delimiter, b'\n', b'\r']);
            if let Some(room) = bounds[count..].first_chunk_mut() {
                blocks.write(found, at as u32 + 1, room);
            }
            count += found.count_ones() as usize;
            at += BLOCK;
        }
        (bounds[0], bounds[count]) = (*start as u32, text.len() as u32 + 1);
        let mut first = 0;
        for (start, end) in self.rows {
            // Behind a row there may be two bytes of a line end, and blank lines.
            while (bounds[first] as usize) < *start {
                first += 1;
            }
            // Behind the last bound stand those of other pieces.
            let is_whole =
                bounds[..=count].get(first + width).is_some_and(|bound| *bound as usize == end + 1);
            self.ahead.firsts.push(is_whole.then_some(first));
            first += if is_whole { width } else { 0 };
        }
    }

    #[inline(always)]
    fn read_numbers(&mut self, read_as: ReadAs, blocks: impl Blocks) {
        let Ahead { bounds, firsts, numbers, others, in_row, .. } = &mut *self.ahead;
        let runs = || {
            self.columns.runs.iter().filter_map(|run| match run {
                Run::Numbers(columns) => Some(columns),
                Run::Category(_) => None,
            })
        };
        let cells = || {
            runs().flat_map(|columns| together(columns.clone())).map(|columns| (columns.start, columns.len()))
        };
        *in_row = (cells().map(|(_, count)| count.div_ceil(LANES)).sum(), cells().count());
        // Room for what is read together in all rows, and for those of a row that are read beyond them.
        numbers.resize(firsts.len() * in_row.0 + CELLS / LANES, [0.0; LANES]);
        others.resize(firsts.len() * in_row.1, 0);
        let (mut vector, mut word) = (0, 0);
        for first in firsts {
            let Some(first) = first else {
                (vector, word) = (vector + in_row.0, word + in_row.1);
                continue;
            };
            for (column, count) in cells() {
                if let Some(room) = numbers[vector..].first_chunk_mut() {
                    let cells = &bounds[*first + column..];
                    others[word] = blocks.decimals(self.decimals, self.text, cells, count, read_as, room);
                }
                (vector, word) = (vector + count.div_ceil(LANES), word + 1);
            }
        }
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

    #[test]
    fn rows_are_those_that_are_found_one_by_one() {
        let mut ahead = Ahead::default();
        let columns = columns(3, vec![Run::Numbers(0..2), Run::Category(2)]);
        let long = "1.5,2,".to_owned() + &"a".repeat(300);
        let some = ["1,2,a", "1,2", "-3.5,,", "1,2,3,4", ",,", &long, "x,7.25,b", "1,2,c"];
        for end in ["\n", "\r\n", "\r", "\n\n", "\n \n"] {
            for last in ["", end] {
                for first in 0..some.len() {
                    let rows: Vec<&str> = some.iter().cycle().skip(first).take(40).copied().collect();
                    let text = format!("in front of them{end}{}{last}", rows.join(end));
                    let quoted = first == 3;
                    let piece = piece(&text, &rows, quoted);
                    let mut decimals = Decimals::new();
                    let (mut regular, mut cells) = (0, Cells::default());
                    for (rows, places) in rows.chunks(7).zip(piece.rows.chunks(7)) {
                        let read_as = Some(ReadAs { point: b'.', empty: true });
                        ahead.look(&piece, places, (&columns, b','), read_as, &mut decimals);
                        for (row, (text, place)) in rows.iter().zip(places).enumerate() {
                            let (found, mut numbers) = ahead.row(&piece, row, (*place, columns.count, b','));
                            let expected: Vec<&[u8]> = text.as_bytes().split(|byte| *byte == b',').collect();
                            assert_eq!(found.cells().collect::<Vec<_>>(), expected, "{text} {end:?}");
                            let expected = cells.of(text.as_bytes(), (0, text.len()), b',', false);
                            assert_eq!(numbers.others.len(), usize::from(expected.len() == 3 && !quoted));
                            let Some((numbers, others)) = numbers.next(2) else { continue };
                            regular += 1;
                            for (column, number) in numbers[0][..2].iter().enumerate() {
                                let number = (others >> column & 1 == 0).then_some(*number);
                                match expected.cell(column) {
                                    b"" => assert!(number.is_some_and(f32::is_nan)),
                                    cell => assert_eq!(number, str::from_utf8(cell).unwrap().parse().ok()),
                                }
                            }
                        }
                    }
                    assert_eq!(regular, if quoted { 0 } else { 30 }, "{first}");
                }
            }
        }
    }

    /// A row of one cell that ends where one of forty has ended in the piece before.
    #[test]
    fn bounds_of_a_piece_before_count_for_no_row() {
        let columns = columns(40, vec![Run::Numbers(0..40)]);
        let (whole, one) = (["1"; 40].join(","), "1".repeat(79));
        let (mut ahead, mut decimals) = (Ahead::default(), Decimals::new());
        let read_as = Some(ReadAs { point: b'.', empty: false });
        for (last, cells) in [(&whole, 40), (&one, 1), (&whole, 40), (&one, 1)] {
            let rows = [&whole[..], last];
            let piece = piece(&(whole.clone() + "\n" + last), &rows, false);
            ahead.look(&piece, &piece.rows, (&columns, b','), read_as, &mut decimals);
            assert_eq!(ahead.row(&piece, 1, (piece.rows[1], 40, b',')).0.len(), cells);
        }
    }

    #[test]
    fn numbers_of_several_runs_are_handed_out_in_their_order() {
        let cells: Vec<String> = (0..60).map(|cell| cell.to_string()).collect();
        let columns = columns(60, vec![Run::Numbers(0..35), Run::Category(35), Run::Numbers(37..60)]);
        let row = cells.join(",");
        let rows = [&row[..]; 5];
        let piece = piece(&format!("in front of them\n{}\n", rows.join("\n")), &rows, false);
        let (mut ahead, mut decimals) = (Ahead::default(), Decimals::new());
        let read_as = Some(ReadAs { point: b'.', empty: false });
        ahead.look(&piece, &piece.rows, (&columns, b','), read_as, &mut decimals);
        for (row, place) in piece.rows.iter().enumerate() {
            let (_, mut numbers) = ahead.row(&piece, row, (*place, 60, b','));
            for run in [0..32, 32..35, 37..60] {
                let (found, others) = numbers.next(run.len()).unwrap();
                let expected: Vec<f32> = run.clone().map(|number| number as f32).collect();
                assert_eq!((&found.as_flattened()[..run.len()], others), (&expected[..], 0));
            }
            assert!(numbers.next(1).is_none());
        }
    }
}
