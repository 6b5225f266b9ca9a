//! The page: what there is of all runs, with curves of what they were measured by epoch by epoch (a plot a measure, a colour a run, a
//! kind of line a set of rows), then run by run.

use std::fmt::Write;

use super::classes::classes;
use super::compared::{compared, differing, names, settings, side_by_side};
use super::evaluated_run::EvaluatedRun;
use super::evaluation::{measure_table, target_table, weight_line};
use super::html::{self, Axis, Plot, SIZE, escaped, short, table, thinned};
use super::mistakes;
use super::pictures::weights;
use super::text::{Table, counted, loss};
use super::values::values;
use crate::runs::RunSummary;

/// Beside the style of all pages. Eight colours that most eyes tell apart (Okabe and Ito, 2008), paler where it is dark.
const STYLE: &str = "
:root { --c0: #0072b2; --c1: #c65102; --c2: #00805c; --c3: #a8397f; --c4: #5b6400; --c5: #7a4fc0; --c6: #9c2222; --c7: #4d5966; }
@media (prefers-color-scheme: dark) { :root { --c0: #56b4e9; --c1: #f0a04b; --c2: #2fc79a; --c3: #e08fc0; --c4: #cfd24a; --c5: #b79bf0; --c6: #ff8a80; --c7: #aab6c2; } }
body { overflow-wrap: anywhere; } h3 { font-size: 1rem; margin: 1.5rem 0 .3rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 1rem 1.5rem; }
figure { margin: 0; } figure > svg { display: block; max-width: 640px; } figcaption, caption { text-align: left; color: var(--ink); opacity: .8; font-size: 14px; }
caption { padding-bottom: .3rem; } tr > th[scope=row] { border-bottom: 1px solid var(--faint); text-align: left; font-weight: 600; }
td { font-variant-numeric: tabular-nums; } .wide { margin: .8rem 0; } :focus-visible { outline: 2px solid var(--mark); outline-offset: 2px; }
.curve { fill: none; stroke-width: 2; stroke-linejoin: round; } .curve:hover { stroke-width: 4; } .train { stroke-dasharray: 7 4; } .test { stroke-dasharray: 2 3; }
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); } .c3 { stroke: var(--c3); } .c4 { stroke: var(--c4); } .c5 { stroke: var(--c5); } .c6 { stroke: var(--c6); } .c7 { stroke: var(--c7); } .ink { stroke: var(--ink); }
.dot { fill: var(--paper); stroke-width: 2; }
.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .4rem 0; } .key { width: 34px; height: 10px; }
table.confusion td { text-align: center; } td.right, td.error { --tint: var(--c0); background: color-mix(in srgb, var(--tint) var(--share), var(--paper)); }
td.error { --tint: var(--c1); } td.right, td.error { color: var(--ink); } td.none { opacity: .35; }
.bar { fill: var(--c0); opacity: .55; } .point { fill: var(--c0); opacity: .6; } .ideal { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 6 4; }
.s1, .s2, .s3, .s4, .s5 { fill: var(--c0); } .s1 { opacity: .2; } .s2 { opacity: .4; } .s3 { opacity: .6; } .s4 { opacity: .8; }
.pictures, .units { list-style: none; padding: 0; display: grid; gap: .8rem; font-size: 13px; } .pictures { grid-template-columns: repeat(auto-fill, minmax(165px, 1fr)); }
.pictures li { display: flex; gap: .6rem; } .units { grid-template-columns: repeat(auto-fill, minmax(56px, 1fr)); } .units li { text-align: center; line-height: 1.3; }
.pictures img { width: 64px; } .units img { width: 56px; } .pictures img, .units img { height: auto; flex: none; display: block; image-rendering: pixelated; border: 1px solid var(--faint); box-sizing: border-box; align-self: start; margin: 0 auto; }
summary { cursor: pointer; }
@media print { .wide { overflow: visible; } }
";

/// The page of some runs.
pub fn page(runs: &[RunSummary], evaluated: &[Result<EvaluatedRun, String>]) -> String {
    let title = match runs {
        [run] => format!("Report of {}", run.name()),
        runs => format!("Report of {} runs", runs.len()),
    };
    let mut body = format!("<main>\n<h1>{}</h1>\n", escaped(&title));
    body += &format!("<h2>Curves</h2>\n{}", curves(runs));
    body += &format!(
        "<h2>Runs</h2>\n{}",
        table("What the best epoch of each run reached", &side_by_side(runs, compared(runs)))
    );
    body += &format!("<h2>Settings</h2>\n{}", setting_tables(runs));
    for (run, evaluated) in runs.iter().zip(evaluated) {
        body += &format!("<h2>{}</h2>\n", escaped(&run.name()));
        body += &match evaluated {
            Ok(evaluated) => section(evaluated),
            Err(why) => format!("<p>{}</p>\n", escaped(why)),
        };
    }
    html::page(&title, STYLE, &(body + "</main>\n"))
}

/// What a model makes of the rows it is evaluated on.
fn section(evaluated: &EvaluatedRun) -> String {
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
    let names = evaluated.model.data_schema.value_names(evaluated.model.network.outputs());
    html += &match &evaluated.errors {
        Some(errors) if errors.targets.len() > 1 => {
            table("Measures by target", &target_table(&evaluated.measured, &names))
        }
        _ => table("Measures", &measure_table(&evaluated.measured)),
    };
    match &evaluated.errors {
        Some(_) => html + &values(evaluated) + &mistakes::of_values(evaluated) + &weights(evaluated),
        None => html + &classes(evaluated) + &mistakes::of_classes(evaluated) + &weights(evaluated),
    }
}

/// The settings in which runs differ, and behind a fold those that they share.
fn setting_tables(runs: &[RunSummary]) -> String {
    let differing = differing(runs);
    let shared: Vec<String> = names(runs).into_iter().filter(|name| !differing.contains(name)).collect();
    let mut html = match (runs.len(), differing.len()) {
        (1, _) => String::new(),
        (_, 0) => "<p>The runs have the same settings.</p>\n".to_owned(),
        _ => table("Settings in which the runs differ", &side_by_side(runs, settings(runs, &differing))),
    };
    if !shared.is_empty() {
        let all = Table::new(&["setting", "value"], settings(&runs[..1], &shared));
        let what = if runs.len() == 1 { "All settings" } else { "Settings that the runs share" };
        html += &format!("<details><summary>{what}</summary>\n{}</details>\n", table(what, &all));
    }
    html
}

/// Colours; further runs begin again with the first.
const COLORS: usize = 8;
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
fn curves(runs: &[RunSummary]) -> String {
    let plots: String = MEASURES.iter().filter_map(|(shown, name)| plot(runs, shown, name)).collect();
    if plots.is_empty() {
        return "<p>No run has trained an epoch.</p>\n".to_owned();
    }
    format!("<div class=\"plots\">\n{plots}</div>\n{}", legend(runs))
}

/// The curves of one measure; nothing where no run has it.
fn plot(runs: &[RunSummary], shown: &str, measure: &str) -> Option<String> {
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
fn legend(runs: &[RunSummary]) -> String {
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
