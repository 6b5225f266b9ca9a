//! Trained models: predictions and files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use tinytrain::data::{Dataset, LabelType, Schema, UnknownCells};
use tinytrain::engine::EngineState;
use tinytrain::memory::room;
use tinytrain::model::EnsembleMember;
use tinytrain::train::{
    Checkpoint, Metric, PartOfEpoch, Predictions, Predictor, Progress, Shuffling, importances,
};
use tinytrain::{Device, Error, Form, Parameters, export, trainer};

use crate::errors::exception;
use crate::remote::Remote;
use crate::table::{PIECE, Table};
use crate::unknown::{Unknown, by_column};

/// A trained network with its preprocessing.
#[pyclass(frozen, module = "tinytrain._tinytrain")]
pub(crate) struct Model {
    model: Arc<tinytrain::Model>,
    /// Optimizer state, if the model may be trained further.
    state: EngineState,
    /// The network prepared for the next call.
    ready: Ready,
    /// A sample of the validation rows of the fit, for the importance of columns; not part of files and pickles.
    validation: Option<Arc<Dataset>>,
}

/// A network prepared for a number of threads.
type Ready = Arc<Mutex<Option<(Option<usize>, Predictor)>>>;

/// The type of a model, and the arguments for restoring it.
type Reduced<'py> = (Bound<'py, PyType>, (Bound<'py, PyBytes>, bool));

/// Number of products from which signals are checked during prediction, and number of products of a piece.
const LONG: usize = 1 << 26;
const PRODUCTS: usize = 1 << 32;

/// Number of inputs of the kept validation rows, and shuffles per column. Each shuffle predicts all kept rows.
const KEPT: usize = 1 << 16;
const SHUFFLES: usize = 5;

/// Minimum number of rows of a piece, which keeps all threads busy.
const LEAST_ROWS: usize = 256;

/// Rows to predict.
#[derive(FromPyObject)]
pub(crate) enum Rows<'py> {
    Table(PyRef<'py, Table>),
    Numbers(PyReadonlyArray2<'py, f32>),
}

/// Classes, probabilities, values, and unseen cells by column.
type Predicted<'py> =
    (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f32>>, Unknown);

/// Predicts on the CPU.
fn outputs(
    model: &tinytrain::Model,
    ready: &Ready,
    table: trainer::Table,
    threads: Option<usize>,
) -> Result<(Predictions, Unknown), Error> {
    let (features, dictionaries) = table.fitted_to(model)?.features()?;
    // Several threads may predict at once: later ones prepare their own.
    let mut place = ready.try_lock().ok();
    let known = place.as_mut().and_then(|place| place.take()).filter(|(of, _)| *of == threads);
    let mut predictor = match known {
        Some((_, predictor)) => predictor,
        None => Predictor::new(model, &Device::Cpu, threads)?,
    };
    let before = predictor.unknown_cells().clone();
    let predictions = predictor.predict(features, &dictionaries)?;
    let unknown = new_unknown(&before, predictor.unknown_cells(), model.data_schema.schema.as_ref());
    if let Some(mut place) = place {
        *place = Some((threads, predictor));
    }
    Ok((predictions, unknown))
}

/// Returns the unseen cells of the last call.
fn new_unknown(before: &UnknownCells, after: &UnknownCells, schema: Option<&Schema>) -> Unknown {
    if before.count() == after.count() {
        return Unknown::new();
    }
    let known = by_column(before, schema);
    let of = |name: &String| known.iter().find(|(other, _)| other == name).map_or(0, |(_, count)| *count);
    let new = by_column(after, schema).into_iter().map(|(name, count)| (of(&name), name, count));
    new.filter(|(known, _, count)| count > known).map(|(known, name, count)| (name, count - known)).collect()
}

impl Model {
    pub(crate) fn new(model: tinytrain::Model) -> Self {
        Self::shared(Arc::new(model))
    }

    pub(crate) fn shared(model: Arc<tinytrain::Model>) -> Self {
        Self { model, state: EngineState::default(), ready: Ready::default(), validation: None }
    }

    /// Creates a model that may be trained further.
    pub(crate) fn with_state(model: tinytrain::Model, state: EngineState) -> Self {
        Self { state, ..Self::new(model) }
    }

    /// Returns a sample of validation rows, for [`Model::validated_on`].
    pub(crate) fn sample(rows: &Dataset) -> Dataset {
        rows.view().sample((KEPT / rows.inputs).clamp(256, 4096), 0)
    }

    /// Keeps these validation rows.
    pub(crate) fn validated_on(self, rows: Option<Dataset>) -> Self {
        Self { validation: rows.map(Arc::new), ..self }
    }

    pub(crate) fn model(&self) -> &Arc<tinytrain::Model> {
        &self.model
    }

    pub(crate) fn state(&self) -> &EngineState {
        &self.state
    }

    pub(crate) fn parameters(&self) -> Parameters {
        self.model.parameters.clone()
    }

    /// Returns the number of products for a row in all networks.
    fn products(&self) -> usize {
        let of = |parameters: &Parameters| {
            parameters.layers.iter().map(|layer| layer.weights.len()).sum::<usize>()
        };
        let partners = self.model.ensemble.iter().flat_map(|ensemble| &ensemble.partners);
        of(&self.model.parameters) + partners.map(|partner| of(&partner.parameters)).sum::<usize>()
    }

    /// Predicts in pieces of rows, in a thread, so that signals are handled, copies are small, and an
    /// interrupted thread ends soon.
    fn in_pieces(
        &self,
        py: Python<'_>,
        table: &Arc<trainer::Table>,
        piece: usize,
        threads: Option<usize>,
    ) -> PyResult<(Predictions, Unknown)> {
        let network = &self.model.network;
        let (count, products) = (table.rows(), table.rows() * network.outputs());
        let [rows, probabilities, values] = match network.loss() {
            loss if loss.of_classes() => [count, products, 0],
            loss if loss.of_labels() => [products, products, 0],
            _ => [0, 0, products],
        };
        let mut all = Predictions {
            classes: room(rows, "an array of classes").map_err(exception)?,
            probabilities: room(probabilities, "an array of probabilities").map_err(exception)?,
            values: room(values, "an array of values").map_err(exception)?,
        };
        let mut unknown = Unknown::new();
        let own = (Arc::clone(&self.model), Arc::clone(&self.ready), Arc::clone(table));
        let mut remote = Remote::new(own, true)?;
        for first in (0..count).step_by(piece) {
            let rows: Vec<u32> = (first..count.min(first + piece)).map(|row| row as u32).collect();
            let work =
                move |(model, ready, table): &mut (Arc<tinytrain::Model>, Ready, Arc<trainer::Table>)| {
                    // Errors name the row by its number among all rows.
                    outputs(model, ready, table.taken(&rows), threads)
                        .or_else(|_| outputs(model, ready, (**table).clone(), threads))
                };
            let (found, cells) = remote.call(py, work)?.map_err(exception)?;
            all.classes.extend(found.classes);
            all.probabilities.extend(found.probabilities);
            all.values.extend(found.values);
            for (name, cells) in cells {
                match unknown.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, count)) => *count += cells,
                    None => unknown.push((name, cells)),
                }
            }
        }
        Ok((all, unknown))
    }
}

#[pymethods]
impl Model {
    /// Returns the class of each row, or its labels of 0 or 1 one after the other; the probabilities of all classes or
    /// labels, [rows, classes or labels]; the values of a regression model, [rows, values]; and unseen cells by column.
    #[pyo3(signature = (rows, threads=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        threads: Option<usize>,
    ) -> PyResult<Predicted<'py>> {
        let table = match rows {
            Rows::Table(table) => Arc::clone(&table.0),
            Rows::Numbers(x) => Arc::new(trainer::Table::of_numbers(&x.as_array()).map_err(exception)?),
        };
        let rows = table.rows();
        let of_cells = (PIECE * rows.max(1) / table.values().len().max(1)).max(1);
        let products = self.products();
        let of_products = (PRODUCTS / products.max(1)).max(LEAST_ROWS);
        let (predictions, unknown) = if rows > of_cells || rows.saturating_mul(products) >= LONG {
            self.in_pieces(py, &table, of_cells.min(of_products), threads)?
        } else if rows * table.values().len() < 4096 {
            // Faster than releasing and acquiring the lock.
            outputs(&self.model, &self.ready, Arc::unwrap_or_clone(table), threads).map_err(exception)?
        } else {
            py.detach(|| outputs(&self.model, &self.ready, Arc::unwrap_or_clone(table), threads))
                .map_err(exception)?
        };
        let outputs = self.model.network.outputs();
        let width = |length: usize| if length == 0 { [rows, 0] } else { [rows, outputs] };
        let Predictions { classes, probabilities, values } = predictions;
        if !(probabilities.iter().all(|value| value.is_finite())
            && values.iter().all(|value| value.is_finite()))
        {
            return Err(PyValueError::new_err(
                "X holds values that are too large for the network: its outputs are not finite",
            ));
        }
        let (of_probabilities, of_values) = (width(probabilities.len()), width(values.len()));
        Ok((
            PyArray1::from_vec(py, classes),
            PyArray1::from_vec(py, probabilities).reshape(of_probabilities)?,
            PyArray1::from_vec(py, values).reshape(of_values)?,
            unknown,
        ))
    }

    /// Returns the importance of each column: the mean decrease of accuracy or R2 on the validation rows of the fit when
    /// the column is shuffled; None without such rows. The importances of the parts of a date are added.
    #[pyo3(signature = (threads=None))]
    fn importances(&self, py: Python<'_>, threads: Option<usize>) -> PyResult<Option<Vec<f64>>> {
        let Some(rows) = &self.validation else { return Ok(None) };
        let metric = if self.is_classifier() { Metric::Accuracy } else { Metric::R2 };
        let shuffling = Shuffling { metric, repeats: SHUFFLES, seed: 0, threads };
        // After an interrupt the thread ends with its column.
        let caller = Arc::new(());
        let is_wanted = Arc::downgrade(&caller);
        let work = move |(model, rows): &mut (Arc<tinytrain::Model>, Arc<Dataset>)| {
            let mut go_on = |_, _| is_wanted.upgrade().map(drop).ok_or(Error::Interrupted);
            importances(model, rows, &Device::Cpu, &shuffling, &mut go_on)
        };
        let mut remote = Remote::new((Arc::clone(&self.model), Arc::clone(rows)), true)?;
        let (_, found) = remote.call(py, work)?.map_err(exception)?;
        let schema = self.model.data_schema.schema.as_ref();
        let mut all = vec![0.0; self.column_count()];
        for one in found {
            all[schema.map_or(one.column, |schema| schema.inputs[one.column].position)] += one.mean;
        }
        Ok(Some(all))
    }

    /// Returns the labels of the classes, in the order of the probabilities; empty for regression models.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.model.data_schema.classes.names().to_vec()
    }

    /// Returns whether the model predicts classes, or labels of 0 or 1.
    #[getter]
    fn is_classifier(&self) -> bool {
        self.model.network.loss().classifies()
    }

    /// Returns whether the model predicts labels of 0 or 1, several for each row.
    #[getter]
    fn is_multi_label(&self) -> bool {
        self.model.network.loss().of_labels()
    }

    /// Returns the networks of an ensemble, each as a model with its number of picks; for a single network,
    /// the network itself.
    fn members(&self) -> Vec<(Self, u32)> {
        let own = tinytrain::Model { ensemble: None, ..(*self.model).clone() };
        let Some(ensemble) = &self.model.ensemble else { return vec![(Self::new(own), 1)] };
        let partner = |member: &EnsembleMember| {
            let (network, parameters) = (member.network.clone(), member.parameters.clone());
            (Self::new(tinytrain::Model { network, parameters, ..own.clone() }), member.picks)
        };
        let partners: Vec<(Self, u32)> = ensemble.partners.iter().map(partner).collect();
        [(Self::new(own.clone()), ensemble.picks)].into_iter().chain(partners).collect()
    }

    /// Returns the levels of the predicted quantiles, if any.
    #[getter]
    fn quantiles(&self) -> Vec<f64> {
        let levels = self.model.network.loss().levels();
        levels
            .into_iter()
            .flat_map(|levels| (0..levels.count()).map(move |output| levels.level(output)))
            .collect()
    }

    /// Returns whether several networks predict together.
    #[getter]
    fn is_ensemble(&self) -> bool {
        self.model.ensemble.is_some()
    }

    /// Returns the number of outputs of a row.
    #[getter]
    fn outputs_of_row(&self) -> usize {
        self.model.network.outputs()
    }

    /// Returns the names of the columns, if they have any.
    #[getter]
    fn columns(&self) -> Option<Vec<String>> {
        let columns = self.model.data_schema.schema.as_ref()?.read_columns();
        columns.into_iter().map(|column| column.name).collect()
    }

    /// Returns the number of columns of a row.
    #[getter]
    fn column_count(&self) -> usize {
        let columns = self.model.data_schema.schema.as_ref().map(|schema| schema.read_columns().len());
        columns.unwrap_or_else(|| self.model.transform.columns(self.model.network.columns()))
    }

    /// Returns the columns that are categories, counted from 0.
    #[getter]
    fn categorical(&self) -> Vec<usize> {
        trainer::Table::categorical_of(&self.model)
    }

    /// Returns the columns whose texts are compared byte for byte, counted from 0.
    #[getter]
    fn exact(&self) -> Vec<usize> {
        trainer::Table::exact_of(&self.model)
    }

    /// Returns the names of date columns with their time zones, None for times without zone; empty for models
    /// of files.
    #[getter]
    fn zones(&self) -> Vec<(String, Option<String>)> {
        let Some(schema) = &self.model.data_schema.schema else { return Vec::new() };
        schema.zones().filter_map(|(column, zone)| Some((column.name?, zone.map(str::to_owned)))).collect()
    }

    /// Returns the type of the labels: `text`, `boolean`, `integer` or `float`, as in training or as detected
    /// from a file.
    #[getter]
    fn label_type(&self) -> &'static str {
        let classes = &self.model.data_schema.classes;
        let are_booleans = classes.names().iter().all(|name| name == "True" || name == "False");
        let is_whole = |name: &String| {
            let digits = name.strip_prefix('-').unwrap_or(name);
            let is_code = digits.is_empty() || (digits.len() > 1 && digits.starts_with('0'));
            !is_code && digits.bytes().all(|digit| digit.is_ascii_digit())
        };
        let found = match classes.label_type() {
            Some(label_type) => label_type,
            None if are_booleans => LabelType::Boolean,
            None if classes.names().iter().all(is_whole) => LabelType::Integer,
            None if classes.are_numbers() => LabelType::Float,
            None => LabelType::Text,
        };
        found.name()
    }

    /// Returns the contents of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.model.to_bytes().map(|bytes| PyBytes::new(py, &bytes)).map_err(exception)
    }

    /// Reads a model from the contents of a file, or of a checkpoint, with its optimizer state.
    #[new]
    fn of_bytes(bytes: &[u8], is_checkpoint: bool) -> PyResult<Self> {
        let path = Path::new("model");
        if is_checkpoint {
            let Checkpoint { model, state, .. } = Checkpoint::from_bytes(bytes, path).map_err(exception)?;
            return Ok(Self::with_state(model, state));
        }
        tinytrain::Model::from_bytes(bytes, path).map(Self::new).map_err(exception)
    }

    /// Reads a model from the contents of a file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Self::of_bytes(bytes, false)
    }

    /// Returns the contents of a checkpoint: the model and its optimizer state.
    fn to_checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let progress = Progress {
            steps: self.state.step,
            epochs: Vec::new(),
            epoch: PartOfEpoch::default(),
            kept: None,
            order: None,
            settings: serde_json::Map::new(),
            rows: None,
        };
        let (model, state) = ((*self.model).clone(), self.state.clone());
        let checkpoint = Checkpoint { model, state, kept: None, progress };
        checkpoint.to_bytes().map(|bytes| PyBytes::new(py, &bytes)).map_err(exception)
    }

    /// Supports `pickle`, `copy` and `skops`.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let (py, model) = (slf.py(), slf.get());
        let is_checkpoint = model.state.step > 0;
        let bytes = if is_checkpoint { model.to_checkpoint(py)? } else { model.to_bytes(py)? };
        Ok((slf.get_type(), (bytes, is_checkpoint)))
    }

    /// Reads a model file, or the model in the folder of a run.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| tinytrain::train::load_model(&path)).map(Self::new).map_err(exception)
    }

    /// Writes a model file atomically.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.model.save(&path)).map_err(exception)
    }

    /// Returns the model as ONNX, with all preprocessing, and with an input per column if `named`.
    #[pyo3(signature = (named=false))]
    fn to_onnx<'py>(&self, py: Python<'py>, named: bool) -> PyResult<Bound<'py, PyBytes>> {
        let form = if named { Form::OnnxNamed } else { Form::Onnx };
        let bytes = py.detach(|| export(&self.model, form, "tinytrain")).map_err(exception)?;
        Ok(PyBytes::new(py, &bytes))
    }
}
