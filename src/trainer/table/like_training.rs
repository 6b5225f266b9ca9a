//! Conversion of tables to the columns of training.

use super::{Holds, Table, Wanted, Zone};
use crate::data::{ColumnEncoding, Transform};
use crate::error::{Error, Place, Result};
use crate::model::Model;
use crate::trainer::texts::TextsAre;

impl Table {
    /// Sets the time zones of date columns, by column name: their times are local times. Other columns have
    /// no zone.
    #[must_use]
    pub fn with_zones(mut self, zones: &[(String, String)]) -> Self {
        for (name, holds) in &mut self.columns {
            if let Holds::Dates(_, zone) = holds {
                let known = zones.iter().find(|(of, _)| Some(of) == name.as_ref());
                *zone = known.map_or(Zone::Absent, |(_, zone)| Zone::Named(zone.clone()));
            }
        }
        self
    }

    /// Returns the time zones of date columns, or `None` for times without zone, by column name.
    pub fn zones(&self) -> Vec<(&str, Option<&str>)> {
        let dates = self.columns.iter().filter_map(|(name, holds)| match holds {
            Holds::Dates(_, zone) => Some((name.as_deref()?, zone.entry()?)),
            _ => None,
        });
        dates.collect()
    }

    /// Returns the names of columns whose categories are compared byte for byte.
    pub fn exact(&self) -> Vec<&str> {
        let is_exact = |holds: &Holds| matches!(holds, Holds::ExactTexts(_));
        self.columns
            .iter()
            .filter(|(_, holds)| is_exact(holds))
            .filter_map(|(name, _)| name.as_deref())
            .collect()
    }

    /// Returns the columns that are categories, counted from 0.
    pub fn categories(&self) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        columns
            .filter(|(_, (_, holds))| holds.wanted() == Wanted::Categories)
            .map(|(column, _)| column)
            .collect()
    }

    /// Returns the columns of a model whose categories are compared byte for byte, counted from 0.
    pub fn exact_of(model: &Model) -> Vec<usize> {
        let Transform::Columns(encoding) = &model.transform else { return Vec::new() };
        let is_exact = |code: &ColumnEncoding| matches!(code, ColumnEncoding::Category { categories, .. } if categories.are_exact());
        let columns = columns_of(model).into_iter().enumerate();
        columns
            .filter(|(_, (input, _))| is_exact(&encoding.columns[*input]))
            .map(|(column, _)| column)
            .collect()
    }

    /// Converts the table to the columns of a model: numbers to categories, text to numbers or dates, and
    /// dates to the same number of parts.
    ///
    /// # Errors
    /// [`Error::Data`] for a different number of columns, and for columns with different content than in
    /// training.
    pub fn fitted_to(self, model: &Model) -> Result<Self> {
        self.fitted(columns_of(model).into_iter().map(|(_, wanted)| wanted).collect())
    }

    /// Returns the columns of a model that are categories, counted from 0.
    pub fn categorical_of(model: &Model) -> Vec<usize> {
        let columns = columns_of(model).into_iter().enumerate();
        columns.filter(|(_, (_, wanted))| *wanted == Wanted::Categories).map(|(column, _)| column).collect()
    }

    /// Converts the columns to this content.
    pub(super) fn fitted(mut self, wanted: Vec<Wanted>) -> Result<Self> {
        if wanted.len() != self.columns.len() {
            let expected = format!("{} columns, as in training", wanted.len());
            return Err(Error::data("x", Place::default(), expected, self.columns.len().to_string()));
        }
        let read_as: Vec<Option<TextsAre>> = wanted.iter().map(TextsAre::wanted).collect();
        self.read_texts(&read_as, ", as in training")?;
        let (from, mut at, mut sources, mut columns) = (self.inputs(), 0, Vec::new(), Vec::new());
        for (index, ((name, holds), wanted)) in self.columns.into_iter().zip(wanted).enumerate() {
            let width = holds.width();
            let error = |expected: String, found: String| {
                let place = Place { row: None, column: Some(index + 1), name: name.clone().map(Into::into) };
                Err(Error::data("x", place, format!("{expected}, as in training"), found))
            };
            let becomes = match (holds, wanted) {
                (Holds::Dates(_, found), Wanted::Dates(parts, zone)) => {
                    if !found.fits(&zone) {
                        return error(zone.said(), found.said());
                    }
                    Holds::Dates(parts, zone)
                }
                (Holds::Numbers | Holds::Categories, Wanted::Categories) => Holds::Categories,
                (Holds::Numbers | Holds::Booleans, Wanted::Numbers) => Holds::Numbers,
                (holds @ (Holds::Texts(_) | Holds::ExactTexts(_) | Holds::Booleans), Wanted::Categories) => {
                    holds
                }
                (holds, wanted) => return error(wanted.said(), holds.wanted().said()),
            };
            sources.extend((0..becomes.width()).map(|part| (at + part.min(width - 1), part < width)));
            at += width;
            columns.push((name, becomes));
        }
        if sources.iter().copied().eq((0..from).map(|at| (at, true))) {
            return Ok(Self { columns, ..self });
        }
        let rows = (0..self.rows).map(|row| &self.values[row * from..][..from]);
        // A date without hours is at hour 0, unless the date is missing.
        let of = |row: &[f32], at: usize, is_there| if is_there || row[at].is_nan() { row[at] } else { 0.0 };
        let values =
            rows.flat_map(|row| sources.iter().map(move |(at, is_there)| of(row, *at, *is_there))).collect();
        Ok(Self { values, rows: self.rows, columns, kept_together: self.kept_together })
    }
}

/// Returns the columns of a model, with the first input of each.
fn columns_of(model: &Model) -> Vec<(usize, Wanted)> {
    let schema = model.data_schema.schema.as_ref();
    let inputs = model.transform.columns(model.network.columns());
    let categories = model.transform.categories();
    let (dates, zones) = schema.map_or((&[][..], &[][..]), |schema| (&schema.dates, &schema.zones));
    let (mut wanted, mut input) = (Vec::new(), 0);
    while input < inputs {
        let date = dates.iter().find(|(first, _)| *first == input).map(|(_, parts)| *parts);
        let zone = zones.iter().find(|(first, _)| *first == input);
        let zone = zone.map_or(Zone::OfFile, |(_, zone)| zone.clone().map_or(Zone::Absent, Zone::Named));
        let of_column = match date {
            Some(parts) => Wanted::Dates(parts, zone),
            None if categories.binary_search(&input).is_ok() => Wanted::Categories,
            None => Wanted::Numbers,
        };
        wanted.push((input, of_column));
        input += date.unwrap_or(1).max(1);
    }
    wanted
}
