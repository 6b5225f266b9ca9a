//! The cells of a row of a CSV table that are no run of numbers: categories, labels, weights, groups, times, missing values.

use super::categories::MISSING;
use super::csv::CsvRows;
use super::dialect::{Kind, with_point};
use super::groups::time;
use super::number::{expected_feature, float, is_thousands};
use crate::Result;

impl CsvRows {
    /// The number of a cell in a column of categories, which is the one with this number among them.
    pub(super) fn category(&mut self, index: usize, column: usize) -> Result<u32> {
        let known = self.numberings[index].find(&self.record[column]);
        if let Some(number) = known.filter(|number| !(*number == MISSING && self.refuses_missing)) {
            return Ok(number);
        }
        let (cell, row) = (&self.record[column], self.row());
        let is_missing = self.dialect.is_missing(cell);
        if is_missing && self.refuses_missing {
            return Err(self.cell_error(column, "a category (a missing one is refused)"));
        }
        if matches!(self.dialect.kind(cell), Kind::Number(_)) && !self.columns.categorical.contains(&column) {
            let expected =
                "text, as in the first rows (a number among text: say that the column is one of categories)";
            return Err(self.cell_error(column, expected));
        }
        let number = self.numberings[index].add(cell, is_missing, row);
        number.map_err(|expected| self.cell_error(column, &expected))
    }

    /// The number of the label of `record`, if the table has labels.
    pub(super) fn label(&mut self) -> Result<Option<u32>> {
        let Some(column) = self.columns.target else { return Ok(None) };
        if let Some(number) = self.labels.find(&self.record[column]) {
            return Ok(Some(number));
        }
        let row = self.row();
        if self.dialect.is_missing(&self.record[column]) {
            let expected = "a label (rows without one are not supported: remove them)";
            return Err(self.cell_error(column, expected));
        }
        let number = self.labels.add(&self.record[column], row);
        number.map(Some).map_err(|expected| self.cell_error(column, &expected))
    }

    /// A cell as a finite number.
    pub(super) fn number(&self, column: usize, what: &str) -> Result<f32> {
        let cell = &self.record[column];
        let text = String::from_utf8_lossy(cell);
        let number =
            if self.dialect.decimal == b',' { float(with_point(&text).as_bytes()) } else { float(cell) };
        let hint = self.other_mark(cell).map_or_else(String::new, |hint| format!(" ({hint})"));
        number.map_err(|fault| self.cell_error(column, &format!("{what}: {fault}{hint}")))
    }

    /// How much the row counts in the loss, if the table says so.
    pub(super) fn weight(&self) -> Result<Option<f32>> {
        let Some(column) = self.columns.weight else { return Ok(None) };
        let weight = self.number(column, "the weight of a row")?;
        if weight < 0.0 {
            return Err(self.cell_error(column, "a weight of 0 or more"));
        }
        Ok(Some(weight))
    }

    /// The number of the row's group, if the table has groups. A row without one is a group of its own.
    pub(super) fn group(&mut self) -> Result<Option<u32>> {
        let Some(column) = self.columns.group else { return Ok(None) };
        let is_missing = self.dialect.is_missing(&self.record[column]);
        let number = self.groups.number(&self.record[column], is_missing);
        number.map(Some).ok_or_else(|| self.cell_error(column, "fewer groups"))
    }

    /// When the row is of, if the table says so.
    pub(super) fn time(&self) -> Result<Option<f64>> {
        let Some(column) = self.columns.time else { return Ok(None) };
        let found = time(&self.record[column]);
        let expected =
            "a time: a number, or a date such as 2026-11-22, 2026-11-22 10:30:00 or 2026-11-22T10:30:00Z";
        found.map(Some).ok_or_else(|| self.cell_error(column, expected))
    }

    /// What should have stood in the place of a cell that is no number.
    fn expected_number(&self, cell: &[u8], fault: &str) -> String {
        let is_thousands = self.dialect.decimal == b'.' && is_thousands(cell);
        match self.other_mark(cell).filter(|_| !is_thousands) {
            Some(hint) => format!("{fault} ({hint})"),
            None if self.is_like_another && fault == "a number" && !is_thousands => {
                format!(
                    "{fault}, as in the training table (or is this a text that stands for a missing value?)"
                )
            }
            None => expected_feature(cell, fault),
        }
    }

    /// What stands for a cell that is no number: NaN where it is missing.
    pub(super) fn without_number(&self, column: usize, fault: &str) -> Result<f32> {
        let cell = &self.record[column];
        let is_marker = || float(cell).is_ok_and(|value| self.missing_numbers.contains(&value));
        if !self.dialect.is_missing(cell) && !is_marker() {
            return Err(self.cell_error(column, &self.expected_number(cell, fault)));
        }
        if self.refuses_missing {
            return Err(self.cell_error(column, "a number (a missing one is refused)"));
        }
        Ok(f32::NAN)
    }
}
