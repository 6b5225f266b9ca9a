//! `tinytrain importance`.

use std::path::PathBuf;

use crate::engine::predicts_soon;
use crate::error::Error;
use crate::model::Model;
use crate::train::{Importance, Metric, Shuffling, importances};
use clap::Args;
use serde_json::{Value, json};

use super::args::{self, Format};
use super::devices::DeviceChoice;
use super::model_choice::ModelChoice;
use super::output::{print_line, print_lines, print_object, warn, write};
use super::output_place::{destination, ending_of};
use super::progress;
use super::table_options::DialectOptions;
use crate::data::data_paths;
use crate::evaluate::{EvaluationRows, held_out_of};
use crate::report::svg::{Bar, bars, short};
use crate::report::text::{Table, counted, evaluation_warnings, loss, shell_word};

/// Length of the longest bar, in characters.
const LONGEST: f64 = 30.0;

/// Show how much a model depends on each column of a table.
///
/// Permutation importance: the values of one column are shuffled, and the score of the model drops by the
/// importance of the column. Columns that carry the same information share it, so each may look unimportant.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tinytrain importance --model model.safetensors --svg importance.svg")]
pub struct Options {
    /// Model file, or the folder of a run or sweep.
    #[arg(long, value_name = "FILE-or-DIR")]
    model: PathBuf,
    #[command(flatten)]
    which: ModelChoice,
    /// Table with labels or values; `-` is standard input. [default: the table the model was tested on, else
    /// trained on]
    ///
    /// Of the training table only the rows held out for testing are used, if there are any.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Column with the true labels or values: a name, or an index from 0 (-1 is the last). [default: as in
    /// training]
    #[arg(long, value_name = "NAME-or-INDEX", value_parser = args::column, allow_hyphen_values = true)]
    target: Option<String>,
    /// Score that drops. [default: accuracy for classes, r2 for values]
    #[arg(long, value_name = "METRIC")]
    metric: Option<Metric>,
    /// Shuffles per column; the deviation is that over them.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = args::repeats, allow_hyphen_values = true)]
    repeats: usize,
    /// Maximum number of rows to use, chosen at random. [default: all]
    #[arg(long, value_name = "N", value_parser = args::count, allow_hyphen_values = true)]
    rows: Option<usize>,
    /// Seed for shuffling and --rows.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = args::parse::<u64>, allow_hyphen_values = true)]
    seed: u64,
    /// Also draw the bars into this SVG file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceChoice,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    written: DialectOptions,
}

/// Pale colour of bars, on which the lines of intervals are visible.
const PALE: &str = "#aec7e8";

/// Measures the importance and prints it.
///
/// # Errors
/// Errors of the model, the data, the device and the output.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let (model, model_file) = options.which.load(&options.model)?;
    let names = names(&model, &options.model.display().to_string())?;
    let metric = metric(&model, options.metric)?;
    let svg = options.svg.as_deref().map(|path| destination("--svg", path)).transpose()?;
    let mut set = held_out_of(&options.model, &model, options.data.as_slice())?;
    let files = [
        (model_file.as_path(), "which is the model"),
        (data_paths::file(&set.source), "which holds the data"),
    ];
    data_paths::spare_files("--svg", options.svg.as_deref(), files.into_iter())?;
    if let Some(svg) = options.svg.as_deref().filter(|svg| ending_of(svg, "svg").is_none()) {
        let found = shell_word(svg);
        anyhow::bail!(Error::Config(format!(
            "--svg: expected a file name that ends with .svg, found {found}"
        )));
    }
    let reader = set.open(&model, options.target.as_deref(), &options.written.format())?;
    let rows = set.rows(&model, reader)?;
    evaluation_warnings(&rows).iter().for_each(|warning| warn(warning));
    let EvaluationRows { data, name: file, .. } = rows;
    let all = data.rows();
    let data = data.sample(options.rows.unwrap_or(all), options.seed);
    let mut samples = counted(data.rows() as u64, "sample", "samples");
    if data.rows() < all {
        samples += &format!(", chosen among the {all}");
    }
    let predictions = data.rows().saturating_mul(1 + options.repeats * data.inputs);
    let device = options.device.find(predicts_soon(&model.network, predictions))?;
    let mut bar = progress::Bar::new(true);
    let shuffling = Shuffling { metric, repeats: options.repeats, seed: options.seed, threads: None };
    let found = importances(&model, &data, &device, &shuffling, &mut |done, of| {
        bar.count("columns", done, of);
        Ok(())
    });
    bar.clear();
    let (value, found) = found?;
    if let Some(svg) = svg {
        let picture = picture(&found, &names, metric, value, &format!("{samples} of {file}"));
        write(&svg, picture.as_bytes())?;
    }
    match options.format {
        Format::Json => {
            let column = |found: &Importance| {
                json!({
                    "column": names[found.column],
                    "importance": found.mean,
                    "deviation": found.deviation,
                })
            };
            print_object(&[
                ("model", options.model.to_string_lossy().into()),
                ("data", file.into()),
                ("samples", data.rows().into()),
                ("metric", metric.name().into()),
                ("value", value.into()),
                ("repeats", options.repeats.into()),
                ("seed", options.seed.into()),
                ("columns", found.iter().map(column).collect::<Value>()),
            ])?;
        }
        Format::Text => {
            print_line(&format!("{samples} of {file}: {} {}", metric.name(), loss(value)))?;
            print_line(&format!("{}, mean of {} shuffles of a column", change(metric), options.repeats))?;
            print_lines(&lines(&found, &names))?;
        }
    }
    Ok(())
}

/// Returns the column names of a model for tables.
fn names(model: &Model, file: &str) -> crate::error::Result<Vec<String>> {
    match &model.data_schema.schema {
        Some(schema) if model.data_schema.image.is_none() => {
            let name = |column: &crate::data::Column| {
                column.name.clone().unwrap_or_else(|| column.position.to_string())
            };
            Ok(schema.inputs.iter().map(name).collect())
        }
        _ => Err(Error::Config(format!("{file}: expected a model of a table, found one of images"))),
    }
}

/// Returns the metric for the model.
fn metric(model: &Model, wanted: Option<Metric>) -> crate::error::Result<Metric> {
    let of_classes = model.network.loss().classifies();
    let (usual, kind) = if of_classes { (Metric::Accuracy, "classes") } else { (Metric::R2, "values") };
    let others = Metric::names(of_classes);
    match wanted {
        Some(metric) if metric.of_classes() != of_classes => {
            let text = format!("--metric: expected {others} for a model of {kind}, found {}", metric.name());
            Err(Error::Config(text))
        }
        wanted => Ok(wanted.unwrap_or(usual)),
    }
}

/// Describes the meaning of an importance.
fn change(metric: Metric) -> String {
    let direction = if metric.is_error() { "increase" } else { "decrease" };
    format!("{direction} of {}", metric.name())
}

fn lines(found: &[Importance], names: &[String]) -> Vec<String> {
    let most = found.iter().map(|found| found.mean).fold(f64::MIN_POSITIVE, f64::max);
    let rows = found.iter().map(|found| {
        let bar = "█".repeat((found.mean / most * LONGEST).round().max(0.0) as usize);
        vec![names[found.column].clone(), loss(found.mean), loss(found.deviation), bar]
    });
    Table::new(&["column", ">importance", ">deviation", ""], rows).lines()
}

fn picture(found: &[Importance], names: &[String], metric: Metric, value: f64, file: &str) -> String {
    let bar = |found: &Importance| Bar {
        name: names[found.column].clone(),
        parts: vec![([0.0, found.mean], PALE)],
        interval: Some([found.mean - found.deviation, found.mean + found.deviation]),
        label: short(found.mean),
    };
    let all: Vec<Bar> = found.iter().map(bar).collect();
    let below = format!("{} {} on {file}; lines are the standard deviation", metric.name(), loss(value));
    let axis = format!("{} when a column is shuffled", change(metric));
    bars("Which columns the model needs", &axis, &all).file(&below, &[])
}
