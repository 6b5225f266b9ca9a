//! Evaluation of a run's model on rows that it was not trained on, if they can be read again.

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

/// Data for the evaluation of runs on a page.
#[derive(Debug, Clone)]
pub struct PageOptions {
    /// Files to evaluate on; if empty, the data that each run was tested on, or otherwise trained on.
    pub data: Vec<PathBuf>,
    /// Column of the labels or values, if it differs from training.
    pub target: Option<String>,
    /// Format of tables, as far as it is given.
    pub format: Format,
    /// Command that makes the page, for its last line.
    pub command: String,
}

/// The model of a run and its predictions.
pub struct EvaluatedRun {
    /// Model of the run.
    pub model: Model,
    /// Rows as inputs of the model.
    pub rows: EvaluationRows,
    /// Rows as in the file.
    pub read: AsRead,
    /// Description of the device.
    pub device: String,
    /// Predictions for the rows.
    pub predictions: Predictions,
    /// Loss over the rows.
    pub loss: f64,
    /// Measures, with their confidence intervals.
    pub measured: Vec<Measure>,
    /// Errors of a regression model.
    pub errors: Option<ValueErrors>,
}

impl EvaluatedRun {
    /// Evaluates the model of a run. The inner error is a sentence with the reason why there is no model or
    /// no data.
    ///
    /// # Errors
    /// Errors of the model and the device, and errors of data named by the options.
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
        let measured = measures(
            model.network.loss(),
            &outputs,
            &classes,
            rows.data.targets.view(),
            &rows.data.view().counts(),
        );
        let predictions = match errors {
            None => OutputDecoder::new(&model).predictions(outputs),
            Some(_) => Predictions { classes, probabilities: Vec::new(), values: outputs },
        };
        Ok(Ok(Self { model, rows, read, device, predictions, loss, measured, errors }))
    }

    /// Returns the number of values per row, and the values; empty for classes.
    pub fn values(&self) -> (usize, &[f32]) {
        match self.rows.data.targets.view() {
            TargetsRef::Classes(_) => (0, &[]),
            TargetsRef::Values { columns, values } => (columns, values),
        }
    }

    /// Returns the predicted probability of a class of a row.
    pub fn probability(&self, row: usize, class: u32) -> f64 {
        self.predictions.probabilities[row * self.model.network.outputs() + class as usize]
    }
}

/// Returns whether data caused the error, which may have moved or changed since.
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
