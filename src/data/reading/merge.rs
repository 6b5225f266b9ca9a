//! Merges the rows parsed by several threads: labels, categories and groups are numbered in the order of appearance in
//! the table, whichever thread met them first.

use std::collections::HashMap;
use std::sync::Arc;

use super::csv_table::CsvTable;
use super::pieces::{At, Piece};
use super::records::Cells;
use super::row_parser::{Doubt, Parsed};
use super::table::Table;
use crate::data::columns::categories::MISSING;
use crate::data::columns::classes::MOST_LABELS;
use crate::data::columns::labels::Label;
use crate::data::columns::schema::Holds;
use crate::data::columns::target::undecided_task;
use crate::data::dataset::{Features, is_byte};
use crate::error::{DataFault, Error, Result};

/// Merges the pieces of a table in order.
pub(crate) struct Merger {
    table: Arc<CsvTable>,
    labels: Numbers,
    /// For each column of categories: the column, its input, and its numbering.
    categories: Vec<(usize, usize, Numbers)>,
    groups: Numbers,
    /// The first cell of each column that only all rows can decide on, in row order.
    pub doubts: Vec<Doubt>,
    /// Whether rows are trained on as they arrive, as pixels with known labels: every doubt is an error then.
    pub has_only_pixels: bool,
}

/// The numbering of one column's texts.
struct Numbers {
    of: HashMap<Box<[u8]>, u32>,
    first: u32,
    next: u32,
    /// For each thread: the number in the table for each number of the thread, and whether both numberings agree.
    by_thread: Vec<(Vec<u32>, bool)>,
}

impl Merger {
    pub(crate) fn new(table: Arc<CsvTable>, threads: usize) -> Self {
        let mut input = 0;
        let mut categories = Vec::new();
        for (column, holds) in &table.columns.inputs {
            if *holds == Holds::Categories {
                categories.push((*column, input, Numbers::new(MISSING + 1, threads)));
            }
            input += holds.width();
        }
        let (labels, groups) = (Numbers::new(0, threads), Numbers::new(0, threads));
        Self { table, labels, categories, groups, doubts: Vec::new(), has_only_pixels: false }
    }

    /// Merges the next rows of the table, which this thread has parsed.
    ///
    /// # Errors
    /// The error of the first invalid row.
    pub(crate) fn merge(&mut self, thread: usize, parsed: Parsed) -> Result<Table> {
        let Parsed { mut rows, new_groups, doubts, piece, fault } = parsed;
        if self.has_only_pixels
            && let Some(error) = self.no_pixel(&rows, &piece)
        {
            return Err(error);
        }
        for doubt in doubts {
            if self.has_only_pixels {
                return Err(doubt.error);
            }
            if self.doubts.iter().all(|known| known.column != doubt.column) {
                self.doubts.push(doubt);
            }
        }
        let name = &piece.name;
        let most = |column: usize, label: &Label, several: &str| {
            let expected = format!("at most {MOST_LABELS} different {several}");
            (label.row, self.table.error(name, label.row, column, &expected, label.text.as_bytes()))
        };
        // The first label beyond the limit, among all columns.
        let mut first: Option<(u64, Error)> = None;
        let mut too_many = |(row, error): (u64, Error)| {
            if first.as_ref().is_none_or(|(before, _)| row < *before) {
                first = Some((row, error));
            }
        };
        for ((column, _, numbers), new) in self.categories.iter_mut().zip(&mut rows.dictionaries) {
            if let Some(label) = numbers.add_labels(thread, &mut new.labels) {
                too_many(most(*column, &label, "categories"));
            }
        }
        if let Some(label) = self.labels.add_labels(thread, &mut rows.names) {
            let column = self.table.columns.target.unwrap_or_default();
            let (row, error) = most(column, &label, "labels: classification needs classes");
            let asks =
                |few| undecided_task(name, &self.table.name_of(column), few, &format!("over {MOST_LABELS}"));
            too_many((row, self.table.columns.few_numbers.map_or(error, asks)));
        }
        if let Some(error) = first.map(|(_, error)| error).or(fault) {
            return Err(error);
        }
        for group in new_groups {
            self.groups.add(thread, group);
        }
        self.labels.translate(thread, &mut rows.numbers);
        self.groups.translate(thread, &mut rows.groups);
        let columns: Vec<(usize, &[u32])> = self
            .categories
            .iter()
            .filter_map(|(_, input, numbers)| Some((*input, numbers.of_thread(thread)?)))
            .collect();
        translate(&mut rows.features, self.table.columns.width(), &columns);
        Ok(rows)
    }

    /// The error about the first cell of these rows that is not a pixel.
    fn no_pixel(&self, rows: &Table, piece: &Piece) -> Option<Error> {
        let Features::Floats(values) = &rows.features else { return None };
        let place = values.iter().position(|value| !is_byte(value))?;
        let (width, delimiter) = (self.table.columns.width(), self.table.dialect.delimiter);
        let (start, row) = piece.each_row(delimiter).nth(place / width)?;
        let mut cells = Cells::new(delimiter);
        let at = At { row: cells.split(row), piece, start };
        let (column, _) = self.table.columns.inputs[place % width];
        let expected = "a whole number from 0 to 255, as in the first 4,096 rows";
        Some(self.table.cell_error(&at, column, expected).with_kind(DataFault::LaterRow))
    }
}

impl Numbers {
    /// Makes a numbering that starts at `first`, for `threads` threads; lower numbers are the same in all threads.
    fn new(first: u32, threads: usize) -> Self {
        let by_thread = vec![((0..first).collect(), true); threads];
        Self { of: HashMap::new(), first, next: first, by_thread }
    }

    /// Numbers a text that is new to a thread; returns whether it is new to the table. A row without a text is always
    /// new.
    fn add(&mut self, thread: usize, text: Option<Box<[u8]>>) -> bool {
        let next = self.next;
        let number = text.map_or(next, |text| *self.of.entry(text).or_insert(next));
        self.next += u32::from(number == next);
        let (table, are_same) = &mut self.by_thread[thread];
        *are_same &= number as usize == table.len();
        table.push(number);
        number == next
    }

    /// Numbers labels, and keeps only labels new to the table; returns the first beyond the limit, if any.
    fn add_labels(&mut self, thread: usize, new: &mut Vec<Label>) -> Option<Label> {
        new.retain(|label| self.add(thread, Some(label.text.as_bytes().into())));
        let excess = ((self.next - self.first) as usize).checked_sub(MOST_LABELS)?;
        new.len().checked_sub(excess).and_then(|place| new.get(place)).cloned()
    }

    fn translate(&self, thread: usize, numbers: &mut [u32]) {
        if let Some(table) = self.of_thread(thread) {
            numbers.iter_mut().for_each(|number| *number = table[*number as usize]);
        }
    }

    /// The number in the table for each number of a thread; `None` if both numberings agree.
    fn of_thread(&self, thread: usize) -> Option<&[u32]> {
        let (table, are_same) = &self.by_thread[thread];
        (!are_same).then_some(table)
    }
}

/// Translates category numbers in `columns`, the positions in every row of `width` values.
fn translate(features: &mut Features, width: usize, columns: &[(usize, &[u32])]) {
    if columns.is_empty() {
        return;
    }
    if let Features::Bytes(bytes) = features {
        let fits = bytes.chunks_exact_mut(width).all(|row| {
            columns.iter().all(|(place, table)| table[usize::from(row[*place])] <= u8::MAX.into())
        });
        if fits {
            for row in bytes.chunks_exact_mut(width) {
                columns.iter().for_each(|(place, table)| row[*place] = table[usize::from(row[*place])] as u8);
            }
            return;
        }
        *features = Features::Floats(bytes.iter().copied().map(f32::from).collect());
    }
    if let Features::Floats(floats) = features {
        for row in floats.chunks_exact_mut(width) {
            columns.iter().for_each(|(place, table)| row[*place] = table[row[*place] as usize] as f32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(texts: &[&str]) -> Vec<Label> {
        texts.iter().zip(1..).map(|(text, row)| Label { text: (*text).to_owned(), row }).collect()
    }

    #[test]
    fn numbers_are_those_of_the_order_in_the_table() {
        let mut numbers = Numbers::new(1, 2);
        let mut add = |thread, texts: &[&str]| {
            let mut new = labels(texts);
            assert_eq!(numbers.add_labels(thread, &mut new), None);
            new.into_iter().map(|label| label.text).collect::<Vec<_>>()
        };
        assert_eq!(add(0, &["a", "b"]), ["a", "b"]);
        assert_eq!(add(1, &["b", "c", "a"]), ["c"]);
        assert_eq!(add(0, &["d", "c"]), ["d"]);
        assert_eq!(numbers.of_thread(0), Some(&[0, 1, 2, 4, 3][..]));
        assert_eq!(numbers.of_thread(1), Some(&[0, 2, 3, 1][..]));
        assert_eq!(Numbers::new(1, 1).of_thread(0), None);

        let table = numbers.of_thread(1).unwrap();
        let mut bytes = Features::Bytes(vec![7, 1, 7, 0, 7, 3]);
        translate(&mut bytes, 2, &[(1, table)]);
        assert_eq!(bytes, Features::Bytes(vec![7, 2, 7, 0, 7, 1]));
        let many: Vec<u32> = (0..256).map(|number| 300 - number).collect();
        translate(&mut bytes, 2, &[(0, &many), (1, table)]);
        assert_eq!(bytes, Features::Floats(vec![293.0, 3.0, 293.0, 0.0, 293.0, 2.0]));
    }

    #[test]
    fn a_label_too_many_is_found() {
        let mut numbers = Numbers::new(1, 2);
        let texts: Vec<String> = (0..MOST_LABELS + 2).map(|number| number.to_string()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (most, more) = texts.split_at(MOST_LABELS - 1);
        assert_eq!(numbers.add_labels(0, &mut labels(most)), None);
        assert_eq!(numbers.add_labels(1, &mut labels(&most[5..])), None);
        let found = numbers.add_labels(1, &mut labels(&[&most[..5], more].concat()));
        assert_eq!(found.map(|label| (label.text, label.row)), Some((MOST_LABELS.to_string(), 7)));
    }
}
