//! Tables in memory: columns with names, of numbers, categories and dates, as a reader would deliver them of a file.

mod builder;
mod like_training;
mod order;
mod text_columns;
mod wanted;

pub use builder::TableBuilder;
pub(super) use wanted::{Wanted, Zone};

use std::path::Path;

use ndarray::ArrayRef2;

use super::checks::{at, check_length, check_targets, check_weights, row_by_row};
use super::target::TargetData;
use crate::data::{
    Column, DATE_PARTS, Dictionary, Features, KeptTogether, LabelType, MemoryCells, MemoryRows, MemoryTexts,
    Reader,
};
use crate::error::{Error, Place, Result};

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
    /// Categories that are texts, each kept byte for byte, as `Texts` are.
    ExactTexts {
        /// Which of the texts each row holds; nothing where it is missing.
        rows: Vec<Option<u32>>,
        /// The texts that no piece before has.
        texts: Vec<String>,
    },
    /// Booleans, 0 and 1; NaN where one is missing.
    Booleans(Vec<f32>),
    /// Seconds from 1970 to times in UTC, or to local times of a zone; NaN where one is missing.
    Times(Vec<f64>),
}

impl Cells {
    /// Rows.
    pub(super) fn len(&self) -> usize {
        match self {
            Cells::Numbers(cells) | Cells::Categories(cells) | Cells::Booleans(cells) => cells.len(),
            Cells::Texts { rows, .. } | Cells::ExactTexts { rows, .. } => rows.len(),
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
    /// The same of texts that are kept byte for byte.
    ExactTexts(Vec<String>),
    /// Categories that are 0 for `False` and 1 for `True`.
    Booleans,
    /// This many parts of dates.
    Dates(usize, Zone),
}

impl Holds {
    pub(super) fn width(&self) -> usize {
        match self {
            Holds::Dates(parts, _) => *parts,
            _ => 1,
        }
    }

    /// The content of columns like it.
    pub(super) fn wanted(&self) -> Wanted {
        match self {
            Holds::Numbers => Wanted::Numbers,
            Holds::Categories | Holds::Texts(_) | Holds::ExactTexts(_) | Holds::Booleans => {
                Wanted::Categories
            }
            Holds::Dates(parts, zone) => Wanted::Dates(*parts, zone.clone()),
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
        let has_dates = self.columns.iter().any(|(_, holds)| matches!(holds, Holds::Dates(..)));
        for column in columns {
            match self.columns.get_mut(*column) {
                Some((_, holds @ Holds::Numbers)) => *holds = Holds::Categories,
                Some((_, Holds::Categories | Holds::Texts(_) | Holds::ExactTexts(_) | Holds::Booleans)) => {}
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
        let Placed { columns, dates, zones } = self.placed();
        let kept_together = std::mem::take(&mut self.kept_together);
        let rows = MemoryRows {
            name: x.into(),
            targets_name: y.into(),
            positions: self.columns.len(),
            columns,
            dates,
            zones,
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
            let of = |texts, label_type| Some(Some(MemoryTexts { texts, label_type }));
            let of_column = match holds {
                Holds::Numbers | Holds::Dates(..) => None,
                Holds::Categories => Some(None),
                Holds::Texts(known) => of(known, None),
                Holds::ExactTexts(known) => of(known, Some(LabelType::Text)),
                Holds::Booleans => of(["False", "True"].map(str::to_owned).into(), None),
            };
            if let Some(of_column) = of_column {
                categorical.push(input);
                texts.push(of_column);
            }
            input += width;
        }
        MemoryCells { inputs, values: self.values, categorical, texts }
    }

    /// The columns as a [`Schema`](crate::data::Schema) has them.
    fn placed(&self) -> Placed {
        let (mut placed, mut dates, mut zones) = (Vec::new(), Vec::new(), Vec::new());
        for (position, (name, holds)) in self.columns.iter().enumerate() {
            if let Holds::Dates(parts, zone) = holds {
                dates.push((placed.len(), *parts));
                zones.extend(zone.entry().map(|zone| (placed.len(), zone.map(str::to_owned))));
                let part = |part: &&str| Column {
                    name: name.as_ref().map(|name| format!("{name}.{part}")),
                    position,
                };
                placed.extend(DATE_PARTS[..*parts].iter().map(part));
            } else {
                placed.push(Column { name: name.clone(), position });
            }
        }
        Placed { columns: placed, dates, zones }
    }
}

/// The column of each input; the first input of each column of dates with the number of its parts, and with its zone, if that is known.
struct Placed {
    columns: Vec<Column>,
    dates: Vec<(usize, usize)>,
    zones: Vec<(usize, Option<String>)>,
}
