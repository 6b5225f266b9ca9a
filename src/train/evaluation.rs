//! Evaluation of trained models, and prediction.

use std::fs;
use std::path::{Path, PathBuf};

use crate::data::{
    Classes, Dataset, Dictionary, Features, Reader, TargetScale, TargetsRef, Transform, UnknownCells,
};
use crate::engine::{Device, DistortedCopies, EnsembleEngine, Evaluation, Inference};
use crate::error::{Error, Place, Result};
use crate::memory::{check_memory, prefer_large_pages};
use crate::model::Model;
use crate::step::{Augment, Distortion, ImageSize, Loss};
use crate::threads::block;
use crate::threads::{available, each};
use crate::train::classified::{accuracy, evaluation};
use crate::train::label_scores::{label_probabilities, label_score, probable_labels};
use crate::train::probabilities::softmax;
use crate::train::{Config, Score, ValueErrors};

/// Results of a model for a data set.
#[derive(Debug)]
pub struct Evaluated {
    /// Loss, accuracy, and errors of values, weighted if rows have weights.
    pub score: Score,
    /// Class of each row, the first of the most probable; labels of 0 or 1, [rows, labels]; empty for a model of values.
    pub predictions: Vec<u32>,
    /// Logits, [rows, classes or labels], or values, [rows, outputs].
    pub outputs: Vec<f32>,
    /// Description of the device.
    pub device: String,
}

/// Reads a model file, if memory can hold the file's contents and the parameters.
///
/// # Errors
/// As [`Model::load`]; [`Error::Config`] if memory is too small.
pub fn load_model(path: &Path) -> Result<Model> {
    let path = model_path(path);
    // Loading reports missing and unreadable files.
    let bytes = fs::metadata(&path).map_or(0, |found| found.len());
    check_memory(u128::from(bytes) * 2, &path.display().to_string())?;
    Model::load(&path)
}

/// Returns the model file that a path names: the path itself, or `model.safetensors` in the folder of a run.
pub fn model_path(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("model.safetensors") } else { path.to_owned() }
}

/// Reads a data set and checks that it fits a model. Labels are indices of the model's classes. Also returns
/// the unknown cells: categories that no training row had, and missing values in columns without any in
/// training rows.
///
/// # Errors
/// [`Error::Data`] if the data do not fit the model.
pub fn read_dataset_for(model: &Model, mut data: Reader) -> Result<(Dataset, UnknownCells)> {
    data.repeat_values(model.network.quantiles())?;
    test_set(data, model.network.columns(), &model.transform, &model.data_schema.classes)
}

/// Evaluates a model on a data set read by [`read_dataset_for`].
///
/// # Errors
/// Errors of the device.
pub fn evaluate(model: &Model, data: &Dataset, device: &Device) -> Result<Evaluated> {
    evaluate_copies(model, data, device, None)
}

/// Evaluates a model as [`evaluate`] does, but on the mean outputs of `copies` distorted copies of each image, if any. The
/// distortions are half as large as in the training of the model.
///
/// # Errors
/// As [`evaluate`]; [`Error::Setting`] if the model was trained without distorted images.
pub fn evaluate_copies(
    model: &Model,
    data: &Dataset,
    device: &Device,
    copies: Option<usize>,
) -> Result<Evaluated> {
    let mut engine = engine_with(model, device, None, copies)?;
    let (outputs, device) = (block(engine.outputs(&data.view()))?, engine.description().device);
    let counts = data.view().counts();
    Ok(match data.targets.view() {
        TargetsRef::Classes(labels) => {
            let Evaluation { loss, predictions } = evaluation(&outputs, labels, &counts);
            let accuracy = accuracy(labels, &predictions, &counts);
            let score = Score { loss, accuracy, ..Score::default() };
            Evaluated { score, predictions, outputs, device }
        }
        TargetsRef::Values { values, columns } if model.network.loss().of_labels() => {
            let score = label_score(&outputs, values, columns, &counts, None);
            Evaluated { score, predictions: probable_labels(&outputs), outputs, device }
        }
        TargetsRef::Values { values, columns } => {
            let (loss, scale) = (model.network.loss(), model.data_schema.target_scale.as_ref());
            let errors = ValueErrors::from_outputs(loss, &outputs, values, columns, scale, &counts);
            let outputs = values_of(loss, scale, outputs);
            Evaluated { score: Score::of_values(errors), predictions: Vec::new(), outputs, device }
        }
    })
}

/// Returns values in their original scale from outputs, quantiles in ascending order.
fn values_of(loss: Loss, scale: Option<&TargetScale>, outputs: Vec<f32>) -> Vec<f32> {
    let mut values = scale.map(|scale| scale.restored(&outputs)).unwrap_or(outputs);
    loss.levels().into_iter().for_each(|levels| levels.sort(&mut values));
    values
}

/// Creates an engine with a model on a device.
///
/// # Errors
/// Errors of the device.
pub fn engine(model: &Model, device: &Device) -> Result<Box<dyn Inference>> {
    engine_with(model, device, None, None)
}

/// Factor of the distortions of training for copies in prediction.
const MILD: f32 = 0.5;

/// Returns copies of the images that a model predicts, with milder distortions than in its training.
fn distorted_copies(model: &Model, count: usize) -> Result<DistortedCopies> {
    let augment = model.settings.get("augment").and_then(|text| text.parse::<Augment>().ok());
    let form = model.data_schema.image.filter(|form| form.values() == model.network.columns());
    let (Some(augment), Some(form)) = (augment.filter(|augment| !augment.is_none()), form) else {
        let expected = "a model trained on images with --augment";
        return Err(Error::setting("augment-test", expected, "another model"));
    };
    let size = ImageSize { height: form.height, width: form.width, channels: form.channels() };
    Ok(DistortedCopies { distortion: Distortion::new(&augment.scaled(MILD), size, 1)?, count })
}

/// Creates an [`engine`] with at most `threads` threads, which predicts from distorted copies of images, if any.
pub(super) fn engine_with(
    model: &Model,
    device: &Device,
    threads: Option<usize>,
    copies: Option<usize>,
) -> Result<Box<dyn Inference>> {
    let config = Config { threads, ..Config::default() };
    let options = config.engine_options(config.batch_size);
    let copies = copies.map(|count| distorted_copies(model, count)).transpose()?;
    if model.ensemble.is_some() || copies.is_some() {
        return Ok(Box::new(EnsembleEngine::new(model, device, &options)?.with_copies(copies)));
    }
    Ok(device.engine(&model.parameters, &model.network, &options)?)
}

/// A model on a device, for predictions.
pub struct Predictor {
    engine: Box<dyn Inference>,
    transform: Transform,
    columns: usize,
    reading: OutputDecoder,
    unknown: UnknownCells,
    threads: usize,
}

/// Rows per thread when computing probabilities: about a millisecond for ten classes.
const DECODED_ROWS: usize = 1 << 13;

/// Converts the outputs of a model to predictions.
#[derive(Debug, Clone)]
pub struct OutputDecoder {
    outputs: usize,
    loss: Loss,
    target_scale: Option<TargetScale>,
}

/// Predictions of a model for some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// Class of each row, the first of the most probable; labels of 0 or 1, [rows, labels]; empty for a model of values.
    pub classes: Vec<u32>,
    /// Probabilities in f64: the softmax of the logits, [rows, classes], or of label 1 for each label, [rows, labels].
    pub probabilities: Vec<f64>,
    /// Values, [rows, outputs]; empty for a model of classes or labels.
    pub values: Vec<f32>,
}

impl Predictor {
    /// Loads a model onto a device; the CPU engine uses at most `threads` threads, one per core by default.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn new(model: &Model, device: &Device, threads: Option<usize>) -> Result<Self> {
        Self::of_copies(model, device, threads, None)
    }

    /// Loads a model as [`Predictor::new`] does, to predict each image as [`evaluate_copies`] does.
    ///
    /// # Errors
    /// As [`evaluate_copies`].
    pub fn of_copies(
        model: &Model,
        device: &Device,
        threads: Option<usize>,
        copies: Option<usize>,
    ) -> Result<Self> {
        let (engine, transform) = (engine_with(model, device, threads, copies)?, model.transform.clone());
        let columns = transform.columns(model.network.columns());
        Ok(Self {
            engine,
            transform,
            columns,
            reading: OutputDecoder::new(model),
            unknown: UnknownCells::default(),
            threads: threads.unwrap_or_else(available),
        })
    }

    /// Returns a description of the device.
    pub fn device(&self) -> String {
        self.engine.description().device
    }

    /// Checks that rows of `found` columns fit the model.
    ///
    /// # Errors
    /// [`Error::Data`] with this path if they do not.
    pub fn check_inputs(&self, path: &Path, found: usize) -> Result<()> {
        check_inputs(path, found, self.columns)
    }

    /// Rejects the rows so far of a table if the first may be a header: see [`Reader::refuse_header`].
    ///
    /// # Errors
    /// As [`Reader::refuse_header`].
    pub fn refuse_header(&self, reader: &Reader) -> Result<()> {
        reader.refuse_header(&self.transform)
    }

    /// Returns the unknown cells so far, as in [`read_dataset_for`].
    pub fn unknown_cells(&self) -> &UnknownCells {
        &self.unknown
    }

    /// Predicts rows of values as in a file, with a dictionary for each column of categories. The results are
    /// bitwise equal to [`evaluate`]'s for the same rows.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn predict(&mut self, features: Features, dictionaries: &[Dictionary]) -> Result<Predictions> {
        let outputs = self.outputs(features, dictionaries)?;
        Ok(self.reading.predictions_by(outputs, self.threads))
    }

    /// Computes the outputs for [`Predictor::predict`], [rows, outputs]. An [`OutputDecoder`] converts them,
    /// on any thread.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn outputs(&mut self, features: Features, dictionaries: &[Dictionary]) -> Result<Vec<f32>> {
        let rows = features.len() / self.columns;
        let rows =
            Dataset { inputs: self.columns, features, targets: (vec![0; rows]).into(), weights: Vec::new() };
        let (rows, unknown) = self.transform.rows_by(rows, dictionaries, self.threads)?;
        self.unknown.extend(&unknown);
        block(self.engine.outputs(&rows.view()))
    }
}

impl OutputDecoder {
    /// Creates the decoder for a model.
    pub fn new(model: &Model) -> Self {
        Self {
            outputs: model.network.outputs(),
            loss: model.network.loss(),
            target_scale: model.data_schema.target_scale.clone(),
        }
    }

    /// Returns the number of outputs of a row.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Converts outputs of whole rows to predictions.
    pub fn predictions(&self, outputs: Vec<f32>) -> Predictions {
        self.predictions_by(outputs, 1)
    }

    /// Converts outputs of whole rows on at most `threads` threads.
    fn predictions_by(&self, outputs: Vec<f32>, threads: usize) -> Predictions {
        if self.loss.of_labels() {
            let (classes, probabilities) = (probable_labels(&outputs), label_probabilities(&outputs));
            return Predictions { classes, probabilities, values: Vec::new() };
        }
        if !self.loss.of_classes() {
            let values = values_of(self.loss, self.target_scale.as_ref(), outputs);
            return Predictions { values, classes: Vec::new(), probabilities: Vec::new() };
        }
        let mut classes = vec![0; outputs.len() / self.outputs];
        let mut probabilities = vec![0.0; outputs.len()];
        prefer_large_pages(&mut probabilities);
        let values = DECODED_ROWS * self.outputs;
        let parts = probabilities.chunks_mut(values).zip(classes.chunks_mut(DECODED_ROWS));
        each(threads, outputs.chunks(values).zip(parts), |(outputs, (probabilities, classes))| {
            softmax(outputs, self.outputs, probabilities, classes);
        });
        Predictions { classes, probabilities, values: Vec::new() }
    }
}

/// Reads a complete test set and checks that it fits a network with these inputs and classes.
pub(crate) fn test_set(
    reader: Reader,
    inputs: usize,
    transform: &Transform,
    classes: &Classes,
) -> Result<(Dataset, UnknownCells)> {
    check_inputs(reader.name(), reader.inputs(), transform.columns(inputs))?;
    reader.into_dataset_of(transform, classes)
}

/// Checks the number of inputs of rows, before the rows are read.
pub(crate) fn check_inputs(path: &Path, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::data(
        path,
        Place::default(),
        format!("{expected} inputs per row, as the model takes"),
        found.to_string(),
    ))
}
