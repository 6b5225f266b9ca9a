//! Runs side by side: their results, and the settings in which they differ.

use std::collections::BTreeSet;

use super::text::{Align, Table, loss, number, percent};
use crate::runs::RunSummary;

/// Returns a table with one column per run.
pub fn side_by_side(runs: &[RunSummary], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let names = [String::new()].into_iter().chain(runs.iter().map(RunSummary::name)).collect();
    Table::alike(names, Align::Left, rows)
}

/// Metrics of an epoch: their names, and their columns in the history.
const FIGURES: [(&str, &str); 8] = [
    ("train loss", "train_loss"),
    ("train accuracy", "train_accuracy"),
    ("validation loss", "validation_loss"),
    ("validation accuracy", "validation_accuracy"),
    ("validation R2", "validation_r2"),
    ("test loss", "test_loss"),
    ("test accuracy", "test_accuracy"),
    ("test R2", "test_r2"),
];

/// Returns the results of runs side by side: rows of a name and one cell per run.
pub fn compared(runs: &[RunSummary]) -> Vec<Vec<String>> {
    let row = |name: &str, of: &dyn Fn(&RunSummary) -> String| -> Vec<String> {
        [name.to_owned()].into_iter().chain(runs.iter().map(of)).collect()
    };
    let mut rows = vec![
        row("state", &|run| run.state.to_owned()),
        row("epochs", &|run| run.epochs.len().to_string()),
        row("kept epoch", &|run| run.figure("epoch").map(|epoch| epoch.to_string()).unwrap_or_default()),
    ];
    for (shown, name) in FIGURES {
        if runs.iter().any(|run| run.is_measured(name)) {
            rows.push(row(shown, &|run| {
                run.figure(name).map(|value| figure(name, value)).unwrap_or_default()
            }));
        }
    }
    rows.push(row("seconds", &|run| number(run.seconds(), 2)));
    rows
}

/// Returns the settings with these names side by side: rows of a name and one cell per run.
pub fn settings(runs: &[RunSummary], names: &[String]) -> Vec<Vec<String>> {
    let cell = |run: &RunSummary, name: &String| run.settings.get(name).cloned().unwrap_or_default();
    let row =
        |name: &String| [name.clone()].into_iter().chain(runs.iter().map(|run| cell(run, name))).collect();
    names.iter().map(row).collect()
}

/// Formats a metric.
fn figure(name: &str, value: f64) -> String {
    if name.ends_with("accuracy") { percent(value) } else { loss(value) }
}

/// Formats the result of a run.
pub fn score(run: &RunSummary) -> String {
    for set in ["validation", "test", "train"] {
        for measure in ["accuracy", "r2", "loss"] {
            let name = format!("{set}_{measure}");
            if let Some(value) = run.figure(&name) {
                let shown = if measure == "r2" { "R2" } else { measure };
                return format!("{set} {shown} {}", figure(&name, value));
            }
        }
    }
    "no epoch".to_owned()
}

/// Explains why the losses of a run differ.
pub const LOSSES: &str = "Training loss: mean over the steps of an epoch, with dropout. Validation loss: after the epoch, before calibration. Test loss: of the saved model, unless every epoch was tested.";

/// Returns the run with the best score on validation rows, or otherwise on test rows, if all runs have one.
pub fn best(runs: &[RunSummary]) -> Option<usize> {
    let quality = |run: &RunSummary, set: &str| {
        let of = |measure: &str| run.figure(&format!("{set}_{measure}")).filter(|value| value.is_finite());
        Some((of("accuracy").unwrap_or(0.0), -of("loss")?))
    };
    let of_set = |set| runs.iter().map(|run| quality(run, set)).collect::<Option<Vec<(f64, f64)>>>();
    let qualities = of_set("validation").or_else(|| of_set("test")).filter(|_| runs.len() > 1)?;
    // The first of equal runs.
    let order = |a: &usize, b: &usize| {
        let (a, b) = (qualities[*a], qualities[*b]);
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    (0..runs.len()).rev().max_by(order)
}

/// Returns the names of all settings.
pub fn names(runs: &[RunSummary]) -> Vec<String> {
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.settings.keys()).collect();
    names.into_iter().cloned().collect()
}

/// Returns the names of the settings that differ between runs.
pub fn differing(runs: &[RunSummary]) -> Vec<String> {
    let differs = |name: &String| runs.iter().any(|run| run.settings.get(name) != runs[0].settings.get(name));
    names(runs).into_iter().filter(differs).collect()
}
