//! Which rows a model is evaluated on: those of a file, or those that were held out when it was trained.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::data::data_paths;
use crate::data::{
    Dataset, Dictionary, Features, Format, ImageOptions, ReadOptions, Reader, Scaling, Schema, Selection,
    Source, Split, Target, UnknownCells,
};
use crate::error::{Error, Place, Result};
use crate::memory::check_memory;
use crate::model::Model;
use crate::train::{TESTED_ROWS, TrainedRows, read_dataset_for};

/// What is evaluated: a set, or the rows of it that were held out for testing.
pub struct EvaluationSet {
    /// The files.
    pub source: Source,
    /// The rows that are meant, if not all of them.
    part: Option<Part>,
    /// The sum of the rows that the model was tested on, where they are meant and the model says so.
    sum: Option<u32>,
}

impl EvaluationSet {
    /// Opens the files as a model reads them. `target` names the column of the labels or the values, if it differs from
    /// in training.
    ///
    /// # Errors
    /// Those of the data.
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
        let images = model.data_schema.image.map(ImageOptions::from).unwrap_or_default();
        let mut read = ReadOptions { columns, format: format.clone(), images, ..ReadOptions::default() };
        if self.part.is_some() {
            // How the rows were held out.
            let setting = |key: &str| model.settings.get(key).cloned();
            (read.columns.group, read.columns.time) = (setting("group"), setting("time"));
        }
        Reader::open(&self.source, &read)
    }

    /// The rows as inputs of the model.
    ///
    /// # Errors
    /// Those of the data.
    pub fn rows(&self, model: &Model, reader: Reader) -> Result<EvaluationRows> {
        self.rows_with(model, reader, |_, _| Ok(()))
    }

    /// As [`EvaluationSet::rows`]; also returns the rows as they are in the file: numbers as they were read, and category numbers, with what these
    /// stand for. Takes the memory of both.
    ///
    /// # Errors
    /// Those of the data; [`Error::Config`] if memory does not hold them.
    pub fn rows_as_read(&self, model: &Model, reader: Reader) -> Result<(EvaluationRows, AsRead)> {
        let mut read = AsRead { features: Features::default(), dictionaries: Vec::new() };
        let rows = self.rows_with(model, reader, |features, dictionaries| {
            check_memory(features.len() as u128 * 4, "the rows of the report")?;
            read = AsRead { features: features.clone(), dictionaries: dictionaries.to_vec() };
            Ok(())
        })?;
        Ok((rows, read))
    }

    /// The rows, shown as they are in the file before they become inputs.
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
                // What does not fit is refused below, before it is read.
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
    /// So many without a target were left out.
    WithoutTarget(usize),
    /// Some cells hold what the training rows did not hold.
    Unknown {
        /// How many of which columns.
        cells: UnknownCells,
        /// The names of the columns.
        schema: Option<Box<Schema>>,
    },
    /// The model was trained on some of them.
    Trained {
        /// Whether others were held out for testing.
        holds_out: bool,
    },
}

/// Rows to evaluate on.
pub struct EvaluationRows {
    /// The rows, as inputs of a model.
    pub data: Dataset,
    /// What they are called.
    pub name: String,
    /// What is to be known of them.
    pub warnings: Vec<Warning>,
    /// Which rows of the file they are, counted from 0, if not all of them.
    numbers: Option<Vec<u32>>,
}

impl EvaluationRows {
    /// The number of a row in its file, counted from 1, a header left out.
    pub fn number(&self, row: usize) -> u64 {
        1 + self.numbers.as_ref().map_or(row as u64, |numbers| numbers[row].into())
    }
}

/// Whether a model was trained on rows of such files, as far as its settings tell: by their names, and by the number of their rows,
/// as a file may have been written anew.
fn trained_on(model: &Model, source: &Source, rows: usize) -> bool {
    let setting = |key: &str| model.settings.get(key);
    let parts = setting("data_parts").and_then(|parts| serde_json::from_str::<Vec<PathBuf>>(parts).ok());
    let training = match (parts, setting("data")) {
        // Some of them may be gone.
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

/// Rows as they stand in a file.
pub struct AsRead {
    /// The values, row after row; NaN where a number is missing.
    pub features: Features,
    /// The categories of each categorical column by number.
    pub dictionaries: Vec<Dictionary>,
}

/// The rows that were held out of training.
struct Part {
    /// How they were chosen.
    split: Split,
    /// Rows of the whole file.
    rows: usize,
}

/// The data that are named, or those that the model in this file was tested on, or else trained on.
///
/// # Errors
/// When there are none, or nothing says which.
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

/// As [`choose_data`], but of the training file itself only the rows that were held out for testing, if any.
///
/// # Errors
/// As [`choose_data`].
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

/// What a model file says of where its rows come from, by which [`choose_data`] finds them again: names that are text, of files that can be
/// read again. No `data` are MNIST's.
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

/// An entry of a model's metadata that does not say which rows were held out.
fn unreadable(model: &Path, key: &str, text: &str) -> Error {
    Error::data(model, Place::default(), format!("{key} of the run in its metadata"), format!("{text:?}"))
}

impl Part {
    /// Those rows, as they were read, and which of the file they are.
    fn rows(&self, model: &Model, reader: &mut Reader, sum: Option<u32>) -> Result<(Dataset, Vec<u32>)> {
        reader.read_to_end()?;
        let error = |found: &str| {
            let text = format!(
                "{}: expected the {} rows of training, found {found}: the held-out rows can no longer be identified; use --data to evaluate all rows of a file",
                reader.name().display(),
                self.rows
            );
            Error::Config(text)
        };
        if reader.rows() != self.rows || *reader.classes() != model.data_schema.classes {
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
