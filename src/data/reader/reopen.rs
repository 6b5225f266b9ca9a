//! What is learned about a table by reading it again, where its files can be read twice: a column of text and numbers becomes one of categories,
//! and rows without a target are counted.

use super::mixed_columns::{MixedColumn, ReadableAgain, Reopening};
use super::{Form, Reader};
use crate::data::columns::{IgnoredBecause, IgnoredColumn};
use crate::data::reading::options::ReadOptions;
use crate::data::reading::table::Table;
use crate::data::reading::text_cells::{Mixed, mixed_cells};
use crate::error::{DataFault, Error, Result};

impl Reader {
    /// The columns that are categories since they hold text and numbers, as far as the rows so far tell.
    pub fn mixed_columns(&self) -> &[MixedColumn] {
        &self.late.texts
    }

    /// Begins again with the column as one of categories, if the error says that it holds text and numbers, and these are more than
    /// a handful of slips. A column of a model stays what it is, and so do pixels; and text in the first row of a file is a header.
    pub(crate) fn begin_again(&mut self, mut error: Error) -> Result<()> {
        self.count_without_target(&mut error);
        let (Error::Fault { kind: DataFault::TextAndNumbers, error: cause }, Some(again)) =
            (&error, &self.late.again)
        else {
            return Err(error);
        };
        let Error::Data { path, place, found, .. } = &**cause else { return Err(error) };
        let (table, mut options) = (**again).clone();
        let position = place.column.map(|column| column - 1);
        let mut inputs = self.schema().into_iter().flat_map(|schema| &schema.inputs);
        let column =
            inputs.find(|column| Some(column.position) == position).map(|column| match &column.name {
                Some(name) if !name.is_empty() => name.clone(),
                _ => column.position.to_string(),
            });
        let column =
            column.filter(|column| place.row != Some(1) && !options.columns.categorical.contains(column));
        let Some(column) = column.filter(|_| !self.holds_images()) else {
            return Err(error);
        };
        let mixed = match position {
            Some(position) => mixed_cells(table.rows(&options)?, position),
            None => Mixed::Categories,
        };
        let (mut texts, mut different) =
            (std::mem::take(&mut self.late.texts), std::mem::take(&mut self.late.different));
        match mixed {
            Mixed::Mistakes(error) => return Err(error),
            Mixed::DifferentTexts if options.columns.only.is_empty() => {
                options.columns.exclude.push(column.clone());
                different.push(IgnoredColumn { column, why: IgnoredBecause::DifferentTexts });
            }
            Mixed::DifferentTexts | Mixed::Categories => {
                let (path, place, cell) = (path.clone(), place.clone(), found.clone());
                texts.push(MixedColumn { column: column.clone(), path, place, cell });
                options.columns.categorical.push(column);
            }
        }
        *self = Self::open_again(table, &options)?;
        if let Form::Table(form) = &mut self.form {
            form.left_out.extend_from_slice(&different);
        }
        (self.late.texts, self.late.different) = (texts, different);
        Ok(())
    }

    /// Opens a table that can be read again.
    pub(crate) fn open_again(table: ReadableAgain, options: &ReadOptions) -> Result<Self> {
        let (stream, others) = table.open()?;
        let reader = Self::csv(stream, others, options)?;
        let again = Some(Box::new((table, options.clone())));
        Ok(Self { late: Reopening { again, ..Reopening::default() }, ..reader })
    }

    /// Adds to the error for a row without a target how many rows have none.
    fn count_without_target(&mut self, whole: &mut Error) {
        let (Error::Fault { kind: DataFault::NoTarget, error }, Some(again)) =
            (&mut *whole, &self.late.again)
        else {
            return;
        };
        let Error::Data { found, .. } = &mut **error else { return };
        let (table, mut options) = (**again).clone();
        options.columns.drop_missing_target = true;
        options.columns.schema.iter_mut().for_each(|schema| schema.drops_missing_target = true);
        // Nobody asks for these rows any more.
        self.table = Table::default();
        let read = |mut reader: Self| reader.read_to_end().map(|()| (reader.dropped, reader.rows()));
        // What else is wrong is behind this row.
        match Self::open_again(table, &options).and_then(read) {
            Ok((without, rows)) => {
                let have = if without == 1 { "has" } else { "have" };
                *found += &format!(" ({without} of {} rows {have} no target)", without + rows);
            }
            Err(doubt @ Error::Undecided { setting: "missing marker", .. }) => *whole = doubt,
            Err(_) => {}
        }
    }

    /// Reads what is to be like a training table by what this has become since its first rows: see [`Reader::mixed_columns`].
    ///
    /// # Errors
    /// Those of [`Reader::open`]; [`Error::Data`] if this can be read only once.
    pub fn follow(&mut self, training: &Self) -> Result<()> {
        let categories = |reader: &Self| reader.schema().map(|schema| schema.categories.clone());
        let Some(text) = training.late.texts.last().filter(|_| categories(self) != categories(training))
        else {
            return Ok(());
        };
        let Some(again) = self.late.again.take() else {
            let expected = format!(
                "a number ({} cannot be read again, so the column cannot become text)",
                self.name.display()
            );
            let MixedColumn { path, place, cell, .. } = text.clone();
            return Err(Error::data(path, place, expected, cell).with_kind(DataFault::TextAndNumbers));
        };
        let (table, mut options) = *again;
        options.columns.schema = training.schema().cloned();
        *self = Self::open_again(table, &options)?;
        Ok(())
    }
}
