//! `tinytrain eval`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use tinytrain::Error;
use tinytrain::data::{Classes, Dataset, Reader, Source, Split, Target};
use tinytrain::engine::{Device, DeviceRequest, Evaluation, find_device};
use tinytrain::error::Place;
use tinytrain::model::Model;
use tinytrain::train::{
    Evaluated, EvaluatedValues, Measure, ValueErrors, evaluate, evaluate_values, load_model, measures,
    read_for,
};

use super::args::{self, Format};
use super::classes::{ClassFigures, balanced_accuracy, confusion, figures};
use super::measure_text::{intervals, measure_table, value_of};
use super::output::{print_line, print_object, warn};
use super::places;
use super::table_options::Written;
use super::text::{Align, counted, grouped, loss, percent, table, unknown_cells};

/// The most classes of which a text shows the confusion matrix.
const TEXT_CLASSES: usize = 20;
/// The most classes of which JSON holds the confusion matrix.
const JSON_CLASSES: usize = 1000;
/// The most characters of a class's name in a table.
const SHOWN_NAME: usize = 20;
/// The most classes of which a text shows the figures.
const TABLE_CLASSES: usize = 40;

/// Test a saved network.
///
/// Prints its loss and accuracy, how well each class is recognised, and which classes are taken for which.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tinytrain eval --model model.safetensors --data data/mnist")]
pub struct Options {
    /// The model, as `tinytrain train` saved it.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// Data: a folder (its test files, or else its training files), an IDX file of images, or a CSV table; `-` is a table
    /// on standard input. Several files are one table. [default: what the model was tested on, or else trained on]
    #[arg(long, value_name = "DIR-or-FILE", num_args = 1..)]
    data: Vec<PathBuf>,
    /// Column of a table that holds the labels: its name, or its index from 0; -1 is the last. [default: as in training]
    #[arg(long, visible_alias = "label-column", value_name = "NAME-or-INDEX", value_parser = args::column,
          allow_hyphen_values = true)]
    target: Option<String>,
    /// What computes: auto, cpu, gpu, vulkan, gl, metal, dx12, or the name or index of a device as
    /// `tinytrain devices` lists it.
    #[arg(long, default_value = "auto", value_parser = args::device, allow_hyphen_values = true)]
    device: DeviceRequest,
    /// Have a GPU's kernels check every index, count every loop, and begin with cleared memory: slower, to find out
    /// whether a kernel or a driver goes astray. Without it only what needs checking is checked.
    #[arg(long)]
    checked: bool,
    /// List the samples that were taken for another class: the first N of them as text, all of them as JSON.
    /// [N by default: 20]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20")]
    errors: Option<usize>,
    /// How results are written: tables for people, or one JSON object.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    written: Written,
}

/// Evaluates and prints.
///
/// # Errors
/// Those of the model, the data, the device and the output.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let model = load_model(&options.model)?;
    let Evaluand { source, part } = chosen(options, &model)?;
    let of_classes = model.network.loss().of_classes();
    let target = match &options.target {
        None => Target::Auto,
        Some(name) if of_classes => Target::Column(name.clone()),
        Some(name) => Target::Values(vec![name.clone()]),
    };
    let mut read = options.written.like(model.meaning.schema.clone(), target);
    if part.is_some() {
        // How the rows were held out.
        let setting = |key: &str| model.settings.get(key).cloned();
        (read.columns.group, read.columns.time) = (setting("group"), setting("time"));
    }
    let reader = Reader::open(&source, &read)?;
    let device = find_device(&options.device)?.opened(args::opening(options.checked));
    let mut file = places::file(&source).display().to_string();
    let (data, unknown) = match &part {
        Some(part) => {
            file +=
                &format!(", the {} % of its rows that were held out for testing", 100.0 * part.split.test);
            part.rows(&model, reader)?
        }
        None => read_for(&model, reader)?,
    };
    if unknown > 0 {
        warn(&unknown_cells(unknown, &file));
    }
    if !of_classes {
        return values(options, &model, &data, &device, &file);
    }
    let Evaluated { evaluation, outputs, errors, device } =
        evaluate(&model, &data, &device, options.errors.is_some())?;
    if !evaluation.loss.is_finite() {
        let (path, loss) = (places::file(&source).to_owned(), evaluation.loss);
        return Err(Error::NonFiniteTest { path, loss }.into());
    }
    let (labels, classes) = (data.labels(), &model.meaning.classes);
    let figures = figures(labels, &evaluation.predictions, classes.len());
    let measured = measures(&outputs, data.targets.view());
    match options.format {
        Format::Json => {
            let matrix = (classes.len() <= JSON_CLASSES)
                .then(|| confusion(labels, &evaluation.predictions, classes.len()));
            let mut fields = vec![
                ("model", options.model.to_string_lossy().into()),
                ("data", file.into()),
                ("samples", data.rows().into()),
                ("loss", evaluation.loss.into()),
                ("accuracy", evaluation.accuracy(labels).into()),
                ("balanced_accuracy", balanced_accuracy(&figures).into()),
                ("macro_f1", value_of(&measured, "macro_f1")),
                ("log_loss", value_of(&measured, "log_loss")),
                ("auc", value_of(&measured, "auc")),
                ("intervals", intervals(&measured)),
                ("classes", classes.names().to_vec().into()),
                ("confusion", matrix.map(Value::from).into()),
            ];
            fields.extend(
                errors.map(|errors| ("errors", list(&errors, labels, &evaluation.predictions, classes))),
            );
            print_object(&fields)?;
        }
        Format::Text => {
            let samples = counted(data.rows() as u64, "sample", "samples");
            print_line(&format!("{} network of {}", model.network, options.model.display()))?;
            print_line(&format!("{samples} of {file}, on {device}"))?;
            for line in text(labels, &evaluation, classes, &figures, &measured) {
                print_line(&line)?;
            }
            if let (Some(errors), Some(most)) = (errors, options.errors) {
                for line in error_table(&errors, labels, &evaluation.predictions, most, classes) {
                    print_line(&line)?;
                }
            }
        }
    }
    Ok(())
}

/// Evaluates a model of values and prints.
fn values(
    options: &Options,
    model: &Model,
    data: &Dataset,
    device: &Device,
    file: &str,
) -> anyhow::Result<()> {
    if options.errors.is_some() {
        let text = "--errors: goes with a model of classes, found one of values";
        return Err(Error::Config(text.to_owned()).into());
    }
    let EvaluatedValues { errors, values, device } = evaluate_values(model, data, device)?;
    let ValueErrors { loss: mean_loss, rmse, mae, r2 } = errors;
    if !mean_loss.is_finite() {
        return Err(Error::NonFiniteTest { path: file.into(), loss: mean_loss }.into());
    }
    let measured = measures(&values, data.targets.view());
    match options.format {
        Format::Json => print_object(&[
            ("model", options.model.to_string_lossy().into()),
            ("data", file.into()),
            ("samples", data.rows().into()),
            ("loss", mean_loss.into()),
            ("rmse", rmse.into()),
            ("mae", mae.into()),
            ("r2", r2.into()),
            ("intervals", intervals(&measured)),
        ])?,
        Format::Text => {
            let samples = counted(data.rows() as u64, "sample", "samples");
            print_line(&format!("{} network of {}", model.network, options.model.display()))?;
            print_line(&format!("{samples} of {file}, on {device}"))?;
            print_line(&format!(
                "{} {}, RMSE {}, MAE {}, R2 {r2:.4}",
                model.network.loss(),
                loss(mean_loss),
                loss(rmse),
                loss(mae)
            ))?;
            for line in measure_table(&measured) {
                print_line(&line)?;
            }
        }
    }
    Ok(())
}

/// What is evaluated: a set, or the rows of it that were held out for testing.
struct Evaluand {
    source: Source,
    part: Option<Part>,
}

/// The rows that were held out of training.
struct Part {
    split: Split,
    /// Rows of the whole file.
    rows: usize,
}

/// The data that the options name, or those that the model was tested on, or else trained on.
fn chosen(options: &Options, model: &Model) -> tinytrain::Result<Evaluand> {
    let setting = |key: &str| model.settings.get(key).map(String::as_str);
    let whole = |paths: &[PathBuf]| Ok(Evaluand { source: places::evaluation(paths)?, part: None });
    if !options.data.is_empty() {
        return whole(&options.data);
    }
    let unknown = |what: &str| {
        let text = format!(
            "--data: expected data to evaluate on, since {} does not say where its {what} are",
            options.model.display()
        );
        Err(Error::Config(text))
    };
    if let Some(test) = setting("test_data") {
        return whole(&[test.into()]);
    }
    if setting("unnamed_test_data").is_some() {
        return unknown("test data");
    }
    let parts = setting("data_parts").map(|parts| {
        let parts: Option<Vec<PathBuf>> = serde_json::from_str(parts).ok();
        parts.ok_or_else(|| {
            unreadable(&options.model, "data_parts", setting("data_parts").unwrap_or_default())
        })
    });
    let Some(data) = parts.transpose()?.or_else(|| Some(vec![setting("data")?.into()])) else {
        // The first models did not say; they were of MNIST as likely as not.
        let is_old =
            setting("version").is_none() && (model.network.columns(), model.network.outputs()) == (784, 10);
        return if is_old { whole(&[]) } else { unknown("data") };
    };
    let share = |key: &str| match setting(key) {
        None => Ok(0.0),
        Some(text) => {
            let share = text.parse().ok().filter(|share| (0.0..1.0).contains(share));
            share.ok_or_else(|| unreadable(&options.model, key, text))
        }
    };
    let (test, validation) = (share("test_fraction")?, share("validation_fraction")?);
    if test == 0.0 {
        return whole(&data);
    }
    let seed = setting("seed").unwrap_or_default();
    let seed = seed.parse().map_err(|_| unreadable(&options.model, "seed", seed))?;
    let split = Split { validation, test, seed };
    let (source, _) = places::training(&data)?;
    let rows = setting("rows").and_then(|rows| rows.parse().ok()).unwrap_or(0);
    Ok(Evaluand { source, part: Some(Part { split, rows }) })
}

/// An entry of a model's metadata that does not say which rows were held out.
fn unreadable(model: &Path, key: &str, text: &str) -> Error {
    Error::Data {
        path: model.to_owned(),
        place: Place::default(),
        expected: format!("{key} of the run in its metadata"),
        found: format!("{text:?}"),
    }
}

impl Part {
    fn rows(&self, model: &Model, mut reader: Reader) -> tinytrain::Result<(Dataset, u64)> {
        reader.read_to_end()?;
        if reader.rows() != self.rows || *reader.classes() != model.meaning.classes {
            let text = format!(
                "{}: expected the {} rows of training, found {} rows or other labels: which were held out is not known any \
                 more; --data evaluates all rows of a file",
                reader.name().display(),
                self.rows,
                reader.rows()
            );
            return Err(Error::Config(text));
        }
        let [_, test] = reader.divide(&self.split)?;
        model.transform.rows(test, reader.dictionaries())
    }
}

fn text(
    labels: &[u32],
    evaluation: &Evaluation,
    classes: &Classes,
    figures: &[ClassFigures],
    measured: &[Measure],
) -> Vec<String> {
    let mut lines = vec![
        format!(
            "loss {}, accuracy {}, balanced accuracy {}",
            loss(evaluation.loss),
            percent(evaluation.accuracy(labels)),
            percent(balanced_accuracy(figures))
        ),
        String::new(),
    ];
    lines.extend(measure_table(measured));
    lines.push(String::new());
    lines.extend(class_table(figures, classes));
    if classes.len() <= TEXT_CLASSES {
        lines
            .extend([String::new(), "confusion matrix: true classes down, predicted ones across".to_owned()]);
        lines.extend(matrix_table(&confusion(labels, &evaluation.predictions, classes.len()), classes));
    }
    lines
}

/// A class for a machine: a number where the classes count from 0, else its name.
fn class_value(classes: &Classes, class: u32) -> Value {
    if classes.are_counted() { class.into() } else { classes.name(class).into() }
}

/// Errors for a machine. Samples count from 1, as in the messages about data.
fn list(errors: &[u32], labels: &[u32], predictions: &[u32], classes: &Classes) -> Value {
    let object = |row: &u32| {
        let value = |of: &[u32]| class_value(classes, of[*row as usize]);
        let (class, predicted) = (value(labels), value(predictions));
        json!({ "sample": u64::from(*row) + 1, "class": class, "predicted": predicted })
    };
    errors.iter().map(object).collect()
}

/// The first `most` errors for people.
fn error_table(
    errors: &[u32],
    labels: &[u32],
    predictions: &[u32],
    most: usize,
    classes: &Classes,
) -> Vec<String> {
    let samples = counted(errors.len() as u64, "sample", "samples");
    let mut lines = vec![String::new(), format!("{samples} taken for another class")];
    let mut rows = vec![["sample", "class", "predicted"].map(String::from).to_vec()];
    rows.extend(errors.iter().take(most).map(|row| {
        let at = *row as usize;
        vec![(at + 1).to_string(), shown(classes, labels[at]), shown(classes, predictions[at])]
    }));
    if rows.len() > 1 {
        lines.extend(table(&rows, &[Align::Right; 3]));
    }
    if errors.len() > most {
        lines.push(format!("... and {} more", grouped((errors.len() - most) as u64)));
    }
    lines
}

/// The name of a class, cut.
fn shown(classes: &Classes, class: u32) -> String {
    let name = classes.name(class);
    if name.chars().count() <= SHOWN_NAME {
        name.to_owned()
    } else {
        name.chars().take(SHOWN_NAME - 1).chain(['…']).collect()
    }
}

fn class_table(figures: &[ClassFigures], classes: &Classes) -> Vec<String> {
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), percent);
    let mut rows =
        vec![["class", "samples", "correct", "precision", "recall", "F1"].map(String::from).to_vec()];
    let occurring: Vec<_> = (0..).zip(figures).filter(|(_, figures)| figures.occurs()).collect();
    rows.extend(occurring.iter().take(TABLE_CLASSES).map(|(class, figures)| {
        vec![
            shown(classes, *class),
            grouped(figures.samples),
            grouped(figures.correct),
            share(figures.precision()),
            share(figures.recall()),
            share(figures.f1()),
        ]
    }));
    let mut lines = table(&rows, &[Align::Right; 6]);
    if occurring.len() > TABLE_CLASSES {
        lines.push(format!("... and {} more", grouped((occurring.len() - TABLE_CLASSES) as u64)));
    }
    lines
}

fn matrix_table(matrix: &[Vec<u64>], classes: &Classes) -> Vec<String> {
    let mut header = vec![String::new()];
    header.extend((0..matrix.len() as u32).map(|class| shown(classes, class)));
    let mut rows = vec![header];
    rows.extend((0..).zip(matrix).map(|(class, counts)| {
        let mut row = vec![shown(classes, class)];
        row.extend(counts.iter().map(|count| grouped(*count)));
        row
    }));
    table(&rows, &vec![Align::Right; matrix.len() + 1])
}
