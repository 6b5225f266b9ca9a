//! Notices about the training rows: columns, labels, dates, weights, and a summary of the data.

use crate::data::{
    Column, ColumnEncoding, Encoding, IgnoredBecause, IgnoredColumn, ImageForm, MixedColumn, NumbersAsText,
    NumericScaling, OddLabel, Oddity, Schema, Source, Transform, data_paths,
};
use crate::error::{Error, Result, excerpt};
use crate::model::DataSchema;
use crate::train::{FullReadReason, TrainingData};

use super::table_options::Task;
use super::training::Training;
use crate::report::text::{column_name, counted, grouped};

/// Maximum number of labels of one kind in a warning.
const MOST_LABELS: usize = 8;

/// Returns the hint that follows the error of a diverged training, if the rows have weights.
pub fn weights_hint(error: &Error, weight: Option<&str>) -> String {
    let has_diverged = matches!(error, Error::NonFiniteLoss { .. } | Error::NonFiniteModel { .. });
    let hint = |column| format!("; or check the weights in column {column} (--weight) for very large ones");
    weight.filter(|_| has_diverged).map(hint).unwrap_or_default()
}

/// Returns notices about automatically ignored columns, one line for each reason.
pub fn left_out(columns: &[IgnoredColumn]) -> Vec<String> {
    let reasons = [
        (IgnoredBecause::NumbersRows, "looks like a row number", "--include to use it"),
        (
            IgnoredBecause::DifferentTexts,
            "nearly every value is different",
            "--categorical to use it, or --exclude to silence this line",
        ),
        (IgnoredBecause::Missing, "every value is missing", "--exclude to silence this line"),
        (IgnoredBecause::Empty, "no name and no value", "--exclude to silence this line"),
    ];
    let line = |(why, reason, remedy): (IgnoredBecause, &str, &str)| {
        let names = columns.iter().filter(|column| column.why == why).map(|column| column.column.clone());
        let names: Vec<String> = names.collect();
        let columns = if names.len() == 1 { "column" } else { "columns" };
        (!names.is_empty())
            .then(|| format!("left out {columns} {}: {reason}; use {remedy}", names.join(", ")))
    };
    reasons.into_iter().filter_map(line).collect()
}

/// Returns the notice about the task chosen for a numeric target.
fn task_line(data: &TrainingData) -> Option<String> {
    if data.predicts_values() {
        let text = "the target holds numbers, so they are predicted as values (regression, loss mse); use --task \
                    classification to treat them as classes";
        return Some(text.to_owned());
    }
    let count = data.outputs();
    (data.infers_classes() && data.is_table()).then(|| {
        format!(
            "the target holds {count} different whole numbers, so they are treated as classes (classification, loss cross-entropy); use --task regression to predict them as values"
        )
    })
}

/// Returns the notice about date columns.
pub fn date_line(schema: &Schema) -> Option<String> {
    let names: Vec<String> = schema.date_columns().iter().map(column_name).collect();
    let count = counted(names.len() as u64, "column holds dates", "columns hold dates");
    (!names.is_empty()).then(|| {
        format!(
            "{count}: {}; their inputs are days since 1970, month, day of the week and hour, if any; use --categorical to treat them as text",
            names.join(", ")
        )
    })
}

/// Returns the notice about dates of zeros.
pub fn zero_date_line(count: usize) -> Option<String> {
    let cells = counted(count as u64, "date of zeros (0000-00-00) is", "dates of zeros (0000-00-00) are");
    (count > 0).then(|| format!("{cells} treated as missing"))
}

/// Returns the notice about inputs that may be identifiers.
pub fn identifier_line(columns: &[String]) -> Option<String> {
    let count = counted(columns.len() as u64, "column", "columns");
    (!columns.is_empty()).then(|| {
        format!(
            "{count} may hold identifiers, which do not generalize: {}; use --exclude to ignore them, --group to hold out the rows of one identifier together, or --categorical to treat numbers as categories",
            columns.join(", ")
        )
    })
}

/// Returns notices about columns: the task, dates, and weights.
///
/// # Errors
/// [`crate::error::Error::Config`] if the task and the loss contradict one another.
pub fn column_lines(training: &Training, data: &TrainingData) -> Result<Vec<String>> {
    let is_auto = training.columns.task(training.settings.loss)? == Task::Auto;
    let task = is_auto.then(|| task_line(data)).flatten();
    let dates = data.data_schema().schema.as_ref().and_then(date_line);
    let dates = dates.into_iter().chain(zero_date_line(data.zero_dates()));
    let dropped = (data.dropped_rows() > 0).then(|| {
        counted(data.dropped_rows() as u64, "row without a target is", "rows without a target are")
            + " left out"
    });
    let identifiers = identifier_line(data.identifiers());
    let lines = task.into_iter().chain(dropped).chain(identifiers).chain(dates);
    Ok(lines.chain(weight_lines(data)).collect())
}

/// Returns notices about row weights.
fn weight_lines(data: &TrainingData) -> Vec<String> {
    let Some(column) = data.data_schema().schema.and_then(|schema| schema.weight) else { return Vec::new() };
    let name = column_name(&column);
    let line = format!(
        "rows are weighted by column {name}, divided by its mean over the training rows; validation and test scores are weighted, the training accuracy is not"
    );
    let without = data.files_without_weights();
    let without = without
        .iter()
        .map(|file| format!("{} has no column {name}: all rows have the same weight", file.display()));
    [line].into_iter().chain(without).collect()
}

/// Returns the reason why training on images has waited for all rows, if it has.
pub fn read_first_line(data: &TrainingData) -> Option<String> {
    let reason = match data.read_first()? {
        FullReadReason::Scaled => "the scaling of columns depends on all of them",
        FullReadReason::HeldOut => "some of them are held out",
        FullReadReason::Sorted => "they are sorted by label",
    };
    let rows = data.file_rows().map_or_else(String::new, |rows| format!(" {}", grouped(rows as u64)));
    Some(format!("all{rows} rows are read before training starts, as {reason}"))
}

/// Returns notices about text columns that may be meant as numbers, one line each.
pub fn as_text(columns: &[NumbersAsText]) -> Vec<String> {
    let line = |NumbersAsText { column, cell, decimal, are_dates, .. }: &NumbersAsText| match decimal {
        _ if *are_dates => format!(
            "column {column} holds dates such as {cell}, which are treated as text; write them as 2024-12-31 to use them as dates"
        ),
        Some(mark) => format!(
            "column {column} holds numbers with another decimal mark, such as {cell}, which are treated as text; use --decimal {mark} if all numbers are written like this"
        ),
        None => format!(
            "column {column} holds numbers with a sign or a unit, such as {cell}, which are treated as text; write plain numbers to use their values"
        ),
    };
    columns.iter().map(line).collect()
}

/// Returns notices about columns treated as categories because they contain text and numbers, one line each.
pub fn mixed_column_lines(texts: &[MixedColumn]) -> Vec<String> {
    let line = |text: &MixedColumn| {
        format!(
            "{text}; use --missing-marker to name a text that stands for a missing value, or --exclude to ignore the column"
        )
    };
    texts.iter().map(line).collect()
}

/// Returns the notice about labels that may be typing errors: at most one line.
pub fn odd_labels(odd: &[OddLabel]) -> Vec<String> {
    let place = |odd: &OddLabel| {
        let file = odd.file.as_ref().map_or_else(String::new, |file| format!("{}, ", file.display()));
        format!("\"{}\" ({file}row {})", excerpt(&odd.label), odd.row)
    };
    let group = |(why, one, several): (Oddity, &str, &str)| {
        let labels: Vec<&OddLabel> = odd.iter().filter(|odd| odd.why == why).collect();
        let (plural, says) = if labels.len() == 1 { ("", one) } else { ("s", several) };
        let mut shown: Vec<String> = labels.iter().take(MOST_LABELS).map(|label| place(label)).collect();
        if labels.len() > MOST_LABELS {
            shown.push(format!("... ({} in all)", labels.len()));
        }
        (!labels.is_empty()).then(|| format!("label{plural} {} {says}", shown.join(", ")))
    };
    let groups = [
        (Oddity::Number, "is a number among text", "are numbers among text"),
        (Oddity::Text, "is text among numbers", "are text among numbers"),
        (
            Oddity::Spelling,
            "differs from another only in case or blanks",
            "differ from others only in case or blanks",
        ),
        (Oddity::Single, "has a single row", "have a single row each"),
    ];
    let groups: Vec<String> = groups.into_iter().filter_map(group).collect();
    let is_spelling = odd.iter().any(|odd| odd.why == Oddity::Spelling);
    let ending = match odd.len() {
        1 if is_spelling => "it is a separate class; use --fold-labels to merge them",
        _ if is_spelling => {
            "each is a separate class; correct misspelt labels, or use --fold-labels to merge them"
        }
        1 => "it is a separate class; correct the label if it is misspelt",
        _ => "each is a separate class; correct misspelt labels",
    };
    if odd.is_empty() { Vec::new() } else { vec![format!("{}: {ending}", groups.join(", "))] }
}

/// Returns a word for the scaling of columns.
fn encoded(encoding: &Encoding) -> &'static str {
    let is_normal =
        |code: &ColumnEncoding| matches!(code, ColumnEncoding::Number { map: NumericScaling::Normal(_), .. });
    let is_plain = |code: &ColumnEncoding| match code {
        ColumnEncoding::Number { map, .. } => *map == NumericScaling::Affine { center: 0.0, width: 1.0 },
        ColumnEncoding::Category { .. } => true,
    };
    match &encoding.columns[..] {
        columns if columns.iter().any(is_normal) => "by quantiles",
        columns if columns.iter().all(is_plain) => "as they are",
        _ => "scaled",
    }
}

/// Returns the hint on images of EMNIST, which are stored with rows and columns swapped.
pub fn transpose_line(source: &Source, is_transposed: bool) -> Option<String> {
    let name = data_paths::file(source).file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_emnist = name.starts_with("emnist-") && !is_transposed;
    is_emnist.then(|| {
        "EMNIST stores images with rows and columns swapped; use --transpose to swap them".to_owned()
    })
}

/// Describes the size of images.
pub fn images_of(form: ImageForm) -> String {
    format!("images of {} x {}{}", form.height, form.width, if form.colour { " in colour" } else { "" })
}

/// Describes the data in one line.
pub fn data_line(transform: &Transform, data_schema: &DataSchema, rows: Option<usize>) -> String {
    let rows = rows.map_or_else(|| "rows still read".to_owned(), |rows| counted(rows as u64, "row", "rows"));
    let inputs = data_schema.schema.as_ref().map(|schema| schema.inputs.len());
    let inputs = match (data_schema.image, inputs) {
        (Some(form), _) => images_of(form),
        (None, Some(inputs)) => counted(inputs as u64, "input", "inputs"),
        (None, None) => "inputs".to_owned(),
    };
    let scaled = match transform {
        Transform::Bytes => "divided by 255",
        Transform::None => "as they are",
        Transform::Columns(encoding) => encoded(encoding),
    };
    if let Some(values) =
        data_schema.schema.as_ref().map(|schema| &schema.values).filter(|values| !values.is_empty())
    {
        let name = |column: &Column| column.name.clone().unwrap_or_else(|| column.position.to_string());
        let names: Vec<String> = values.iter().take(6).map(name).collect();
        let more = if values.len() > 6 { ", ..." } else { "" };
        return format!("{rows}, {inputs} {scaled}, values {}{more}", names.join(", "));
    }
    let target = data_schema.schema.as_ref().and_then(|schema| schema.target.as_ref());
    let target = target.map_or_else(
        || "labels".to_owned(),
        |target| match &target.name {
            Some(name) => format!("target {name}"),
            None => format!("target column {}", target.position),
        },
    );
    let classes = match data_schema.classes.len() {
        count @ ..=6 => format!("{count} classes: {}", data_schema.classes.names().join(", ")),
        count => format!("{count} classes"),
    };
    format!("{rows}, {inputs} {scaled}, {target} of {classes}")
}
