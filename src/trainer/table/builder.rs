//! Tables in memory, built from pieces without a second copy of their rows.

use std::mem::discriminant;

use super::{Cells, Holds, Table, Zone};
use crate::data::{DATE_PARTS, KeptTogether, date_of, is_missing};
use crate::error::{Error, Place, Result};
use crate::memory::room;

/// Number of texts of a column that 32-bit floats can number.
const MOST_TEXTS: usize = 1 << 24;

/// Builds a [`Table`] from pieces of rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableBuilder {
    /// [rows, inputs], row-major, with all parts of dates; texts are numbered in their order of arrival.
    values: Vec<f32>,
    rows: usize,
    /// Expected number of rows.
    expected: usize,
    columns: Vec<(Option<String>, Holds)>,
}

impl TableBuilder {
    /// Creates an empty builder and allocates memory for `rows` rows.
    pub fn new(names: Vec<String>, rows: usize) -> Self {
        let columns = names.into_iter().map(|name| (Some(name), Holds::Numbers)).collect();
        Self { expected: rows, columns, ..Self::default() }
    }

    /// Adds rows: cells for each column, of the same kind in all pieces.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) for columns of different lengths, a different number of columns, a
    /// row with a text index that does not exist, more than 2^24 texts, and cells of a different kind.
    pub fn add(&mut self, cells: Vec<Cells>) -> Result<()> {
        if cells.len() != self.columns.len() {
            let expected = format!("{} columns", self.columns.len());
            return Err(Error::data("x", Place::default(), expected, cells.len().to_string()));
        }
        let length = cells.first().map_or(0, Cells::len);
        let is_first = self.rows == 0;
        let mut inputs = Vec::with_capacity(cells.len());
        for ((name, holds), cells) in self.columns.iter_mut().zip(cells) {
            let name = name.as_deref().unwrap_or_default();
            if cells.len() != length {
                let expected = format!("{length} rows, as the first column has");
                return Err(Error::data(name, Place::default(), expected, cells.len().to_string()));
            }
            let kind = match cells {
                Cells::Numbers(_) => Holds::Numbers,
                Cells::Categories(_) => Holds::Categories,
                Cells::Texts { .. } => Holds::Texts(Vec::new()),
                Cells::ExactTexts { .. } => Holds::ExactTexts(Vec::new()),
                Cells::Booleans(_) => Holds::Booleans,
                Cells::Times(_) => Holds::Dates(DATE_PARTS.len() - 1, Zone::default()),
            };
            if discriminant(&kind) != discriminant(holds) {
                if !is_first {
                    let place = Place::row(self.rows as u64 + 1);
                    return Err(Error::data(name, place, "cells of the same kind as before", "others"));
                }
                *holds = kind;
            }
            match (cells, holds) {
                (Cells::Texts { rows, texts }, Holds::Texts(known))
                | (Cells::ExactTexts { rows, texts }, Holds::ExactTexts(known)) => {
                    known.extend(texts);
                    let count = known.len();
                    if count > MOST_TEXTS {
                        let expected = format!("at most {MOST_TEXTS} different texts");
                        return Err(Error::data(name, Place::default(), expected, count.to_string()));
                    }
                    let is_unknown = |text: &Option<u32>| text.is_some_and(|at| at as usize >= count);
                    if let Some(row) = rows.iter().position(is_unknown) {
                        let place = Place::row((self.rows + row) as u64 + 1);
                        let found = format!("number {}", rows[row].unwrap_or_default());
                        return Err(Error::data(name, place, format!("one of {count} texts"), found));
                    }
                    inputs.push(rows.iter().map(|text| text.map_or(f32::NAN, |text| text as f32)).collect());
                }
                (Cells::Times(seconds), Holds::Dates(parts, _)) => {
                    let dates: Option<Vec<_>> = seconds.into_iter().map(date_of).collect();
                    let dates = dates.ok_or_else(|| {
                        let expected = "times between the years -9999 and 9999";
                        Error::data(name, Place::default(), expected, "a time beyond them")
                    })?;
                    if dates.iter().any(|date| date[DATE_PARTS.len() - 1] > 0.0) {
                        *parts = DATE_PARTS.len();
                    }
                    let part = |at: usize| dates.iter().map(|date| date[at]).collect::<Vec<f32>>();
                    inputs.extend((0..DATE_PARTS.len()).map(part));
                }
                (Cells::Numbers(values) | Cells::Categories(values) | Cells::Booleans(values), _) => {
                    inputs.push(values)
                }
                (Cells::Texts { .. } | Cells::ExactTexts { .. } | Cells::Times(_), _) => {}
            }
        }
        if is_first {
            self.values = room(self.expected * inputs.len(), "x")?;
        }
        (0..length).for_each(|row| self.values.extend(inputs.iter().map(|input: &Vec<f32>| input[row])));
        self.rows += length;
        Ok(())
    }

    /// Returns the table, with texts in an order independent of their arrival, and without hours in dates
    /// that have none.
    pub fn finish(mut self) -> Table {
        let mut inputs: Vec<(bool, Option<Vec<f32>>)> = Vec::new();
        for (_, holds) in &mut self.columns {
            match holds {
                Holds::Numbers | Holds::Categories | Holds::Booleans => inputs.push((true, None)),
                Holds::ExactTexts(texts) => {
                    let mut known = texts.clone();
                    known.sort_unstable();
                    let number = |text: &String| known.partition_point(|known| known < text) as f32;
                    inputs.push((true, Some(texts.iter().map(number).collect())));
                    *holds = Holds::ExactTexts(known);
                }
                Holds::Texts(texts) => {
                    let mut known: Vec<String> = texts.iter().map(|text| text.trim().to_owned()).collect();
                    known.retain(|text| !is_missing(text.as_bytes()));
                    known.sort_unstable();
                    known.dedup();
                    let number = |text: &String| match is_missing(text.as_bytes()) {
                        true => f32::NAN,
                        false => known.partition_point(|known| known.as_str() < text.trim()) as f32,
                    };
                    inputs.push((true, Some(texts.iter().map(number).collect())));
                    *holds = Holds::Texts(known);
                }
                Holds::Dates(parts, _) => {
                    inputs.extend((0..DATE_PARTS.len()).map(|part| (part < *parts, None)))
                }
            }
        }
        if inputs.iter().any(|(is_kept, numbers)| !is_kept || numbers.is_some()) {
            let mut places = inputs.iter().cycle();
            self.values.retain_mut(|value| {
                let Some((is_kept, numbers)) = places.next() else { return true };
                if let Some(numbers) = numbers
                    && !value.is_nan()
                {
                    *value = numbers[*value as usize];
                }
                *is_kept
            });
            self.values.shrink_to_fit();
        }
        let Self { values, rows, columns, .. } = self;
        Table { values, rows, columns, kept_together: KeptTogether::default() }
    }
}
