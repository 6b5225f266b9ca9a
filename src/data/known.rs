//! What is read of several rows together, column by column: numbers that are short decimals, and texts that came lately.

use std::ops::Range;

use super::categories::{MISSING, Numbering, UNKNOWN};
use super::classes::Interner;
use super::columns::{Columns, Run};
use super::decimal::{CELLS, Decimals};
use super::notation::ReadAs;
use super::places::{Blocks, WithBlocks, in_blocks};
use super::recent;
use super::row::Found;

/// Bits of a word.
pub(super) const WORD: usize = u32::BITS as usize;

/// Divides columns of numbers into those that are read together.
pub(super) fn together(columns: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = columns.end;
    columns.step_by(CELLS).map(move |first| first..end.min(first + CELLS))
}

/// What was read of some rows; memory is kept from rows to rows.
#[derive(Default)]
pub(super) struct Known {
    /// Inputs of each row; 0 where none have been read.
    width: usize,
    /// The inputs of all rows, and room for what is read together beyond them.
    inputs: Vec<f32>,
    /// Of each row a bit for each input that is still to be read, from the lowest of some words on.
    unread: Vec<u32>,
    /// The number of each row's label, or [`recent::UNKNOWN`]; none where there are no labels.
    labels: Vec<u32>,
    /// Those of the categories of one column.
    categories: Vec<u32>,
    /// The columns that are read together, and the first input of each.
    runs: Vec<(usize, Range<usize>)>,
}

/// What was read of a row.
#[derive(Clone, Copy, Default)]
pub(super) struct KnownOfRow<'a> {
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
    /// Whether a cell that is missing is left to others.
    pub refuses_missing: bool,
}

impl Known {
    /// Nothing has been read from now on.
    pub(super) fn clear(&mut self) {
        self.width = 0;
        self.labels.clear();
    }

    /// Reads the inputs of rows, one row after the other. Those that are no short decimals and no known texts have any value.
    pub(super) fn read(
        &mut self,
        found: Found<'_>,
        columns: &Columns,
        read_as: ReadAs,
        decimals: &mut Decimals,
        texts: Texts<'_>,
    ) -> &[f32] {
        let (width, rows) = (columns.inputs(), found.firsts.len());
        self.width = width;
        self.inputs.resize(rows * width + CELLS, 0.0);
        self.unread.clear();
        self.unread.resize(rows * words(width), 0);
        in_blocks(Read { known: self, found, columns, read_as, decimals, texts });
        &self.inputs[..rows * width]
    }

    /// The number of each row's label, of which there are none where the table has none; nothing if one is not known.
    pub(super) fn labels(&self) -> Option<&[u32]> {
        (!self.labels.contains(&recent::UNKNOWN)).then_some(&self.labels)
    }

    /// Whether all inputs of a row have been read.
    #[inline]
    pub(super) fn is_read(&self, row: usize) -> bool {
        self.of_row(row).unread.iter().all(|word| *word == 0)
    }

    /// What was read of one of these rows.
    #[inline]
    pub(super) fn of_row(&self, row: usize) -> KnownOfRow<'_> {
        let words = words(self.width);
        let label = self.labels.get(row).copied().filter(|label| *label != recent::UNKNOWN);
        KnownOfRow { unread: &self.unread[row * words..][..words], label }
    }
}

/// How many words have a bit for each of so many inputs.
fn words(inputs: usize) -> usize {
    inputs.div_ceil(WORD)
}

/// See [`Known::read`].
struct Read<'a> {
    known: &'a mut Known,
    found: Found<'a>,
    columns: &'a Columns,
    read_as: ReadAs,
    decimals: &'a mut Decimals,
    texts: Texts<'a>,
}

impl WithBlocks for Read<'_> {
    type Output = ();

    #[inline(always)]
    fn with_blocks(self, blocks: impl Blocks) {
        let Self { known, found, columns, read_as, decimals, texts } = self;
        let Found { text, bounds, firsts } = found;
        let Known { width, inputs, unread, labels, categories, runs } = known;
        let (width, words) = (*width, words(*width));
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
        for (row, first) in firsts.iter().enumerate() {
            for (input, columns) in &*runs {
                if let Some(room) = inputs[row * width + input..].first_chunk_mut() {
                    let cells = &bounds[*first as usize + columns.start..];
                    let others = blocks.decimals(decimals, text, cells, columns.len(), read_as, room);
                    mark(&mut unread[row * words..], *input, others);
                }
            }
        }
        // One column after the other: what is found in one row does not wait for that of the row before.
        let columns_of = columns.runs_and_inputs().filter_map(|(input, run)| match run {
            Run::Category(column) => Some((input, *column)),
            Run::Numbers(_) | Run::Date(..) => None,
        });
        for ((input, column), numbering) in columns_of.zip(texts.numberings) {
            numbering.find_each(found, column, categories);
            let rows = inputs.chunks_mut(width).zip(unread.chunks_mut(words));
            for ((inputs, unread), number) in rows.zip(&*categories) {
                inputs[input] = *number as f32;
                let is_unread = *number == UNKNOWN || *number == MISSING && texts.refuses_missing;
                unread[input / WORD] |= u32::from(is_unread) << (input % WORD);
            }
        }
        // Dates are read one by one.
        for (input, run) in columns.runs_and_inputs() {
            let Run::Date(_, parts) = run else { continue };
            for unread in unread.chunks_mut(words) {
                (input..input + parts).for_each(|input| unread[input / WORD] |= 1 << (input % WORD));
            }
        }
        if let Some(column) = columns.target {
            texts.labels.recent().find_each(found, column, labels);
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
    use super::super::ahead::Ahead;
    use super::super::ahead::tests::piece;
    use super::super::piece::Part;
    use super::*;

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
        let columns = Columns { count: 72, runs, target: Some(43), ..Columns::default() };
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
                let written = |row: usize, column: usize| match quoted && !(row + column).is_multiple_of(3) {
                    true => format!("\"{}\"", cell(row, column)),
                    false => cell(row, column).to_owned(),
                };
                let rows: Vec<String> = (0..rows)
                    .map(|row| (0..72).map(|column| written(row, column)).collect::<Vec<_>>().join(","))
                    .collect();
                let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
                let piece = piece(&format!("in front of all of them\n{}\n", rows.join("\n")), &rows, quoted);
                assert!(ahead.look(&piece, Part::Places(&piece.places()), (&columns, b',')));
                let known = Texts { numberings: &numberings, labels: &labels, refuses_missing: !empty };
                let inputs = ahead
                    .read(&piece, &columns, ReadAs { point: b'.', empty }, &mut decimals, known)
                    .to_vec();
                assert_eq!(inputs.len(), rows.len() * columns.inputs());
                let inputs_of_rows = inputs.chunks(columns.inputs());
                for (row, inputs) in inputs_of_rows.enumerate() {
                    let (_, known, _) = ahead.row(&piece, row, (72, b','));
                    let of_inputs = (0..1).chain(1..41).chain(41..43).chain(44..70);
                    for ((input, value), column) in inputs.iter().enumerate().zip(of_inputs) {
                        let is_read = known.unread[input / WORD] >> (input % WORD) & 1 == 0;
                        let expected = match (column, cell(row, column)) {
                            (41, "") => empty.then_some(MISSING as f32),
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
