//! `tinytrain eval`.

use std::path::PathBuf;

use crate::data::Dataset;
use crate::engine::predicts_soon;
use crate::error::Error;
use crate::model::Model;
use crate::train::{
    Evaluated, Measure, Score, TargetErrors, Threshold, ValueErrors, class_figures, confusion,
    evaluate_copies, measures, only_class,
};
use clap::Args;
use serde_json::Value;

use super::args::{self, Format};
use super::evaluation_options::EvaluationOptions;
use super::model_choice::ModelChoice;
use super::output::{print_line, print_lines, print_object, warn};
use crate::evaluate::{EvaluationRows, choose_data};
use crate::report::evaluation::{
    error_table, errors_text, intervals, intervals_by_target, list, measure_table, misclassified, number_of,
    target_table, text, value_of, values_by_target, weight_line,
};
use crate::report::text::{counted, evaluation_warnings, loss, one_class, percent};

/// Maximum number of classes for a confusion matrix in JSON.
const JSON_CLASSES: usize = 1000;

/// Evaluate a model.
///
/// Prints the loss, the measures with their confidence intervals, precision and recall of each class, and the
/// confusion matrix.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tinytrain eval --model model.safetensors --data data/mnist")]
pub struct Options {
    /// Model file, or the folder of a run or sweep.
    #[arg(long, value_name = "FILE-or-DIR")]
    model: PathBuf,
    #[command(flatten)]
    which: ModelChoice,
    #[command(flatten)]
    on: EvaluationOptions,
    /// List misclassified rows, up to N as text and all as JSON. [default without N: 20]
    ///
    /// Rows are counted from 1, without the header, through all files.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20")]
    errors: Option<usize>,
    /// Predict the second of two classes from this probability on: a number, or best.
    ///
    /// best is the threshold with the largest balanced accuracy on the evaluated rows. Without this option the more
    /// probable class is predicted.
    #[arg(long, hide_short_help = true, value_name = "X-or-best", value_parser = args::threshold, allow_hyphen_values = true)]
    threshold: Option<Threshold>,
    /// Predict each image from N distorted copies, by the mean of their probabilities.
    ///
    /// The distortions are half as large as the ones of --augment in training.
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = args::copies, allow_hyphen_values = true)]
    augment_test: Option<usize>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Evaluates the model and prints the results.
///
/// # Errors
/// Errors of the model, the data, the device and the output.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let (model, _) = options.which.load(&options.model)?;
    let mut set = choose_data(&options.model, &model, &options.on.data)?;
    let network_loss = model.network.loss();
    let reader = set.open(&model, options.on.target.as_deref(), &options.on.written.format())?;
    let rows = set.rows(&model, reader)?;
    let device = options.on.device.find(predicts_soon(&model.network, rows.data.rows()))?;
    evaluation_warnings(&rows).iter().for_each(|warning| warn(warning));
    let EvaluationRows { data, name: file, .. } = &rows;
    if !network_loss.of_classes() && options.errors.is_some() {
        let predicts = if network_loss.of_labels() { "several labels" } else { "values" };
        anyhow::bail!(Error::Config(format!(
            "--errors lists misclassified rows, but this model predicts {predicts}; leave it out"
        )));
    }
    let mut evaluated = evaluate_copies(&model, data, &device, options.augment_test)?;
    let counts = data.view().counts();
    let threshold =
        options.threshold.map(|it| it.apply(&mut evaluated, data.labels(), &counts)).transpose()?;
    let Score { loss, values, .. } = &evaluated.score;
    if !loss.is_finite() {
        return Err(Error::NonFiniteTest { path: file.into(), loss: *loss }.into());
    }
    let measured =
        measures(network_loss, &evaluated.outputs, &evaluated.predictions, data.targets.view(), &counts);
    if options.format == Format::Text {
        print_lines(&head(options, &model, data, file, &evaluated.device))?;
        if let Some(threshold) = threshold {
            print_line(&threshold_line(threshold, &model, options.threshold))?;
        }
    }
    match values {
        None if network_loss.of_labels() => labels(options, &model, &rows, *loss, &measured),
        None => classes(options, &model, &rows, (&evaluated, threshold), &measured),
        Some(errors) => self::values(options, &model, &rows, errors, &measured),
    }
}

/// Prints the results of a classifier.
fn classes(
    options: &Options,
    model: &Model,
    rows: &EvaluationRows,
    (evaluated, threshold): (&Evaluated, Option<f64>),
    measured: &[Measure],
) -> anyhow::Result<()> {
    let EvaluationRows { data, name: file, .. } = rows;
    let Evaluated { score, predictions, .. } = evaluated;
    let (labels, classes) = (data.labels(), &model.data_schema.classes);
    if let Some(class) = only_class(labels) {
        warn(&one_class(classes.name(class), &format!("the rows of {file}")));
    }
    let counts = data.view().counts();
    let errors = options.errors.map(|_| misclassified(labels, predictions));
    match options.format {
        Format::Json => {
            let matrix = (classes.len() <= JSON_CLASSES)
                .then(|| confusion(labels, predictions, &counts, classes.len()));
            // Without weights, counts are whole numbers.
            let cell = |count: f64| match data.weights.is_empty() {
                true => Value::from(count as u64),
                false => Value::from(count),
            };
            let matrix = matrix.map(|rows| {
                rows.into_iter().map(|row| Value::from_iter(row.into_iter().map(cell))).collect::<Value>()
            });
            let mut fields = head_fields(options, data, file, score.loss);
            fields.extend([
                ("accuracy", value_of(measured, "accuracy")),
                ("balanced_accuracy", value_of(measured, "balanced_accuracy")),
                ("macro_f1", value_of(measured, "macro_f1")),
                ("log_loss", value_of(measured, "log_loss")),
                ("auc", value_of(measured, "auc")),
                ("average_precision", value_of(measured, "average_precision")),
                ("intervals", intervals(measured)),
                ("classes", classes.names().to_vec().into()),
                ("confusion", matrix.into()),
            ]);
            fields.extend(threshold.map(|threshold| ("threshold", threshold.into())));
            fields.extend(errors.map(|errors| ("errors", list(&errors, rows, predictions, classes))));
            print_object(&fields)?;
        }
        Format::Text => {
            let figures = class_figures(labels, predictions, &counts, classes.len());
            print_lines(&text(data, evaluated, classes, &figures, measured))?;
            if let (Some(errors), Some(most)) = (errors, options.errors) {
                print_lines(&error_table(&errors, rows, predictions, most, classes))?;
            }
        }
    }
    Ok(())
}

/// Describes the evaluated model and the rows.
fn head(options: &Options, model: &Model, data: &Dataset, file: &str, device: &str) -> Vec<String> {
    let samples = counted(data.rows() as u64, "sample", "samples");
    let mut lines = vec![format!("{} of {}", model.description(), options.model.display())];
    lines.push(format!("{samples} of {file}, on {device}"));
    lines.extend(weight_line(model, data));
    lines
}

/// Describes a decision threshold.
fn threshold_line(threshold: f64, model: &Model, asked: Option<Threshold>) -> String {
    let class = model.data_schema.classes.name(1);
    let best = if asked == Some(Threshold::Best) {
        ", with the largest balanced accuracy on these rows"
    } else {
        ""
    };
    format!("rows are predicted to be {class} from a probability of {threshold:.4} on{best}")
}

/// Returns the same description as fields of a JSON object, with the loss.
fn head_fields(options: &Options, data: &Dataset, file: &str, loss: f64) -> Vec<(&'static str, Value)> {
    vec![
        ("model", options.model.to_string_lossy().into()),
        ("data", file.into()),
        ("samples", data.rows().into()),
        ("weighted", (!data.weights.is_empty()).into()),
        ("loss", loss.into()),
    ]
}

/// Prints the measures of labels of 0 or 1.
fn labels(
    options: &Options,
    model: &Model,
    rows: &EvaluationRows,
    mean_loss: f64,
    measured: &[Measure],
) -> anyhow::Result<()> {
    let names = model.data_schema.value_names(&model.network);
    match options.format {
        Format::Json => {
            let mut fields = head_fields(options, &rows.data, &rows.name, mean_loss);
            let all = measured.iter().filter(|measure| measure.target.is_none());
            fields.extend(all.map(|measure| (measure.name, measure.value.into())));
            fields.extend([
                ("intervals", intervals(measured)),
                ("values_by_target", values_by_target(measured, names.len())),
                ("intervals_by_target", intervals_by_target(measured, names.len())),
                ("targets", names.into()),
            ]);
            print_object(&fields)?;
        }
        Format::Text => {
            print_line(&format!(
                "loss {}, accuracy {}, all labels right {}",
                loss(mean_loss),
                percent(number_of(measured, "accuracy")),
                percent(number_of(measured, "exact_match"))
            ))?;
            print_lines(&target_table(measured, &names).lines())?;
        }
    }
    Ok(())
}

/// Prints the errors of predicted values.
fn values(
    options: &Options,
    model: &Model,
    rows: &EvaluationRows,
    errors: &ValueErrors,
    measured: &[Measure],
) -> anyhow::Result<()> {
    let ValueErrors { loss: mean_loss, rmse, mae, r2, targets } = errors;
    let names = model.data_schema.value_names(&model.network);
    let count = names.len();
    match options.format {
        Format::Json => {
            let each = |of: fn(&TargetErrors) -> f64| Value::from_iter(targets.iter().map(of));
            let mut fields = head_fields(options, &rows.data, &rows.name, *mean_loss);
            fields.extend([
                ("rmse", (*rmse).into()),
                ("mae", (*mae).into()),
                ("r2", (*r2).into()),
                ("intervals", intervals(measured)),
                ("targets", names.into()),
                ("rmse_by_target", each(|target| target.rmse)),
                ("mae_by_target", each(|target| target.mae)),
                ("r2_by_target", each(|target| target.r2)),
                ("intervals_by_target", intervals_by_target(measured, count)),
            ]);
            let are_quantiles = model.network.quantiles() > 0;
            fields.extend(are_quantiles.then(|| ("values_by_target", values_by_target(measured, count))));
            print_object(&fields)?;
        }
        Format::Text => {
            let scaled = if model.data_schema.target_scale.is_some() { " of scaled values" } else { "" };
            let of = format!("loss ({}{scaled}) {}", model.network.loss(), loss(*mean_loss));
            print_line(&format!("{of}, {}", errors_text(errors)))?;
            let table = match names.len() {
                1 => measure_table(measured),
                _ => target_table(measured, &names),
            };
            print_lines(&table.lines())?;
        }
    }
    Ok(())
}
