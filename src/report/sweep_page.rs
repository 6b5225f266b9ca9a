//! `sweep.html`: the members of a sweep as parallel coordinates, their curves, and a table. One file, no scripts, no network.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::error::Result;
use crate::sweep::{Folder, RankedMember, Record, best, names, ranked};
use serde_json::Value;

use super::html::{self, Plot, escaped, short, table, thinned};
use super::leaderboard::{command, figure, live_leaderboard, settings_text};

/// Members that are drawn at most, the best.
const DRAWN: usize = 200;
/// Rows of the table at most.
const ROWS: usize = 500;

/// Beside the style of all pages.
const STYLE: &str = "
.member { fill: none; stroke-width: 1.4; opacity: .55; } .member:hover, .member:focus { stroke: var(--mark) !important; stroke-width: 4; opacity: 1; outline: none; }
.best { stroke-width: 3; opacity: 1; }
";

/// The curves in `history.csv`: of the first fold.
fn curves(history: &str, of_classes: bool) -> Curves {
    let mut curves = Curves::new();
    for line in history.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [member, "0", _, _, _, validation_loss, validation_accuracy, test_loss, test_accuracy, ..] =
            cells[..]
        else {
            continue;
        };
        let [first, second] =
            if of_classes { [validation_accuracy, test_accuracy] } else { [validation_loss, test_loss] };
        let figure = if first.is_empty() { second } else { first };
        if let (Ok(member), Ok(figure)) = (member.parse(), figure.parse()) {
            curves.entry(member).or_default().push(figure);
        }
    }
    curves
}

/// The page.
fn page(ranked: &[RankedMember], best: Option<&RankedMember>, failed: usize, curves: &Curves) -> String {
    let of_classes = ranked.iter().any(|ranked| ranked.record.accuracy.is_some());
    let drawn = &ranked[..ranked.len().min(DRAWN)];
    let mut page = format!("<h1>Sweep of {} trials</h1>\n", ranked.len() + failed);
    if let Some(best) = best {
        let figure = figure(&best.record);
        page += &format!(
            "<p>The best is trial {}: {figure}. <code>{}</code></p>\n",
            best.record.member,
            escaped(&command(&best.record))
        );
    }
    if failed > 0 {
        page += &format!("<p>{failed} failed; see <code>results.jsonl</code>.</p>\n");
    }
    let shown = if drawn.len() < ranked.len() { format!(", the best {DRAWN}") } else { String::new() };
    page += &format!("<h2>Settings and scores{shown}</h2>\n{}", coordinates(drawn, of_classes));
    let figure = if of_classes { "accuracy" } else { "loss" };
    let validates =
        |ranked: &RankedMember| ranked.record.measures.get("validation_loss").is_some_and(Value::is_number);
    let what = match drawn.iter().any(validates) {
        true => format!("Validation {figure} by epoch"),
        false => format!("By epoch, {figure} on the rows that the first fold holds out"),
    };
    page += &format!("<h2>{what}{shown}</h2>\n{}", curve_picture(drawn, curves));
    page += &format!("<h2>Members</h2>\n{}", member_table(ranked));
    html::page("Sweep", STYLE, &page)
}

/// The page of a sweep's folder as it is now, while it may go on.
///
/// # Errors
/// Those of the folder.
pub fn page_of_sweep(path: &Path) -> Result<String> {
    let folder = Folder::open_unlocked(path)?;
    standing(&folder, folder.is_on_folds()?).map(|(page, ..)| page)
}

/// The page of the members that have ended, these in the order of their scores, and how many have failed.
///
/// # Errors
/// [`crate::error::Error::Read`].
pub fn standing(folder: &Folder, are_on_folds: bool) -> Result<(String, Vec<RankedMember>, usize)> {
    let ranked = ranked(&folder.records);
    let failed = folder.records.iter().filter(|record| record.end == "failed").count();
    let of_classes = ranked.iter().any(|ranked| ranked.record.accuracy.is_some());
    let page = page(&ranked, best(&ranked, are_on_folds), failed, &curves(&folder.history()?, of_classes));
    Ok((page, ranked, failed))
}

fn member_table(ranked: &[RankedMember]) -> String {
    let mut text = table("The trials by score", &live_leaderboard(ranked, ROWS, true));
    if ranked.len() > ROWS {
        let all = ranked.len();
        text += &format!("<p>The best {ROWS} of {all}; <code>leaderboard.csv</code> has all.</p>\n");
    }
    text
}

/// A member's validation, or else test figure, by epochs: accuracy of classes, loss of values.
type Curves = BTreeMap<usize, Vec<f64>>;

/// Width of the pictures.
const WIDTH: f64 = 1100.0;
/// Heights of the axes and of the curves.
const HEIGHT: f64 = 300.0;
/// Room round a picture: left and right, top, bottom.
const MARGIN: [f64; 3] = [70.0, 34.0, 44.0];
/// Points of a curve at most.
const POINTS: usize = 120;
/// The most different numbers that are spaced evenly on an axis.
const MOST_TICKS: usize = 6;
/// How many times the least the greatest number is where the axis is logarithmic.
const WIDE: f64 = 10.0;
/// An axis of the parallel coordinates.
struct Axis {
    name: String,
    /// Where each member is on it, from 0 at the bottom to 1; nothing of one that has no such value.
    places: Vec<Option<f64>>,
    /// Labels beside it, from the bottom.
    labels: Vec<(f64, String)>,
}

/// From blue for the best to orange for the last, colours that most eyes tell apart.
fn color(place: usize, count: usize) -> String {
    let share = place as f64 / count.saturating_sub(1).max(1) as f64;
    let mix = |from: f64, to: f64| (from + share * (to - from)).round();
    format!("rgb({},{},{})", mix(31.0, 230.0), mix(119.0, 126.0), mix(201.0, 34.0))
}

/// Parallel coordinates: a line a member through its settings to its score.
fn coordinates(ranked: &[RankedMember], of_classes: bool) -> String {
    let mut axes: Vec<Axis> = names(ranked.iter().map(|ranked| &ranked.record))
        .into_iter()
        .filter_map(|name| axis(&name, ranked))
        .collect();
    let mut score = |name: &str, of: fn(&Record) -> Option<f64>| {
        let numbers: Vec<Option<f64>> = ranked.iter().map(|ranked| of(&ranked.record)).collect();
        axes.push(number_axis(name, &numbers, is_wide(&numbers)));
    };
    score("loss", |record| record.loss);
    if of_classes {
        score("accuracy", |record| record.accuracy);
    }
    let height = MARGIN[1] + HEIGHT + MARGIN[2];
    let step = (WIDTH - 2.0 * MARGIN[0]) / axes.len().saturating_sub(1).max(1) as f64;
    let x = |index: usize| MARGIN[0] + step * index as f64;
    let y = |place: f64| MARGIN[1] + HEIGHT * (1.0 - place);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"One line per trial, through its settings and its score\">\n"
    );
    for (index, axis) in axes.iter().enumerate() {
        let x = x(index);
        let _ = writeln!(
            svg,
            "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
            y(0.0),
            y(1.0)
        );
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>",
            y(0.0) + 30.0,
            escaped(&axis.name)
        );
    }
    for (place, RankedMember { record, .. }) in ranked.iter().enumerate().rev() {
        let points: Vec<String> = axes
            .iter()
            .enumerate()
            .filter_map(|(index, axis)| Some(format!("{:.1},{:.1}", x(index), y(axis.places[place]?))))
            .collect();
        svg += &line(&points, place, ranked.len(), record);
    }
    for (index, axis) in axes.iter().enumerate() {
        let x = x(index);
        for (place, label) in &axis.labels {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + 5.0,
                y(*place) + 4.0,
                escaped(label)
            );
        }
    }
    svg + "</svg>\n"
}

/// A member's line, which tells of it when it is pointed at.
fn line(points: &[String], place: usize, count: usize, record: &Record) -> String {
    let best = if place == 0 { " best" } else { "" };
    format!(
        "<polyline class=\"member{best}\" tabindex=\"0\" stroke=\"{}\" points=\"{}\"><title>trial {}: {}, {}</title></polyline>\n",
        color(place, count),
        points.join(" "),
        record.member,
        figure(record),
        escaped(&settings_text(&record.settings))
    )
}

/// The axis of a setting; nothing of one that is the same for all.
fn axis(name: &str, ranked: &[RankedMember]) -> Option<Axis> {
    let values: Vec<Option<&Value>> = ranked.iter().map(|ranked| ranked.record.settings.get(name)).collect();
    let texts: Vec<String> = ranked.iter().map(|ranked| ranked.record.setting(name)).collect();
    let mut different = texts.clone();
    different.sort();
    different.dedup();
    if different.len() < 2 {
        return None;
    }
    let numbers: Vec<Option<f64>> = values.iter().map(|value| value.and_then(Value::as_f64)).collect();
    if numbers.iter().all(Option::is_some) {
        if different.len() > MOST_TICKS {
            return Some(number_axis(name, &numbers, is_wide(&numbers)));
        }
        let number = |text: &String| text.parse().unwrap_or(f64::INFINITY);
        different.sort_by(|a, b| f64::total_cmp(&number(a), &number(b)));
    }
    let step = 1.0 / (different.len() - 1) as f64;
    let place =
        |text: &String| different.iter().position(|other| other == text).map(|place| step * place as f64);
    let labels =
        different.iter().enumerate().map(|(place, text)| (step * place as f64, text.clone())).collect();
    Some(Axis { name: name.to_owned(), places: texts.iter().map(place).collect(), labels })
}

/// Whether the logarithms of numbers tell more.
fn is_wide(numbers: &[Option<f64>]) -> bool {
    let (low, high) = bounds(numbers);
    low > 0.0 && high / low >= WIDE
}

fn bounds(numbers: &[Option<f64>]) -> (f64, f64) {
    let fold = |start: f64, of: fn(f64, f64) -> f64| numbers.iter().flatten().copied().fold(start, of);
    (fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max))
}

fn number_axis(name: &str, numbers: &[Option<f64>], is_log: bool) -> Axis {
    let scale = |number: f64| if is_log { number.ln() } else { number };
    let (low, high) = bounds(numbers);
    let width = scale(high) - scale(low);
    let place = |number: f64| if width > 0.0 { (scale(number) - scale(low)) / width } else { 0.5 };
    let at = |share: f64| {
        let number = scale(low) + share * width;
        if is_log { number.exp() } else { number }
    };
    let shares: &[f64] = if width > 0.0 { &[0.0, 0.25, 0.5, 0.75, 1.0] } else { &[0.5] };
    let label = |share: &f64| (*share, short(if width > 0.0 { at(*share) } else { low }));
    let is_some = low.is_finite();
    Axis {
        name: name.to_owned(),
        places: numbers.iter().map(|number| number.map(place)).collect(),
        labels: shares.iter().filter(|_| is_some).map(label).collect(),
    }
}

/// One curve per trial, by epoch.
fn curve_picture(ranked: &[RankedMember], curves: &Curves) -> String {
    let of = |ranked: &RankedMember| curves.get(&ranked.record.member).map_or(&[][..], Vec::as_slice);
    let all: Vec<f64> = ranked.iter().flat_map(of).copied().filter(|figure| figure.is_finite()).collect();
    let epochs = ranked.iter().map(|ranked| of(ranked).len()).max().unwrap_or(0);
    if all.is_empty() {
        return "<p>No trial has trained an epoch here.</p>\n".to_owned();
    }
    // A few members that are far off do not press all others together.
    let mut sorted = all;
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
    let is_accuracy = ranked.iter().any(|ranked| ranked.record.accuracy.is_some());
    let (low, high) = if is_accuracy { (at(0.02), at(1.0)) } else { (at(0.0), at(0.98)) };
    let name = if is_accuracy { "accuracy" } else { "loss" };
    let mut picture = Plot::new(
        [WIDTH, MARGIN[1] + HEIGHT + MARGIN[2]],
        "One curve per trial, by epoch",
        (html::Axis::epochs(epochs as f64), "epoch"),
        (html::Axis::linear(low, high), name),
    );
    for (place, member) in ranked.iter().enumerate().rev() {
        let curve = (1..).map(f64::from).zip(of(member).iter().copied());
        let curve: Vec<(f64, f64)> = curve.filter(|(_, figure)| figure.is_finite()).collect();
        let points = picture.points(&thinned(&curve, POINTS));
        picture.add(line(&[points], place, ranked.len(), &member.record).trim_end());
    }
    picture.finish()
}

#[cfg(test)]
mod tests {
    use crate::sweep::Record;

    use super::*;

    #[test]
    fn axes_are_for_settings_that_differ_and_text_is_escaped() {
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
        let curves = curves(history, true);
        assert_eq!(curves, Curves::from([(7, vec![0.7, 0.9]), (8, vec![0.5])]));
        let page = page(&ranked, ranked.first(), 1, &curves);
        assert_eq!(page.matches("class=\"axis\"").count(), 5, "lr, a<b, loss and accuracy; epochs");
        assert_eq!(page.matches("<polyline").count(), 4);
        assert!(page.contains("<h2>By epoch, accuracy on the rows that the first fold holds out</h2>"));
        let mut ranked = ranked;
        ranked[1].record.measures.insert("validation_loss".to_owned(), 0.5.into());
        assert!(self::page(&ranked, None, 1, &curves).contains("<h2>Validation accuracy by epoch</h2>"));
        assert!(page.contains("y&amp;") && page.contains("a&lt;b") && !page.contains("a<b"));
        assert!(page.contains("Sweep of 3 trials") && page.contains("1 failed"));
    }

    #[test]
    fn of_a_wide_range_the_logarithms_are_drawn() {
        let numbers = [Some(0.001), None, Some(0.1), Some(0.01)];
        let Axis { places, labels, .. } = number_axis("lr", &numbers, is_wide(&numbers));
        assert_eq!(
            labels.iter().map(|(_, label)| &label[..]).collect::<Vec<_>>(),
            ["0.001", "0.00316", "0.01", "0.0316", "0.1"]
        );
        assert!((places[3].unwrap() - 0.5).abs() < 1e-12 && places[1].is_none());
        assert_eq!(number_axis("x", &[Some(3.0), Some(3.0)], false).labels, [(0.5, "3".to_owned())]);
    }
}
