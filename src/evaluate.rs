//! Rows for evaluation of a model: rows of a file, or the rows held out of its training.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::data::data_paths;
use crate::data::{
    Dataset, Dictionary, Features, Format, ReadOptions, Reader, Scaling, Schema, Selection, Source, Split,
    Target, UnknownCells,
};
use crate::error::{Error, Place, Result};
use crate::memory::check_memory;
use crate::model::Model;
use crate::train::{TESTED_ROWS, TrainedRows, read_dataset_for};

/// Data for evaluation: files, or their rows that were held out for testing.
pub struct EvaluationSet {
    /// Files of the rows.
    pub source: Source,
    /// Evaluated part of the rows, if not all.
    part: Option<Part>,
    /// Checksum of the rows that the model was tested on, if they are evaluated and the model contains it.
    sum: Option<u32>,
}

impl EvaluationSet {
    /// Opens the files as a model reads them. `target` names the column of the labels or the values, if it
    /// differs from training.
    ///
    /// # Errors
    /// Errors of the data.
    pub fn open(&mut self, model: &Model, target: Option<&str>, format: &Format) -> Result<Reader> {
        if target.is_some() {
            self.sum = None;
        }
        let target = match target {
            None => Target::Auto,
            Some(name) if model.network.loss().of_classes() => Target::Column(name.to_owned()),
            Some(name) => Target::Values(vec![name.to_owned()]),
        };
        let columns = Selection { schema: model.data_schema.schema.clone(), target, ..Selection::default() };
        let images = model.data_schema.image_options();
        let mut read = ReadOptions { columns, format: format.clone(), images, ..ReadOptions::default() };
        if self.part.is_some() {
            // Columns by which rows were held out.
            let setting = |key: &str| model.settings.get(key).cloned();
            (read.columns.group, read.columns.time) = (setting("group"), setting("time"));
        }
        Reader::open(&self.source, &read)
    }

    /// Returns the rows as inputs of the model.
    ///
    /// # Errors
    /// Errors of the data.
    pub fn rows(&self, model: &Model, reader: Reader) -> Result<EvaluationRows> {
        self.rows_with(model, reader, |_, _| Ok(()))
    }

    /// Returns the same as [`EvaluationSet::rows`], and the rows as in the file: numbers as read, and
    /// category indices with their dictionaries. Needs memory for both.
    ///
    /// # Errors
    /// Errors of the data; [`Error::Config`] if memory is insufficient.
    pub fn rows_as_read(&self, model: &Model, reader: Reader) -> Result<(EvaluationRows, AsRead)> {
        let mut read = AsRead { features: Features::default(), dictionaries: Vec::new() };
        let rows = self.rows_with(model, reader, |features, dictionaries| {
            check_memory(features.len() as u128 * 4, "the rows of the report")?;
            read = AsRead { features: features.clone(), dictionaries: dictionaries.to_vec() };
            Ok(())
        })?;
        Ok((rows, read))
    }

    /// Returns the rows, after passing them to `show` as in the file.
    fn rows_with(
        &self,
        model: &Model,
        mut reader: Reader,
        show: impl FnOnce(&Features, &[Dictionary]) -> Result<()>,
    ) -> Result<EvaluationRows> {
        let mut name = data_paths::name(&self.source);
        let (mut numbers, mut warnings) = (None, Vec::new());
        let (data, unknown) = match &self.part {
            Some(part) => {
                let share = 100.0 * part.split.test;
                name += &format!(", the {share} % of the rows that were held out for testing");
                let (rows, of_file) = part.rows(model, &mut reader, self.sum)?;
                numbers = Some(match reader.kept_rows() {
                    Some(kept) => of_file.into_iter().map(|row| kept[row as usize]).collect(),
                    None => of_file,
                });
                show(&rows.features, reader.dictionaries())?;
                model.transform.rows(rows, reader.dictionaries())?
            }
            None => {
                // Rows that do not match are rejected below, before they are read.
                if reader.inputs() == model.transform.columns(model.network.columns()) {
                    reader.read_to_end()?;
                    numbers = reader.kept_rows().map(<[u32]>::to_vec);
                    if reader.dropped_rows() > 0 {
                        warnings.push(Warning::WithoutTarget(reader.dropped_rows()));
                    }
                    show(reader.view(Scaling::AsIs).features, reader.dictionaries())?;
                }
                let found = read_dataset_for(model, reader)?;
                if self.sum.is_some_and(|sum| TrainedRows::from_held_out(&found.0).sum != sum) {
                    let text = format!(
                        "{name}: expected the rows that the model was tested on, found others, or in another order; use --data to evaluate all rows of a file"
                    );
                    return Err(Error::Config(text));
                }
                found
            }
        };
        data.check_weights()?;
        if unknown.count() > 0 {
            warnings.push(Warning::Unknown {
                cells: unknown,
                schema: model.data_schema.schema.clone().map(Box::new),
            });
        }
        if self.part.is_none() && trained_on(model, &self.source, data.rows()) {
            let holds_out = model.settings.get("test_fraction").is_some_and(|share| share != "0");
            warnings.push(Warning::Trained { holds_out });
        }
        Ok(EvaluationRows { data, name, warnings, numbers })
    }
}

/// A warning about rows on which a model is evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// This number of rows without a target was left out.
    WithoutTarget(usize),
    /// Some cells contain values that no training row contains.
    Unknown {
        /// Number of cells by column.
        cells: UnknownCells,
        /// Names of the columns.
        schema: Option<Box<Schema>>,
    },
    /// The model was trained on some of the rows.
    Trained {
        /// Whether other rows were held out for testing.
        holds_out: bool,
    },
}

/// Rows to evaluate on.
pub struct EvaluationRows {
    /// Rows, as inputs of a model.
    pub data: Dataset,
    /// Name of the rows.
    pub name: String,
    /// Warnings about the rows.
    pub warnings: Vec<Warning>,
    /// Indices of the rows in the file, counted from 0, if not all of them.
    numbers: Option<Vec<u32>>,
}

impl EvaluationRows {
    /// Returns the number of a row in its file, counted from 1 without a header.
    pub fn number(&self, row: usize) -> u64 {
        1 + self.numbers.as_ref().map_or(row as u64, |numbers| numbers[row].into())
    }
}

/// Returns whether a model was trained on rows of these files, according to its settings: by their names and
/// their number of rows, since a file may have been rewritten.
fn trained_on(model: &Model, source: &Source, rows: usize) -> bool {
    let setting = |key: &str| model.settings.get(key);
    let parts = setting("data_parts").and_then(|parts| serde_json::from_str::<Vec<PathBuf>>(parts).ok());
    let training = match (parts, setting("data")) {
        // Some of the files may no longer exist.
        (Some(paths), _) => Source::Parts { paths },
        (None, Some(data)) => match data_paths::training(&[data.into()]) {
            Ok((training, _)) => training,
            Err(_) => return false,
        },
        (None, None) => return false,
    };
    let (there, found) = (data_paths::places(&training), data_paths::places(source));
    let is_whole = there == found && there.len() == training.files().len();
    !there.is_disjoint(&found)
        && (!is_whole || setting("rows").is_none_or(|trained| *trained == rows.to_string()))
}

/// Rows as in a file.
pub struct AsRead {
    /// Values, row-major; NaN for missing numbers.
    pub features: Features,
    /// Categories of each categorical column by index.
    pub dictionaries: Vec<Dictionary>,
}

/// Rows that were held out of training.
struct Part {
    /// Split into training and held-out rows.
    split: Split,
    /// Number of rows of the whole file.
    rows: usize,
}

/// Returns the named data, or otherwise the data that the model was tested on, or trained on.
///
/// # Errors
/// If there are no data, or the model does not name them.
pub fn choose_data(file: &Path, model: &Model, data: &[PathBuf]) -> Result<EvaluationSet> {
    let setting = |key: &str| model.settings.get(key).map(String::as_str);
    let whole = |paths: &[PathBuf], sum| {
        Ok(EvaluationSet { source: data_paths::evaluation(paths)?, part: None, sum })
    };
    if !data.is_empty() {
        return whole(data, None);
    }
    let sum = setting(TESTED_ROWS).map(|sum| sum.parse().map_err(|_| unreadable(file, TESTED_ROWS, sum)));
    let sum = sum.transpose()?;
    let unknown = |what: &str| {
        let text = format!("--data is required, as {} does not name its {what}", file.display());
        Err(Error::Config(text))
    };
    if let Some(test) = setting("test_data") {
        return whole(&[test.into()], sum);
    }
    if setting("unnamed_test_data").is_some() {
        return unknown("test data");
    }
    let parts = setting("data_parts").map(|parts| {
        let paths: Option<Vec<PathBuf>> = serde_json::from_str(parts).ok();
        paths.ok_or_else(|| unreadable(file, "data_parts", parts))
    });
    let Some(data) = parts.transpose()?.or_else(|| Some(vec![setting("data")?.into()])) else {
        return unknown("data");
    };
    let share = |key: &str| match setting(key) {
        None => Ok(0.0),
        Some(text) => {
            let share = text.parse().ok().filter(|share| (0.0..1.0).contains(share));
            share.ok_or_else(|| unreadable(file, key, text))
        }
    };
    let (test, validation) = (share("test_fraction")?, share("validation_fraction")?);
    if test == 0.0 {
        return whole(&data, sum);
    }
    let seed = setting("seed").unwrap_or_default();
    let seed = seed.parse().map_err(|_| unreadable(file, "seed", seed))?;
    let split = Split { validation, test, seed, fold: None };
    let (source, _) = data_paths::training(&data)?;
    let rows = setting("rows").and_then(|rows| rows.parse().ok()).unwrap_or(0);
    Ok(EvaluationSet { source, part: Some(Part { split, rows }), sum })
}

/// Returns the same as [`choose_data`], except for the training file: of it only the rows held out for testing, if any.
///
/// # Errors
/// See [`choose_data`].
pub fn held_out_of(file: &Path, model: &Model, data: &[PathBuf]) -> Result<EvaluationSet> {
    let held_out = model.settings.get("test_fraction").is_some_and(|share| share != "0");
    let place = |path: &Path| fs::canonicalize(path).ok();
    let is_training = match (data, model.settings.get("data")) {
        ([data], Some(training)) => {
            let (data, training) = (place(data), place(Path::new(training)));
            data.is_some() && data == training
        }
        _ => false,
    };
    choose_data(file, model, if held_out && is_training { &[] } else { data })
}

/// Returns the entries of a model file by which [`choose_data`] finds the data again: only UTF-8 names of
/// files that can be read again. Empty `data` means MNIST.
pub fn names_of_data(data: &[PathBuf], test: Option<&Path>, rows: Option<usize>) -> BTreeMap<String, String> {
    let named = |path: &Path| path.to_str().filter(|name| *name != "-").map(str::to_owned);
    let of_data = match data {
        [] => Some(("data", data_paths::MNIST.to_owned())),
        [file] => named(file).map(|name| ("data", name)),
        parts => {
            let names = parts.iter().map(|file| file.to_str()).collect::<Option<Vec<&str>>>();
            names.map(|names| ("data_parts", Value::from(names).to_string()))
        }
    };
    let of_test = test.map(|test| match named(test) {
        Some(name) => ("test_data", name),
        None => ("unnamed_test_data", "true".to_owned()),
    });
    let rows = rows.map(|rows| ("rows", rows.to_string()));
    let all = of_data.into_iter().chain(of_test).chain(rows);
    all.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns the error for an unreadable metadata entry about held-out rows.
fn unreadable(model: &Path, key: &str, text: &str) -> Error {
    Error::data(model, Place::default(), format!("{key} of the run in its metadata"), format!("{text:?}"))
}

impl Part {
    /// Returns the held-out rows, as read, and their indices in the file.
    fn rows(&self, model: &Model, reader: &mut Reader, sum: Option<u32>) -> Result<(Dataset, Vec<u32>)> {
        reader.read_to_end()?;
        reader.repeat_values(model.network.quantiles())?;
        let error = |found: &str| {
            let text = format!(
                "{}: expected the {} rows of training, found {found}: the held-out rows can no longer be identified; use --data to evaluate all rows of a file",
                reader.name().display(),
                self.rows
            );
            Error::Config(text)
        };
        if reader.rows() != self.rows || !reader.has_classes(&model.data_schema.classes) {
            return Err(error(&format!("{} rows or other labels", reader.rows())));
        }
        let changed = error("others, or in another order");
        let parts = reader.parts(&self.split)?;
        let [_, test] = reader.divide_into(&parts);
        if sum.is_some_and(|sum| TrainedRows::from_held_out(&test).sum != sum) {
            return Err(changed);
        }
        Ok((test, parts.test))
    }
}
