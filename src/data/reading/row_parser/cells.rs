//! The slow path for cells of a CSV row: categories, labels, weights, groups, times, missing values.

use std::sync::atomic::Ordering;

use super::{FirstMissing, Role, RowParser, Values};
use crate::data::columns::categories::MISSING;
use crate::data::columns::groups::plain;
use crate::data::columns::time::{PARTS, date, is_zero_date, time};
use crate::data::dialect::Kind;
use crate::data::dialect::notation::grouped;
use crate::data::dialect::number::{expected_feature, float};
use crate::data::excerpt::{printable_name, quote};
use crate::data::reading::pieces::At;
use crate::data::reading::table::Missing;
use crate::error::{DataFault, Error, Result};

impl RowParser {
    /// Parses a cell that the fast path does not know: new, missing, or wrong, or with a role of the slow path.
    pub(super) fn second_look(
        &mut self,
        role: Role,
        (at, column): (&At<'_>, usize),
        before: u64,
        values: &mut Values,
    ) -> Result<()> {
        match role {
            Role::None => {}
            Role::Numbers(input, _) => values.inputs[input] = self.input(at, column)?,
            Role::Category(input, index) => {
                values.inputs[input] = self.new_category(at, index, column)? as f32;
            }
            Role::Date(input, parts) => {
                let date = self.date(at, column, parts)?;
                values.inputs[input..][..parts].copy_from_slice(&date[..parts]);
            }
            Role::Label => values.label = Some(self.new_label(at, column)?),
            Role::Value(value) | Role::Binary(value) => values.targets[value] = self.value(at, column)?,
            Role::Weight => values.weight = Some(self.weight(at, column)?),
            Role::Group => values.group = Some(self.group(at, column)?),
            Role::Time => values.time = Some(self.time(at, column)?),
            Role::Id => values.id = Some(self.table.text(at, column)?.to_owned()),
            Role::Counted(first) => return Err(self.no_row_number(at, column, first + before as f64)),
        }
        Ok(())
    }

    /// The question about a column that was ignored because it counts the rows, but does not count this one.
    fn no_row_number(&self, at: &At<'_>, column: usize, expected: f64) -> Error {
        let names = self.table.names.as_ref();
        let name = names.map_or_else(|| column.to_string(), |names| printable_name(names[column].as_bytes()));
        let question = format!(
            "is column {name} an input? It counts the rows, but not in row {}: expected {expected}, found {}",
            at.line(),
            quote(at.row.cell(column))
        );
        Error::Undecided { path: at.name().to_owned(), setting: "include", question }
    }

    fn new_category(&mut self, at: &At<'_>, index: usize, column: usize) -> Result<u32> {
        let (table, cell) = (&self.table, at.row.cell(column));
        let is_missing = table.dialect.is_missing(cell);
        if is_missing && table.refuses_missing {
            return Err(table.cell_error(at, column, "a category (--missing error refuses missing values)"));
        }
        // A header among the rows has a new value in every column.
        table.refuse_header(at)?;
        if is_missing {
            return Ok(self.categories[index].insert(cell, MISSING));
        }
        if matches!(table.dialect.kind(cell), Kind::Number(_)) && !table.columns.categorical.contains(&column)
        {
            let expected = "text, as in the first rows (a number among text)";
            self.doubt(column, |parser| {
                parser.table.cell_error(at, column, expected).with_kind(DataFault::TextAndNumbers)
            });
        }
        let number = self.categories[index].add(cell, at.line());
        number.map_err(|expected| self.table.cell_error(at, column, &expected))
    }

    /// The parts of a date; NaN if it is missing.
    fn date(&mut self, at: &At<'_>, column: usize, parts: usize) -> Result<[f32; PARTS.len()]> {
        let cell = at.row.cell(column);
        match date(cell).filter(|date| parts == PARTS.len() || date[3] == 0.0) {
            Some(date) => Ok(date),
            None if is_zero_date(cell) => {
                self.table.zero_dates.fetch_add(1, Ordering::Relaxed);
                self.missing_number(at, column).map(|missing| [missing; PARTS.len()])
            }
            None if self.table.dialect.is_missing(cell) => {
                self.without_number(at, column, "a date").map(|missing| [missing; PARTS.len()])
            }
            None if self.table.may_be_header(at) => Err(self.table.header_error(at, column, "a date")),
            None => {
                let time = if parts == PARTS.len() { "" } else { " without a time of day" };
                let rows = if self.table.is_like_another { "training table" } else { "first rows" };
                let expected = format!(
                    "a date{time} such as 2026-11-22, as in the {rows} (use --categorical to treat the column as text in training, or --missing-marker to name a text that stands for a missing date)"
                );
                Err(self.table.cell_error(at, column, &expected))
            }
        }
    }

    fn new_label(&mut self, at: &At<'_>, column: usize) -> Result<u32> {
        let cell = at.row.cell(column);
        let is_missing = self.table.dialect.is_missing(cell);
        if is_missing {
            let may_be_label = !cell.trim_ascii().is_empty() && !self.table.dialect.is_said_missing(cell);
            let expected = match may_be_label {
                true => "a label (every row needs one; use --missing-markers \"\" if this text is one)",
                false => "a label (every row needs one)",
            };
            self.without_target(at, column, expected);
            return Ok(self.labels.missing(cell, at.line()));
        }
        self.table.refuse_header(at)?;
        let number = self.labels.add(cell, at.line());
        number.map_err(|expected| self.table.cell_error(at, column, &expected))
    }

    /// Postpones the decision on a row without a target to the end of the table, unless such rows are left out.
    fn without_target(&mut self, at: &At<'_>, column: usize, expected: &str) {
        if !self.table.columns.drops_missing_target {
            self.doubt(column, |parser| {
                parser.table.cell_error(at, column, expected).with_kind(DataFault::NoTarget)
            });
        }
    }

    /// Parses a value to predict; NaN if it is missing.
    fn value(&mut self, at: &At<'_>, column: usize) -> Result<f32> {
        if !self.table.dialect.is_missing(at.row.cell(column)) {
            if self.table.columns.are_labels {
                return Err(self.table.cell_error(at, column, "a label of 0 or 1 (or false or true)"));
            }
            let units = self.table.columns.with_units.iter().find(|(with, _)| *with == column);
            return match units.and_then(|(_, units)| units.number(at.row.cell(column))) {
                Some(number) => Ok(number),
                None => self.number(at, column, "a value to predict"),
            };
        }
        self.without_target(at, column, "a value to predict (every row needs one)");
        Ok(f32::NAN)
    }

    /// Parses a cell as a finite number.
    fn number(&self, at: &At<'_>, column: usize, what: &str) -> Result<f32> {
        let number = float(at.row.cell(column), self.table.dialect.numbers);
        number.map_err(|fault| match self.table.other_mark(at.row.cell(column)) {
            Some(hint) => {
                let expected = format!("{what}: {fault} ({hint})");
                self.table.cell_error(at, column, &expected).with_kind(DataFault::DecimalMark)
            }
            None => self.table.cell_error(at, column, &format!("{what}: {fault}")),
        })
    }

    /// The weight of the row in the loss.
    fn weight(&self, at: &At<'_>, column: usize) -> Result<f32> {
        let weight = self.number(at, column, "the weight of a row")?;
        if weight < 0.0 {
            return Err(self.table.cell_error(at, column, "a weight of 0 or more"));
        }
        Ok(weight)
    }

    /// The number of the row's group. A row without a group forms its own group.
    fn group(&mut self, at: &At<'_>, column: usize) -> Result<u32> {
        let cell = at.row.cell(column);
        let dialect = &self.table.dialect;
        let number = self.groups.number(plain(cell, dialect.numbers.point), dialect.is_missing(cell));
        number.ok_or_else(|| self.table.cell_error(at, column, "fewer groups"))
    }

    /// The time of the row.
    fn time(&self, at: &At<'_>, column: usize) -> Result<f64> {
        let found = time(at.row.cell(column), self.table.dialect.numbers);
        let expected =
            "a time: a number, or a date such as 2026-11-22, 2026/11/22 10:30 or 2026-11-22T10:30:00+02:00";
        found.ok_or_else(|| self.table.cell_error(at, column, expected))
    }

    /// The error about a cell that is not a number.
    fn no_number(&self, at: &At<'_>, column: usize, fault: &str) -> Error {
        let (table, cell) = (&self.table, at.row.cell(column));
        if table.may_be_header(at) {
            return table.header_error(at, column, "a number");
        }
        let is_thousands = table.dialect.numbers.point == b'.' && grouped(cell.trim_ascii(), b'.').is_some();
        let (expected, kind) = match table.other_mark(cell).filter(|_| !is_thousands) {
            Some(hint) => (format!("{fault} ({hint})"), Some(DataFault::DecimalMark)),
            None if table.is_like_another && fault == "a number" && !is_thousands => {
                let hint = "as in the training table (or does this text stand for a missing value? Then use --missing-marker)";
                (format!("{fault}, {hint}"), Some(DataFault::MaybeMissing))
            }
            None => expected_feature(cell, fault),
        };
        let error = table.cell_error(at, column, &expected);
        match kind {
            Some(kind) => error.with_kind(kind),
            None => error,
        }
    }

    /// Parses an input number, which may be a marker of missing values; NaN if it is missing.
    fn input(&mut self, at: &At<'_>, column: usize) -> Result<f32> {
        let fault = float(at.row.cell(column), self.table.dialect.numbers).err().unwrap_or("a number");
        self.without_number(at, column, fault)
    }

    /// The value of a cell that is not a number: NaN if it is missing, or else an error or a doubt.
    fn without_number(&mut self, at: &At<'_>, column: usize, fault: &str) -> Result<f32> {
        let (table, cell) = (&self.table, at.row.cell(column));
        let is_marker =
            || float(cell, table.dialect.numbers).is_ok_and(|value| table.missing_numbers.contains(&value));
        if !table.dialect.is_missing(cell) && !is_marker() {
            let error = self.no_number(at, column, fault);
            let is_text = matches!(&error, Error::Fault { kind: DataFault::TextAndNumbers, .. });
            // Text in the first row is a header.
            if !is_text || at.line() == 1 {
                return Err(error);
            }
            self.table.refuse_header(at)?;
            self.doubt(column, |_| error);
            return Ok(f32::NAN);
        }
        self.missing_number(at, column)
    }

    /// Returns NaN for a missing number, or an error if missing numbers are refused.
    fn missing_number(&mut self, at: &At<'_>, column: usize) -> Result<f32> {
        let (table, cell) = (&self.table, at.row.cell(column));
        if table.refuses_missing {
            return Err(table.cell_error(at, column, "a number (--missing error refuses missing values)"));
        }
        if matches!(self.missing, FirstMissing::None) {
            let missing = Missing { place: table.place(at, column), found: quote(cell) };
            self.missing = FirstMissing::Here(missing);
        }
        Ok(f32::NAN)
    }
}
