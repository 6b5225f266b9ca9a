//! The schema of a training table, with which similar tables are read, and the positions of its columns.

use std::collections::HashSet;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::time::PARTS;

/// The type of an input column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Numbers,
    Categories,
    /// Dates, with this number of parts that are inputs.
    Dates(usize),
}

impl Holds {
    /// The number of inputs that a column becomes.
    pub(crate) fn width(self) -> usize {
        match self {
            Holds::Numbers | Holds::Categories => 1,
            Holds::Dates(parts) => parts,
        }
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// The name of the column, if the table has a header.
    pub name: Option<String>,
    /// The position of the column, counted from 0.
    pub position: usize,
}

/// The schema of a training table, with which similar tables are read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// Columns of the table.
    pub columns: usize,
    /// The inputs, in the order of the network's inputs.
    pub inputs: Vec<Column>,
    /// The labels.
    pub target: Option<Column>,
    /// The values to predict, in the order of the network's outputs.
    pub values: Vec<Column>,
    /// Whether the values are labels of 0 or 1.
    #[serde(default)]
    pub are_labels: bool,
    /// The column of row weights, which is read if a table has it.
    pub weight: Option<Column>,
    /// Whether labels that differ only in case, or in surrounding blanks, are the same label.
    pub folds_labels: bool,
    /// Whether rows without a target are left out.
    pub drops_missing_target: bool,
    /// The inputs that are categories, not numbers: their indices among the inputs, in ascending order.
    #[serde(skip)]
    pub categories: Vec<usize>,
    /// Columns of dates: the first input of each, and the number of its parts: days since 1970, month, day of the week,
    /// hour.
    pub dates: Vec<(usize, usize)>,
    /// The time zones of some of the dates, by their first inputs; `None` for times without a zone. Times from files
    /// are not included: their offsets from UTC are subtracted.
    pub zones: Vec<(usize, Option<String>)>,
    /// Markers of missing values, in addition to the usual ones.
    pub missing: Vec<String>,
    /// Whether these markers replace the usual ones; empty cells are always missing.
    pub replaces_missing: bool,
    /// The decimal mark, a point or a comma; `None` if a model does not record it.
    #[serde(serialize_with = "write_mark", deserialize_with = "read_mark")]
    pub decimal: Option<u8>,
}

fn write_mark<S: Serializer>(mark: &Option<u8>, to: S) -> Result<S::Ok, S::Error> {
    mark.map(char::from).serialize(to)
}

fn read_mark<'a, D: Deserializer<'a>>(from: D) -> Result<Option<u8>, D::Error> {
    match Option::<char>::deserialize(from)? {
        None => Ok(None),
        Some('.') => Ok(Some(b'.')),
        Some(',') => Ok(Some(b',')),
        Some(other) => {
            Err(D::Error::custom(format!("expected a decimal mark, . or a comma, found {other:?}")))
        }
    }
}

impl Schema {
    /// The column of the labels, or the columns of the values to predict.
    pub fn targets(&self) -> impl Iterator<Item = &Column> {
        self.target.iter().chain(&self.values)
    }

    /// The column of each input, in order: a column of dates occurs several times if it has several inputs.
    pub fn read_columns(&self) -> Vec<Column> {
        self.read().into_iter().map(|(column, _)| column).collect()
    }

    /// The columns of dates.
    pub fn date_columns(&self) -> Vec<Column> {
        let read = self.read().into_iter();
        read.filter(|(_, holds)| matches!(holds, Holds::Dates(_))).map(|(column, _)| column).collect()
    }

    /// The columns of dates with a recorded time zone; `None` for times without a zone.
    pub fn zones(&self) -> impl Iterator<Item = (Column, Option<&str>)> {
        let of = |position: usize| self.read_columns().into_iter().find(|column| column.position == position);
        let zones = self.zones.iter();
        zones.filter_map(move |(first, zone)| Some((of(self.inputs.get(*first)?.position)?, zone.as_deref())))
    }

    /// The input columns and their types.
    pub(crate) fn read(&self) -> Vec<(Column, Holds)> {
        let (mut read, mut input) = (Vec::new(), 0);
        while let Some(column) = self.inputs.get(input) {
            let date = self.dates.iter().find(|(first, _)| *first == input);
            let holds = match date {
                Some((_, parts)) => Holds::Dates(*parts),
                None if self.categories.binary_search(&input).is_ok() => Holds::Categories,
                None => Holds::Numbers,
            };
            let suffix = format!(".{}", PARTS[0]);
            let name = column.name.as_ref().map(|name| match date {
                Some(_) => name.strip_suffix(&suffix).unwrap_or(name).to_owned(),
                None => name.clone(),
            });
            read.push((Column { name, position: column.position }, holds));
            input += date.map_or(1, |(_, parts)| (*parts).max(1));
        }
        read
    }

    /// Whether the columns have no names.
    pub(crate) fn is_unnamed(&self) -> bool {
        self.inputs.iter().all(|input| input.name.is_none())
    }

    /// Whether these names include the names of all inputs.
    pub(crate) fn is_named_in(&self, names: &[String]) -> bool {
        let names: HashSet<&String> = names.iter().collect();
        self.read_columns().iter().all(|read| read.name.as_ref().is_some_and(|name| names.contains(name)))
    }
}
