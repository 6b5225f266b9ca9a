//! A comparison as people read it.

use tinytrain::profile::{BATCH_SIZES, Comparison, Way};

use super::text::{Align, grouped, table};

/// The lines of a comparison.
pub fn comparison_lines(comparison: &Comparison) -> Vec<String> {
    let mut lines = vec![format!("training on {}", comparison.device), String::new()];
    lines.extend(grid(&comparison.ways));
    lines.push(String::new());
    lines.extend(classic(comparison));
    lines
}

/// Samples a second by schedule and batch size.
fn grid(ways: &[Way]) -> Vec<String> {
    let heads = BATCH_SIZES.iter().map(|size| format!("batch {size}"));
    let mut rows = vec![std::iter::once("samples/s".to_owned()).chain(heads).collect::<Vec<_>>()];
    let mut schedules: Vec<&Option<String>> = ways.iter().map(|way| &way.schedule).collect();
    schedules.dedup();
    for schedule in schedules {
        let rate = |size: &usize| {
            let way = ways.iter().find(|way| way.schedule == *schedule && way.batch_size == *size);
            way.map_or("-".to_owned(), |way| grouped(way.rows_per_second as u64))
        };
        let name = schedule.clone().unwrap_or_else(|| "cpu".to_owned());
        rows.push(std::iter::once(name).chain(BATCH_SIZES.iter().map(rate)).collect());
    }
    table(&rows, &[&[Align::Left][..], &[Align::Right; BATCH_SIZES.len()]].concat())
}

/// What each change buys.
fn classic(comparison: &Comparison) -> Vec<String> {
    let mut rows = vec![["change", "samples/s", "factor", "overall"].map(str::to_owned).to_vec()];
    rows.extend(comparison.classic.iter().map(|gain| {
        vec![
            gain.change.to_owned(),
            grouped(gain.way.rows_per_second as u64),
            format!("{:.2}", gain.factor),
            format!("{:.2}", gain.overall),
        ]
    }));
    table(&rows, &[Align::Left, Align::Right, Align::Right, Align::Right])
}
