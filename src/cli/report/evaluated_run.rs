//! The options of `tinytrain report`, and a run's model on rows that it was not trained on, if they can be read again.

use std::path::PathBuf;

use crate::data::{TargetsRef, data_paths};
use crate::engine::{Device, DeviceRequest};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::train::{
    Evaluated, Measure, OutputDecoder, Predictions, ValueErrors, evaluate, evaluate_values, load_model,
    measures,
};
use clap::Args;

use crate::cli::args;
use crate::cli::output::warn;
use crate::cli::table_options::DialectOptions;
use crate::cli::text::evaluation_warnings;
use crate::evaluate::{AsRead, EvaluationRows, EvaluationSet, choose_data};
use crate::runs::{MODEL, RunSummary};

/// Make an HTML page of runs: their curves, the settings in which they differ, and how good their models are.
///
/// The page is a single file that needs no network and no scripts.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tinytrain report runs/2026-11-23T10-00-00Z-mnist -o report.html")]
pub struct Options {
    /// Folders of runs, or of one sweep, whose page lists its trials by score.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// HTML file to write.
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub out: PathBuf,
    /// Data to evaluate the models on: a table, a folder (its test files, else its training files), or an IDX
    /// file. [default: the data each run was tested on, else trained on]
    ///
    /// Several files are one table.
    #[arg(long, value_name = "DIR-or-FILE", num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// Column with the true labels or values: a name, or an index from 0 (-1 is the last). [default: as in
    /// training]
    #[arg(long, visible_alias = "label-column", value_name = "NAME-or-INDEX", value_parser = args::column,
          allow_hyphen_values = true)]
    pub target: Option<String>,
    /// Device: auto, cpu, gpu, vulkan, gl, metal, dx12, or a name or index that `tinytrain devices` lists.
    #[arg(long, default_value = "auto", value_parser = args::device, allow_hyphen_values = true)]
    pub device: DeviceRequest,
    /// Run GPU kernels with bounds checks.
    ///
    /// Slower; shows whether a kernel or driver goes astray.
    #[arg(long, alias = "checked")]
    pub bounds_checks: bool,
    #[command(flatten)]
    pub written: DialectOptions,
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
    /// Those of the model and the device; of data that `--data` names; [`Error::Config`] for a page in the place of one of them.
    pub fn evaluate(
        run: &RunSummary,
        options: &Options,
        device: &Device,
    ) -> Result<std::result::Result<Self, String>> {
        let path = run.path.join(MODEL);
        if !path.exists() {
            return Ok(Err("The run has not saved a model.".to_owned()));
        }
        let model = load_model(&path)?;
        let set = choose_data(&path, &model, &options.data);
        if let Ok(EvaluationSet { source, .. }) = &set {
            data_paths::spare_data("--out", Some(&options.out), [Some(source)])?;
        }
        let rows = set.and_then(|mut set| {
            let reader = set.open(&model, options.target.as_deref(), &options.written.format())?;
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
        evaluation_warnings(&rows).iter().for_each(|warning| warn(warning));
        let reading = OutputDecoder::new(&model);
        let finite = |loss: f64| {
            let refused = || Error::NonFiniteTest { path: (&rows.name).into(), loss };
            if loss.is_finite() { Ok(loss) } else { Err(refused()) }
        };
        let (targets, counts) = (rows.data.targets.view(), rows.data.view().counts());
        if model.network.loss().of_classes() {
            let Evaluated { evaluation, outputs, device, .. } = evaluate(&model, &rows.data, device, false)?;
            let (loss, measured) = (finite(evaluation.loss)?, measures(&outputs, targets, &counts));
            let predictions = reading.predictions(outputs);
            return Ok(Ok(Self { model, rows, read, device, predictions, loss, measured, errors: None }));
        }
        let found = evaluate_values(&model, &rows.data, device)?;
        let (loss, measured) = (finite(found.errors.loss)?, measures(&found.values, targets, &counts));
        let predictions =
            Predictions { classes: Vec::new(), probabilities: Vec::new(), values: found.values };
        let (device, errors) = (found.device, Some(found.errors));
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
