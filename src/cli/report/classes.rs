//! How well a model tells classes apart: figures by class, the confusion matrix, and whether its probabilities can be believed.

use std::fmt::Write;

use tinytrain::train::{Calibration, calibration, class_figures, confusion};

use super::curves::SIZE;
use super::judged::Judged;
use crate::cli::eval_text::{class_rows, shown};
use crate::cli::html::plot::{Axis, Plot};
use crate::cli::html::{escaped, table, wide};
use crate::cli::text::{Align, grouped, percent};

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
pub fn classes(judged: &Judged) -> String {
    let (labels, predictions) = (judged.rows.data.labels(), &judged.predictions.classes);
    let names = &judged.model.meaning.classes;
    let figures = class_figures(labels, predictions, &judged.rows.data.view().counts(), names.len());
    let occurring = figures.iter().filter(|figures| figures.occurs()).count();
    let cut = if occurring > MOST_FIGURES {
        format!(", the first {MOST_FIGURES} of {occurring}")
    } else {
        String::new()
    };
    let mut align = [Align::Right; 6];
    align[0] = Align::Left;
    let mut html = String::from("<h3>Classes</h3>\n");
    html += &table(&format!("Figures by class{cut}"), &class_rows(&figures, names, MOST_FIGURES), &align);
    html += "<h3>Confusion</h3>\n";
    html += &if names.len() <= MOST_CLASSES { matrix(judged) } else { pairs(judged) };
    let found = calibration(&judged.predictions.probabilities, labels, predictions, BINS);
    html + "<h3>Calibration</h3>\n" + &reliability(&found)
}

/// The confusion matrix. A cell is the darker the more of its class it has; an error stands out by its colour.
fn matrix(judged: &Judged) -> String {
    let names = &judged.model.meaning.classes;
    let counts = confusion(judged.rows.data.labels(), &judged.predictions.classes, names.len());
    let caption = "Rows of each class (down) that were taken for each class (across)";
    let mut html = wide(caption) + "<table class=\"confusion\">\n";
    let _ = write!(html, "<caption>{caption}</caption>\n<tr><td></td>");
    for class in 0..counts.len() as u32 {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escaped(&shown(names, class)));
    }
    html += "</tr>\n";
    for (class, row) in counts.iter().enumerate() {
        let all: u64 = row.iter().sum();
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escaped(&shown(names, class as u32)));
        for (other, count) in row.iter().enumerate() {
            // The square root, and twice of it, so that few errors among many rows are seen.
            let share = (*count as f64 / all.max(1) as f64).sqrt();
            let (color, share) =
                if class == other { ("right", share) } else { ("error", (2.0 * share).min(1.0)) };
            let _ = match count {
                0 => write!(html, "<td class=\"none\">0</td>"),
                count => write!(
                    html,
                    "<td class=\"{color}\" style=\"--share:{:.0}%\">{}</td>",
                    (share * DARKEST).max(6.0),
                    grouped(*count)
                ),
            };
        }
        html += "</tr>\n";
    }
    html + "</table></div>\n"
}

/// Of many classes those that are taken for one another most often.
fn pairs(judged: &Judged) -> String {
    let names = &judged.model.meaning.classes;
    let mut errors: Vec<(u32, u32)> =
        judged.rows.data.labels().iter().copied().zip(judged.predictions.classes.iter().copied()).collect();
    errors.retain(|(label, prediction)| label != prediction);
    errors.sort_unstable();
    let mut counts: Vec<(usize, (u32, u32))> =
        errors.chunk_by(|a, b| a == b).map(|same| (same.len(), same[0])).collect();
    counts.sort_by_key(|(count, pair)| (std::cmp::Reverse(*count), *pair));
    let row = |(count, (label, prediction)): &(usize, (u32, u32))| {
        vec![shown(names, *label), shown(names, *prediction), grouped(*count as u64)]
    };
    let mut rows = vec![["class", "predicted", "rows"].map(String::from).to_vec()];
    rows.extend(counts.iter().take(PAIRS).map(row));
    let caption = format!("Classes that are taken for another most often, of {}", names.len());
    table(&caption, &rows, &[Align::Left, Align::Left, Align::Right])
}

/// The reliability diagram: how often predictions are right by the probability that they were given.
fn reliability(Calibration { bins, error }: &Calibration) -> String {
    let share = || Axis::linear(0.0, 1.0);
    let title = "Share of predictions that are right, by their probability";
    let mut plot = Plot::new(
        [SIZE[0], 340.0],
        title,
        (share(), "probability of the predicted class"),
        (share(), "right"),
    );
    let mut rows = vec![["probability", "rows", "mean probability", "right"].map(String::from).to_vec()];
    for (number, bin) in bins.iter().enumerate() {
        let [low, high] = [number, number + 1].map(|edge| edge as f64 / bins.len() as f64);
        let Some(accuracy) = bin.accuracy() else { continue };
        let (mean, right) = (percent(bin.probability), percent(accuracy));
        let text = format!("{} rows, mean probability {mean}, right {right}", grouped(bin.rows));
        plot.rectangle("bar", (low + 0.006, 0.0), (high - 0.006, accuracy), &text);
        rows.push(vec![
            format!("{:.0} to {:.0} %", low * 100.0, high * 100.0),
            grouped(bin.rows),
            mean,
            right,
        ]);
    }
    let (from, to) = (plot.at(0.0, 0.0), plot.at(1.0, 1.0));
    plot.line("ideal", from, to);
    format!(
        "<p>Expected calibration error {}, over {} bins. On the dashed line probabilities are as often right as they say.</p>\n\
         <div class=\"plots\"><figure>{}<figcaption>{title}</figcaption></figure>\n{}</div>\n",
        percent(*error),
        bins.len(),
        plot.finish(),
        table("The bins that have rows", &rows, &[Align::Left, Align::Right, Align::Right, Align::Right])
    )
}
