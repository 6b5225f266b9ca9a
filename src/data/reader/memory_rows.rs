//! Rows in memory, as a table that has been read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{Form, Reader, State, TableForm};
use crate::data::columns::categories::{Dictionary, MISSING};
use crate::data::columns::classes::{Classes, MOST_LABELS};
use crate::data::columns::label_type::LabelType;
use crate::data::columns::labels::Label;
use crate::data::columns::schema::{Column, Schema};
use crate::data::dataset::{Features, is_byte, reserve, rows};
use crate::data::reading::table::{Missing, Table};
use crate::error::{Error, Place, Result};

/// The values of rows, [rows, inputs], in row-major order.
pub(crate) struct MemoryCells {
    /// Values per row.
    pub inputs: usize,
    /// The values; NaN for a missing value.
    pub values: Vec<f32>,
    /// The columns of categories, whatever numbers they contain, in ascending order.
    pub categorical: Vec<usize>,
    /// For each of these columns, the texts that its numbers index; `None` if the numbers themselves are the
    /// categories.
    pub texts: Vec<Option<MemoryTexts>>,
}

/// The texts of a column of categories.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MemoryTexts {
    pub texts: Vec<String>,
    /// The type of the texts, if they are typed.
    pub label_type: Option<LabelType>,
}

/// The targets of rows in memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MemoryTargets {
    /// The different labels, each with the row of its first appearance, counted from 1, and the label of each row.
    Labels {
        /// The labels in the order of appearance.
        texts: Vec<(String, u64)>,
        /// The index of each row's label.
        numbers: Vec<u32>,
    },
    /// Given classes, whatever their names look like; some may have no rows.
    Classes {
        /// The names, all different.
        names: Vec<String>,
        /// The index of each row's class.
        numbers: Vec<u32>,
        /// The type of the labels, if they are typed.
        label_type: Option<LabelType>,
    },
    /// Values to predict.
    Values {
        /// Values per row.
        columns: usize,
        /// [rows, columns]
        values: Vec<f32>,
    },
}

/// Rows in memory with their targets and weights, all of the same number; weights may be empty.
pub(crate) struct MemoryRows {
    /// The name of the inputs in messages.
    pub name: PathBuf,
    /// The name of the targets in messages.
    pub targets_name: PathBuf,
    /// The column of each input.
    pub columns: Vec<Column>,
    /// The number of positions.
    pub positions: usize,
    /// The first input of each column of dates, and the number of its parts.
    pub dates: Vec<(usize, usize)>,
    /// The time zones of the dates, as in a [`Schema`].
    pub zones: Vec<(usize, Option<String>)>,
    /// The inputs.
    pub cells: MemoryCells,
    /// The targets of the rows.
    pub targets: MemoryTargets,
    /// The names of the target columns; may be empty.
    pub target_names: Vec<String>,
    /// The weight of each row in the loss; if empty, all weights are 1.
    pub weights: Vec<f32>,
    /// The keys that keep rows together in a split.
    pub kept_together: KeptTogether,
}

/// The keys that keep rows together in a split: at most one of the lists is not empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct KeptTogether {
    /// The group of each row, numbered from 0.
    pub groups: Vec<u32>,
    /// The time of each row; later rows are held out.
    pub times: Vec<f64>,
    /// For each row, the number of the row that it copies, from 0.
    pub copies: Vec<u32>,
}

impl KeptTogether {
    /// The keys of these rows, in this order.
    pub(crate) fn taken(&self, numbers: &[u32]) -> Self {
        let Self { groups, times, copies } = self;
        Self {
            groups: rows(groups, 1, numbers),
            times: rows(times, 1, numbers),
            copies: rows(copies, 1, numbers),
        }
    }
}

impl MemoryCells {
    /// Converts the values to the form of a table in a reader: bytes if all values are bytes, and categories as numbers
    /// of one dictionary per column.
    ///
    /// # Errors
    /// [`Error::Data`], with the name `name`, for more different categories than a table may have.
    pub(crate) fn features(self, name: &Path) -> Result<(Features, Vec<Dictionary>)> {
        let Self { inputs, mut values, categorical, texts } = self;
        // Turns -0 into 0, as in parsed text.
        values.iter_mut().for_each(|value| *value += 0.0);
        let mut dictionaries = Vec::new();
        for (column, texts) in categorical.into_iter().zip(texts) {
            let (mut numbers, mut labels) = (HashMap::new(), Vec::new());
            for (value, row) in values.iter_mut().skip(column).step_by(inputs).zip(1..) {
                let number = match *value {
                    value if value.is_nan() => MISSING,
                    value => *numbers.entry(value.to_bits()).or_insert_with(|| {
                        let text = texts.as_ref().map(|texts| texts.texts[value as usize].clone());
                        labels.push(Label { text: text.unwrap_or_else(|| value.to_string()), row });
                        labels.len() as u32
                    }),
                };
                *value = number as f32;
            }
            if let Some(label) = labels.get(MOST_LABELS) {
                let place = Place { row: Some(label.row), column: Some(column + 1), name: None };
                let expected = format!("at most {MOST_LABELS} different categories");
                return Err(Error::data(name, place, expected, &label.text));
            }
            let label_type = texts.and_then(|texts| texts.label_type);
            dictionaries.push(Dictionary { labels, label_type });
        }
        if !values.iter().all(is_byte) {
            return Ok((Features::Floats(values), dictionaries));
        }
        let mut bytes = Vec::new();
        reserve(&mut bytes, values.len(), name)?;
        bytes.extend(values.iter().map(|value| *value as u8));
        Ok((Features::Bytes(bytes), dictionaries))
    }
}

impl Reader {
    /// Makes a complete reader of these rows, like a table whose columns are the inputs followed by the targets. At
    /// most `threads` threads scan its columns, by default one per core.
    ///
    /// # Errors
    /// [`Error::Data`] for more different labels or categories than a table may have; [`Error::Config`] if memory
    /// cannot hold the rows.
    pub(crate) fn in_memory(rows: MemoryRows, threads: Option<usize>) -> Result<Self> {
        let MemoryRows {
            name,
            targets_name,
            columns: placed,
            positions,
            dates,
            zones,
            cells,
            targets,
            target_names,
            weights,
            kept_together: KeptTogether { groups, times, copies },
        } = rows;
        let (inputs, count) = (cells.inputs, cells.values.len() / cells.inputs);
        let missing = cells.values.iter().position(|value| value.is_nan()).map(|at| {
            let (row, column) = (Some((at / inputs) as u64 + 1), Some(at % inputs + 1));
            (None, Missing { place: Place { row, column, name: None }, found: "NaN".to_owned() })
        });
        let categories = cells.categorical.clone();
        let (features, dictionaries) = cells.features(&name)?;
        let mut table = Table { features, dictionaries, weights, groups, times, missing, ..Table::default() };
        let are_classes = matches!(targets, MemoryTargets::Classes { .. });
        let too_many = |text: &str, row| {
            let expected = format!("at most {MOST_LABELS} different labels: classification needs classes");
            let (path, place) = (targets_name.clone(), Place { row, ..Place::default() });
            Error::data(path, place, expected, text)
        };
        let columns = match targets {
            MemoryTargets::Values { columns, values } => {
                table.values = values;
                columns
            }
            MemoryTargets::Labels { texts, numbers } => {
                table.names = texts.into_iter().map(|(text, row)| Label { text, row }).collect();
                table.numbers = numbers;
                0
            }
            MemoryTargets::Classes { names, numbers, label_type } => {
                table.names = names.into_iter().map(|text| Label { text, row: 0 }).collect();
                (table.classes, table.class_of) = Classes::from_typed(&table.names, label_type);
                table.numbers = numbers;
                0
            }
        };
        if let Some(Label { text, row }) = table.names.get(MOST_LABELS) {
            return Err(too_many(text, Some(*row).filter(|_| !are_classes)));
        }
        let target =
            |index: usize| Column { name: target_names.get(index).cloned(), position: positions + index };
        let schema = Schema {
            columns: positions + columns.max(1),
            inputs: placed,
            target: (columns == 0).then(|| target(0)),
            values: (0..columns).map(target).collect(),
            categories,
            dates,
            zones,
            ..Schema::default()
        };
        table.classify();
        let form = TableForm { schema, are_classes, copies, is_of_arrays: true, ..TableForm::default() };
        let form = Form::Table(Box::new(form));
        let reader = Self::empty(name, inputs, form, State::Complete);
        Ok(Self {
            labels_name: targets_name,
            values: columns,
            table,
            known_rows: Some(count),
            threads,
            ..reader
        })
    }
}
