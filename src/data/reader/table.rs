//! Tables of text: read completely before all rows determine their columns. Rows of pixels, and rows to predict, are
//! delivered while later rows are read.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::labelled::place_of;
use super::{Form, Reader, State, TableForm};
use crate::data::columns::classes::Classes;
use crate::data::columns::odd_cells::MixedColumn;
use crate::data::columns::{LaterRows, Target};
use crate::data::dataset::BLOCK_ROWS;
use crate::data::order::sorted::{is_sorted, is_sorted_in};
use crate::data::reading::all_rows::{Mixed, later_rows, mixed_kinds};
use crate::data::reading::csv_table::CsvTable;
use crate::data::reading::delivery::{Delivery, Times};
use crate::data::reading::first_rows::FirstRows;
use crate::data::reading::options::ReadOptions;
use crate::data::reading::row_parser::Doubt;
use crate::data::reading::stream::Stream;
use crate::data::reading::table::Table;
use crate::data::reading::text::Text;
use crate::error::{DataFault, Error, Place, Result};

/// Rows of a first block in which an order by label is searched.
const SPAN: usize = BLOCK_ROWS / 16;

impl Reader {
    /// Opens the table of this text, which the other files continue.
    pub(crate) fn csv(stream: Stream, others: &[PathBuf], options: &ReadOptions) -> Result<Self> {
        let (first_rows, mut text) = FirstRows::open(stream, others, options)?;
        if !first_rows.are_to_predict() {
            return Self::whole(first_rows, text, options);
        }
        let table = Arc::new(first_rows.table(&LaterRows::default())?);
        text.begin()?;
        let (reader, delivery) = Self::of_table(&table, &Arc::new(Mutex::new(text)), &first_rows, options)?;
        Ok(Self { state: State::Reading(Mutex::new(delivery).into()), ..reader })
    }

    /// Reads a table completely: while the text is read, its rows are parsed with the columns derived from the first
    /// rows; if all rows yield other columns, they are parsed again from memory. Stops after the first block if its
    /// rows are pixels.
    fn whole(mut first_rows: FirstRows, mut text: Text, options: &ReadOptions) -> Result<Self> {
        let keeps = text.keep(first_rows.length)?;
        let mut later = LaterRows::default();
        if first_rows.open_columns().iter().any(|columns| !columns.is_empty()) {
            text.read_all();
            later = later_rows(&first_rows, text.kept());
        }
        let text = Arc::new(Mutex::new(text));
        let mut mixed = Vec::new();
        loop {
            let table = Arc::new(first_rows.table(&later)?);
            locked(&text).begin()?;
            let (mut reader, mut delivery) = Self::of_table(&table, &text, &first_rows, options)?;
            if !options.read_all && first_rows.may_be_pixels(&table) {
                let has_more = reader.fill(&mut delivery, false)?;
                if has_more && !delivery.has_doubts() && reader.begins_with_pixels() {
                    // A thread that waits for input holds the lock of the text.
                    keeps.store(false, Ordering::Relaxed);
                    delivery.expect_pixels();
                    let state = State::Reading(Mutex::new(delivery).into());
                    return Ok(Self { state, is_of_pixels: true, ..reader });
                }
            }
            let read = reader.fill(&mut delivery, true);
            let (without_target, doubts): (Vec<Doubt>, Vec<Doubt>) =
                delivery.take_doubts().into_iter().partition(Doubt::is_without_target);
            let without_target = without_target.into_iter().next().map(|doubt| doubt.error);
            match read {
                Err(Error::Undecided { setting: "task", .. })
                    if first_rows.wanted.infer_values && !reader.holds_images() && {
                        delivery.join();
                        locked(&text).begin_again()
                    } =>
                {
                    let target = table.columns.target.map(|target| table.name_of(target));
                    first_rows.wanted.target = Target::Values(target.into_iter().collect());
                    continue;
                }
                Err(error @ Error::Interrupted) => return Err(error),
                // A row without a target precedes the invalid row.
                Err(error) => return Err(without_target.unwrap_or(error)),
                Ok(_) => {}
            }
            if !doubts.is_empty() {
                reader.judge(doubts, &table, &text, &first_rows, (&mut later, &mut mixed))?;
                let decided = first_rows.table(&later)?;
                if !decided.columns.parse_like(&table.columns) {
                    locked(&text).begin_again();
                    continue;
                }
                let zero_dates = Arc::clone(&table.zero_dates);
                reader.form = Form::Table(form(&CsvTable { zero_dates, ..decided }, &first_rows).into());
            }
            drop(text);
            reader.mixed = mixed;
            reader.complete(without_target)?;
            if first_rows.wanted.infer_values && !reader.holds_images() {
                reader.labels_to_values();
            }
            return Ok(reader);
        }
    }

    /// Makes a reader without rows, and the delivery of this table's rows.
    fn of_table(
        table: &Arc<CsvTable>,
        text: &Arc<Mutex<Text>>,
        first_rows: &FirstRows,
        options: &ReadOptions,
    ) -> Result<(Self, Delivery)> {
        let times = options.timed.then(Times::default);
        let delivery = Delivery::table(table, text, first_rows, options.threads, times.as_ref())?;
        let name = first_rows.path.to_path_buf();
        let (inputs, values) = (table.columns.width(), table.columns.values.len());
        let reader = Self::empty(name, inputs, Form::Table(form(table, first_rows).into()), State::Complete);
        let likely_rows = first_rows.expected_rows();
        let rows = Table { class_names: options.class_names.clone(), ..Table::default() };
        let (threads, transposes) = (options.threads, options.images.transpose);
        let reader = Self { table: rows, values, likely_rows, times, threads, transposes, ..reader };
        Ok((reader, delivery.stopped_by(options.stop.as_ref())))
    }

    /// Decides by all rows on the types of columns with doubtful cells, some of which may be mistakes.
    fn judge(
        &self,
        doubts: Vec<Doubt>,
        table: &CsvTable,
        text: &Mutex<Text>,
        first_rows: &FirstRows,
        (later, mixed): (&mut LaterRows, &mut Vec<MixedColumn>),
    ) -> Result<()> {
        let columns: Vec<usize> = doubts.iter().map(|doubt| doubt.column).collect();
        let kinds = mixed_kinds(table, locked(text).kept(), &columns);
        for (Doubt { column, error }, kind) in doubts.into_iter().zip(kinds) {
            match kind {
                _ if self.holds_images() => return Err(error),
                Mixed::Mistakes(error) => return Err(error),
                Mixed::DifferentTexts if first_rows.wanted.only.is_empty() => later.different.push(column),
                Mixed::DifferentTexts | Mixed::Categories => {
                    later.mixed.push(column);
                    if let Error::Fault { error, .. } = error
                        && let Error::Data { path, place, found: cell, .. } = *error
                    {
                        mixed.push(MixedColumn { column: table.name_of(column), path, place, cell });
                    }
                }
            }
        }
        Ok(())
    }

    /// Leaves out or refuses rows without a target, and joins spellings of labels. Requires all rows.
    fn complete(&mut self, without_target: Option<Error>) -> Result<()> {
        if self.drops_missing_target() || without_target.is_some() {
            self.check_markers()?;
            let rows = self.rows();
            self.kept = self.table.drop_without_target(self.inputs, self.values);
            self.dropped = rows - self.rows();
            if let Some(error) = without_target {
                return Err(counted(error, self.dropped, rows));
            }
        }
        if self.folds_labels() {
            self.table.join_spellings();
        }
        Ok(())
    }

    /// Whether the rows of the first block are images of bytes, of several classes, and not ordered by label.
    fn begins_with_pixels(&self) -> bool {
        self.has_bytes()
            && self.holds_images()
            && self.classes().len() > 1
            && !is_sorted_in(self.labels(), SPAN)
    }

    /// Checks that the rows so far, which are trained on as they arrive, have only the labels of the first block, and
    /// are not ordered by label.
    ///
    /// # Errors
    /// [`Error::Data`].
    pub(crate) fn check_later_labels(&self, known: &Classes) -> Result<()> {
        let column = self.schema().and_then(|schema| schema.target.as_ref());
        let error = |row, expected: String, found: String| {
            let place = Place { row, ..place_of(column) };
            Err(Error::data(self.name(), place, expected, found).with_kind(DataFault::LaterRow))
        };
        if self.classes() != known {
            let find = known.finder();
            let new = self.table.names.iter().find(|label| find(&label.text).is_none());
            let expected = format!("labels of the first 4,096 rows ({})", known.some_names());
            let found = new.map_or_else(String::new, |label| format!("label {}", label.text));
            return error(new.map(|label| label.row), expected, found);
        }
        let is_looked_at = self.is_complete() || (self.rows() / BLOCK_ROWS).is_power_of_two();
        if is_looked_at && is_sorted(self.labels()) {
            let expected = "rows in an order that has nothing to do with their labels";
            return error(None, expected.to_owned(), "rows that are sorted by label".to_owned());
        }
        Ok(())
    }

    /// Columns treated as categories because they hold both text and numbers.
    pub fn mixed_columns(&self) -> &[MixedColumn] {
        &self.mixed
    }
}

/// Collects the properties of a table other than its rows.
fn form(table: &CsvTable, first_rows: &FirstRows) -> TableForm {
    let columns = &table.columns;
    TableForm {
        schema: table.schema(),
        written: table.format(),
        image: table.image,
        left_out: table.left_out(),
        as_text: table.as_text(),
        notices: columns.notices.clone(),
        identifiers: columns.identifiers.iter().map(|column| table.name_of(*column)).collect(),
        few_numbers: columns.few_numbers,
        means_classes: columns.means_classes,
        zero_dates: Arc::clone(&table.zero_dates),
        is_like_another: table.is_like_another,
        is_header_open: first_rows.may_lack_header(),
        ..TableForm::default()
    }
}

/// Adds the number of rows without a target to an error about such a row.
fn counted(mut error: Error, without: usize, rows: usize) -> Error {
    if let Error::Fault { error, .. } = &mut error
        && let Error::Data { found, .. } = &mut **error
    {
        let have = if without == 1 { "has" } else { "have" };
        *found += &format!(" ({without} of {rows} rows {have} no target)");
    }
    error
}

fn locked(text: &Mutex<Text>) -> MutexGuard<'_, Text> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}
