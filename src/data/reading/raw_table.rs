//! A table as it is written, all columns, nothing left out.

use std::path::{Path, PathBuf};

use super::csv_table::CsvRows;
use super::pieces::At;
use super::records::Cells;
use super::stream::Stream;
use crate::data::columns::target::named_target;
use crate::data::columns::{Selection, Target};
use crate::data::dialect::{Dialect, Format, Kind};
use crate::error::Result;
use crate::memory::check_memory;

/// All cells of a table.
pub struct RawTable {
    names: Option<Vec<String>>,
    columns: usize,
    /// The cells, row after row, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
    dialect: Dialect,
    /// Which columns hold nothing but numbers and missing cells.
    numeric: Vec<bool>,
}

impl RawTable {
    /// Reads a table of a file, and of the `others` whose rows follow: numbers stay as they are written.
    ///
    /// # Errors
    /// Those of the data.
    pub fn read(path: &Path, others: &[PathBuf], format: &Format) -> Result<Self> {
        // One column is enough to ask for: all are read.
        let wanted =
            Selection { target: Target::Absent, only: vec!["-1".to_owned()], ..Selection::default() };
        let CsvRows { table: about, first, mut pieces, .. } =
            CsvRows::open(Stream::open(path)?, others, format, &wanted)?;
        let (columns, dialect) = (about.columns.count, about.dialect.clone());
        let mut table = Self {
            names: about.names.clone(),
            columns,
            text: Vec::new(),
            ends: Vec::new(),
            dialect,
            numeric: vec![true; columns],
        };
        let delimiter = about.dialect.delimiter;
        let mut cells = Cells::new(delimiter);
        let mut piece = Some(first);
        while let Some(rows) = piece {
            for (start, row) in rows.each_row(delimiter) {
                let at = At { row: cells.split(row), piece: &rows, start };
                about.check_cells(&at)?;
                (0..columns).try_for_each(|column| about.text(&at, column).map(drop))?;
                table.push(at.row.cells())?;
            }
            piece = pieces.next()?;
        }
        Ok(table)
    }

    /// Adds a row of as many cells as there are columns.
    fn push<'a>(&mut self, cells: impl Iterator<Item = &'a [u8]>) -> Result<()> {
        for (numeric, cell) in self.numeric.iter_mut().zip(cells) {
            *numeric &= !matches!(self.dialect.kind(cell), Kind::Text);
            if self.text.capacity() < self.text.len() + cell.len() {
                let bytes = 2 * self.text.len() + cell.len();
                check_memory(bytes as u128, "a table as it is written")?;
            }
            self.text.extend_from_slice(cell);
            self.ends.push(self.text.len());
        }
        Ok(())
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.ends.len() / self.columns.max(1)
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The names of the columns, if the table has a header.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// Whether a column holds nothing but numbers and missing cells.
    pub fn is_numeric(&self, column: usize) -> bool {
        self.numeric[column]
    }

    /// A cell as it is written, but in a column of numbers with a decimal point, and empty where it is missing.
    pub fn cell(&self, row: usize, column: usize) -> String {
        let written = self.written(row, column);
        let text = String::from_utf8_lossy(written);
        match self.numeric[column] {
            false => text.into_owned(),
            true if self.dialect.is_missing(written) => String::new(),
            true => self.dialect.numbers.plain(text.trim()).trim_end_matches('.').to_owned(),
        }
    }

    /// A cell as a number, which may be infinite; nothing where it is missing, or text.
    pub fn number(&self, row: usize, column: usize) -> Option<f64> {
        self.dialect.number(self.written(row, column)).filter(|number| !number.is_nan())
    }

    /// Whether a cell is empty or stands for a missing value.
    pub fn is_missing(&self, row: usize, column: usize) -> bool {
        self.dialect.is_missing(self.written(row, column))
    }

    /// The column that is named like a target, or the first of MNIST's.
    pub fn likely_target(&self) -> Option<usize> {
        named_target(self.names(), self.columns)
    }

    fn written(&self, row: usize, column: usize) -> &[u8] {
        let place = row * self.columns + column;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[place]]
    }
}
