//! What `tinytrain eval` says of classes.

use serde_json::{Value, json};
use tinytrain::data::{Classes, Dataset};
use tinytrain::engine::Evaluation;
use tinytrain::model::Model;
use tinytrain::train::{ClassFigures, Measure, confusion};

use super::measure_text::{measure_table, number_of};
use super::text::{Align, column_name, counted, grouped, loss, percent, table};
use tinytrain::evaluate::EvaluationRows;

/// The most classes of which a text shows the confusion matrix.
const TEXT_CLASSES: usize = 20;
/// The most characters of a class's name in a table.
const SHOWN_NAME: usize = 20;
/// The most classes of which a text shows the figures.
const TABLE_CLASSES: usize = 40;

/// What is said of a model of classes.
pub fn text(
    data: &Dataset,
    evaluation: &Evaluation,
    classes: &Classes,
    figures: &[ClassFigures],
    measured: &[Measure],
) -> Vec<String> {
    let mut lines = vec![
        format!(
            "loss {}, accuracy {}, balanced accuracy {}",
            loss(evaluation.loss),
            percent(number_of(measured, "accuracy")),
            percent(number_of(measured, "balanced_accuracy"))
        ),
        String::new(),
    ];
    lines.extend(measure_table(measured));
    lines.push(String::new());
    lines.extend(class_table(figures, classes));
    if classes.len() <= TEXT_CLASSES {
        let title = format!("confusion matrix{}: true classes down, predicted ones across", weighted(data));
        lines.extend([String::new(), title]);
        let counts = data.view().counts();
        let matrix = confusion(data.labels(), &evaluation.predictions, &counts, classes.len());
        lines.extend(matrix_table(&matrix, classes));
    }
    lines
}

/// What is said of the weights of the rows, where the model knows of some.
pub fn weight_line(model: &Model, data: &Dataset) -> Option<String> {
    let name = column_name(model.meaning.schema.as_ref()?.weight.as_ref()?);
    Some(match data.weights.is_empty() {
        true => format!("not weighted: there is no column {name}, which weighs the training rows"),
        false => format!("weighted by column {name}"),
    })
}

/// What stands behind the name of a figure of these rows.
pub fn weighted(data: &Dataset) -> &'static str {
    if data.weights.is_empty() { "" } else { ", weighted" }
}

/// A class for a machine: a number where the classes count from 0, else its name.
fn class_value(classes: &Classes, class: u32) -> Value {
    if classes.are_counted() { class.into() } else { classes.name(class).into() }
}

/// Errors for a machine. Samples have the numbers of their rows in the file.
pub fn list(errors: &[u32], rows: &EvaluationRows, predictions: &[u32], classes: &Classes) -> Value {
    let object = |row: &u32| {
        let value = |of: &[u32]| class_value(classes, of[*row as usize]);
        let (class, predicted) = (value(rows.data.labels()), value(predictions));
        json!({ "sample": rows.number(*row as usize), "class": class, "predicted": predicted })
    };
    errors.iter().map(object).collect()
}

/// The first `most` errors for people.
pub fn error_table(
    errors: &[u32],
    found: &EvaluationRows,
    predictions: &[u32],
    most: usize,
    classes: &Classes,
) -> Vec<String> {
    let samples = counted(errors.len() as u64, "sample", "samples");
    let mut lines = vec![String::new(), format!("{samples} taken for another class")];
    let mut rows = vec![["sample", "class", "predicted"].map(String::from).to_vec()];
    rows.extend(errors.iter().take(most).map(|row| {
        let at = *row as usize;
        vec![
            found.number(at).to_string(),
            shown(classes, found.data.labels()[at]),
            shown(classes, predictions[at]),
        ]
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
pub fn shown(classes: &Classes, class: u32) -> String {
    let name = classes.name(class);
    if name.chars().count() <= SHOWN_NAME {
        name.to_owned()
    } else {
        name.chars().take(SHOWN_NAME - 1).chain(['…']).collect()
    }
}

/// Figures of the classes that occur, the first `most` of them; the header first.
pub fn class_rows(figures: &[ClassFigures], classes: &Classes, most: usize) -> Vec<Vec<String>> {
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), percent);
    let mut rows =
        vec![["class", "samples", "correct", "precision", "recall", "F1"].map(String::from).to_vec()];
    let occurring = (0..).zip(figures).filter(|(_, figures)| figures.occurs());
    rows.extend(occurring.take(most).map(|(class, figures)| {
        vec![
            shown(classes, class),
            count(figures.samples),
            count(figures.correct),
            share(figures.precision()),
            share(figures.recall()),
            share(figures.f1()),
        ]
    }));
    rows
}

/// Rows, each as often as it counts.
pub fn count(rows: f64) -> String {
    if rows.fract() == 0.0 { grouped(rows as u64) } else { format!("{rows:.2}") }
}

fn class_table(figures: &[ClassFigures], classes: &Classes) -> Vec<String> {
    let mut lines = table(&class_rows(figures, classes, TABLE_CLASSES), &[Align::Right; 6]);
    let occurring = figures.iter().filter(|figures| figures.occurs()).count();
    if occurring > TABLE_CLASSES {
        lines.push(format!("... and {} more", grouped((occurring - TABLE_CLASSES) as u64)));
    }
    lines
}

fn matrix_table(matrix: &[Vec<f64>], classes: &Classes) -> Vec<String> {
    let mut header = vec![String::new()];
    header.extend((0..matrix.len() as u32).map(|class| shown(classes, class)));
    let mut rows = vec![header];
    rows.extend((0..).zip(matrix).map(|(class, counts)| {
        let mut row = vec![shown(classes, class)];
        row.extend(counts.iter().map(|rows| count(*rows)));
        row
    }));
    table(&rows, &vec![Align::Right; matrix.len() + 1])
}
