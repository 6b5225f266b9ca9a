//! One fit: a run of the library, with Python's lock free while it trains.

use std::borrow::Cow;

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tinytrain::trainer::{Target, TargetData};
use tinytrain::{Epoch, Event, Reader, Run, TrainSettings, Trainer};

use crate::errors::exception;
use crate::model::Model;
use crate::rows::Rows;
use crate::settings;
use crate::table::Table;

/// What rows should give: the different labels with the number of each row's, or values to predict, [rows, values].
#[derive(FromPyObject)]
pub(crate) enum Targets<'py> {
    Labels(Vec<String>, PyReadonlyArray1<'py, u32>),
    Values(PyReadonlyArray2<'py, f32>),
}

impl Targets<'_> {
    /// The targets as bits, with the number of words per row.
    fn bits(&self) -> (usize, Vec<u32>) {
        match self {
            Targets::Labels(_, numbers) => (1, numbers.as_array().to_vec()),
            Targets::Values(values) => {
                let values = values.as_array();
                (values.ncols(), values.iter().map(|value| (value + 0.0).to_bits()).collect())
            }
        }
    }

    /// That of these rows.
    fn taken(&self, rows: &[u32]) -> PyResult<TargetData> {
        match self {
            Targets::Labels(texts, numbers) => {
                let numbers = numbers.as_array();
                let text = |row: &u32| texts.get(numbers[*row as usize] as usize);
                let labels: Option<Vec<&String>> = rows.iter().map(text).collect();
                let labels = labels.ok_or_else(|| PyIndexError::new_err("no such label"))?;
                Ok(TargetData::labels(labels.into_iter()))
            }
            Targets::Values(values) => {
                let rows: Vec<usize> = rows.iter().map(|row| *row as usize).collect();
                Ok(values.as_array().select(tinytrain::ndarray::Axis(0), &rows).target_data())
            }
        }
    }
}

/// Rows with what they should give, as a reader of the library; `None` are all of them.
pub(crate) fn reader(
    py: Python<'_>,
    (table, targets, weights): (&Table, &Targets<'_>, &[f32]),
    among: Option<&[u32]>,
    names: &[String],
    repeats: bool,
    threads: Option<usize>,
) -> PyResult<Reader> {
    let (count, inputs) = (table.0.rows(), table.0.values().len() / table.0.rows().max(1));
    let (width, bits) = targets.bits();
    if bits.len() != count * width || !(weights.is_empty() || weights.len() == count) {
        return Err(PyIndexError::new_err("X, y and weights have different numbers of rows"));
    }
    let (mut values, mut bits, mut weights) = (Cow::from(table.0.values()), bits, Cow::from(weights));
    if let Some(among) = among {
        if among.iter().any(|row| *row as usize >= count) {
            return Err(PyIndexError::new_err("no such row"));
        }
        values = taken(&values, inputs, among).into();
        bits = taken(&bits, width, among);
        if !weights.is_empty() {
            weights = taken(&weights, 1, among).into();
        }
    }
    let Rows { mut rows, weights } = py.detach(|| Rows::new(&values, (width, &bits), &weights, repeats));
    if let Some(among) = among {
        rows.iter_mut().for_each(|row| *row = among[*row as usize]);
    }
    let (targets, table, names) = (targets.taken(&rows)?, &table.0, names.to_vec());
    py.detach(|| table.taken(&rows).into_reader(targets, names, weights, threads)).map_err(exception)
}

/// Weights of rows; none of no array.
pub(crate) fn of_rows(weights: Option<&PyReadonlyArray1<'_, f32>>) -> Vec<f32> {
    weights.map(|weights| weights.as_array().to_vec()).unwrap_or_default()
}

/// These rows of an array with rows so wide.
fn taken<T: Copy>(array: &[T], width: usize, rows: &[u32]) -> Vec<T> {
    rows.iter().flat_map(|row| array[*row as usize * width..][..width].iter().copied()).collect()
}

/// The figures of an epoch, for Python.
fn epoch_figures<'py>(
    py: Python<'py>,
    epoch: &Epoch,
    epochs: usize,
    is_kept: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let figures = PyDict::new(py);
    let of_values = epoch.validation.as_ref().is_some_and(|score| score.values.is_some());
    figures.set_item("epoch", epoch.epoch)?;
    figures.set_item("epochs", epochs)?;
    figures.set_item("loss", epoch.train.loss)?;
    figures.set_item("accuracy", epoch.train.accuracy)?;
    figures.set_item("seconds", epoch.duration.as_secs_f64())?;
    figures.set_item("rows", epoch.rows)?;
    figures.set_item("is_kept", is_kept)?;
    if let Some(score) = &epoch.validation {
        figures.set_item("validation_loss", score.loss)?;
        let r2 = score.values.as_ref().map_or(f64::NAN, |errors| errors.r2);
        figures.set_item("validation_score", if of_values { r2 } else { score.accuracy })?;
    }
    Ok(figures)
}

/// Trains a network. `settings` is a JSON object of settings by their names; `on_epoch` takes what each epoch gave and ends the fit
/// where it returns something true; `repeats` says whether weights that are whole numbers may become repeated rows. Returns the model, and a dictionary with `loss_curve`, `validation_scores`, `kept`, `warnings`.
#[pyfunction]
#[pyo3(signature = (table, targets, settings, *, device="auto", weights=None, repeats=true, validation=None, names=Vec::new(), first=None, on_epoch=None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    table: &Table,
    targets: Targets<'py>,
    settings: &str,
    device: &str,
    weights: Option<PyReadonlyArray1<'py, f32>>,
    repeats: bool,
    validation: Option<(PyRef<'py, Table>, Targets<'py>, Option<PyReadonlyArray1<'py, f32>>)>,
    names: Vec<String>,
    first: Option<PyRef<'py, Model>>,
    on_epoch: Option<Bound<'py, PyAny>>,
) -> PyResult<(Model, Bound<'py, PyDict>)> {
    let settings = settings::read(settings)?;
    let TrainSettings { threads, validation_fraction, .. } = settings;
    // Copies of a row stand on both sides of a split.
    let repeats = repeats && validation_fraction.is_none();
    let training = reader(py, (table, &targets, &of_rows(weights.as_ref())), None, &names, repeats, threads)?;
    let validation = match &validation {
        Some((table, targets, weights)) => {
            let weights = of_rows(weights.as_ref());
            Some(reader(py, (table, targets, &weights), None, &names, false, threads)?)
        }
        None => None,
    };
    let trainer = Trainer::new(settings).device(device.parse().unwrap_or_default());
    let first = first.map(|model| model.parameters());
    let start = || trainer.start_reader(training, validation, None);
    let mut run: Run = py.detach(start).map_err(exception)?;
    if let Some(first) = first {
        run = run.begin_with(first);
    }
    let (mut scores, mut warnings, mut epochs) = (Vec::new(), Vec::new(), 0);
    while let Some(event) = py.detach(|| run.next()).map_err(exception)? {
        match event {
            Event::Epoch { epoch, is_kept, .. } => {
                if epoch.validation.is_some() || on_epoch.is_some() {
                    let figures = epoch_figures(py, &epoch, epochs, is_kept)?;
                    scores.extend(
                        figures
                            .get_item("validation_score")?
                            .map(|score| score.extract::<f64>())
                            .transpose()?,
                    );
                    if let Some(on_epoch) = &on_epoch
                        && on_epoch.call1((figures,))?.is_truthy()?
                    {
                        run.stop();
                    }
                }
            }
            Event::Unknown { set, cells } => {
                let cells = cells.count();
                warnings.push(format!("{cells} cells of the {set} rows hold what no training row holds"));
            }
            Event::OneClass { set, class } => {
                warnings.push(format!("all {set} rows are of class {class}: their scores mean little"));
            }
            Event::Started(started) => epochs = started.epochs,
            Event::Progress { .. } | Event::Restarted { .. } | Event::Interrupted { .. } => {}
        }
        py.check_signals()?;
    }
    let summary = py.detach(|| run.summary()).map_err(exception)?;
    let warning = summary.warning.as_ref().map(ToString::to_string);
    let found = PyDict::new(py);
    found.set_item(
        "loss_curve",
        PyArray1::from_iter(py, summary.epochs.iter().map(|epoch| epoch.train.loss)),
    )?;
    found.set_item("validation_scores", PyArray1::from_vec(py, scores))?;
    found.set_item("kept", summary.kept)?;
    found.set_item("warning", warning)?;
    found.set_item("warnings", warnings)?;
    Ok((Model::new(summary.model), found))
}
