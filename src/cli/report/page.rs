//! The page: what there is of all runs, then run by run.

use super::classes::classes;
use super::curves::curves;
use super::judged::Judged;
use super::mistakes;
use super::pictures::weights;
use super::values::values;
use crate::cli::eval_text::{measure_table, target_table, value_names, weight_line};
use crate::cli::html::{self, escaped, table};
use crate::cli::runs::{compared, differing, names, settings, side_by_side};
use crate::cli::text::{Table, counted, loss};
use tinytrain::runs::Told;

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
pub fn page(runs: &[Told], judged: &[Result<Judged, String>]) -> String {
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
    for (run, judged) in runs.iter().zip(judged) {
        body += &format!("<h2>{}</h2>\n", escaped(&run.name()));
        body += &match judged {
            Ok(judged) => section(judged),
            Err(why) => format!("<p>{}</p>\n", escaped(why)),
        };
    }
    html::page(&title, STYLE, &(body + "</main>\n"))
}

/// What a model makes of the rows it is evaluated on.
fn section(judged: &Judged) -> String {
    let samples = counted(judged.rows.data.rows() as u64, "row", "rows");
    let mut html = format!(
        "<p>{}, evaluated on {samples} of {}, on {}. Loss ({}) {}.</p>\n",
        escaped(&judged.model.description()),
        escaped(&judged.rows.name),
        escaped(&judged.device),
        judged.model.network.loss(),
        loss(judged.loss)
    );
    html += &weight_line(&judged.model, &judged.rows.data)
        .map_or_else(String::new, |line| format!("<p>Measures are {}.</p>\n", escaped(&line)));
    let names = value_names(&judged.model.meaning, judged.model.network.outputs());
    html += &match &judged.errors {
        Some(errors) if errors.targets.len() > 1 => {
            table("Measures by target", &target_table(&judged.measured, &names))
        }
        _ => table("Measures", &measure_table(&judged.measured)),
    };
    match &judged.errors {
        Some(_) => html + &values(judged) + &mistakes::of_values(judged) + &weights(judged),
        None => html + &classes(judged) + &mistakes::of_classes(judged) + &weights(judged),
    }
}

/// The settings in which runs differ, and behind a fold those that they share.
fn setting_tables(runs: &[Told]) -> String {
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
