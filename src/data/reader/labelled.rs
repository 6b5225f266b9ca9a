//! Checks of delivered labels: whether they are classes, and classes of a model; and rows without labels.

use std::collections::HashMap;

use strsim::jaro_winkler;

use super::{Form, Reader};
use crate::data::columns::LIKE;
use crate::data::columns::classes::{Classes, FEW_CLASSES, not_classes};
use crate::data::columns::schema::Column;
use crate::data::columns::target::undecided_task;
use crate::data::dataset::Dataset;
use crate::data::encoding::transform::Transform;
use crate::data::encoding::unknown::UnknownCells;
use crate::data::excerpt::{printable_name, quote};
use crate::data::reading::table::{Table, folded};
use crate::error::{DataFault, Error, Place, Result};

impl Reader {
    fn few_numbers(&self) -> Option<usize> {
        self.table_form()?.few_numbers
    }

    /// Whether labels that differ only in spelling are joined after the last row.
    pub(crate) fn folds_labels(&self) -> bool {
        self.values == 0 && self.schema().is_some_and(|schema| schema.folds_labels)
    }

    /// Refuses to leave out the rows of a text that may be a label. With a model, its training has settled this.
    ///
    /// # Errors
    /// [`Error::Undecided`].
    pub(crate) fn check_markers(&self) -> Result<()> {
        let Some(form) = self.table_form().filter(|form| !form.is_like_another && self.values == 0) else {
            return Ok(());
        };
        let is_said = |marker: &str| form.schema.missing.iter().any(|said| said.trim_ascii() == marker);
        let Some((marker, rows)) = self.table.doubtful_marker(is_said) else { return Ok(()) };
        let question = format!(
            "is {} a label of target {}, or does it stand for a missing one? It is in {rows} of {} rows",
            quote(marker.as_bytes()),
            shown(self.label_column()),
            self.table.numbers.len()
        );
        Err(Error::Undecided { path: self.labels_name.clone(), setting: "missing marker", question })
    }

    /// Whether rows without a target are left out after the last row.
    pub(crate) fn drops_missing_target(&self) -> bool {
        self.schema().is_some_and(|schema| schema.drops_missing_target)
    }

    /// The number of rows left out because they have no target.
    pub fn dropped_rows(&self) -> usize {
        self.dropped
    }

    /// The indices of the rows in the file, from 0, if rows without a target were left out.
    pub fn kept_rows(&self) -> Option<&[u32]> {
        self.kept.as_deref()
    }

    /// Whether the labels are numbers that are classes only because the first rows held few different ones.
    pub fn infers_classes(&self) -> bool {
        self.few_numbers().is_some() && self.classes().are_numbers()
    }

    /// Checks that the labels so far are usable classes.
    ///
    /// # Errors
    /// [`Error::Data`] if all labels are equal, or if they are values: fractions, over 1,000 different numbers, or a
    /// different label in more than half of the rows. [`Error::Undecided`] if numbers are classes only by the first
    /// rows, and there are over 20 of them.
    pub fn check_classes(&self) -> Result<()> {
        if self.values() > 0 {
            return Ok(());
        }
        let (classes, names) = (self.classes(), &self.table.names);
        let target = self.label_column();
        let error = |label: Option<usize>, expected: &str, found| {
            let (path, row) = label.map_or((None, None), |label| self.table.origin(label));
            let (path, place) = (path.unwrap_or(&self.labels_name), Place { row, ..place_of(target) });
            Err(Error::data(path, place, expected, found))
        };
        if classes.len() < 2 {
            let found = format!("only label {}", classes.some_names());
            let error: Result<()> = error(None, "labels of two or more classes", found);
            return error.map_err(|error| {
                if target.is_some() { error.with_kind(DataFault::OneTarget) } else { error }
            });
        }
        if let Some(names) = &self.table.class_names {
            let unnamed = classes.labels().iter().position(|label| names.name(label).is_none());
            return unnamed.map_or(Ok(()), |class| {
                let expected = format!("the {} (--class-names)", names.describe());
                let found = format!("label {}", quote(classes.labels()[class].as_bytes()));
                error(self.table.first_labels()[class], &expected, found)
            });
        }
        if self.table_form().is_some_and(|form| form.are_classes) {
            return Ok(());
        }
        let not_classes = not_classes(names, classes, self.labels().len());
        let means_classes = self.table_form().is_some_and(|form| form.means_classes);
        if let Some(few) = self.few_numbers()
            && classes.len() > FEW_CLASSES
            && not_classes.as_ref().map_or(!means_classes, |(_, label)| label.is_none())
        {
            let all = classes.len().to_string();
            return Err(undecided_task(&self.labels_name, &shown(target), few, &all));
        }
        let Some((found, label)) = not_classes else { return Ok(()) };
        let expected =
            "labels of classes (values are predicted by regression, with the loss mse, mae or huber)";
        error(label, expected, found).map_err(|error| error.with_kind(DataFault::Values))
    }

    /// Converts the labels to values to predict, after the last row, if numbers are classes only by the first rows and
    /// all rows hold too many different ones.
    pub fn labels_to_values(&mut self) {
        if !matches!(self.check_classes(), Err(Error::Undecided { .. })) {
            return;
        }
        let (Form::Table(form), table) = (&mut self.form, &mut self.table) else { return };
        let numbers =
            table.classes.names().iter().map(|name| name.parse().ok().filter(|it: &f32| it.is_finite()));
        let Some(numbers) = numbers.collect::<Option<Vec<f32>>>() else { return };
        table.values = table.labels.iter().map(|label| numbers[*label as usize]).collect();
        let Table { labels, classes, numbers, names, files, class_of, .. } = Table::default();
        (table.labels, table.classes, table.numbers) = (labels, classes, numbers);
        (table.names, table.files, table.class_of) = (names, files, class_of);
        form.schema.values.extend(form.schema.target.take());
        (form.few_numbers, self.values) = (None, 1);
    }

    /// As [`Reader::into_dataset`], with labels that are indices into these classes. Also returns the cells whose
    /// category no training row held, and the cells that miss a value in a column without missing values in training
    /// rows.
    ///
    /// # Errors
    /// Also [`Error::Data`] for an unknown label, and as [`Reader::refuse_header`].
    pub fn into_dataset_of(
        mut self,
        transform: &Transform,
        classes: &Classes,
    ) -> Result<(Dataset, UnknownCells)> {
        self.read_to_end()?;
        self.refuse_header(transform)?;
        if self.values() > 0 {
            return self.into_rows(transform);
        }
        self.take_classes(classes)?;
        self.into_rows(transform)
    }

    /// Makes the labels indices into these classes, after the last row.
    ///
    /// # Errors
    /// [`Error::Data`] for the first label of another class.
    pub(crate) fn take_classes(&mut self, classes: &Classes) -> Result<()> {
        let own = self.found_in(classes)?;
        self.table.labels.iter_mut().for_each(|label| *label = own[*label as usize]);
        self.table.classes = classes.clone();
        Ok(())
    }

    /// Checks that the labels so far are among these classes.
    ///
    /// # Errors
    /// [`Error::Data`] for the first label of another class.
    pub fn check_labels(&self, classes: &Classes) -> Result<()> {
        self.found_in(classes).map(|_| ())
    }

    /// Whether the classes of the labels so far are exactly these, in their order.
    pub fn has_classes(&self, classes: &Classes) -> bool {
        self.classes().len() == classes.len()
            && self.found_in(classes).is_ok_and(|found| found.into_iter().eq(0..classes.len() as u32))
    }

    /// The index among these classes of each class of the rows so far; an error for the first unknown class.
    fn found_in(&self, classes: &Classes) -> Result<Vec<u32>> {
        let find = classes.finder();
        let spelled = if self.folds_labels() { classes.names() } else { &[] };
        let spelled: HashMap<String, u32> = spelled.iter().map(|name| folded(name)).zip(0..).collect();
        let find = |name: &String| find(name).or_else(|| spelled.get(&folded(name)).copied());
        let own = self.classes().names().iter().map(find).enumerate();
        own.map(|(class, found)| found.ok_or_else(|| self.unknown_label(class, classes))).collect()
    }

    /// The column of the labels; `None` if they are in a separate file.
    fn label_column(&self) -> Option<&Column> {
        let schema = self.schema().filter(|_| self.labels_name == self.name)?;
        schema.target.as_ref()
    }

    fn unknown_label(&self, class: usize, classes: &Classes) -> Error {
        let name = &self.classes().names()[class];
        let likeness = |known: &&String| jaro_winkler(&known.to_lowercase(), &name.to_lowercase());
        let like = classes.names().iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        let like = like.filter(|known| likeness(known) > LIKE);
        let hint =
            like.map_or_else(String::new, |known| format!(" (did you mean {}?)", quote(known.as_bytes())));
        let found = format!("label {}{hint}", quote(name.as_bytes()));
        let expected = format!("labels of the training data ({})", classes.some_names());
        let target = self.label_column();
        let label = self.table.first_labels()[class];
        let (path, row) = label.map_or((None, None), |label| self.table.origin(label));
        let (path, place) = (path.unwrap_or(&self.labels_name), Place { row, ..place_of(target) });
        Error::data(path, place, expected, found)
    }
}

/// The name of a column of labels in a question, or else its index.
fn shown(column: Option<&Column>) -> String {
    let name = column.and_then(|column| column.name.as_deref()).filter(|name| !name.is_empty());
    let index = || column.map_or_else(String::new, |column| format!("column {}", column.position));
    name.map_or_else(index, |name| printable_name(name.as_bytes()))
}

/// The place of a column of a table; empty for images, which have no columns.
pub(crate) fn place_of(column: Option<&Column>) -> Place {
    let name = column.and_then(|column| column.name.as_deref());
    let name = name.map(|name| printable_name(name.as_bytes()).into());
    Place { row: None, column: column.map(|column| column.position + 1), name }
}
