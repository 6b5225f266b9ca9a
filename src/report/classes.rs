//! How well a model tells classes apart: figures by class, the confusion matrix, and whether its probabilities can be believed.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::train::{Calibration, calibration, class_figures, confusion};

use super::evaluated_run::EvaluatedRun;
use super::evaluation::{class_table, count, shown, weighted};
use super::html::{Axis, Plot, SIZE, escaped, table, wide};
use super::text::{Table, percent};

/// The most classes of which there are figures.
const MOST_FIGURES: usize = 200;
/// The most classes of which the whole confusion matrix is shown.
const MOST_CLASSES: usize = 50;
/// Pairs of classes that are shown of more.
const PAIRS: usize = 20;
/// Percent of colour of a cell that has all rows of its class: text is still readable on it.
const DARKEST: f64 = 45.0;
/// Bins of the reliability diagram.
const BINS: usize = 10;

/// The sections.
pub fn classes(evaluated: &EvaluatedRun) -> String {
    let (labels, predictions) = (evaluated.rows.data.labels(), &evaluated.predictions.classes);
    let names = &evaluated.model.data_schema.classes;
    let counts = evaluated.rows.data.view().counts();
    let figures = class_figures(labels, predictions, &counts, names.len());
    let occurring = figures.iter().filter(|figures| figures.occurs()).count();
    let cut = if occurring > MOST_FIGURES {
        format!(", the first {MOST_FIGURES} of {occurring}")
    } else {
        String::new()
    };
    let mut html = String::from("<h3>Classes</h3>\n");
    html += &table(&format!("Figures by class{cut}"), &class_table(&figures, names, MOST_FIGURES));
    html += "<h3>Confusion</h3>\n";
    html += &if names.len() <= MOST_CLASSES { matrix(evaluated) } else { pairs(evaluated) };
    let found = calibration(&evaluated.predictions.probabilities, labels, predictions, &counts, BINS);
    html + "<h3>Calibration</h3>\n" + &reliability(&found, weighted(&evaluated.rows.data))
}

/// The confusion matrix. A cell is the darker the more of its class it has; an error stands out by its colour.
fn matrix(evaluated: &EvaluatedRun) -> String {
    let names = &evaluated.model.data_schema.classes;
    let data = &evaluated.rows.data;
    let counts = confusion(data.labels(), &evaluated.predictions.classes, &data.view().counts(), names.len());
    let caption = format!("Confusion matrix: true classes down, predicted classes across{}", weighted(data));
    let mut html = wide(&caption) + "<table class=\"confusion\">\n";
    let _ = write!(html, "<caption>{caption}</caption>\n<tr><td></td>");
    for class in 0..counts.len() as u32 {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escaped(&shown(names, class)));
    }
    html += "</tr>\n";
    for (class, row) in counts.iter().enumerate() {
        let all: f64 = row.iter().sum();
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escaped(&shown(names, class as u32)));
        for (other, rows) in row.iter().enumerate() {
            // The square root, and twice of it, so that few errors among many rows are seen.
            let share = (rows / all).sqrt();
            let (color, share) =
                if class == other { ("right", share) } else { ("error", (2.0 * share).min(1.0)) };
            let _ = match *rows {
                0.0 => write!(html, "<td class=\"none\">0</td>"),
                rows => write!(
                    html,
                    "<td class=\"{color}\" style=\"--share:{:.0}%\">{}</td>",
                    (share * DARKEST).max(6.0),
                    count(rows)
                ),
            };
        }
        html += "</tr>\n";
    }
    html + "</table></div>\n"
}

/// The pairs of classes that are confused most often.
fn pairs(evaluated: &EvaluatedRun) -> String {
    let names = &evaluated.model.data_schema.classes;
    let data = &evaluated.rows.data;
    let mut counts: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    let pairs = data.labels().iter().copied().zip(evaluated.predictions.classes.iter().copied());
    for (pair, count) in pairs.zip(data.view().counts()).filter(|((label, taken), _)| label != taken) {
        *counts.entry(pair).or_default() += count;
    }
    let mut counts: Vec<((u32, u32), f64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let row = |((label, prediction), rows): &((u32, u32), f64)| {
        vec![shown(names, *label), shown(names, *prediction), count(*rows)]
    };
    let caption = format!("Classes that are confused most often, of {}{}", names.len(), weighted(data));
    table(&caption, &Table::new(&["class", "predicted", ">rows"], counts.iter().take(PAIRS).map(row)))
}

/// The reliability diagram: how often predictions are right by the probability that they were given.
fn reliability(Calibration { bins, error }: &Calibration, weighted: &str) -> String {
    let share = || Axis::linear(0.0, 1.0);
    let title = "Accuracy by predicted probability";
    let mut plot = Plot::new(
        [SIZE[0], 340.0],
        title,
        (share(), "probability of the predicted class"),
        (share(), "right"),
    );
    let mut filled = Table::new(&["probability", ">rows", ">mean probability", ">right"], []);
    for (number, bin) in bins.iter().enumerate() {
        let [low, high] = [number, number + 1].map(|edge| edge as f64 / bins.len() as f64);
        let Some(accuracy) = bin.accuracy() else { continue };
        let (mean, right) = (percent(bin.probability), percent(accuracy));
        let text = format!("{} rows, mean probability {mean}, right {right}", count(bin.rows));
        plot.rectangle("bar", (low + 0.006, 0.0), (high - 0.006, accuracy), &text);
        filled.rows.push(vec![
            format!("{:.0} to {:.0} %", low * 100.0, high * 100.0),
            count(bin.rows),
            mean,
            right,
        ]);
    }
    let (from, to) = (plot.at(0.0, 0.0), plot.at(1.0, 1.0));
    plot.line("ideal", from, to);
    format!(
        "<p>Expected calibration error {}, over {} bins{weighted}. On the dashed line probabilities are perfectly calibrated.</p>\n\
         <div class=\"plots\"><figure>{}<figcaption>{title}</figcaption></figure>\n{}</div>\n",
        percent(*error),
        bins.len(),
        plot.finish(),
        table("The bins that have rows", &filled)
    )
}
