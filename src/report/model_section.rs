//! The evaluation of a model on rows that it was not trained on: measures; for classes, metrics per class,
//! the confusion matrix and calibration; for values, predictions by targets.

use crate::train::{Calibration, calibration, class_figures, confusion};

use super::evaluated_run::EvaluatedRun;
use super::evaluation::{
    class_table, count, matrix_table, measure_table, target_table, weight_line, weighted,
};
use super::html::table;
use super::mistakes::mistakes;
use super::svg::{Axis, Plot, escaped, short};
use super::text::{Table, counted, loss, percent};

/// Maximum number of classes with metrics per class, and with a confusion matrix.
const MOST_FIGURES: usize = 200;
const MOST_CLASSES: usize = 50;
/// Bins of the calibration table.
const BINS: usize = 10;
/// Maximum number of targets with plots, and approximate number of points of a plot.
const MOST_TARGETS: usize = 12;
const POINTS: usize = 1500;

/// Returns the section of a page.
pub fn section(evaluated: &EvaluatedRun) -> String {
    let samples = counted(evaluated.rows.data.rows() as u64, "row", "rows");
    let mut html = format!(
        "<p>{}, evaluated on {samples} of {}, on {}. Loss ({}{}) {}.</p>\n",
        escaped(&evaluated.model.description()),
        escaped(&evaluated.rows.name),
        escaped(&evaluated.device),
        evaluated.model.network.loss(),
        if evaluated.model.data_schema.target_scale.is_some() { " of scaled values" } else { "" },
        loss(evaluated.loss)
    );
    html += &weight_line(&evaluated.model, &evaluated.rows.data)
        .map_or_else(String::new, |line| format!("<p>Measures are {}.</p>\n", escaped(&line)));
    let names = evaluated.model.data_schema.value_names(&evaluated.model.network);
    let of_labels = evaluated.model.network.loss().of_labels();
    html += &match &evaluated.errors {
        _ if of_labels => table("Measures by label", &target_table(&evaluated.measured, &names)),
        Some(_) if names.len() > 1 => table("Measures by target", &target_table(&evaluated.measured, &names)),
        _ => table("Measures", &measure_table(&evaluated.measured)),
    };
    if of_labels {
        return html;
    }
    html += &if evaluated.errors.is_some() { values(evaluated, &names) } else { classes(evaluated) };
    html + &mistakes(evaluated)
}

/// Returns the quality of predicted classes and of their probabilities.
fn classes(evaluated: &EvaluatedRun) -> String {
    let (labels, predictions) = (evaluated.rows.data.labels(), &evaluated.predictions.classes);
    let names = &evaluated.model.data_schema.classes;
    let (counts, weighted) = (evaluated.rows.data.view().counts(), weighted(&evaluated.rows.data));
    let figures = class_figures(labels, predictions, &counts, names.len());
    let mut html = table("Metrics per class", &class_table(&figures, names, MOST_FIGURES));
    if names.len() <= MOST_CLASSES {
        let matrix = matrix_table(&confusion(labels, predictions, &counts, names.len()), names);
        html += &table(
            &format!("Confusion matrix: true classes down, predicted classes across{weighted}"),
            &matrix,
        );
    }
    let Calibration { bins, error } =
        calibration(&evaluated.predictions.probabilities, labels, predictions, &counts, BINS);
    let mut filled = Table::new(&["probability", ">rows", ">mean probability", ">right"], []);
    for (number, bin) in bins.iter().enumerate() {
        let Some(accuracy) = bin.accuracy() else { continue };
        let [low, high] = [number, number + 1].map(|edge| edge as f64 / BINS as f64 * 100.0);
        let shares = [bin.probability, accuracy].map(percent);
        filled.rows.push([&[format!("{low:.0} to {high:.0} %"), count(bin.rows)][..], &shares].concat());
    }
    let error = percent(error);
    html + &format!("<p>Expected calibration error {error}, over {BINS} bins{weighted}.</p>\n")
        + &table("Calibration: the bins that have rows", &filled)
}

/// Returns plots of predictions by targets, with some rows of each target as points.
fn values(evaluated: &EvaluatedRun, names: &[String]) -> String {
    let (columns, values) = evaluated.values();
    let mut html = String::from("<div class=\"plots\">\n");
    for (column, name) in names.iter().enumerate().take(MOST_TARGETS) {
        let pairs = values.iter().zip(&evaluated.predictions.values).skip(column).step_by(columns);
        let pairs: Vec<[f64; 2]> =
            pairs.map(|(value, predicted)| [f64::from(*value), f64::from(*predicted)]).collect();
        let all = || pairs.iter().flatten().copied();
        let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        let every = pairs.len().div_ceil(POINTS).max(1);
        let shown = counted(pairs.len().div_ceil(every) as u64, "row", "rows");
        let title = format!("{name}: predictions by targets, {shown}");
        let axis = Axis::linear(low, high);
        let mut plot = Plot::new([Plot::SIZE[0], 340.0], &title, (axis, "target"), (axis, "prediction"));
        for [value, predicted] in pairs.iter().step_by(every) {
            let text = format!("target {}, prediction {}", short(*value), short(*predicted));
            plot.svg.circle("class=\"point\"", plot.at(*value, *predicted), 3.0, &text);
        }
        let [from, to] = [low, high].map(|end| plot.at(end, end));
        plot.svg.line("class=\"ideal\"", from, to);
        html +=
            &format!("<figure>{}<figcaption>{}</figcaption></figure>\n", plot.svg.element(), escaped(&title));
    }
    html + "</div>\n"
}
