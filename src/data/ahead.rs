//! Some rows that are looked at together before they are parsed one by one: where their cells stand.
//!
//! What is the same for all rows is done once for all of them, and nothing waits for the end of a row that is as long as it is.

use super::columns::Columns;
use super::decimal::Decimals;
use super::known::{Known, KnownOfRow, Texts};
use super::notation::ReadAs;
use super::piece::{Part, Piece};
use super::places::{BLOCK, Blocks, WithBlocks, in_blocks};
use super::row::{Cells, Found, Row, make_room};
use super::unquoted::Unquoted;

/// Rows are looked at together that have about so many bytes: what is found of them stays in the nearest cache.
const BYTES: usize = 1 << 13;

/// Stands for the place of a row that has not as many cells as the table.
const ODD: u32 = u32::MAX;

/// What was found of some rows; memory is kept from rows to rows.
#[derive(Default)]
pub(super) struct Ahead {
    /// Where each cell of all rows begins, and what stands between rows, and one behind the last; there may be room for more.
    bounds: Vec<u32>,
    /// The place of each row's first cell among them, or `ODD`.
    firsts: Vec<u32>,
    /// Where each row begins and ends in the piece.
    places: Vec<(usize, usize)>,
    /// The text of rows some of which have quotes.
    unquoted: Unquoted,
    /// What was read of all rows together.
    known: Known,
    /// For rows of which nothing was found.
    cells: Cells,
}

impl Ahead {
    /// The rows of a piece that are looked at together.
    pub(super) fn parts(piece: &Piece) -> impl Iterator<Item = Part<'_>> {
        piece.parts(BYTES)
    }

    /// Finds the cells of some rows of a piece; whether each row has as many as the table.
    pub(super) fn look(
        &mut self,
        piece: &Piece,
        part: Part<'_>,
        (columns, delimiter): (&Columns, u8),
    ) -> bool {
        self.firsts.clear();
        self.places.clear();
        self.known.clear();
        let width = columns.count;
        match part {
            Part::Places(places) => self.places.extend_from_slice(places),
            Part::Lines(start, end) => {
                let place = (start, end);
                if in_blocks(LookAtLines { ahead: self, piece, place, width, delimiter }) {
                    return true;
                }
                self.places.extend(piece.places_of_lines(start, end));
            }
        }
        in_blocks(Look { ahead: self, piece, width, delimiter });
        !self.firsts.contains(&ODD)
    }

    /// How many rows were looked at.
    pub(super) fn count(&self) -> usize {
        self.places.len()
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
        let Self { bounds, firsts, unquoted, known, .. } = self;
        known.read(Found { text: text(unquoted, piece), bounds, firsts }, columns, read_as, decimals, texts)
    }

    /// What [`Ahead::read`] has read of these rows.
    pub(super) fn known(&self) -> &Known {
        &self.known
    }

    /// One of these rows, what [`Ahead::read`] has read of it, if that was called, and where it begins in the piece.
    #[inline]
    pub(super) fn row<'a>(
        &'a mut self,
        piece: &'a Piece,
        row: usize,
        (cells, delimiter): (usize, u8),
    ) -> (Row<'a>, KnownOfRow<'a>, usize) {
        let place = self.places[row];
        if self.firsts[row] == ODD {
            let row = self.cells.of(&piece.text, place, delimiter, piece.has_quotes);
            return (row, KnownOfRow::default(), place.0);
        }
        let bounds = &self.bounds[self.firsts[row] as usize..];
        let found = Row::new(text(&self.unquoted, piece), bounds, cells);
        (found, self.known.of_row(row), place.0)
    }
}

/// The text in which the cells of a piece's rows were found.
#[inline]
fn text<'a>(unquoted: &'a Unquoted, piece: &'a Piece) -> &'a [u8] {
    if piece.has_quotes { unquoted.text() } else { &piece.text }
}

/// See [`Ahead::look`].
struct Look<'a> {
    ahead: &'a mut Ahead,
    piece: &'a Piece,
    width: usize,
    delimiter: u8,
}

impl WithBlocks for Look<'_> {
    type Output = ();

    #[inline(always)]
    fn with_blocks(self, blocks: impl Blocks) {
        let Self { ahead: Ahead { bounds, firsts, places: rows, unquoted, .. }, piece, width, delimiter } =
            self;
        let (Some((start, _)), Some((_, end))) = (rows.first(), rows.last()) else { return };
        let (place, has_quotes) = ((*start, *end), piece.has_quotes);
        let count = match has_quotes {
            true => unquoted.copy(&piece.text, place, delimiter, bounds, blocks),
            false => {
                // With the line end behind the last row.
                let text = &piece.text[..piece.text.len().min(end + 1)];
                Some(find_cells(text, *start, delimiter, bounds, blocks).0)
            }
        };
        let Some(count) = count else { return firsts.resize(rows.len(), ODD) };
        let now = |place| if has_quotes { unquoted.place(place) } else { place };
        let mut first = 0;
        for (start, end) in &*rows {
            // Behind a row there may be two bytes of a line end, and blank lines.
            while (bounds[first] as usize) < now(*start) {
                first += 1;
            }
            // Behind the last bound stand those of other pieces.
            let is_whole =
                bounds[..=count].get(first + width).is_some_and(|bound| *bound as usize == now(*end) + 1);
            firsts.push(if is_whole { first as u32 } else { ODD });
            first += if is_whole { width } else { 0 };
        }
    }
}

/// Finds the cells of rows that are lines of a piece, if all have as many as the table; whether they have.
struct LookAtLines<'a> {
    ahead: &'a mut Ahead,
    piece: &'a Piece,
    /// Where the first begins, and where the last ends, behind its line end.
    place: (usize, usize),
    width: usize,
    delimiter: u8,
}

impl WithBlocks for LookAtLines<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_blocks(self, blocks: impl Blocks) -> bool {
        let Self { ahead: Ahead { bounds, firsts, places, unquoted, .. }, piece, place, width, delimiter } =
            self;
        let (line_end, (_, end)) = (piece.line_end(), place);
        // Of two bytes of a line end each ends a cell: nothing stands between them.
        let stride = width + line_end - 1;
        let (text, end, count, rows) = if piece.has_quotes {
            let Some(count) = unquoted.copy(&piece.text, place, delimiter, bounds, blocks) else {
                return false;
            };
            places.extend(piece.places_of_lines(place.0, end));
            (unquoted.text(), unquoted.place(end), count, places.len())
        } else {
            let (count, rows) = find_cells(&piece.text[..end], place.0, delimiter, bounds, blocks);
            (&piece.text[..], end, count, rows)
        };
        // If as many lines end where rows of so many cells should, and the last one at the end, none ends elsewhere.
        let mut ends = bounds[..count].iter().skip(stride).step_by(stride).take(rows);
        let are_alike = bounds[..count].get(rows * stride).is_some_and(|bound| *bound as usize == end)
            && ends.all(|bound| text[*bound as usize - 1] == b'\n');
        if !are_alike {
            places.clear();
            return false;
        }
        firsts.extend((0..rows).map(|row| (row * stride) as u32));
        if !piece.has_quotes {
            let begin = |row| bounds[row * stride] as usize;
            places.extend((0..rows).map(|row| (begin(row), begin(row + 1) - line_end)));
        }
        true
    }
}

/// Writes where each cell of a text begins from this place on, where cells may end with a line, and returns the place of the last
/// bound, which stands behind the text, and how many LF there are.
#[inline(always)]
fn find_cells(
    text: &[u8],
    start: usize,
    delimiter: u8,
    bounds: &mut Vec<u32>,
    blocks: impl Blocks,
) -> (usize, usize) {
    let (mut at, mut count, mut lines) = (start, 1, 0);
    while at < text.len() {
        make_room(bounds, count);
        let feeds = blocks.places_in(&text[at..], [b'\n']);
        let found = feeds | blocks.places_in(&text[at..], [delimiter, b'\r']);
        if let Some(room) = bounds[count..].first_chunk_mut() {
            blocks.write(found, at as u32 + 1, room);
        }
        count += found.count_ones() as usize;
        lines += feeds.count_ones() as usize;
        at += BLOCK;
    }
    make_room(bounds, count);
    (bounds[0], bounds[count]) = (start as u32, text.len() as u32 + 1);
    (count, lines)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::columns::Run;
    use super::super::piece::Rows;
    use super::*;
    use crate::data::spare::Spare;

    fn columns(count: usize, runs: Vec<Run>) -> Columns {
        Columns { count, runs, ..Columns::default() }
    }

    /// Rows of a text.
    pub fn piece(text: &str, rows: &[&str], has_quotes: bool) -> Piece {
        let mut at = 0;
        let places = rows.iter().map(|row| {
            let start = at + text[at..].find(row).unwrap();
            at = start + row.len();
            (start, at)
        });
        let rows = Rows::Places(places.collect());
        let text = text.as_bytes().to_vec();
        let (name, spare) = (std::path::Path::new("t").into(), Spare::default());
        Piece { name, text, rows, has_quotes, before: 0, line: 1, spare }
    }

    /// The cells of some rows of a piece, and whether all have as many.
    fn cells(
        ahead: &mut Ahead,
        piece: &Piece,
        part: Part<'_>,
        columns: &Columns,
    ) -> (bool, Vec<(String, usize)>) {
        let are_alike = ahead.look(piece, part, (columns, b','));
        let rows = (0..ahead.count()).map(|row| {
            let (found, known, start) = ahead.row(piece, row, (columns.count, b','));
            assert!(known.unread.is_empty() && known.label.is_none());
            let cells: Vec<_> = found.cells().map(String::from_utf8_lossy).collect();
            (cells.join("|"), start)
        });
        (are_alike, rows.collect())
    }

    #[test]
    fn rows_that_are_lines_are_those_that_are_found_one_by_one() {
        let mut ahead = Ahead::default();
        let columns = columns(3, vec![Run::Numbers(0..2), Run::Category(2)]);
        let long = "1.5,2,".to_owned() + &"a".repeat(300);
        let some = ["1,2,a", "-3.5,,", ",,", &long, "x,7.25,b"];
        // What has too few cells, and too many; and both, which are as many as they should be.
        for odd in [&[][..], &["1,2"], &["1,2,3,4"], &["1,2", "1,2,3,4"], &["1,2,3,4", "1,2"], &["1"]] {
            for (end, bytes, quoted) in [
                ("\n", 10, false),
                ("\n", 100, true),
                ("\n", 5000, true),
                ("\r\n", 10, true),
                ("\r\n", 100, false),
                ("\r\n", 5000, true),
                ("\r\n", 5000, false),
            ] {
                let mut rows: Vec<&str> = some.iter().cycle().take(40).copied().collect();
                rows.splice(7..7, odd.iter().copied());
                let written = |row: &&str| row.replace('a', "\"\"").replace(",,", ",\"a,\"\"\",");
                let rows: Vec<String> = match quoted {
                    true => rows.iter().map(written).collect(),
                    false => rows.iter().map(|row| (*row).to_owned()).collect(),
                };
                let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
                let text = rows.join(end) + end;
                let by_places = piece(&text, &rows, quoted);
                let mut by_lines = piece(&text, &[], quoted);
                by_lines.rows = Rows::Lines(rows.len(), end.len());
                assert_eq!((by_lines.count(), by_lines.places()), (rows.len(), by_places.places()));
                let (are_alike, expected) =
                    cells(&mut ahead, &by_places, Part::Places(&by_places.places()), &columns);
                let (mut all_alike, mut found) = (true, Vec::new());
                for part in by_lines.parts(bytes) {
                    let (are_alike, some) = cells(&mut ahead, &by_lines, part, &columns);
                    assert!(
                        are_alike == some.iter().all(|(row, _)| row.matches('|').count() == 2),
                        "{some:?}"
                    );
                    all_alike &= are_alike;
                    found.extend(some);
                }
                assert_eq!((all_alike, found), (are_alike, expected), "{odd:?} {end:?} {bytes}");
            }
        }
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
                    for (rows, places) in rows.chunks(5).zip(piece.places().chunks(5)) {
                        let are_alike = rows.iter().all(|row| row.matches(',').count() == 2);
                        let is_odd = odd && rows.iter().any(|row| row.contains('"'));
                        let (found, cells) = cells(&mut ahead, &piece, Part::Places(places), &columns);
                        // Of the row behind these some bytes are looked at, too.
                        assert!(found == (are_alike && !is_odd) || odd && !found, "{rows:?}");
                        let expected = rows.iter().zip(places).map(|(row, (start, _))| {
                            let row = if quoted { row.replace('"', "") } else { (*row).to_owned() };
                            (row.replace(',', "|"), *start)
                        });
                        assert_eq!(cells, expected.collect::<Vec<_>>(), "{end:?}");
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
            let part = Part::Places(&piece.places());
            assert_eq!(ahead.look(&piece, part, (&columns, b',')), cells == 40);
            assert_eq!(ahead.row(&piece, 1, (40, b',')).0.len(), cells);
        }
    }
}
