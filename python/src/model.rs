//! Trained models: what they predict, and their files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tinytrain::engine::EngineState;
use tinytrain::memory::room;
use tinytrain::model::EnsembleMember;
use tinytrain::train::{Checkpoint, PartOfEpoch, Predictions, Predictor, Progress};
use tinytrain::{Device, Error, Form, Parameters, export, trainer};

use crate::errors::exception;
use crate::table::{PIECE, Table};

/// A trained network with its preprocessing.
#[pyclass(frozen, module = "tinytrain._tinytrain")]
pub(crate) struct Model {
    model: Arc<tinytrain::Model>,
    /// What its optimizer remembers, if it may train on.
    state: EngineState,
    /// The network made ready for so many threads, for the next call.
    ready: Mutex<Option<(Option<usize>, Predictor)>>,
}

/// Rows to predict.
#[derive(FromPyObject)]
pub(crate) enum Rows<'py> {
    Table(PyRef<'py, Table>),
    Numbers(PyReadonlyArray2<'py, f32>),
}

/// Classes, probabilities, values, and how many cells held what no training row held.
type Predicted<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f32>>, u64);

impl Model {
    pub(crate) fn new(model: tinytrain::Model) -> Self {
        Self::shared(Arc::new(model))
    }

    pub(crate) fn shared(model: Arc<tinytrain::Model>) -> Self {
        Self { model, state: EngineState::default(), ready: Mutex::new(None) }
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

    /// Predicts on the processor.
    fn outputs(&self, table: trainer::Table, threads: Option<usize>) -> Result<(Predictions, u64), Error> {
        let (features, dictionaries) = table.fitted_to(&self.model)?.features()?;
        // Several threads may predict at once: those that come later make it ready for themselves.
        let mut place = self.ready.try_lock().ok();
        let known = place.as_mut().and_then(|place| place.take()).filter(|(of, _)| *of == threads);
        let mut predictor = match known {
            Some((_, predictor)) => predictor,
            None => Predictor::new(&self.model, &Device::Cpu, threads)?,
        };
        let before = predictor.unknown_cells().count();
        let predictions = predictor.predict(features, &dictionaries)?;
        let unknown = predictor.unknown_cells().count() - before;
        if let Some(mut place) = place {
            *place = Some((threads, predictor));
        }
        Ok((predictions, unknown))
    }

    /// Predicts so many rows at a time: signals are answered in between, and what is copied is small.
    fn in_pieces(
        &self,
        py: Python<'_>,
        table: &trainer::Table,
        piece: usize,
        threads: Option<usize>,
    ) -> PyResult<(Predictions, u64)> {
        let network = &self.model.network;
        let outputs = table.rows() * network.outputs();
        let [rows, probabilities, values] =
            if network.loss().of_classes() { [table.rows(), outputs, 0] } else { [0, 0, outputs] };
        let mut all = Predictions {
            classes: room(rows, "an array of classes").map_err(exception)?,
            probabilities: room(probabilities, "an array of probabilities").map_err(exception)?,
            values: room(values, "an array of values").map_err(exception)?,
        };
        let mut unknown = 0;
        for first in (0..table.rows()).step_by(piece) {
            let rows: Vec<u32> = (first..table.rows().min(first + piece)).map(|row| row as u32).collect();
            // What is wrong with a row is said with its number among all.
            let found = py.detach(|| {
                self.outputs(table.taken(&rows), threads).or_else(|_| self.outputs(table.clone(), threads))
            });
            let (found, count) = found.map_err(exception)?;
            py.check_signals()?;
            all.classes.extend(found.classes);
            all.probabilities.extend(found.probabilities);
            all.values.extend(found.values);
            unknown += count;
        }
        Ok((all, unknown))
    }
}

#[pymethods]
impl Model {
    /// The class of each row, the probabilities of all classes, [rows, classes], and the values of a model that predicts those,
    /// [rows, values]; and how many cells held what no training row held.
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
        let piece = (PIECE * rows.max(1) / table.values().len().max(1)).max(1);
        let (predictions, unknown) = if rows > piece {
            self.in_pieces(py, &table, piece, threads)?
        } else if rows * table.values().len() < 4096 {
            // Shorter than letting go of the lock and taking it again.
            self.outputs(Arc::unwrap_or_clone(table), threads).map_err(exception)?
        } else {
            py.detach(|| self.outputs(Arc::unwrap_or_clone(table), threads)).map_err(exception)?
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

    /// The contents of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.model.to_bytes().map(|bytes| PyBytes::new(py, &bytes)).map_err(exception)
    }

    /// The model of the contents of a file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        tinytrain::Model::from_bytes(bytes, Path::new("model")).map(Self::new).map_err(exception)
    }

    /// The contents of a checkpoint: the model and what its optimizer remembers.
    fn to_checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let progress = Progress {
            steps: self.state.step,
            epochs: Vec::new(),
            epoch: PartOfEpoch::default(),
            kept: None,
            order: None,
            settings: Vec::new(),
            rows: None,
            was_restarted: false,
        };
        let (model, state) = ((*self.model).clone(), self.state.clone());
        let checkpoint = Checkpoint { model, state, kept: None, progress };
        checkpoint.to_bytes().map(|bytes| PyBytes::new(py, &bytes)).map_err(exception)
    }

    /// The model of the contents of a checkpoint, with what its optimizer remembers.
    #[staticmethod]
    fn from_checkpoint(bytes: &[u8]) -> PyResult<Self> {
        let Checkpoint { model, state, .. } =
            Checkpoint::from_bytes(bytes, Path::new("model")).map_err(exception)?;
        Ok(Self::with_state(model, state))
    }

    /// As `pickle` and `copy` write it.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let (py, model) = (slf.py(), slf.get());
        let (name, bytes) = match model.state.step {
            0 => ("from_bytes", model.to_bytes(py)?),
            _ => ("from_checkpoint", model.to_checkpoint(py)?),
        };
        Ok((slf.get_type().getattr(name)?, (bytes,)))
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
