//! Columns of text in which most cells are a number with a sign or a unit: `$1,200`, `12%`, `3 kg`, `1 234`; or a
//! number with a different decimal mark than the table's; or a date with the year not first: `31/12/2024`.

use std::collections::HashMap;

use super::units::{DATE, DECIMALS, Units, unit};
use super::{Header, NumbersAsText};
use crate::data::dialect::Kind;
use crate::data::excerpt::quote;

impl Header<'_> {
    /// Examines a column of text in which most cells of the first rows are a number with the same sign, unit or decimal
    /// mark. The result has its index as its name.
    pub(crate) fn number_as_text(&self, column: usize) -> Option<NumbersAsText> {
        let is_text = |cell: &&[u8]| self.dialect.kind(cell) == Kind::Text;
        let texts: Vec<&[u8]> = self.cells(column).filter(is_text).collect();
        number_among(column.to_string(), &texts)
    }

    /// The notation of a target's numbers, if nearly all its cells are numbers, most of them with the same sign or
    /// unit: with the decimal mark of the table, or else with the other one.
    pub(crate) fn units(&self, column: usize) -> Option<Units> {
        let text = self.number_as_text(column).filter(|text| text.decimal.is_none() && !text.are_dates)?;
        let point = self.dialect.numbers.point;
        let marks = [point, if point == b',' { b'.' } else { b',' }];
        let mut units = marks.map(|point| Units { unit: text.unit.clone(), point }).into_iter();
        units.find(|units| self.numbers_with(column, units).is_some())
    }

    /// The cells of a column as numbers, with or without this unit, if at least nine tenths are numbers.
    pub(crate) fn numbers_with(&self, column: usize, units: &Units) -> Option<Vec<f64>> {
        let number = |cell: &[u8]| match self.dialect.kind(cell) {
            Kind::Number(value) => Some(value),
            _ => units.number(cell).map(f64::from),
        };
        let numbers: Vec<f64> = self.present(column).filter_map(number).collect();
        (numbers.len() * 10 >= self.present(column).count() * 9).then_some(numbers)
    }
}

/// Examines the texts of the column `column`: the result if most are a number with the same sign, unit or decimal mark.
pub(crate) fn number_among(column: String, texts: &[&[u8]]) -> Option<NumbersAsText> {
    let mut units: HashMap<String, usize> = HashMap::new();
    texts.iter().filter_map(|cell| unit(cell)).for_each(|unit| *units.entry(unit).or_default() += 1);
    let (most, count) = units.into_iter().max_by_key(|(_, count)| *count)?;
    let cell = texts.iter().find(|cell| unit(cell).is_some_and(|unit| unit == most))?;
    let mark = most.chars().next().filter(|mark| DECIMALS.contains(mark));
    (count * 2 > texts.len()).then(|| NumbersAsText {
        column,
        cell: quote(cell),
        decimal: mark,
        are_dates: most == DATE,
        unit: most,
    })
}
