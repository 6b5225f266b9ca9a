//! What runs were measured by, epoch by epoch: a plot a measure, a colour a run, a kind of line a set of rows.

use std::fmt::Write;

use crate::cli::html::escaped;
use crate::cli::plot::{Axis, Plot, short, thinned};
use tinytrain::runs::Told;

/// Width and height of a plot: text of 13 pixels is readable on a phone.
pub const SIZE: [f64; 2] = [480.0, 300.0];
/// Colours; further runs begin again with the first.
pub const COLORS: usize = 8;
/// Points of a curve at most.
const POINTS: usize = 200;
/// How many times the least the greatest number is where the axis is logarithmic.
const WIDE: f64 = 20.0;

/// Sets of rows, with the kinds of their lines.
const SETS: [(&str, &str); 3] = [("train", "training"), ("validation", "validation"), ("test", "test")];
/// Measures, for people and by their names in the history.
const MEASURES: [(&str, &str); 3] = [("Loss", "loss"), ("Accuracy", "accuracy"), ("R2", "r2")];

/// A curve of a plot: of which run, of which set of rows and what that is called, and its points.
struct Curve {
    run: usize,
    set: &'static str,
    shown: &'static str,
    points: Vec<(f64, f64)>,
}

/// The plots, below which runs and lines are named.
pub fn curves(runs: &[Told]) -> String {
    let plots: String = MEASURES.iter().filter_map(|(shown, name)| plot(runs, shown, name)).collect();
    if plots.is_empty() {
        return "<p>No run has trained an epoch.</p>\n".to_owned();
    }
    format!("<div class=\"plots\">\n{plots}</div>\n{}", legend(runs))
}

/// The curves of one measure; nothing where no run has it.
fn plot(runs: &[Told], shown: &str, measure: &str) -> Option<String> {
    let curve = |number: usize, (set, shown): (&'static str, &'static str)| {
        let points = thinned(&runs[number].curve(&format!("{set}_{measure}")), POINTS);
        Curve { run: number, set, shown, points }
    };
    let mut curves: Vec<Curve> =
        (0..runs.len()).flat_map(|number| SETS.map(|set| curve(number, set))).collect();
    curves.retain(|curve| !curve.points.is_empty());
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let last = points().map(|point| point.0).reduce(f64::max)?;
    let (low, high) = bounds(points().map(|point| point.1).collect(), measure);
    let is_log = measure == "loss" && low > 0.0 && high / low >= WIDE;
    let axis = if is_log { Axis::log(low, high) } else { Axis::linear(low, high) };
    let title = format!("{shown} by epoch{}", if is_log { ", on a logarithmic scale" } else { "" });
    let mut plot = Plot::new(SIZE, &title, (Axis::epochs(last), "epoch"), (axis, shown));
    for Curve { run, set, shown, points } in &curves {
        let (color, name) = (run % COLORS, escaped(&runs[*run].name()));
        let (epoch, value) = points[points.len() - 1];
        let title = format!("<title>{name}, {shown}: {} at epoch {epoch}</title>", short(value));
        match &points[..] {
            // A line of one point would not be seen.
            [(x, y)] => {
                let [x, y] = plot.at(*x, *y);
                plot.add(&format!(
                    "<circle class=\"dot c{color}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\">{title}</circle>"
                ));
            }
            points => {
                let points = plot.points(points);
                plot.add(&format!(
                    "<polyline class=\"curve c{color} {set}\" points=\"{points}\">{title}</polyline>"
                ));
            }
        }
    }
    Some(format!("<figure>{}<figcaption>{title}</figcaption></figure>\n", plot.finish()))
}

/// From where to where an axis goes. A few epochs that are far off do not press all others together: for accuracy and R2 the
/// worst 2 % are left out, which stand at the edge then.
fn bounds(mut values: Vec<f64>, measure: &str) -> (f64, f64) {
    values.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share) as usize];
    if measure == "loss" { (at(0.0), at(0.98)) } else { (at(0.02), at(1.0)) }
}

/// Which colour is which run, and which line is which set.
fn legend(runs: &[Told]) -> String {
    let line = |class: &str| {
        format!(
            "<svg class=\"key\" viewBox=\"0 0 34 10\" aria-hidden=\"true\"><polyline class=\"curve {class}\" points=\"1,5 33,5\"/></svg>"
        )
    };
    let mut html = String::from("<ul class=\"legend\">\n");
    for (number, run) in runs.iter().enumerate() {
        // Writing into a string cannot fail.
        let _ =
            writeln!(html, "<li>{} {}</li>", line(&format!("c{}", number % COLORS)), escaped(&run.name()));
    }
    html += "</ul>\n<ul class=\"legend\">\n";
    for (set, shown) in SETS {
        if runs.iter().any(|run| run.is_measured(&format!("{set}_loss"))) {
            let _ = writeln!(html, "<li>{} {shown}</li>", line(&format!("ink {set}")));
        }
    }
    html + "</ul>\n"
}
