//! A run's model on rows that it was not trained on, if they can be read again.

use std::path::PathBuf;

use crate::data::{Format, TargetsRef};
use crate::engine::Device;
use crate::error::{Error, Result};
use crate::evaluate::{AsRead, EvaluationRows, choose_data};
use crate::model::Model;
use crate::runs::{MODEL, RunSummary};
use crate::train::{
    Evaluated, Measure, OutputDecoder, Predictions, Score, ValueErrors, evaluate, load_model, measures,
};

/// What runs are evaluated on for a page.
#[derive(Debug, Clone)]
pub struct PageOptions {
    /// The data; if there are none, those that each run was tested on, else trained on.
    pub data: Vec<PathBuf>,
    /// The column of the labels or values, if it differs from in training.
    pub target: Option<String>,
    /// How tables are written, as far as it is said.
    pub format: Format,
}

/// The model of a run and its predictions.
pub struct EvaluatedRun {
    /// The model.
    pub model: Model,
    /// The rows as its inputs.
    pub rows: EvaluationRows,
    /// The rows as they are in the file.
    pub read: AsRead,
    /// The device, for people.
    pub device: String,
    /// What it predicts.
    pub predictions: Predictions,
    /// Its loss over the rows.
    pub loss: f64,
    /// Measures, with their intervals.
    pub measured: Vec<Measure>,
    /// The errors of a regression model.
    pub errors: Option<ValueErrors>,
}

impl EvaluatedRun {
    /// Evaluates the model of a run. The inner error is a sentence: why there is nothing to evaluate, or nothing to evaluate on.
    ///
    /// # Errors
    /// Those of the model and the device; of data that the options name.
    pub fn evaluate(
        run: &RunSummary,
        options: &PageOptions,
        device: &Device,
    ) -> Result<std::result::Result<Self, String>> {
        let path = run.path.join(MODEL);
        if !path.exists() {
            return Ok(Err("The run has not saved a model.".to_owned()));
        }
        let model = load_model(&path)?;
        let set = choose_data(&path, &model, &options.data);
        let rows = set.and_then(|mut set| {
            let reader = set.open(&model, options.target.as_deref(), &options.format)?;
            set.rows_as_read(&model, reader)
        });
        let (rows, read) = match rows {
            Ok(found) => found,
            Err(error) if options.data.is_empty() && is_of_data(&error) => {
                return Ok(Err(format!(
                    "Its data cannot be read again: {error}. Use --data to name other data."
                )));
            }
            Err(error) => return Err(error),
        };
        let Evaluated { score, predictions: classes, outputs, device } =
            evaluate(&model, &rows.data, device)?;
        let Score { loss, values: errors, .. } = score;
        if !loss.is_finite() {
            return Err(Error::NonFiniteTest { path: (&rows.name).into(), loss });
        }
        let measured = measures(&outputs, rows.data.targets.view(), &rows.data.view().counts());
        let predictions = match errors {
            None => OutputDecoder::new(&model).predictions(outputs),
            Some(_) => Predictions { classes, probabilities: Vec::new(), values: outputs },
        };
        Ok(Ok(Self { model, rows, read, device, predictions, loss, measured, errors }))
    }

    /// Values to predict of a row, and the values; nothing of classes.
    pub fn values(&self) -> (usize, &[f32]) {
        match self.rows.data.targets.view() {
            TargetsRef::Classes(_) => (0, &[]),
            TargetsRef::Values { columns, values } => (columns, values),
        }
    }

    /// The probability that the model gives a class of a row.
    pub fn probability(&self, row: usize, class: u32) -> f64 {
        self.predictions.probabilities[row * self.model.network.outputs() + class as usize]
    }
}

/// Whether data are the reason, which may have moved or changed since.
fn is_of_data(error: &Error) -> bool {
    matches!(
        error,
        Error::Read { .. }
            | Error::Data { .. }
            | Error::Fault { .. }
            | Error::Config(_)
            | Error::Undecided { .. }
    )
}
