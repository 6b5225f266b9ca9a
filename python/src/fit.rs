//! A fit: a run of the library, with Python's lock released during training.

use std::borrow::Cow;
use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tinytrain::data::{ColumnEncoding, LabelType, Transform};
use tinytrain::ndarray::Array2;
use tinytrain::train::End;
use tinytrain::trainer::{self, Target, TargetData};
use tinytrain::{Epoch, Error, Event, Reader, Run, Trainer};

use crate::errors::{exception, in_python};
use crate::model::Model;
use crate::remote::Remote;
use crate::rows::{Rows, Ties};
use crate::settings;
use crate::table::Table;
use crate::unknown::by_column;

/// Targets of rows: the names of classes with the index of each row's class and the type of the labels, values to
/// predict, [rows, values], or labels of 0 or 1, [rows, labels].
#[derive(FromPyObject)]
pub(crate) enum Targets<'py> {
    Labels(Vec<String>, PyReadonlyArray1<'py, u32>, String),
    Values(PyReadonlyArray2<'py, f32>),
    Binary(PyReadonlyArray2<'py, bool>),
}

/// Targets without Python: for classes the names and one index per row, for values no names and their bits.
#[derive(Clone)]
pub(crate) struct OwnTargets {
    pub names: Option<Vec<String>>,
    pub label_type: LabelType,
    /// Whether the values are labels of 0 or 1.
    pub are_labels: bool,
    /// Words per row.
    pub width: usize,
    pub words: Vec<u32>,
}

impl Targets<'_> {
    /// Returns a copy that needs no interpreter.
    pub(crate) fn own(&self) -> PyResult<OwnTargets> {
        Ok(match self {
            Targets::Labels(names, numbers, label_type) => OwnTargets {
                names: Some(names.clone()),
                label_type: label_type.parse().map_err(exception)?,
                are_labels: false,
                width: 1,
                words: numbers.as_array().to_vec(),
            },
            Targets::Values(values) => {
                let values = values.as_array();
                let words = values.iter().map(|value| (value + 0.0).to_bits()).collect();
                let (label_type, width) = (LabelType::Float, values.ncols());
                OwnTargets { names: None, label_type, are_labels: false, width, words }
            }
            Targets::Binary(labels) => {
                let labels = labels.as_array();
                let words = labels.iter().map(|label| f32::from(*label).to_bits()).collect();
                let (label_type, width) = (LabelType::Float, labels.ncols());
                OwnTargets { names: None, label_type, are_labels: true, width, words }
            }
        })
    }
}

impl OwnTargets {
    /// Marks the targets of a reader as labels of 0 or 1, if they are.
    fn marked(are_labels: bool, reader: Reader) -> Reader {
        if are_labels { reader.with_labels() } else { reader }
    }

    /// Returns the targets of these rows, without classes that have no row.
    fn taken(&self, rows: &[u32]) -> TargetData {
        let words = taken(&self.words, self.width, rows);
        let Some(names) = &self.names else {
            return Array2::from_shape_fn((rows.len(), self.width), |(row, column)| {
                f32::from_bits(words[row * self.width + column])
            })
            .target_data();
        };
        let mut is_present = vec![false; names.len()];
        words.iter().for_each(|class| is_present[*class as usize] = true);
        let (mut present, mut numbers) = (Vec::new(), Vec::with_capacity(names.len()));
        for (name, is_present) in names.iter().zip(is_present) {
            numbers.push(present.len() as u32);
            present.extend(is_present.then(|| name.clone()));
        }
        let numbers = words.iter().map(|class| numbers[*class as usize]).collect();
        TargetData::classes(present, numbers).of_type(self.label_type)
    }
}

/// Rows with targets, for a reader of the library.
#[derive(Clone)]
pub(crate) struct Source {
    pub table: Arc<trainer::Table>,
    pub targets: OwnTargets,
    /// Weights of the rows, or empty.
    pub weights: Vec<f64>,
    /// Groups of the rows, or empty.
    pub groups: Vec<u32>,
    /// Times of the rows, or empty.
    pub times: Vec<f64>,
    /// Selected rows; `None` for all.
    pub among: Option<Vec<u32>>,
    /// Names of the targets, if any.
    pub names: Vec<String>,
    /// Whether integer weights may be replaced by repeated rows.
    pub repeats: bool,
    pub threads: Option<usize>,
}

impl Source {
    /// Returns the number of cells.
    pub(crate) fn cells(&self) -> usize {
        self.table.values().len()
    }

    /// Checks that all parts have the same number of rows.
    pub(crate) fn check(&self) -> PyResult<()> {
        let count = self.table.rows();
        let OwnTargets { names, width, words, .. } = &self.targets;
        let are_fit = |length: usize| length == 0 || length == count;
        if words.len() != count * width
            || ![self.weights.len(), self.groups.len(), self.times.len()].into_iter().all(are_fit)
        {
            return Err(PyIndexError::new_err("X, y and weights have different numbers of rows"));
        }
        if names.as_ref().is_some_and(|names| words.iter().any(|class| *class as usize >= names.len())) {
            return Err(PyIndexError::new_err("no such label"));
        }
        if self.among.iter().flatten().any(|row| *row as usize >= count) {
            return Err(PyIndexError::new_err("no such row"));
        }
        Ok(())
    }

    /// Returns a reader of the rows in their own order, without weights, with all classes, even without rows.
    pub(crate) fn with_all_classes(&self) -> Result<Reader, Error> {
        let OwnTargets { names, words, .. } = &self.targets;
        let targets = match names {
            Some(names) => TargetData::classes(names.clone(), words.clone()).of_type(self.targets.label_type),
            None => self.targets.taken(&(0..self.table.rows() as u32).collect::<Vec<u32>>()),
        };
        let reader =
            (*self.table).clone().into_reader(targets, self.names.clone(), Vec::new(), self.threads)?;
        Ok(OwnTargets::marked(self.targets.are_labels, reader))
    }

    /// Returns a reader of the rows in the order of their content.
    pub(crate) fn reader(self) -> Result<Reader, Error> {
        let Self { table, targets, mut weights, mut groups, mut times, among, names, repeats, threads } =
            self;
        let inputs = table.values().len() / table.rows().max(1);
        let (mut values, mut words) = (Cow::from(table.values()), Cow::from(&targets.words));
        if let Some(among) = &among {
            values = taken(&values, inputs, among).into();
            words = taken(&words, targets.width, among).into();
            weights = picked(&weights, among);
            groups = picked(&groups, among);
            times = picked(&times, among);
        }
        let ties = Ties { weights: &weights, groups: &groups, times: &times };
        let Rows { mut rows, weights, copies } = Rows::new(&values, (targets.width, &words), &ties, repeats);
        let (groups, times) = (picked(&groups, &rows), picked(&times, &rows));
        if let Some(among) = among {
            rows.iter_mut().for_each(|row| *row = among[*row as usize]);
        }
        let table =
            Arc::try_unwrap(table).map_or_else(|table| table.taken(&rows), |table| table.arranged(&rows));
        let table = table.with_groups(numbered(&groups)).with_times(times).with_copies(copies);
        let reader = table.into_reader(targets.taken(&rows), names, weights, threads)?;
        Ok(OwnTargets::marked(targets.are_labels, reader))
    }
}

/// Returns numbers of rows, such as weights; empty without an array.
fn of_rows<T: numpy::Element + Copy>(numbers: Option<&PyReadonlyArray1<'_, T>>) -> Vec<T> {
    numbers.map(|numbers| numbers.as_array().to_vec()).unwrap_or_default()
}

/// Returns these rows of an array with rows of this width.
fn taken<T: Copy>(array: &[T], width: usize, rows: &[u32]) -> Vec<T> {
    let mut taken = Vec::with_capacity(rows.len() * width);
    rows.iter().for_each(|row| taken.extend_from_slice(&array[*row as usize * width..][..width]));
    taken
}

/// Returns the numbers of these rows, if there are any.
fn picked<T: Copy>(numbers: &[T], rows: &[u32]) -> Vec<T> {
    if numbers.is_empty() { Vec::new() } else { taken(numbers, 1, rows) }
}

/// Renumbers groups without gaps, ignoring groups without rows.
fn numbered(groups: &[u32]) -> Vec<u32> {
    let mut different = groups.to_vec();
    different.sort_unstable();
    different.dedup();
    groups.iter().map(|group| different.partition_point(|other| other < group) as u32).collect()
}

/// Returns the metrics of an epoch for Python.
fn epoch_figures<'py>(
    py: Python<'py>,
    epoch: &Epoch,
    epochs: usize,
    is_kept: bool,
    of_classes: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let figures = PyDict::new(py);
    figures.set_item("epoch", epoch.epoch)?;
    figures.set_item("epochs", epochs)?;
    figures.set_item("loss", epoch.train.loss)?;
    if of_classes {
        figures.set_item("accuracy", epoch.train.accuracy)?;
    }
    figures.set_item("seconds", epoch.duration.as_secs_f64())?;
    figures.set_item("rows", epoch.rows)?;
    figures.set_item("is_kept", is_kept)?;
    if let Some(score) = &epoch.validation {
        figures.set_item("validation_loss", score.loss)?;
        let found = score.values.as_ref().map_or(score.accuracy, |errors| errors.r2);
        figures.set_item("validation_score", found)?;
    }
    Ok(figures)
}

/// Rows for `fit`: the table, which is empty afterwards, targets, weights, groups, times.
pub(crate) type GivenRows<'py> = (
    PyRefMut<'py, Table>,
    Targets<'py>,
    Option<PyReadonlyArray1<'py, f64>>,
    Option<PyReadonlyArray1<'py, u32>>,
    Option<PyReadonlyArray1<'py, f64>>,
);

/// Returns the rows without Python.
pub(crate) fn source(
    (mut table, targets, weights, groups, times): GivenRows<'_>,
    names: &[String],
    repeats: bool,
    threads: Option<usize>,
) -> PyResult<Source> {
    let source = Source {
        table: std::mem::take(&mut table.0),
        targets: targets.own()?,
        weights: of_rows(weights.as_ref()),
        groups: of_rows(groups.as_ref()),
        times: of_rows(times.as_ref()),
        among: None,
        names: names.to_vec(),
        repeats,
        threads,
    };
    source.check().map(|()| source)
}

/// Trains a network. `settings` is a JSON object of settings by name; `on_epoch` receives the results of each
/// epoch and ends the fit by returning a true value; `repeats` states whether integer weights may be replaced
/// by repeated rows; `keeps_state` whether the model stores the optimizer state. Returns the model, and a
/// dictionary with `loss_curve`, `validation_scores`, `kept`, `warnings`, `unknown` (cells of held-out rows
/// by column), and `is_late` if the time limit was reached before all `total` epochs.
#[pyfunction]
#[pyo3(signature = (rows, settings, *, device="auto", repeats=true, validation=None, names=Vec::new(), first=None, keeps_state=false, on_epoch=None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    rows: GivenRows<'py>,
    settings: &str,
    device: &str,
    repeats: bool,
    validation: Option<GivenRows<'py>>,
    names: Vec<String>,
    first: Option<PyRef<'py, Model>>,
    keeps_state: bool,
    on_epoch: Option<Bound<'py, PyAny>>,
) -> PyResult<(Model, Bound<'py, PyDict>)> {
    let settings = settings::read(settings)?;
    let threads = settings.threads;
    let training = source(rows, &names, repeats, threads)?;
    let validation = validation.map(|rows| source(rows, &names, false, threads)).transpose()?;
    let cells = training.cells() + validation.as_ref().map_or(0, Source::cells);
    let request = device.parse().unwrap_or_default();
    let of_classes = training.targets.names.is_some();
    let before = first.as_ref().map(|model| Arc::clone(model.model()));
    let first = first.map(|model| (model.parameters(), model.state().clone()));
    let start = move |slot: &mut Option<Run>| {
        let validation = validation.map(Source::reader).transpose()?;
        let mut reader = training.reader()?;
        let settings = settings.with_table_defaults(&mut reader, validation.is_some())?;
        let run = Trainer::new(settings).device(request).start_reader(reader, validation, None)?;
        *slot = Some(match first {
            Some((parameters, state)) => run.begin_with(parameters, state),
            None => run,
        });
        Ok(())
    };
    let mut run = Remote::new(None, cells >= LONG)?;
    run.call(py, start)?.map_err(exception)?;
    let (mut scores, mut warnings, mut unknown, mut epochs) = (Vec::new(), Vec::new(), Vec::new(), 0);
    while let Some(event) = run.call(py, |run| with(run, Run::next))?.map_err(exception)? {
        match event {
            Event::Epoch { epoch, is_kept, .. } => {
                if epoch.validation.is_some() || on_epoch.is_some() {
                    let figures = epoch_figures(py, &epoch, epochs, is_kept, of_classes)?;
                    scores.extend(
                        figures
                            .get_item("validation_score")?
                            .map(|score| score.extract::<f64>())
                            .transpose()?,
                    );
                    if let Some(on_epoch) = &on_epoch
                        && on_epoch.call1((figures,))?.is_truthy()?
                    {
                        run.call(py, |run| run.iter_mut().for_each(Run::stop))?;
                    }
                }
            }
            Event::Unknown { set, cells } => {
                unknown.push((set, cells));
            }
            Event::OneClass { set, class } => {
                warnings.push(format!("all {set} rows are of class {class}: their scores mean little"));
            }
            Event::Started(started) => {
                epochs = started.epochs;
                if let Some(before) = &before
                    && categories(&before.transform) != categories(&started.transform)
                {
                    let error = "warm_start: the columns hold other categories than in the fit before";
                    return Err(PyValueError::new_err(error));
                }
            }
            Event::Progress { .. } | Event::Interrupted { .. } => {}
        }
    }
    let finish = move |run: &mut Option<Run>| {
        let state = if keeps_state { with(run, Run::optimizer_state)? } else { None };
        let run = run.take().ok_or(Error::Interrupted)?;
        let validation = run.validation().map(Model::sample);
        Ok((run.summary()?, state.unwrap_or_default(), validation))
    };
    let (summary, state, validation) = run.call(py, finish)?.map_err(exception)?;
    let warning = summary.warning.as_ref().map(|warning| in_python(&warning.to_string()));
    let found = PyDict::new(py);
    found.set_item(
        "loss_curve",
        PyArray1::from_iter(py, summary.epochs.iter().map(|epoch| epoch.train.loss)),
    )?;
    found.set_item("validation_scores", PyArray1::from_vec(py, scores))?;
    found.set_item("kept", summary.kept)?;
    found.set_item("warning", warning)?;
    found.set_item("warnings", warnings)?;
    let schema = summary.model.data_schema.schema.as_ref();
    let named: Vec<_> = unknown.iter().map(|(set, cells)| (*set, by_column(cells, schema))).collect();
    found.set_item("unknown", named)?;
    found.set_item("is_late", summary.end == End::Time)?;
    found.set_item("total", epochs)?;
    Ok((Model::with_state(summary.model, state).validated_on(validation), found))
}

/// Returns the columns of categories, with their encodings.
fn categories(transform: &Transform) -> Vec<(usize, &ColumnEncoding)> {
    let Transform::Columns(encoding) = transform else { return Vec::new() };
    let columns = encoding.categories().into_iter();
    columns.map(|column| (column, &encoding.columns[column])).collect()
}

/// Number of cells from which signals are checked while the library works on them.
pub(crate) const LONG: usize = 1 << 19;

/// Calls a function on the run, which exists from the start to the summary.
fn with<R: Default>(
    run: &mut Option<Run>,
    work: impl FnOnce(&mut Run) -> Result<R, Error>,
) -> Result<R, Error> {
    run.as_mut().map_or_else(|| Ok(R::default()), work)
}
