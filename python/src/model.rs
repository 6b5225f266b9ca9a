//! Trained models: what they predict, and their files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use tinytrain::data::{LabelType, Schema, UnknownCells};
use tinytrain::engine::EngineState;
use tinytrain::memory::room;
use tinytrain::model::EnsembleMember;
use tinytrain::train::{Checkpoint, PartOfEpoch, Predictions, Predictor, Progress};
use tinytrain::{Device, Error, Form, Parameters, export, trainer};

use crate::errors::exception;
use crate::remote::Remote;
use crate::table::{PIECE, Table};
use crate::unknown::{Unknown, by_column};

/// A trained network with its preprocessing.
#[pyclass(frozen, module = "tinytrain._tinytrain")]
pub(crate) struct Model {
    model: Arc<tinytrain::Model>,
    /// What its optimizer remembers, if it may train on.
    state: EngineState,
    /// The network made ready for the next call.
    ready: Ready,
}

/// A network prepared for a number of threads.
type Ready = Arc<Mutex<Option<(Option<usize>, Predictor)>>>;

/// The type of a model, and the arguments that make it again.
type Reduced<'py> = (Bound<'py, PyType>, (Bound<'py, PyBytes>, bool));

/// Products of a network from which on signals are looked for while it predicts, and those of a piece.
const LONG: usize = 1 << 26;
const PRODUCTS: usize = 1 << 32;

/// Rows of a piece at least, which keep all threads busy.
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

/// Predicts on the processor.
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

/// Unseen cells of the last call.
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
        Self { model, state: EngineState::default(), ready: Ready::default() }
    }

    /// One that may train on.
    pub(crate) fn with_state(model: tinytrain::Model, state: EngineState) -> Self {
        Self { state, ..Self::new(model) }
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

    /// The products of a row in all of its networks.
    fn products(&self) -> usize {
        let of = |parameters: &Parameters| {
            parameters.layers.iter().map(|layer| layer.weights.len()).sum::<usize>()
        };
        let partners = self.model.ensemble.iter().flat_map(|ensemble| &ensemble.partners);
        of(&self.model.parameters) + partners.map(|partner| of(&partner.parameters)).sum::<usize>()
    }

    /// Predicts so many rows at a time, in a thread: signals are answered meanwhile, what is copied is small, and an interrupted
    /// thread soon ends.
    fn in_pieces(
        &self,
        py: Python<'_>,
        table: &Arc<trainer::Table>,
        piece: usize,
        threads: Option<usize>,
    ) -> PyResult<(Predictions, Unknown)> {
        let network = &self.model.network;
        let (count, products) = (table.rows(), table.rows() * network.outputs());
        let [rows, probabilities, values] =
            if network.loss().of_classes() { [count, products, 0] } else { [0, 0, products] };
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
                    // An error names the row by its number among all rows.
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
    /// The class of each row, the probabilities of all classes, [rows, classes], and the values of a model that predicts those,
    /// [rows, values]; and unseen cells by column.
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
            // Shorter than letting go of the lock and taking it again.
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

    /// The labels of the classes, in the order of the probabilities; none of a model of values.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.model.data_schema.classes.names().to_vec()
    }

    /// Whether it predicts classes.
    #[getter]
    fn is_classifier(&self) -> bool {
        self.model.network.loss().of_classes()
    }

    /// The networks that predict together, each as a model and with how often it counts; of one that is no ensemble itself.
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

    /// Whether several networks predict together.
    #[getter]
    fn is_ensemble(&self) -> bool {
        self.model.ensemble.is_some()
    }

    /// Outputs of a row.
    #[getter]
    fn outputs_of_row(&self) -> usize {
        self.model.network.outputs()
    }

    /// The names of its columns, if they have any.
    #[getter]
    fn columns(&self) -> Option<Vec<String>> {
        let columns = self.model.data_schema.schema.as_ref()?.read_columns();
        columns.into_iter().map(|column| column.name).collect()
    }

    /// How many columns a row has.
    #[getter]
    fn column_count(&self) -> usize {
        let columns = self.model.data_schema.schema.as_ref().map(|schema| schema.read_columns().len());
        columns.unwrap_or_else(|| self.model.transform.columns(self.model.network.columns()))
    }

    /// The columns that are categories, counted from 0.
    #[getter]
    fn categorical(&self) -> Vec<usize> {
        trainer::Table::categorical_of(&self.model)
    }

    /// The columns whose texts are kept byte for byte, counted from 0.
    #[getter]
    fn exact(&self) -> Vec<usize> {
        trainer::Table::exact_of(&self.model)
    }

    /// The names of the columns of dates with their time zones, None for those without one; none of models of files.
    #[getter]
    fn zones(&self) -> Vec<(String, Option<String>)> {
        let Some(schema) = &self.model.data_schema.schema else { return Vec::new() };
        schema.zones().filter_map(|(column, zone)| Some((column.name?, zone.map(str::to_owned)))).collect()
    }

    /// The type of the labels: `text`, `boolean`, `integer` or `float`, as in training or as they look like in a file.
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

    /// The contents of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.model.to_bytes().map(|bytes| PyBytes::new(py, &bytes)).map_err(exception)
    }

    /// The model of the contents of a file, or of a checkpoint, with what its optimizer remembers.
    #[new]
    fn of_bytes(bytes: &[u8], is_checkpoint: bool) -> PyResult<Self> {
        let path = Path::new("model");
        if is_checkpoint {
            let Checkpoint { model, state, .. } = Checkpoint::from_bytes(bytes, path).map_err(exception)?;
            return Ok(Self::with_state(model, state));
        }
        tinytrain::Model::from_bytes(bytes, path).map(Self::new).map_err(exception)
    }

    /// The model of the contents of a file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Self::of_bytes(bytes, false)
    }

    /// The contents of a checkpoint: the model and what its optimizer remembers.
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

    /// As `pickle`, `copy` and `skops` write it.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let (py, model) = (slf.py(), slf.get());
        let is_checkpoint = model.state.step > 0;
        let bytes = if is_checkpoint { model.to_checkpoint(py)? } else { model.to_bytes(py)? };
        Ok((slf.get_type(), (bytes, is_checkpoint)))
    }

    /// Reads a model file, or that in the folder of a run.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| tinytrain::train::load_model(&path)).map(Self::new).map_err(exception)
    }

    /// Writes a model file, wholly or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.model.save(&path)).map_err(exception)
    }

    /// The model as ONNX, with all of its preprocessing.
    fn to_onnx<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| export(&self.model, Form::Onnx, "tinytrain")).map_err(exception)?;
        Ok(PyBytes::new(py, &bytes))
    }
}
