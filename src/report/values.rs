//! How near predicted values are to those of the rows: point by point, and how both are distributed.

use super::evaluated_run::EvaluatedRun;
use super::html::{Axis, Plot, SIZE, escaped, short};
use super::text::{counted, grouped};

/// Targets of which there are pictures.
const MOST_TARGETS: usize = 12;
/// Rows up to which each is a point; more are counted in squares.
const POINTS: usize = 1500;
/// Squares of a side.
const SQUARES: usize = 48;
/// Bars of a histogram.
const BARS: usize = 24;

/// The section.
pub fn values(evaluated: &EvaluatedRun) -> String {
    let (columns, values) = evaluated.values();
    let names = evaluated.model.data_schema.value_names(columns);
    let mut html = String::from("<h3>Predictions and targets</h3>\n<div class=\"plots\">\n");
    for (column, name) in names.iter().enumerate().take(MOST_TARGETS) {
        let pairs: Vec<(f64, f64)> = (values.iter().zip(&evaluated.predictions.values))
            .skip(column)
            .step_by(columns)
            .map(|(value, predicted)| (f64::from(*value), f64::from(*predicted)))
            .collect();
        html += &scatter(name, &pairs);
        html += &histograms(name, &pairs);
    }
    html += "</div>\n";
    if columns > MOST_TARGETS {
        html += &format!("<p>These are the first {MOST_TARGETS} of {columns} targets.</p>\n");
    }
    html
}

/// The least and the greatest of targets and predictions.
fn bounds(pairs: &[(f64, f64)]) -> (f64, f64) {
    let all = || pairs.iter().flat_map(|(value, predicted)| [*value, *predicted]);
    (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max))
}

/// The bin, of `parts` equal ones between two bounds, of a value.
fn part(value: f64, (low, high): (f64, f64), parts: usize) -> usize {
    let width = if high > low { high - low } else { 1.0 };
    (((value - low) / width * parts as f64) as usize).min(parts - 1)
}

fn figure(plot: Plot, caption: &str) -> String {
    format!("<figure>{}<figcaption>{}</figcaption></figure>\n", plot.finish(), escaped(caption))
}

/// A point a row, or how many rows there are in each square.
fn scatter(name: &str, pairs: &[(f64, f64)]) -> String {
    let bounds = bounds(pairs);
    let axis = || Axis::linear(bounds.0, bounds.1);
    let title = format!("{name}: predictions by targets, of {}", counted(pairs.len() as u64, "row", "rows"));
    let mut plot = Plot::new([SIZE[0], 340.0], &title, (axis(), "target"), (axis(), "prediction"));
    if pairs.len() <= POINTS {
        for (value, predicted) in pairs {
            let [x, y] = plot.at(*value, *predicted);
            plot.add(&format!(
                "<circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>target {}, prediction {}</title></circle>",
                short(*value),
                short(*predicted)
            ));
        }
    } else {
        let mut counts = vec![0u64; SQUARES * SQUARES];
        for (value, predicted) in pairs {
            counts[part(*value, bounds, SQUARES) * SQUARES + part(*predicted, bounds, SQUARES)] += 1;
        }
        let most = counts.iter().copied().max().unwrap_or(1) as f64;
        let edge = |place: usize| bounds.0 + (bounds.1 - bounds.0) * place as f64 / SQUARES as f64;
        for (place, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (x, y) = (place / SQUARES, place % SQUARES);
            // Five shades; the logarithm, so that single rows are seen.
            let shade = 1 + ((*count as f64).ln() / most.ln().max(f64::MIN_POSITIVE) * 4.0).round() as usize;
            let text = counted(*count, "row", "rows");
            plot.rectangle(&format!("s{shade}"), (edge(x), edge(y)), (edge(x + 1), edge(y + 1)), &text);
        }
    }
    let (from, to) = (plot.at(bounds.0, bounds.0), plot.at(bounds.1, bounds.1));
    plot.line("ideal", from, to);
    figure(plot, &title)
}

/// How many rows have targets, and how many predictions, in each of some equal parts.
fn histograms(name: &str, pairs: &[(f64, f64)]) -> String {
    let bounds = bounds(pairs);
    let mut counts = [[0u64; BARS]; 2];
    for (value, predicted) in pairs {
        counts[0][part(*value, bounds, BARS)] += 1;
        counts[1][part(*predicted, bounds, BARS)] += 1;
    }
    let most = counts.iter().flatten().copied().max().unwrap_or(1) as f64;
    let edge = |place: usize| bounds.0 + (bounds.1 - bounds.0) * place as f64 / BARS as f64;
    let title = format!("{name}: distribution of targets (bars) and predictions (line)");
    let axes = ((Axis::linear(bounds.0, bounds.1), "value"), (Axis::linear(0.0, most), "rows"));
    let mut plot = Plot::new([SIZE[0], 340.0], &title, axes.0, axes.1);
    for place in 0..BARS {
        let (from, to) = (edge(place), edge(place + 1));
        let [targets, predictions] = counts.map(|counts| counts[place]);
        let text = format!(
            "{} to {}: {} targets, {} predictions",
            short(from),
            short(to),
            grouped(targets),
            grouped(predictions)
        );
        plot.rectangle("bar", (from, 0.0), (to, targets as f64), &text);
    }
    let steps =
        (0..BARS).flat_map(|place| [edge(place), edge(place + 1)].map(|x| (x, counts[1][place] as f64)));
    let points = plot.points(&steps.collect::<Vec<(f64, f64)>>());
    plot.add(&format!("<polyline class=\"curve c1\" points=\"{points}\"/>"));
    figure(plot, &title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_a_part() {
        assert_eq!([1.0, 1.9, 2.0, 5.0].map(|value| part(value, (1.0, 5.0), 4)), [0, 0, 1, 3]);
        assert_eq!(part(7.0, (7.0, 7.0), 4), 0);
        assert_eq!(bounds(&[(1.0, 4.0), (2.0, -1.0)]), (-1.0, 4.0));
    }
}
