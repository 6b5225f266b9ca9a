//! `tinytrain eval`.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use tinytrain::data::{LabelColumn, Reader};
use tinytrain::model::Model;
use tinytrain::trainer::{DeviceRequest, Evaluation, choose, evaluate, evaluate_with_errors};

use super::args::{self, Format};
use super::classes::{ClassFigures, confusion, figures};
use super::output::{print_line, print_object};
use super::places;
use super::text::{Align, counted, grouped, loss, percent, table};

/// The most classes of which a text shows the confusion matrix.
const TEXT_CLASSES: usize = 20;
/// The most classes of which JSON holds the confusion matrix.
const JSON_CLASSES: usize = 1000;
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
    /// Data: a folder (its test files, or else its training files), an IDX file of images, or a CSV table.
    /// [default: the folder data/mnist of the repository]
    #[arg(long, value_name = "DIR-or-FILE")]
    data: Option<PathBuf>,
    /// Column of a CSV table that holds the labels: its name, or its index from 0. [default: the first]
    #[arg(long, value_name = "NAME-or-INDEX", value_parser = args::label_column, allow_hyphen_values = true)]
    label_column: Option<LabelColumn>,
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
}

/// Evaluates and prints.
///
/// # Errors
/// Those of the model, the data, the device and the output.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let model = Model::load(&options.model)?;
    let source = places::evaluation(options.data.as_deref())?;
    let reader = Reader::open(&source, &places::read_options(options.label_column.as_ref(), false))?;
    let device = choose(&options.device)?.opened(args::opening(options.checked));
    let (data, evaluation, errors, device) = if options.errors.is_some() {
        let (data, evaluation, errors, device) = evaluate_with_errors(&model, reader, &device)?;
        (data, evaluation, Some(errors), device)
    } else {
        let (data, evaluation, device) = evaluate(&model, reader, &device)?;
        (data, evaluation, None, device)
    };
    let file = places::file(&source).display().to_string();
    let (labels, classes) = (&data.labels, model.spec.classes());
    match options.format {
        Format::Json => {
            let matrix =
                (classes <= JSON_CLASSES).then(|| confusion(labels, &evaluation.predictions, classes));
            let mut fields = vec![
                ("model", options.model.to_string_lossy().into()),
                ("data", file.into()),
                ("samples", data.rows().into()),
                ("loss", evaluation.loss.into()),
                ("accuracy", evaluation.accuracy(labels).into()),
                ("confusion", matrix.map(Value::from).into()),
            ];
            fields.extend(errors.map(|errors| ("errors", list(&errors, labels, &evaluation.predictions))));
            print_object(&fields)?;
        }
        Format::Text => {
            let samples = counted(data.rows() as u64, "sample", "samples");
            print_line(&format!("{} network of {}", model.spec, options.model.display()))?;
            print_line(&format!("{samples} of {file}, on {device}"))?;
            for line in text(labels, &evaluation, classes) {
                print_line(&line)?;
            }
            if let (Some(errors), Some(most)) = (errors, options.errors) {
                for line in error_table(&errors, labels, &evaluation.predictions, most) {
                    print_line(&line)?;
                }
            }
        }
    }
    Ok(())
}

fn text(labels: &[u32], evaluation: &Evaluation, classes: usize) -> Vec<String> {
    let mut lines = vec![
        format!("loss {}, accuracy {}", loss(evaluation.loss), percent(evaluation.accuracy(labels))),
        String::new(),
    ];
    lines.extend(class_table(&figures(labels, &evaluation.predictions, classes)));
    if classes <= TEXT_CLASSES {
        lines
            .extend([String::new(), "confusion matrix: true classes down, predicted ones across".to_owned()]);
        lines.extend(matrix_table(&confusion(labels, &evaluation.predictions, classes)));
    }
    lines
}

/// Errors for a machine. Samples count from 1, as in the messages about data.
fn list(errors: &[u32], labels: &[u32], predictions: &[u32]) -> Value {
    let object = |row: &u32| {
        let (class, predicted) = (labels[*row as usize], predictions[*row as usize]);
        json!({ "sample": u64::from(*row) + 1, "class": class, "predicted": predicted })
    };
    errors.iter().map(object).collect()
}

/// The first `most` errors for people.
fn error_table(errors: &[u32], labels: &[u32], predictions: &[u32], most: usize) -> Vec<String> {
    let samples = counted(errors.len() as u64, "sample", "samples");
    let mut lines = vec![String::new(), format!("{samples} taken for another class")];
    let mut rows = vec![["sample", "class", "predicted"].map(String::from).to_vec()];
    rows.extend(errors.iter().take(most).map(|row| {
        let at = *row as usize;
        vec![(at + 1).to_string(), labels[at].to_string(), predictions[at].to_string()]
    }));
    if rows.len() > 1 {
        lines.extend(table(&rows, &[Align::Right; 3]));
    }
    if errors.len() > most {
        lines.push(format!("... and {} more", grouped((errors.len() - most) as u64)));
    }
    lines
}

fn class_table(figures: &[ClassFigures]) -> Vec<String> {
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), percent);
    let mut rows =
        vec![["class", "samples", "correct", "precision", "recall", "F1"].map(String::from).to_vec()];
    let occurring: Vec<_> = figures.iter().enumerate().filter(|(_, figures)| figures.occurs()).collect();
    rows.extend(occurring.iter().take(TABLE_CLASSES).map(|(class, figures)| {
        vec![
            class.to_string(),
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

fn matrix_table(matrix: &[Vec<u64>]) -> Vec<String> {
    let mut header = vec![String::new()];
    header.extend((0..matrix.len()).map(|class| class.to_string()));
    let mut rows = vec![header];
    rows.extend(matrix.iter().enumerate().map(|(class, counts)| {
        let mut row = vec![class.to_string()];
        row.extend(counts.iter().map(|count| grouped(*count)));
        row
    }));
    table(&rows, &vec![Align::Right; matrix.len() + 1])
}
