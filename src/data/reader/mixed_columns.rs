//! Columns that hold text and numbers, which shows late.

use std::fmt;
use std::path::PathBuf;

use crate::data::reading::locate::Source;
use crate::data::reading::options::ReadOptions;
use crate::error::Place;

/// The first cell that has made categories of a column: text among numbers, or a number among text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixedColumn {
    /// The column's name, or else its index.
    pub column: String,
    /// The file.
    pub path: PathBuf,
    /// Where the cell stands in it.
    pub place: Place,
    /// The cell, as messages show it.
    pub cell: String,
}

impl fmt::Display for MixedColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, path, place, cell } = self;
        let row = place.row.unwrap_or_default();
        let path = path.display();
        write!(
            f,
            "column {column} holds numbers and text ({cell} in {path}, row {row}), so its cells are categories"
        )
    }
}

/// What a reader needs to begin again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reopening {
    /// The files and how they are read, where they can be read again.
    pub again: Option<Box<(Source, ReadOptions)>>,
    pub texts: Vec<MixedColumn>,
}

impl Reopening {
    pub(crate) fn new(source: &Source, options: &ReadOptions) -> Self {
        let is_table = matches!(source, Source::Csv { .. } | Source::Parts { .. });
        let can_begin_again = is_table && source.can_be_read_again();
        Self {
            again: can_begin_again.then(|| Box::new((source.clone(), options.clone()))),
            texts: Vec::new(),
        }
    }
}
