//! Data of `train` and `sweep`, and detection of options without effect on them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::data::{ImageOptions, ReadOptions, Reader, Source, data_paths};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::settings::text::text_of;
use crate::settings::{DatasetInfo, LrFactors, TrainSettings};
use crate::train::{Config, TrainingData};
use toml::Table;

use super::data_text::{column_lines, mixed_column_lines, transpose_line};
use super::train_options::Options;
use super::training::Training;

/// Files of training, validation and test rows.
pub struct DataPaths {
    train: Source,
    validation: Option<Source>,
    test: Option<Source>,
    /// Ends waiting for rows when set.
    stop: Option<Arc<AtomicBool>>,
}

/// Readers of the data, already started.
pub struct OpenData {
    /// Training rows.
    pub reader: Reader,
    /// Validation rows, if they are in a separate file.
    pub validation: Option<Reader>,
    /// Test rows, if they are in a separate file.
    pub test: Option<Reader>,
    /// Settings, with the defaults for tables.
    pub settings: TrainSettings,
    /// Properties of the data that determine the defaults of settings.
    pub info: DatasetInfo,
    /// Notice about an automatically chosen image size.
    pub notice: Option<String>,
    /// Warnings about held-out files whose rows are also training rows.
    pub doubts: Vec<String>,
}

impl DataPaths {
    /// Returns the files named by the options.
    ///
    /// # Errors
    /// If there are no files.
    pub fn from_options(options: &Options) -> Result<Self> {
        let (train, [validation, test]) = data_paths::training(&options.training.data)?;
        let settings = &options.training.settings;
        let is_open = |fraction: Option<f64>| fraction.is_none() && options.folds.is_none();
        let validation = match &options.validation {
            Some(path) => Some(data_paths::validation(path)?),
            None => validation.filter(|_| is_open(settings.validation_fraction)),
        };
        let test = match &options.test {
            Some(path) => Some(data_paths::test(path)?),
            None => test.filter(|_| is_open(settings.test_fraction)),
        };
        Ok(Self { train, validation, test, stop: None })
    }

    /// Returns the same files, with a flag that ends waiting for their rows.
    #[must_use]
    pub fn stopped_by(self, stop: Arc<AtomicBool>) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Returns warnings about held-out files whose rows are also training rows.
    fn doubts(&self) -> Vec<String> {
        let held_out = [("validation", &self.validation), ("test", &self.test)].into_iter();
        let doubt = |(set, source): (&str, &Option<Source>)| {
            let file = data_paths::shared_file(&self.train, source.as_ref()?)?.display();
            Some(format!("--{set}: {file} is trained on, too, so the {set} score says nothing of new rows"))
        };
        held_out.filter_map(doubt).collect()
    }

    /// Rejects an output file, given by this option, that is one of these files.
    ///
    /// # Errors
    /// [`crate::error::Error::Config`] with the file's name.
    pub fn spare(&self, option: &str, out: Option<&Path>) -> Result<()> {
        data_paths::spare_data(option, out, [Some(&self.train), self.test.as_ref(), self.validation.as_ref()])
    }

    /// Opens the files and checks the options against the data; `given` are the options on the command line. A `model`
    /// from which training starts decides the columns and the network.
    ///
    /// # Errors
    /// Errors of the data and of the options.
    pub fn open(&self, options: &Options, given: &Table, model: Option<&Model>) -> Result<OpenData> {
        let training = &options.training;
        let mut read = ReadOptions { stop: self.stop.clone(), ..training.read_options()? };
        if let Some(model) = model {
            refuse_other_network(given)?;
            read.columns.schema = model.data_schema.schema.clone();
            read.images = model.data_schema.image_options();
        }
        (read.columns.group, read.columns.time) = (options.group.clone(), options.time.clone());
        let mut reader = Reader::open(&self.train, &read)?;
        let validates = self.validation.is_some();
        let settings = training.settings.with_table_defaults(&mut reader, validates)?;
        let settings = match model {
            Some(model) => settings.continuing(model),
            None => settings,
        };
        let info = settings.inspect(&reader, validates, self.test.is_some());
        let info = DatasetInfo { in_folds: options.folds.is_some(), ..info };
        settings.resolve(&info)?;
        options.check_held_out(settings.validates(&info))?;
        let target = training.columns.target_like(&reader, training.settings.loss)?;
        let like = training.columns.written.like(reader.schema().cloned(), target);
        let images = ImageOptions::like(reader.image(), read.images.transpose);
        let mut like = ReadOptions { threads: read.threads, images, stop: self.stop.clone(), ..like };
        like.columns.refuse_missing = read.columns.refuse_missing;
        let open =
            |source: &Option<Source>| source.as_ref().map(|source| Reader::open(source, &like)).transpose();
        let (validation, test) = (open(&self.validation)?, open(&self.test)?);
        let ImageOptions { size, colour, transpose } = read.images;
        let is_open = matches!(self.train, Source::Folders { .. }) && (size.is_none() || !colour);
        let notice = reader.image().filter(|_| is_open).map(|form| {
            let of_first = if size.is_none() { ", the size of the first" } else { "" };
            format!("images are converted to {form}{of_first}; use --image-size or --colour to change that")
        });
        let notice = notice.or_else(|| transpose_line(&self.train, transpose));
        let opened = OpenData { reader, validation, test, settings, info, notice, doubts: self.doubts() };
        refuse_unused(given, options, &opened)?;
        Ok(opened)
    }
}

/// Returns the training rows, the settings of one epoch over them, and notices about their columns.
///
/// # Errors
/// Errors of the data and of the settings.
pub fn open_alone(
    training: &Training,
    source: &Source,
    read: &ReadOptions,
) -> Result<(TrainingData, Config, Vec<String>)> {
    let mut reader = Reader::open(source, read)?;
    let settings = training.settings.with_table_defaults(&mut reader, false)?;
    let info = settings.inspect(&reader, false, false);
    let (data, config) = settings.prepare(info, reader, None, None)?;
    let lines = [mixed_column_lines(data.mixed_columns()), column_lines(training, &data)?].concat();
    Ok((data, Config { epochs: 1, ..config }, lines))
}

/// Options that apply only to tables for training.
const OF_TABLES: [&str; 9] = [
    "weight",
    "fold-labels",
    "drop-missing-target",
    "exclude",
    "include",
    "categorical",
    "one-hot",
    "group",
    "time",
];
/// Options that also apply to tables for validation or testing.
const OF_ALL_TABLES: [&str; 8] = [
    "target",
    "header",
    "delimiter",
    "decimal",
    "max-row-bytes",
    "missing-marker",
    "missing-markers",
    "missing",
];

/// Options for the network and its inputs, which a model decides from which training starts.
const OF_NETWORK: [&str; 16] = [
    "hidden",
    "quantiles",
    "activation",
    "init",
    "embeddings",
    "input-scaling",
    "one-hot",
    "scale",
    "clip",
    "scale-target",
    "include",
    "exclude",
    "categorical",
    "image-size",
    "colour",
    "transpose",
];

/// Rejects options on the command line that the model of `--init-from` decides.
fn refuse_other_network(given: &Table) -> Result<()> {
    match OF_NETWORK.into_iter().find(|option| given.contains_key(*option)) {
        Some(option) => Err(Error::setting(option, "the network and the inputs of --init-from", "an option")),
        None => Ok(()),
    }
}

/// Rejects a learning rate of embeddings if no input has an embedding. This depends on the categories of all
/// rows, since a small number of categories is one-hot encoded.
///
/// # Errors
/// See [`refuse_unused`].
pub fn refuse_unused_rate(given: &Table, config: &Config, data: &TrainingData) -> Result<()> {
    if factors(given).embeddings.is_none() || config.data.inputs.embeds(data.transform()) {
        return Ok(());
    }
    let text = "--lr-factors: embeddings has no effect: no column has an embedding, as none has more categories than --one-hot allows";
    Err(Error::Config(text.to_owned()))
}

/// Returns the given learning-rate factors.
fn factors(given: &Table) -> LrFactors {
    given.get("lr-factors").and_then(|value| text_of(value).parse().ok()).unwrap_or_default()
}

/// Rejects the first option without effect on these data. `given` are the options on the command line:
/// options of a preset or a settings file may have no effect.
///
/// # Errors
/// [`Error::Config`], in one line that names the option and its requirement.
fn refuse_unused(given: &Table, options: &Options, opened: &OpenData) -> Result<()> {
    let value = |option: &str| given.get(option).map(text_of);
    let unused = |is_unused: bool, setting: &'static str, expected: &str, found: &str| {
        let is_wrong = is_unused && given.contains_key(setting);
        if is_wrong { Err(Error::setting(setting, expected, found)) } else { Ok(()) }
    };
    let OpenData { reader, settings, info, .. } = opened;
    let of_classes = reader.values() == 0;
    let inputs = settings.resolve(info)?.data.inputs;
    let factors = factors(given);
    let is_unused = factors.scale.is_some() && !inputs.scaled;
    unused(is_unused, "lr-factors", "--input-scaling yes for scale", "inputs without scaling factors")?;
    let categories = reader.schema().map(|schema| schema.categories.len());
    let found = match categories {
        None => "images, without --embeddings",
        _ => "only numbers, without --embeddings",
    };
    let embeds = inputs.periodic || categories.is_some_and(|count| count > 0);
    let is_unused = factors.embeddings.is_some() && !embeds;
    unused(is_unused, "lr-factors", "columns with embeddings for embeddings", found)?;
    let is_of_pixels = reader.schema().is_some() && reader.holds_images();
    unused(!is_of_pixels, "read-all", "images in a CSV table", "other data")?;
    let is_dir = reader.name().is_dir();
    for option in ["image-size", "colour"] {
        unused(!is_dir, option, "PNG or JPEG images in folders, one for each class", "other data")?;
    }
    let found = if is_dir { "images in folders" } else { "other data" };
    let is_other = is_dir || reader.image().is_none();
    unused(is_other, "transpose", "images in IDX files, arrays or tables", found)?;
    unused(is_dir, "class-names", "labels that are numbers", "folders, which name classes")?;
    let Some(schema) = reader.schema() else {
        let has_others = options.validation.is_some() || options.test.is_some();
        let others = if has_others { &[][..] } else { &OF_ALL_TABLES };
        for option in OF_TABLES.iter().chain(others) {
            unused(true, option, "a table", "images, which have no columns")?;
        }
        let is_regression = value("task").as_deref() == Some("regression");
        return unused(is_regression, "task", "a table for regression", "images, which have labels");
    };
    unused(of_classes, "scale-target", "values to predict", "classes")?;
    unused(!of_classes, "fold-labels", "labels", "values to predict")?;
    unused(schema.categories.is_empty(), "one-hot", "a column of categories", "only numbers")?;
    let is_text = schema.categories.len() == schema.inputs.len();
    for option in ["embeddings", "scale", "clip"] {
        let is_idle = ["none", "auto"].contains(&value(option).unwrap_or_default().as_str());
        unused(is_text && !is_idle, option, "a column of numbers", "only categories")?;
    }
    Ok(())
}
