//! Columns that hold text and numbers, which shows late.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::data::columns::IgnoredColumn;
use crate::data::reading::csv_table::CsvRows;
use crate::data::reading::locate::Source;
use crate::data::reading::options::ReadOptions;
use crate::data::reading::stream::Stream;
use crate::error::{Place, Result};

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

/// A table that can be read again.
#[derive(Debug, Clone)]
pub(crate) enum ReadableAgain {
    /// Files, the first and those that follow.
    Files(PathBuf, Vec<PathBuf>),
    /// Bytes in memory, and what they are called.
    Bytes(PathBuf, Arc<[u8]>),
}

impl ReadableAgain {
    /// The files of a source, if it is a table that can be read again.
    fn of_source(source: &Source) -> Option<Self> {
        let table = match source {
            Source::Csv { path } => Self::Files(path.clone(), Vec::new()),
            Source::Parts { paths } => Self::Files(paths.first()?.clone(), paths[1..].to_vec()),
            Source::Idx { .. } | Source::Folders { .. } => return None,
        };
        source.can_be_read_again().then_some(table)
    }

    /// The table from its start, and the files that follow.
    ///
    /// # Errors
    /// [`Error::Read`](crate::Error::Read).
    pub(crate) fn open(&self) -> Result<(Stream, &[PathBuf])> {
        match self {
            Self::Files(path, others) => Ok((Stream::open(path)?, others)),
            Self::Bytes(name, bytes) => Ok((Stream::of_bytes(name, Arc::clone(bytes))?, &[])),
        }
    }

    /// Its rows, as they are read with these options.
    ///
    /// # Errors
    /// Those of the first rows.
    pub(crate) fn rows(&self, options: &ReadOptions) -> Result<CsvRows> {
        let (stream, others) = self.open()?;
        CsvRows::open(stream, others, &options.format, &options.columns)
    }
}

/// What a reader needs to begin again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reopening {
    /// The table and how it is read, where it can be read again.
    pub again: Option<Box<(ReadableAgain, ReadOptions)>>,
    pub texts: Vec<MixedColumn>,
    /// Columns of text and numbers that were left out, since nearly all cells are different.
    pub different: Vec<IgnoredColumn>,
}

impl Reopening {
    pub(crate) fn new(source: &Source, options: &ReadOptions) -> Self {
        let again = ReadableAgain::of_source(source).map(|table| Box::new((table, options.clone())));
        Self { again, ..Self::default() }
    }

    /// Frees the text of a table in memory, whose rows are all there.
    pub(crate) fn forget_bytes(&mut self) {
        self.again.take_if(|again| matches!(again.0, ReadableAgain::Bytes(..)));
    }
}
