//! Tables in memory: named columns of numbers, categories and dates, as read from a file.

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
    /// Numbers; NaN for missing values.
    Numbers(Vec<f32>),
    /// Numeric categories; NaN for missing values.
    Categories(Vec<f32>),
    /// Text categories. Texts for missing values in files, such as `NA`, also mean missing values here.
    Texts {
        /// Index of each row's text, counted from 0, including the texts of earlier pieces; `None` for
        /// missing values.
        rows: Vec<Option<u32>>,
        /// Texts that no earlier piece has.
        texts: Vec<String>,
    },
    /// Text categories, as `Texts`, compared byte for byte.
    ExactTexts {
        /// Index of each row's text; `None` for missing values.
        rows: Vec<Option<u32>>,
        /// Texts that no earlier piece has.
        texts: Vec<String>,
    },
    /// Booleans, 0 and 1; NaN for missing values.
    Booleans(Vec<f32>),
    /// Seconds since 1970 of times in UTC, or of local times of a zone; NaN for missing values.
    Times(Vec<f64>),
}

impl Cells {
    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        match self {
            Cells::Numbers(cells) | Cells::Categories(cells) | Cells::Booleans(cells) => cells.len(),
            Cells::Texts { rows, .. } | Cells::ExactTexts { rows, .. } => rows.len(),
            Cells::Times(seconds) => seconds.len(),
        }
    }
}

/// Content of the inputs of a column of a [`Table`].
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Holds {
    Numbers,
    Categories,
    /// Indices of these texts, counted from 0.
    Texts(Vec<String>),
    /// Indices of texts that are compared byte for byte.
    ExactTexts(Vec<String>),
    /// Categories: 0 for `False` and 1 for `True`.
    Booleans,
    /// Dates with this number of parts.
    Dates(usize, Zone),
}

impl Holds {
    pub(super) fn width(&self) -> usize {
        match self {
            Holds::Dates(parts, _) => *parts,
            _ => 1,
        }
    }

    /// Returns the required content of similar columns.
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

/// A table in memory: rows without targets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// [rows, inputs], row-major.
    pub(super) values: Vec<f32>,
    pub(super) rows: usize,
    pub(super) columns: Vec<(Option<String>, Holds)>,
    kept_together: KeptTogether,
}

impl Table {
    /// Creates a table of numeric columns without names, [rows, columns]; NaN for missing values.
    ///
    /// # Errors
    /// [`Error::Config`] if the machine has no memory for the table.
    pub fn of_numbers(x: &ArrayRef2<f32>) -> Result<Self> {
        Ok(Self::of_values(row_by_row(x, "x")?, x.ncols()))
    }

    /// Creates a table of `columns` numeric columns without names, row-major; NaN for missing values.
    pub fn of_values(values: Vec<f32>, columns: usize) -> Self {
        let (rows, kept_together) = (values.len() / columns.max(1), KeptTogether::default());
        Self { values, rows, columns: vec![(None, Holds::Numbers); columns], kept_together }
    }

    /// Creates a table of named columns. Dates without hours have the parts day, month and day of the week;
    /// other dates also have the hour.
    ///
    /// # Errors
    /// Errors of [`TableBuilder::add`].
    pub fn of_columns(columns: Vec<(String, Cells)>) -> Result<Self> {
        let (names, cells): (Vec<String>, Vec<Cells>) = columns.into_iter().unzip();
        let mut builder = TableBuilder::new(names, cells.first().map_or(0, Cells::len));
        builder.add(cells)?;
        Ok(builder.finish())
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Returns the names of the columns, if they have any.
    pub fn names(&self) -> Option<Vec<&str>> {
        self.columns.iter().map(|(name, _)| name.as_deref()).collect()
    }

    /// Returns the inputs, [rows, inputs], row-major: indices of texts, and parts of dates.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Returns the number of inputs of a row.
    pub(super) fn inputs(&self) -> usize {
        self.columns.iter().map(|(_, holds)| holds.width()).sum()
    }

    /// Marks columns, counted from 0, as categories, regardless of their numbers.
    ///
    /// # Errors
    /// [`Error::Setting`] for columns that do not exist or contain dates.
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

    /// Sets groups: if a fraction of rows is held out, rows of a group are held out together. One group index
    /// per row, counted from 0.
    #[must_use]
    pub fn with_groups(mut self, groups: Vec<u32>) -> Self {
        self.kept_together.groups = groups;
        self
    }

    /// Sets times: if a fraction of rows is held out, the latest ones are. One finite number per row.
    #[must_use]
    pub fn with_times(mut self, times: Vec<f64>) -> Self {
        self.kept_together.times = times;
        self
    }

    /// Sets copies: rows with the same index, counted from 0, are held out together. Groups and times take
    /// precedence.
    #[must_use]
    pub fn with_copies(mut self, copies: Vec<u32>) -> Self {
        self.kept_together.copies = copies;
        self
    }

    /// Returns the inputs for a [`Predictor`](crate::train::Predictor).
    ///
    /// # Errors
    /// [`Error::Data`] if there are more different categories than a table may have.
    pub fn features(self) -> Result<(Features, Vec<Dictionary>)> {
        self.cells().features(Path::new("x"))
    }

    /// Returns a reader that has read this table. `targets` has one target per row; `names` are the names of
    /// the target columns, if they have any. `weights` are row weights; empty means 1 for all rows. At most
    /// `threads` threads scan its columns, by default one per core.
    ///
    /// # Errors
    /// [`Error::Data`] for lengths that differ, infinite values, and weights that are negative or not finite.
    pub fn into_reader(
        self,
        targets: TargetData,
        names: Vec<String>,
        weights: Vec<f32>,
        threads: Option<usize>,
    ) -> Result<Reader> {
        self.into_named_reader(["x", "y"], targets, names, weights, threads)
    }

    /// Returns the same reader, with names for inputs and targets in messages.
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

    /// Returns the columns for a [`Schema`](crate::data::Schema).
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

/// Column of each input; for each column of dates, its first input with the number of parts, and with its
/// zone, if known.
struct Placed {
    columns: Vec<Column>,
    dates: Vec<(usize, usize)>,
    zones: Vec<(usize, Option<String>)>,
}
