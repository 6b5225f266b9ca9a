//! A network and data it was not trained on.

use std::path::Path;

use super::config::Config;
use super::device::Choice;
use super::engine::{Engine, Evaluation};
use crate::data::{Dataset, Reader, Scaling};
use crate::error::{Error, Place, Result};
use crate::model::{Model, Spec};

/// Loss and predictions of a model on a data set.
///
/// # Errors
/// [`Error::Data`] when the data do not fit the model; those of the device.
pub fn evaluate(model: &Model, data: Reader, device: &Choice) -> Result<(Dataset, Evaluation, String)> {
    let (data, evaluation, engine) = tested(model, data, device)?;
    Ok((data, evaluation, engine.device()))
}

/// As [`evaluate`], and which rows were not predicted as labelled, in ascending order; the device looks for them.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_with_errors(
    model: &Model,
    data: Reader,
    device: &Choice,
) -> Result<(Dataset, Evaluation, Vec<u32>, String)> {
    let (data, evaluation, mut engine) = tested(model, data, device)?;
    let errors = engine.errors(&data.labels, &evaluation.predictions)?;
    Ok((data, evaluation, errors, engine.device()))
}

fn tested(model: &Model, data: Reader, device: &Choice) -> Result<(Dataset, Evaluation, Box<dyn Engine>)> {
    let data = test_set(data, &model.spec, model.scaling)?;
    let config = Config { hidden: Vec::new(), ..Config::default() };
    let mut engine = device.engine(model.parameters.clone(), &model.spec, &config, config.batch_size)?;
    let evaluation = engine.evaluate(&data.view())?;
    Ok((data, evaluation, engine))
}

/// Reads a test set wholly and looks whether it fits the network.
pub(super) fn test_set(reader: Reader, spec: &Spec, scaling: Scaling) -> Result<Dataset> {
    let path = reader.name().to_owned();
    check_inputs(&path, reader.inputs(), spec.inputs())?;
    let data = reader.into_dataset(scaling)?;
    match data.labels.iter().position(|label| *label as usize >= spec.classes()) {
        Some(row) => {
            let found = format!("label {} (sample {})", data.labels[row], row + 1);
            Err(unknown_label(&path, found, spec.classes()))
        }
        None => Ok(data),
    }
}

/// A label of a test set that the network cannot predict.
pub(super) fn unknown_label(path: &Path, found: String, classes: usize) -> Error {
    let expected = format!("labels from 0 to {}, as the network has classes", classes - 1);
    Error::Data { path: path.to_owned(), place: Place::default(), expected, found }
}

/// Looks whether rows are as wide as the network's input, which can be told before they are read.
pub(super) fn check_inputs(path: &Path, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Data {
        path: path.to_owned(),
        place: Place::default(),
        expected: format!("{expected} feature values a row, as the network has inputs"),
        found: found.to_string(),
    })
}
