//! The page of a run, of several runs, or of a sweep: curves by epoch, a table of results, settings, and
//! evaluations of models on rows that they were not trained on.

use std::collections::BTreeMap;
use std::path::Path;

use super::compared::{LOSSES, best as best_run, compared, differing, names, score, settings, side_by_side};
use super::evaluated_run::EvaluatedRun;
use super::html::{self, table};
use super::leaderboard::{command, common_settings, figure, leaderboard, settings_text};
use super::model_section::section;
use super::svg::{Axis, Plot, escaped, short};
use super::text::{Table, command_line};
use crate::error::Result;
use crate::runs::RunSummary;
use crate::sweep::{Folder, RankedMember, best, ranked};

/// Number of colours of runs; further runs start again with the first colour.
const COLORS: usize = 8;
/// Maximum number of points of a curve.
const POINTS: usize = 200;
/// Maximum number of curves of a sweep's best trials, and of rows of their table.
const DRAWN: usize = 200;
const ROWS: usize = 500;
/// Ratio of the greatest to the least loss from which the axis is logarithmic.
const WIDE: f64 = 20.0;

/// Sets of rows, with the classes of their lines.
const SETS: [(&str, &str); 3] = [("train", "training"), ("validation", "validation"), ("test", "test")];
/// Names of measures in text and in the history.
const MEASURES: [(&str, &str); 3] = [("Loss", "loss"), ("Accuracy", "accuracy"), ("R2", "r2")];

/// A line of a plot: its name, its CSS classes, and (epoch, value) if the value is a number.
struct Curve {
    name: String,
    look: String,
    points: Vec<(f64, f64)>,
    /// Epoch of the kept model, if it is marked.
    kept: Option<f64>,
}

/// Returns the page of some runs.
pub fn page_of_evaluated(
    runs: &[RunSummary],
    evaluated: &[std::result::Result<EvaluatedRun, String>],
    command: &str,
) -> String {
    let title = match runs {
        [run] => format!("Report of {}", run.name()),
        runs => format!("Report of {} runs", runs.len()),
    };
    let curves = |name: &str| -> Vec<Curve> {
        let of_run = |(number, run): (usize, &RunSummary)| {
            SETS.map(|(set, shown)| Curve {
                name: format!("{}, {shown}", run.name()),
                look: format!("c{} {set}", number % COLORS),
                points: run.curve(&format!("{set}_{name}")),
                kept: run.figure("epoch"),
            })
        };
        runs.iter().enumerate().flat_map(of_run).collect()
    };
    let plots = MEASURES.iter().map(|(shown, name)| plot(shown, &curves(name)));
    let colors = runs.iter().enumerate().map(|(number, run)| (format!("c{}", number % COLORS), run.name()));
    let is_measured = |set: &str| runs.iter().any(|run| run.is_measured(&format!("{set}_loss")));
    let sets = SETS.iter().filter(|(set, _)| is_measured(set));
    let lines = sets.map(|(set, shown)| (format!("ink {set}"), (*shown).to_owned()));
    let plots = figures(plots.collect(), colors.chain(lines));
    let mut body =
        format!("<h2>Curves</h2>\n<p>{LOSSES} Circles mark the epoch of the kept model.</p>\n{plots}");
    let best = best_run(runs).map(|run| &runs[run]);
    let best = best.map(|run| format!("<p>The best run is {}: {}.</p>\n", escaped(&run.name()), score(run)));
    let results = table("Kept epoch per run", &side_by_side(runs, compared(runs)));
    body += &format!("<h2>Results</h2>\n{}{results}", best.unwrap_or_default());
    body += &format!("<h2>Settings</h2>\n{}", setting_tables(runs));
    for (run, evaluated) in runs.iter().zip(evaluated) {
        body += &format!("<h2>{}</h2>\n", escaped(&run.name()));
        body += &match evaluated {
            Ok(evaluated) => section(evaluated),
            Err(why) => format!("<p>{}</p>\n", escaped(why)),
        };
    }
    html::page(&title, &body, command)
}

/// Returns the settings in which runs differ, and the shared ones, collapsed.
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

/// Returns the page of a sweep's folder in its present state; the sweep may still be running.
///
/// # Errors
/// Errors of the folder.
pub fn page_of_sweep(path: &Path) -> Result<String> {
    let folder = Folder::open_unlocked(path)?;
    standing(&folder, folder.is_on_folds()?).map(|(page, ..)| page)
}

/// Returns the page of the finished members, the members in the order of their scores, and the number of
/// failed members.
///
/// # Errors
/// [`crate::error::Error::Read`].
pub fn standing(folder: &Folder, are_on_folds: bool) -> Result<(String, Vec<RankedMember>, usize)> {
    let ranked = ranked(&folder.records);
    let failed = folder.records.iter().filter(|record| record.end == "failed").count();
    let command = command_line("sweep", &folder.command()?);
    let page = page_of_members(&ranked, best(&ranked, are_on_folds), failed, &folder.history()?, &command);
    Ok((page, ranked, failed))
}

fn page_of_members(
    ranked: &[RankedMember],
    best: Option<&RankedMember>,
    failed: usize,
    history: &str,
    made_by: &str,
) -> String {
    let mut body = String::new();
    if let Some(RankedMember { record, .. }) = best {
        let (member, figure, command) = (record.member, figure(record), escaped(&command(record)));
        body += &format!("<p>The best is trial {member}: {figure}. <code>{command}</code></p>\n");
    }
    if failed > 0 {
        body += &format!("<p>{failed} failed; see <code>results.jsonl</code>.</p>\n");
    }
    let of_classes = ranked.iter().any(|ranked| ranked.record.accuracy.is_some());
    let mut histories = member_curves(history, of_classes);
    let curve = |(number, RankedMember { record, .. }): (usize, &RankedMember)| Curve {
        name: format!("trial {}: {}, {}", record.member, figure(record), settings_text(&record.settings)),
        look: if number == 0 { "c1" } else { "c0 other" }.to_owned(),
        points: histories.remove(&record.member).unwrap_or_default(),
        kept: (number == 0).then_some(record.kept as f64),
    };
    let mut curves: Vec<Curve> = ranked.iter().take(DRAWN).enumerate().map(curve).collect();
    // The best curve is drawn last, over the others.
    curves.reverse();
    let shown = if of_classes { "Accuracy" } else { "Loss" };
    let legend = [("c1", "the best trial"), ("c0 other", "the others")];
    let legend = legend.map(|(look, text)| (look.to_owned(), text.to_owned()));
    let plots = figures(vec![plot(shown, &curves)], legend.into_iter());
    body += &format!(
        "<h2>Curves</h2>\n<p>{shown} on the validation rows, or those that the first fold holds out, of {DRAWN} trials at most.</p>\n{plots}"
    );
    let common = common_settings(ranked).map(|line| format!("<p>Settings of {}.</p>\n", escaped(&line)));
    body += &format!("<h2>Results</h2>\n{}", common.unwrap_or_default());
    body += &table("The trials by score", &leaderboard(ranked, ROWS, true));
    if ranked.len() > ROWS {
        let all = ranked.len();
        body += &format!("<p>The best {ROWS} of {all}; <code>leaderboard.csv</code> has all.</p>\n");
    }
    html::page(&format!("Sweep of {} trials", ranked.len() + failed), &body, made_by)
}

/// Returns the curves in the history of a sweep by member, for the first fold: the validation value, or
/// otherwise the test value.
fn member_curves(history: &str, of_classes: bool) -> BTreeMap<usize, Vec<(f64, f64)>> {
    let mut curves: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
    for line in history.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [member, "0", epoch, _, _, validation_loss, validation_accuracy, test_loss, test_accuracy, ..] =
            cells[..]
        else {
            continue;
        };
        let [first, second] =
            if of_classes { [validation_accuracy, test_accuracy] } else { [validation_loss, test_loss] };
        let figure = if first.is_empty() { second } else { first };
        if let (Ok(member), Ok(epoch), Ok(figure)) = (member.parse(), epoch.parse(), figure.parse::<f64>())
            && figure.is_finite()
        {
            curves.entry(member).or_default().push((epoch, figure));
        }
    }
    curves
}

/// Returns the existing plots, and below them a legend of the CSS classes of lines.
fn figures(plots: Vec<Option<String>>, legend: impl Iterator<Item = (String, String)>) -> String {
    let plots: String = plots.into_iter().flatten().collect();
    if plots.is_empty() {
        return "<p>No epoch has been trained.</p>\n".to_owned();
    }
    let key = |(look, text): (String, String)| {
        format!(
            "<li><svg viewBox=\"0 0 34 10\" aria-hidden=\"true\"><polyline class=\"curve {look}\" points=\"1,5 33,5\"/></svg> {}</li>\n",
            escaped(&text)
        )
    };
    let legend: String = legend.map(key).collect();
    format!("<div class=\"plots\">\n{plots}</div>\n<ul class=\"legend\">\n{legend}</ul>\n")
}

/// Returns the curves of one measure, or `None` if there are none.
fn plot(measure: &str, curves: &[Curve]) -> Option<String> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let last = points().map(|point| point.0).reduce(f64::max)?;
    // The worst 2 % of values are drawn at the edge, so that a few outlying epochs do not compress all
    // others.
    let mut values: Vec<f64> = points().map(|point| point.1).collect();
    values.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    let is_loss = measure == "Loss";
    let (low, high) = if is_loss { (at(0.0), at(0.98)) } else { (at(0.02), at(1.0)) };
    let is_log = is_loss && low > 0.0 && high / low >= WIDE;
    let axis = if is_log { Axis::log(low, high) } else { Axis::linear(low, high) };
    let title = format!("{measure} by epoch{}", if is_log { ", on a logarithmic scale" } else { "" });
    let mut plot = Plot::new(Plot::SIZE, &title, (Axis::epochs(last), "epoch"), (axis, measure));
    for Curve { name, look, points, kept } in curves {
        let Some((epoch, value)) = points.last() else { continue };
        let text = format!("{name}: {} at epoch {epoch}", short(*value));
        let every = points.len().div_ceil(POINTS);
        let is_kept = |place: &usize| place.is_multiple_of(every) || place + 1 == points.len();
        let places = (0..points.len()).filter(is_kept).map(|place| plot.at(points[place].0, points[place].1));
        match &places.collect::<Vec<[f64; 2]>>()[..] {
            // A line of one point would be invisible.
            [at] => plot.svg.circle(&format!("class=\"dot {look}\""), *at, 4.0, &text),
            places => {
                plot.svg.polyline(&format!("class=\"curve {look}\""), places, &text);
                if let Some((epoch, value)) = points.iter().find(|point| Some(point.0) == *kept) {
                    let text = format!("{name}: {} at epoch {epoch}, kept", short(*value));
                    plot.svg.circle(&format!("class=\"dot {look}\""), plot.at(*epoch, *value), 4.0, &text);
                }
            }
        }
    }
    Some(format!("<figure>{}<figcaption>{title}</figcaption></figure>\n", plot.svg.element()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Record;

    #[test]
    fn members_of_a_sweep_have_curves_and_their_text_is_escaped() {
        let record = |text: &str| serde_json::from_str::<Record>(text).unwrap();
        let ranked: Vec<RankedMember> = [
            r#"{"member":7,"end":"done","accuracy":0.9,"loss":0.5,"settings":{"lr":0.001,"a<b":"x","same":1}}"#,
            r#"{"member":8,"end":"done","accuracy":0.5,"loss":1.5,"settings":{"lr":0.1,"a<b":"y&","same":1}}"#,
        ]
        .iter()
        .zip(1..)
        .map(|(text, rank)| RankedMember { rank, record: record(text) })
        .collect();
        let history = "header\n7,0,1,0,0,0.5,0.7,,,0\n7,0,2,0,0,0.4,0.9,,,0\n7,1,1,0,0,0.1,0.1,,,0\n8,0,1,0,0,,,1,0.5,0\n";
        let curves = member_curves(history, true);
        assert_eq!(curves, BTreeMap::from([(7, vec![(1.0, 0.7), (2.0, 0.9)]), (8, vec![(1.0, 0.5)])]));
        let page = page_of_members(&ranked, ranked.first(), 1, history, "a <b>");
        assert!(page.contains("<code>a &lt;b&gt;</code>"));
        assert_eq!(page.matches("<polyline class=\"curve c1\"").count(), 2, "a curve and its key");
        assert_eq!(page.matches("<circle class=\"dot c0 other\"").count(), 1);
        assert!(page.contains("y&amp;") && page.contains("a&lt;b") && !page.contains("a<b"));
        assert!(page.contains("Sweep of 3 trials") && page.contains("1 failed"));
        assert!(page_of_members(&[], None, 0, "", "").contains("No epoch has been trained"));
    }

    #[test]
    fn of_a_wide_range_the_logarithms_are_drawn() {
        let curve = |last: f64| {
            let points = vec![(1.0, 1.0), (2.0, last)];
            [Curve { name: "a".to_owned(), look: String::new(), points, kept: Some(2.0) }]
        };
        assert!(plot("Loss", &curve(0.01)).unwrap().contains("Loss by epoch, on a logarithmic scale"));
        assert!(!plot("Loss", &curve(0.5)).unwrap().contains("logarithmic"));
        assert!(plot("Loss", &curve(0.5)).unwrap().contains("a: 0.5 at epoch 2, kept"));
        assert!(plot("Loss", &[]).is_none());
    }
}
