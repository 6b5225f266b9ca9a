//! `sweep.html`: the members of a sweep as parallel coordinates, their curves, and a table. One file, no scripts, no network.

use std::path::Path;

use serde_json::Value;
use tinytrain::Result;
use tinytrain::sweep::{Folder, Ranked, best, ranked};

use super::drawing::{Curves, coordinates, curve_picture, figure};
use super::leaderboard::{board, command};
use crate::cli::html::{self, escaped, table};
use tinytrain::data::places;

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
fn page(ranked: &[Ranked], best: Option<&Ranked>, failed: usize, curves: &Curves) -> String {
    let of_classes = ranked.iter().any(|ranked| ranked.record.accuracy.is_some());
    let drawn = &ranked[..ranked.len().min(DRAWN)];
    let mut page = format!("<h1>Sweep of {} members</h1>\n", ranked.len() + failed);
    if let Some(best) = best {
        let figure = figure(&best.record);
        page += &format!(
            "<p>The best is member {}: {figure}. <code>{}</code></p>\n",
            best.record.member,
            escaped(&command(&best.record))
        );
    }
    if failed > 0 {
        page += &format!("<p>{failed} failed; <code>results.jsonl</code> says why.</p>\n");
    }
    let shown = if drawn.len() < ranked.len() { format!(", the best {DRAWN}") } else { String::new() };
    page += &format!("<h2>Settings and scores{shown}</h2>\n{}", coordinates(drawn, of_classes));
    let figure = if of_classes { "accuracy" } else { "loss" };
    let validates =
        |ranked: &Ranked| ranked.record.measures.get("validation_loss").is_some_and(Value::is_number);
    let what = match drawn.iter().any(validates) {
        true => format!("Validation {figure} by epoch"),
        false => format!("By epoch, {figure} on the rows that the first fold holds out"),
    };
    page += &format!("<h2>{what}{shown}</h2>\n{}", curve_picture(drawn, curves));
    page += &format!("<h2>Members</h2>\n{}", member_table(ranked));
    html::page("Sweep", STYLE, &page)
}

/// The page of a sweep's folder as it is now, while it may go on, to be written to `out`, which must be none of its files.
///
/// # Errors
/// Those of the folder; [`tinytrain::Error::Config`] for a page in the place of one of its files.
pub fn page_of(path: &Path, out: &Path) -> Result<String> {
    let folder = Folder::look_at(path)?;
    let files = Folder::FILES.map(|name| folder.file(name));
    let files = files.iter().map(|file| (file.as_path(), "which belongs to a sweep"));
    places::spare_files("--out", Some(out), files)?;
    standing(&folder, folder.is_on_folds()?).map(|(page, ..)| page)
}

/// The page of the members that have ended, these in the order of their scores, and how many have failed.
///
/// # Errors
/// [`tinytrain::Error::Read`].
pub fn standing(folder: &Folder, are_on_folds: bool) -> Result<(String, Vec<Ranked>, usize)> {
    let ranked = ranked(&folder.records);
    let failed = folder.records.iter().filter(|record| record.end == "failed").count();
    let of_classes = ranked.iter().any(|ranked| ranked.record.accuracy.is_some());
    let page = page(&ranked, best(&ranked, are_on_folds), failed, &curves(&folder.history()?, of_classes));
    Ok((page, ranked, failed))
}

fn member_table(ranked: &[Ranked]) -> String {
    let mut text = table("The members by their scores", &board(ranked, ROWS, true));
    if ranked.len() > ROWS {
        let all = ranked.len();
        text += &format!("<p>The best {ROWS} of {all}; <code>leaderboard.csv</code> has all.</p>\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use tinytrain::sweep::Record;

    use super::*;

    #[test]
    fn axes_are_for_settings_that_differ_and_text_is_escaped() {
        let record = |text: &str| serde_json::from_str::<Record>(text).unwrap();
        let ranked: Vec<Ranked> = [
            r#"{"member":7,"end":"done","accuracy":0.9,"loss":0.5,"settings":{"lr":0.001,"a<b":"x","same":1}}"#,
            r#"{"member":8,"end":"done","accuracy":0.5,"loss":1.5,"settings":{"lr":0.1,"a<b":"y&","same":1}}"#,
        ]
        .iter()
        .zip(1..)
        .map(|(text, rank)| Ranked { rank, record: record(text) })
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
        assert!(page.contains("Sweep of 3 members") && page.contains("1 failed"));
    }
}
