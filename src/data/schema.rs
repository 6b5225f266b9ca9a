//! What must be known of a training table to read others like it, and where its columns stand in them.

use std::collections::{HashMap, HashSet};

use super::columns::{Columns, Header, Holds, Target};
use super::shown::{show, some};
use super::time::PARTS;
use crate::Result;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, where the table has a header.
    pub name: Option<String>,
    /// Where it stands, counted from 0.
    pub position: usize,
}

/// What must be known of a training table to read others like it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schema {
    /// Columns of a row.
    pub columns: usize,
    /// The inputs, in the order in which the network takes them.
    pub inputs: Vec<Column>,
    /// The labels.
    pub target: Option<Column>,
    /// The values to predict, in the order of the network's outputs.
    pub values: Vec<Column>,
    /// How much each row counts: it is read where a table like this has it.
    pub weight: Option<Column>,
    /// Whether labels that differ only in case, or in blanks around them, are one.
    pub folds_labels: bool,
    /// Whether rows without a target are left out.
    pub drops_missing_target: bool,
    /// Which of the inputs are categories, not numbers: their places among the inputs, in ascending order.
    pub categories: Vec<usize>,
    /// Columns of dates: the first input of each, and how many are its parts: days since 1970, month, day of the week, hour.
    pub dates: Vec<(usize, usize)>,
    /// Cells that stand for a missing value, besides those that always do.
    pub missing: Vec<String>,
    /// What stands before the digits of a fraction, a point or a comma; nothing where a model does not say.
    pub decimal: Option<u8>,
}

impl Schema {
    /// The label's column, or those of the values to predict.
    pub fn targets(&self) -> impl Iterator<Item = &Column> {
        self.target.iter().chain(&self.values)
    }

    /// The columns of the table that are inputs, in their order: one of dates has several.
    pub fn read_columns(&self) -> Vec<Column> {
        self.read().into_iter().map(|(column, _)| column).collect()
    }

    /// The columns of dates.
    pub fn date_columns(&self) -> Vec<Column> {
        let read = self.read().into_iter();
        read.filter(|(_, holds)| matches!(holds, Holds::Dates(_))).map(|(column, _)| column).collect()
    }

    /// The columns that are read, and what they hold.
    fn read(&self) -> Vec<(Column, Holds)> {
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
    pub(super) fn is_unnamed(&self) -> bool {
        self.inputs.iter().all(|input| input.name.is_none())
    }

    /// Whether these names are those of the inputs, and perhaps others.
    pub(super) fn is_named_in(&self, names: &[String]) -> bool {
        let names: HashSet<&String> = names.iter().collect();
        self.read_columns().iter().all(|read| read.name.as_ref().is_some_and(|name| names.contains(name)))
    }
}

impl Header<'_> {
    /// The columns of a table like another.
    pub(super) fn known(&self, schema: &Schema, named: &[usize], wanted: &Target) -> Result<Columns> {
        let read = schema.read();
        let names =
            self.names.zip(read.iter().map(|(column, _)| column.name.as_deref()).collect::<Option<Vec<_>>>());
        let (inputs, targets) = match names {
            Some((names, inputs)) => {
                let places: HashMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
                let place = |name: &str| places.get(name).copied();
                let missing: Vec<&str> =
                    inputs.iter().copied().filter(|name| place(name).is_none()).collect();
                if !missing.is_empty() {
                    let missing = some(missing.iter().map(|name| show(name.as_bytes())));
                    let expected = format!("the columns of the training table, {missing} among them");
                    return Err(self.error(expected, self.list()));
                }
                let targets = schema.targets().map(|target| place(target.name.as_deref()?)).collect();
                (inputs.into_iter().filter_map(place).collect(), targets)
            }
            None if self.count == schema.columns => {
                let inputs = read.iter().map(|(column, _)| column.position).collect();
                (inputs, schema.targets().map(|target| Some(target.position)).collect())
            }
            None if self.count == read.len() => {
                ((0..self.count).collect::<Vec<_>>(), schema.targets().map(|_| None).collect())
            }
            None => {
                let expected = format!(
                    "{} columns as in the training table, or its {} inputs alone",
                    schema.columns,
                    read.len()
                );
                return Err(self.error(expected, self.count.to_string()));
            }
        };
        let targets: Vec<Option<usize>> =
            if named.is_empty() { targets } else { named.iter().copied().map(Some).collect() };
        let wants = if schema.values.is_empty() { 1 } else { schema.values.len() };
        if targets.iter().flatten().count() != wants && *wanted != Target::Absent {
            let missing = schema.targets().zip(&targets).find(|(_, found)| found.is_none());
            let expected = match missing.and_then(|(target, _)| target.name.as_deref()) {
                Some(name) if schema.values.is_empty() => {
                    format!("labels in the target column {}", show(name.as_bytes()))
                }
                Some(name) => format!("values in the target column {}", show(name.as_bytes())),
                None if schema.values.is_empty() => "a column of labels".to_owned(),
                None => format!("{wants} columns of values to predict"),
            };
            return Err(self.error(expected, format!("none, only {}", self.list())));
        }
        let targets: Vec<usize> = targets.into_iter().flatten().collect();
        let (target, values) = match schema.values.is_empty() {
            true => (targets.first().copied(), Vec::new()),
            false => (None, targets),
        };
        let inputs: Vec<(usize, Holds)> =
            inputs.into_iter().zip(read.iter().map(|(_, holds)| *holds)).collect();
        let categorical = inputs.iter().filter(|(_, holds)| *holds == Holds::Categories);
        let categorical = categorical.map(|(column, _)| *column).collect();
        Ok(Columns { count: self.count, inputs, target, values, categorical, ..Columns::default() })
    }

    /// Where a column of a table with this schema stands in this one, if it is there.
    pub(super) fn place_of(&self, column: &Column, schema: &Schema) -> Option<usize> {
        match (self.names, &column.name) {
            (Some(names), Some(wanted)) => names.iter().position(|name| name == wanted),
            _ => Some(column.position).filter(|_| self.count == schema.columns),
        }
    }
}
