//! Tables in memory: columns with names, of numbers, categories and dates, as a reader would deliver them of a file.

mod builder;
mod order;
mod text_columns;

pub use builder::TableBuilder;

use std::path::Path;

use ndarray::ArrayRef2;

use super::checks::{at, check_length, check_targets, check_weights, row_by_row};
use super::target::TargetData;
use super::texts::TextsAre;
use crate::data::{Column, DATE_PARTS, Dictionary, Features, KeptTogether, MemoryCells, MemoryRows, Reader};
use crate::error::{Error, Place, Result};
use crate::model::Model;

/// Cells of a column of a table in memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Numbers; NaN where one is missing.
    Numbers(Vec<f32>),
    /// Categories that are numbers; NaN where one is missing.
    Categories(Vec<f32>),
    /// Categories that are texts. Texts that stand for a missing value in files do so here: `NA`, for example.
    Texts {
        /// Which of the texts each row holds, counted from 0, with those of the pieces before; nothing where it is missing.
        rows: Vec<Option<u32>>,
        /// The texts that no piece before has.
        texts: Vec<String>,
    },
    /// Seconds from 1970 to times in UTC; NaN where one is missing.
    Times(Vec<f64>),
}

impl Cells {
    /// Rows.
    pub(super) fn len(&self) -> usize {
        match self {
            Cells::Numbers(cells) | Cells::Categories(cells) => cells.len(),
            Cells::Texts { rows, .. } => rows.len(),
            Cells::Times(seconds) => seconds.len(),
        }
    }
}

/// What the inputs of a column of a [`Table`] are.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Holds {
    Numbers,
    Categories,
    /// Numbers of these texts, counted from 0.
    Texts(Vec<String>),
    /// This many parts of dates.
    Dates(usize),
}

impl Holds {
    pub(super) fn width(&self) -> usize {
        match self {
            Holds::Dates(parts) => *parts,
            _ => 1,
        }
    }
}

/// A table in memory: rows without what they should give.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// [rows, inputs], row after row.
    pub(super) values: Vec<f32>,
    pub(super) rows: usize,
    pub(super) columns: Vec<(Option<String>, Holds)>,
    kept_together: KeptTogether,
}

impl Table {
    /// Columns of numbers without names, [rows, columns]; NaN where one is missing.
    ///
    /// # Errors
    /// [`Error::Config`] where the machine has no memory for them.
    pub fn of_numbers(x: &ArrayRef2<f32>) -> Result<Self> {
        Ok(Self::of_values(row_by_row(x, "x")?, x.ncols()))
    }

    /// Columns of numbers without names, so many of them, row after row; NaN where one is missing.
    pub fn of_values(values: Vec<f32>, columns: usize) -> Self {
        let (rows, kept_together) = (values.len() / columns.max(1), KeptTogether::default());
        Self { values, rows, columns: vec![(None, Holds::Numbers); columns], kept_together }
    }

    /// Columns with their names. A column of dates without hours is days, month and day of the week; others have the hour, too.
    ///
    /// # Errors
    /// Those of [`TableBuilder::add`].
    pub fn of_columns(columns: Vec<(String, Cells)>) -> Result<Self> {
        let (names, cells): (Vec<String>, Vec<Cells>) = columns.into_iter().unzip();
        let mut builder = TableBuilder::new(names, cells.first().map_or(0, Cells::len));
        builder.add(cells)?;
        Ok(builder.finish())
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The names of the columns, where they have any.
    pub fn names(&self) -> Option<Vec<&str>> {
        self.columns.iter().map(|(name, _)| name.as_deref()).collect()
    }

    /// The inputs, [rows, inputs], row after row: of a text its number, of a date its parts.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Inputs of a row.
    pub(super) fn inputs(&self) -> usize {
        self.columns.iter().map(|(_, holds)| holds.width()).sum()
    }

    /// These columns, counted from 0, are categories, whatever numbers stand there.
    ///
    /// # Errors
    /// [`Error::Setting`] for columns that are not there, or that hold dates.
    pub fn categorical(mut self, columns: &[usize]) -> Result<Self> {
        let count = self.columns.len();
        let has_dates = self.columns.iter().any(|(_, holds)| matches!(holds, Holds::Dates(_)));
        for column in columns {
            match self.columns.get_mut(*column) {
                Some((_, holds @ Holds::Numbers)) => *holds = Holds::Categories,
                Some((_, Holds::Categories | Holds::Texts(_))) => {}
                _ => {
                    let kind = if has_dates { " that hold no dates" } else { "" };
                    let expected = format!("columns below {count}{kind}, counted from 0");
                    return Err(Error::setting("categorical", expected, column.to_string()));
                }
            }
        }
        Ok(self)
    }

    /// The rows of a group are held out together, where a share of the rows is. Groups are numbered from 0, one number a row.
    #[must_use]
    pub fn with_groups(mut self, groups: Vec<u32>) -> Self {
        self.kept_together.groups = groups;
        self
    }

    /// The rows of the last times are held out, where a share of the rows is. One finite number a row.
    #[must_use]
    pub fn with_times(mut self, times: Vec<f64>) -> Self {
        self.kept_together.times = times;
        self
    }

    /// Copies of a row are held out together, where a share of the rows is: rows with the same number, from 0. Groups and times go
    /// before.
    #[must_use]
    pub fn with_copies(mut self, copies: Vec<u32>) -> Self {
        self.kept_together.copies = copies;
        self
    }

    /// The same as columns that a model takes: numbers as categories, where it has categories, text as numbers or dates, where it has
    /// those, and as many parts of dates.
    ///
    /// # Errors
    /// [`Error::Data`] for another number of columns, and for columns that hold something else than in training.
    pub fn fitted_to(self, model: &Model) -> Result<Self> {
        self.fitted(columns_of(model))
    }

    /// The columns that are categories of a model, counted from 0.
    pub fn categorical_of(model: &Model) -> Vec<usize> {
        let columns = columns_of(model).into_iter().enumerate();
        columns.filter(|(_, (_, is_category))| *is_category).map(|(column, _)| column).collect()
    }

    /// The same as columns of which each is dates of so many parts, or categories or not.
    pub(super) fn fitted(mut self, wanted: Vec<(Option<usize>, bool)>) -> Result<Self> {
        if wanted.len() != self.columns.len() {
            let expected = format!("{} columns, as in training", wanted.len());
            return Err(Error::data("x", Place::default(), expected, self.columns.len().to_string()));
        }
        self.read_texts(&wanted.iter().map(TextsAre::wanted).collect::<Vec<_>>(), ", as in training")?;
        let (from, mut at, mut sources, mut columns) = (self.inputs(), 0, Vec::new(), Vec::new());
        for (index, ((name, holds), (date, is_category))) in self.columns.into_iter().zip(wanted).enumerate()
        {
            let width = holds.width();
            let becomes = match (holds, date, is_category) {
                (Holds::Dates(_), Some(parts), _) => Holds::Dates(parts),
                (Holds::Numbers | Holds::Categories, None, true) => Holds::Categories,
                (holds @ Holds::Texts(_), None, true) => holds,
                (Holds::Numbers, None, false) => Holds::Numbers,
                (holds, date, is_category) => {
                    let said = |holds: &Holds| match holds {
                        Holds::Numbers => "numbers",
                        Holds::Categories | Holds::Texts(_) => "categories",
                        Holds::Dates(_) => "dates",
                    };
                    let like = match date {
                        Some(parts) => Holds::Dates(parts),
                        None if is_category => Holds::Categories,
                        None => Holds::Numbers,
                    };
                    let place = Place { row: None, column: Some(index + 1), name: name.map(Into::into) };
                    return Err(Error::data(
                        "x",
                        place,
                        format!("{}, as in training", said(&like)),
                        said(&holds).to_owned(),
                    ));
                }
            };
            sources.extend((0..becomes.width()).map(|part| (at + part.min(width - 1), part < width)));
            at += width;
            columns.push((name, becomes));
        }
        if sources.iter().copied().eq((0..from).map(|at| (at, true))) {
            return Ok(Self { columns, ..self });
        }
        let rows = (0..self.rows).map(|row| &self.values[row * from..][..from]);
        // A date without hours is at hour 0, if it is there.
        let of = |row: &[f32], at: usize, is_there| if is_there || row[at].is_nan() { row[at] } else { 0.0 };
        let values =
            rows.flat_map(|row| sources.iter().map(move |(at, is_there)| of(row, *at, *is_there))).collect();
        Ok(Self { values, rows: self.rows, columns, kept_together: self.kept_together })
    }

    /// What a [`Predictor`](crate::train::Predictor) takes.
    ///
    /// # Errors
    /// [`Error::Data`] for more different categories than a table may have.
    pub fn features(self) -> Result<(Features, Vec<Dictionary>)> {
        self.cells().features(Path::new("x"))
    }

    /// A reader that has read this table to its end. `targets` has one target per row; `names` are the names of the target columns, if
    /// they have any. `weights` are row weights; empty is 1 for all. At most `threads` threads scan its columns,
    /// by default one per core.
    ///
    /// # Errors
    /// [`Error::Data`] for lengths that differ, infinite values, and weights that are negative or not
    /// finite.
    pub fn into_reader(
        self,
        targets: TargetData,
        names: Vec<String>,
        weights: Vec<f32>,
        threads: Option<usize>,
    ) -> Result<Reader> {
        self.into_named_reader(["x", "y"], targets, names, weights, threads)
    }

    /// The same with names for inputs and targets in messages.
    pub(super) fn into_named_reader(
        mut self,
        [x, y]: [&str; 2],
        targets: TargetData,
        names: Vec<String>,
        weights: Vec<f32>,
        threads: Option<usize>,
    ) -> Result<Reader> {
        let (rows, inputs) = (self.rows, self.inputs());
        if self.values.is_empty() {
            return Err(Error::data(
                x,
                Place::default(),
                "rows and columns",
                format!("{rows} rows of {inputs} inputs"),
            ));
        }
        if let Some(index) = self.values.iter().position(|value| value.is_infinite()) {
            let (place, found) = (at(index / inputs, Some(index % inputs)), self.values[index].to_string());
            return Err(Error::data(x, place, "a finite number", found));
        }
        let TargetData(targets) = targets;
        check_targets(y, &targets, rows, x)?;
        check_weights(&weights, rows, x)?;
        let KeptTogether { groups, times, copies } = &self.kept_together;
        for (name, found) in [("groups", groups.len()), ("times", times.len()), ("copies", copies.len())] {
            if found != 0 {
                check_length(name, found, name, rows, x)?;
            }
        }
        let (columns, dates) = self.placed();
        let kept_together = std::mem::take(&mut self.kept_together);
        let rows = MemoryRows {
            name: x.into(),
            targets_name: y.into(),
            positions: self.columns.len(),
            columns,
            dates,
            cells: self.cells(),
            targets,
            target_names: names,
            weights,
            kept_together,
        };
        Reader::in_memory(rows, threads)
    }

    fn cells(self) -> MemoryCells {
        let (mut categorical, mut texts, mut input) = (Vec::new(), Vec::new(), 0);
        let inputs = self.inputs();
        for (_, holds) in self.columns {
            let width = holds.width();
            match holds {
                Holds::Numbers | Holds::Dates(_) => {}
                Holds::Categories => {
                    categorical.push(input);
                    texts.push(None);
                }
                Holds::Texts(known) => {
                    categorical.push(input);
                    texts.push(Some(known));
                }
            }
            input += width;
        }
        MemoryCells { inputs, values: self.values, categorical, texts }
    }

    /// The column of each input, and the first input of each column of dates with the number of its parts.
    fn placed(&self) -> (Vec<Column>, Vec<(usize, usize)>) {
        let (mut placed, mut dates) = (Vec::new(), Vec::new());
        for (position, (name, holds)) in self.columns.iter().enumerate() {
            if let Holds::Dates(parts) = holds {
                dates.push((placed.len(), *parts));
                let part = |part: &&str| Column {
                    name: name.as_ref().map(|name| format!("{name}.{part}")),
                    position,
                };
                placed.extend(DATE_PARTS[..*parts].iter().map(part));
            } else {
                placed.push(Column { name: name.clone(), position });
            }
        }
        (placed, dates)
    }
}

/// What the columns of a model hold: of dates how many parts, and whether they are categories.
fn columns_of(model: &Model) -> Vec<(Option<usize>, bool)> {
    let schema = model.data_schema.schema.as_ref();
    let inputs = model.transform.columns(model.network.columns());
    let categories = model.transform.categories();
    let dates = schema.map_or(&[][..], |schema| &schema.dates);
    let (mut wanted, mut input) = (Vec::new(), 0);
    while input < inputs {
        let date = dates.iter().find(|(first, _)| *first == input).map(|(_, parts)| *parts);
        wanted.push((date, categories.binary_search(&input).is_ok()));
        input += date.unwrap_or(1).max(1);
    }
    wanted
}
