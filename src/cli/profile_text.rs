//! A profile, and a comparison, as text.

use crate::engine::Clock;
use crate::profile::{BATCH_SIZES, Comparison, KernelReport, Report, Variant};

use crate::report::text::{Align, Table, counted, grouped, number, rate};

/// Returns the lines of a report.
pub fn lines(report: &Report) -> Vec<String> {
    let schedule = report.schedule.as_ref().map(|kind| format!(", {kind} schedule")).unwrap_or_default();
    let mut lines = vec![format!(
        "{} on {}{schedule}: {}, {} per step",
        counted(report.steps as u64, "step", "steps"),
        report.device,
        milliseconds(report.wall_us),
        microseconds(report.wall_us / report.steps as f64)
    )];
    lines.push(String::new());
    lines.extend(kernels(report));
    lines.push(String::new());
    lines.extend(sums(report));
    lines.push(String::new());
    lines.extend(notes(report));
    lines
}

fn kernels(report: &Report) -> Vec<String> {
    let rows = report.kernels.iter().map(|kernel| {
        vec![
            name(kernel),
            kernel.shape.clone(),
            grouped(kernel.calls as u64),
            number(kernel.median_us, 1),
            number(kernel.p95_us, 1),
            percent(kernel.total_us, report.wall_us),
            scaled(kernel.bytes as f64),
            number(kernel.bytes_per_second / 1e9, 2),
            scaled(kernel.flop as f64),
            number(kernel.flop_per_second / 1e9, 2),
            number(kernel.intensity, 2),
            percent(kernel.roofline_share, 1.0),
            grouped(kernel.workgroups),
        ]
    });
    let workers = if report.engine == "cpu" { ">threads" } else { ">workgroups" };
    let times = ["kernel", "shape", ">calls", ">median us", ">p95 us", ">share"];
    let work = [">bytes", ">GB/s", ">FLOP", ">GFLOP/s", ">FLOP/byte", ">roofline", workers];
    Table::new(&[&times[..], &work].concat(), rows).lines()
}

fn sums(report: &Report) -> Vec<String> {
    let sums = &report.sums;
    let gaps = if report.engine == "cpu" { "gaps between phases" } else { "gaps between dispatches" };
    let times = [
        ("compute", sums.compute_us),
        (gaps, sums.gaps_us),
        ("host recording", sums.recording_us),
        ("loading", sums.loading_us),
        ("waiting", sums.waiting_us),
        ("wall", report.wall_us),
    ];
    let rows = times.map(|(name, time)| {
        let step = number(time / report.steps as f64, 1);
        vec![name.to_owned(), number(time / 1e3, 2), step, percent(time, report.wall_us)]
    });
    Table::new(&["", ">ms", ">us per step", ">share"], rows).lines()
}

fn notes(report: &Report) -> Vec<String> {
    let ceilings = &report.ceilings;
    let ridge = ceilings.ridge();
    let mut lines = vec![format!(
        "ceilings: {} GB/s (copy), {} GFLOP/s (multiply-adds), measured; they meet at {} FLOP per byte",
        number(ceilings.bytes_per_second / 1e9, 1),
        number(ceilings.flop_per_second / 1e9, 1),
        number(ridge, 1),
    )];
    lines.push(match (report.clock, &*report.engine) {
        (Clock::Timestamps, _) => "clock: the device's time stamps".to_owned(),
        (Clock::Host, "cpu") => "clock: the host's; a phase lasts from the start of its first thread to the end of its last".to_owned(),
        (Clock::Host, _) => {
            "clock: the host's, since the device writes no time stamps; every time includes a submission and a wait"
                .to_owned()
        }
    });
    lines.push(format!("gaps: {}", report.gaps_from));
    if report.refused_stamps > 0 {
        let refused = counted(report.refused_stamps as u64, "pair of time stamps", "pairs of time stamps");
        lines.push(format!("{refused} out of order and counted as zero"));
    }
    if let Some(cost) = &report.cost_of_profiling {
        // A run that was faster with profiling shows the variation between runs, not the cost of profiling.
        let more = |on: f64| match (on / cost.off_us - 1.0) * 100.0 {
            percent if percent > 0.0 => format!("{} (+{} %)", milliseconds(on), number(percent, 1)),
            _ => format!("{} (no slower, within noise)", milliseconds(on)),
        };
        let closely = cost.stages_us.map(|on| format!(", with a pass for each kernel {}", more(on)));
        lines.push(format!(
            "cost of profiling: {} with profiling off, {} on{}",
            milliseconds(cost.off_us),
            more(cost.on_us),
            closely.unwrap_or_default()
        ));
    }
    lines
}

/// Returns the lines of a comparison.
pub fn comparison_lines(comparison: &Comparison) -> Vec<String> {
    let mut lines = vec![format!("training on {}", comparison.device), String::new()];
    lines.extend(grid(&comparison.ways));
    lines.push(String::new());
    lines.extend(classic(comparison));
    lines
}

/// Returns a table of samples per second by schedule and batch size.
fn grid(ways: &[Variant]) -> Vec<String> {
    let mut schedules: Vec<&Option<String>> = ways.iter().map(|way| &way.schedule).collect();
    schedules.dedup();
    let row = |schedule: &Option<String>| {
        let cell = |size: &usize| {
            let way = ways.iter().find(|way| way.schedule == *schedule && way.batch_size == *size);
            way.map_or("-".to_owned(), |way| rate(way.rows_per_second))
        };
        let name = schedule.clone().unwrap_or_else(|| "cpu".to_owned());
        [name].into_iter().chain(BATCH_SIZES.iter().map(cell)).collect()
    };
    let names = ["samples/s".to_owned()].into_iter();
    let names = names.chain(BATCH_SIZES.iter().map(|size| format!("batch {size}"))).collect();
    let mut table = Table::alike(names, Align::Right, schedules.into_iter().map(row));
    table.align[0] = Align::Left;
    table.lines()
}

/// Returns a table of the gain of each change.
fn classic(comparison: &Comparison) -> Vec<String> {
    let rows = comparison.classic.iter().map(|gain| {
        vec![
            gain.change.to_owned(),
            rate(gain.way.rows_per_second),
            number(gain.factor, 2),
            number(gain.overall, 2),
        ]
    });
    Table::new(&["change", ">samples/s", ">factor", ">overall"], rows).lines()
}

/// Returns the name of a kernel, with the operations fused into it.
fn name(kernel: &KernelReport) -> String {
    let fused: Vec<String> = kernel.fused.iter().map(|fused| format!(" +{fused}")).collect();
    kernel.kernel.clone() + &fused.concat()
}

fn percent(part: f64, whole: f64) -> String {
    format!("{} %", number(100.0 * part / whole, 1))
}

fn milliseconds(microseconds: f64) -> String {
    format!("{} ms", number(microseconds / 1e3, 2))
}

fn microseconds(microseconds: f64) -> String {
    format!("{} us", number(microseconds, 1))
}

/// Formats a number with three digits and a letter for the power of a thousand: 1.23M.
fn scaled(number: f64) -> String {
    let powers = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    match powers.into_iter().find(|(power, _)| number >= *power) {
        Some((power, letter)) => {
            let number = number / power;
            let digits = if number >= 100.0 {
                0
            } else if number >= 10.0 {
                1
            } else {
                2
            };
            format!("{number:.digits$}{letter}")
        }
        None => format!("{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_have_three_digits() {
        let texts = [0.0, 999.0, 1000.0, 23_456.0, 1_066_440.0, 30_100_000.0, 5e11].map(scaled);
        assert_eq!(texts, ["0", "999", "1.00k", "23.5k", "1.07M", "30.1M", "500G"]);
    }
}
