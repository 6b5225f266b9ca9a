//! The columns of a table that resembles the training table of a model.

use super::schema::{Column, Holds, Schema};
use super::{Columns, Header, Target};
use crate::data::excerpt::{list_some, quote};
use crate::error::Result;
use std::collections::HashMap;

impl Header<'_> {
    /// Finds the columns of this schema in the table.
    pub(crate) fn columns_like(&self, schema: &Schema, named: &[usize], wanted: &Target) -> Result<Columns> {
        let local = schema.zones().find(|(_, zone)| zone.is_some_and(|zone| zone != "UTC"));
        if let Some((column, Some(zone))) = local {
            let name = quote(column.name.unwrap_or_default().as_bytes());
            let expected =
                format!("times of the zone {zone} in the column {name}, as the Python package takes them");
            return Err(self.error(expected, "a file, whose times are in UTC".to_owned()));
        }
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
                    let missing = list_some(missing.iter().map(|name| quote(name.as_bytes())));
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
                let mut order: Vec<usize> = read.iter().map(|(column, _)| column.position).collect();
                order.sort_unstable();
                let place = |(column, _): &(Column, Holds)| order.partition_point(|at| *at < column.position);
                (read.iter().map(place).collect::<Vec<_>>(), schema.targets().map(|_| None).collect())
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
        let targets: Vec<Option<usize>> = match named {
            [] => targets,
            // The training table's targets, in any order.
            _ if named.len() == targets.len()
                && targets.iter().all(|it| it.is_some_and(|it| named.contains(&it))) =>
            {
                targets
            }
            _ => named.iter().copied().map(Some).collect(),
        };
        let wants = if schema.values.is_empty() { 1 } else { schema.values.len() };
        if !named.is_empty() && named.len() != wants {
            let expected = format!("{wants} target columns, as in training");
            return Err(self.error(expected, named.len().to_string()));
        }
        if targets.iter().flatten().count() != wants && *wanted != Target::Absent {
            let missing = schema.targets().zip(&targets).find(|(_, found)| found.is_none());
            let expected = match missing.and_then(|(target, _)| target.name.as_deref()) {
                Some(name) if schema.values.is_empty() => {
                    format!("labels in the target column {}", quote(name.as_bytes()))
                }
                Some(name) => format!("values in the target column {}", quote(name.as_bytes())),
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
        let (count, are_labels) = (self.count, schema.are_labels);
        Ok(Columns { count, inputs, target, values, are_labels, categorical, ..Columns::default() })
    }

    /// The position in this table of a column of a table with this schema, if it exists.
    pub(crate) fn position_of(&self, column: &Column, schema: &Schema) -> Option<usize> {
        match (self.names, &column.name) {
            (Some(names), Some(wanted)) => names.iter().position(|name| name == wanted),
            _ => Some(column.position).filter(|_| self.count == schema.columns),
        }
    }
}
