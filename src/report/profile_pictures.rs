//! Pictures of a profile: its roofline (Williams, Waterman, Patterson 2009, doi:10.1145/1498765.1498785), the
//! start of its timeline, and the time of a step by kernel.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::svg::{Axis, Bar, PALETTE, Plot, bars, short};
use crate::engine::Work;
use crate::profile::{KernelReport, Profile, Report, names};
use crate::timing::Span;

/// Colour of time outside kernels.
const GREY: &str = "#bebebe";
/// Nanoseconds of the timeline that are shown at most.
const SHOWN: u64 = 100_000_000;
/// Activities of the host, each a line of the timeline.
const WORKS: [(Work, &str); 7] = [
    (Work::Reading, "waiting for the reader"),
    (Work::Upload, "upload"),
    (Work::Distorting, "distorting images"),
    (Work::Recording, "recording"),
    (Work::Submitting, "submitting"),
    (Work::Finishing, "ending encoders"),
    (Work::Waiting, "waiting for others"),
];

/// Names of all pictures.
pub const PICTURES: [&str; 3] = ["roofline", "timeline", "kernels"];

/// Returns the files of all pictures in the order of [`PICTURES`], for a profile and, to compare the time of
/// a step, for `others`.
pub fn profile_pictures(profile: &Profile, others: &[Report]) -> [String; 3] {
    let mut reports: Vec<&Report> = others.iter().chain([&profile.report]).collect();
    // Reports with the most kernels come first.
    reports.sort_by_key(|report| Reverse(report.kernels.len()));
    let mut colors = Colors::new();
    for kernel in reports.iter().flat_map(|report| &report.kernels) {
        let next = PALETTE[colors.len() % PALETTE.len()];
        colors.entry(kernel.kernel.clone()).or_insert(next);
    }
    [roofline(&profile.report, &colors), timeline(profile, &colors), kernels(&reports, &colors)]
}

/// Colour of each kernel, the same in all pictures.
type Colors = BTreeMap<String, &'static str>;

fn color(colors: &Colors, kernel: &str) -> &'static str {
    colors.get(kernel).copied().unwrap_or(GREY)
}

/// Draws the arithmetic rate of each kernel over its arithmetic intensity, and the limits of the device.
fn roofline(report: &Report, colors: &Colors) -> String {
    let Report { ceilings, kernels, wall_us, .. } = report;
    let is_shown = |kernel: &&KernelReport| kernel.flop_per_second > 0.0 && kernel.intensity > 0.0;
    let (shown, left_out): (Vec<&KernelReport>, Vec<&KernelReport>) = kernels.iter().partition(is_shown);
    let (ridge, most) = (ceilings.ridge(), ceilings.flop_per_second);
    let (left, right) = limits(shown.iter().map(|kernel| kernel.intensity).chain([ridge]));
    let roof = |intensity: f64| (ceilings.bytes_per_second * intensity).min(most);
    let (low, high) = limits(shown.iter().map(|kernel| kernel.flop_per_second).chain([most, roof(left)]));
    let (x, y) = ((Axis::log(left, right), "FLOP per byte"), (Axis::log(low, high), "FLOP per second"));
    let mut plot = Plot::new([1080.0, 520.0], &format!("Roofline of {}", report.device), x, y);
    let corners = [left, ridge, right].map(|intensity| plot.at(intensity, roof(intensity)));
    plot.svg.polyline(
        "fill=\"none\" stroke=\"black\" stroke-width=\"2\"",
        &corners,
        "what the device can do",
    );
    let mut legend = Vec::new();
    for kernel in shown {
        let (share, color) = (kernel.total_us / wall_us, color(colors, &kernel.kernel));
        let label = format!(
            "{} {}: {:.1} % of time, {:.0} % of roof",
            kernel.kernel,
            kernel.shape,
            100.0 * share,
            100.0 * kernel.roofline_share
        );
        let look = format!("fill=\"{color}\" fill-opacity=\"0.8\" stroke=\"black\"");
        let at = plot.at(kernel.intensity, kernel.flop_per_second);
        plot.svg.circle(&look, at, 3.0 + 22.0 * share.sqrt(), &label);
        legend.push((label, color));
    }
    let without =
        |kernel: &&KernelReport| (format!("{}: without arithmetic, not shown", kernel.kernel), "white");
    legend.extend(left_out.iter().map(without));
    plot.svg.file("Arithmetic of each kernel; the area of a point is its share of the time.", &legend)
}

/// Returns powers of two around some numbers.
fn limits(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) = numbers
        .fold((f64::MAX, f64::MIN_POSITIVE), |(least, most), number| (least.min(number), most.max(number)));
    ((least.log2() - 0.5).floor().exp2(), (most.log2() + 0.5).ceil().exp2())
}

/// Draws the activity of reader, host and device in the first tenth of a second.
fn timeline(profile: &Profile, colors: &Colors) -> String {
    let log = &profile.log;
    let mut rows: Vec<(String, Vec<(Span, &str)>)> =
        vec![("reading and parsing".to_owned(), log.reader.iter().map(|span| (*span, GREY)).collect())];
    for (work, name) in WORKS {
        let own = log.host.iter().filter(|(other, _)| *other == work);
        rows.push((name.to_owned(), own.map(|(_, span)| (*span, GREY)).collect()));
    }
    let stages: Vec<String> = log.stages.iter().map(|stage| names(stage).0).collect();
    let threads = log.parts.iter().map(|(thread, ..)| thread + 1).max().unwrap_or(0);
    for thread in 0..threads {
        let own = log.parts.iter().filter(|(of, ..)| *of == thread);
        let parts = own.map(|(_, stage, span)| (*span, color(colors, &stages[*stage])));
        rows.push((format!("thread {thread}"), parts.collect()));
    }
    if threads == 0 {
        let parts = profile.ran.iter().map(|ran| (ran.span, color(colors, &stages[ran.stage])));
        rows.push(("device".to_owned(), parts.collect()));
    }
    let end = rows.iter().flat_map(|(_, parts)| parts).map(|(span, _)| span.end).max();
    let shown = end.unwrap_or(1).clamp(1, SHOWN);
    let bar = |(name, mut spans): (String, Vec<(Span, &'static str)>)| {
        spans.sort_by_key(|(span, _)| span.begin);
        let spans = spans.into_iter().filter(|(span, _)| span.begin < shown);
        let part = |(span, color): (Span, &'static str)| {
            ([span.begin, span.end.min(shown)].map(|moment| moment as f64 / 1e6), color)
        };
        Bar { name, parts: spans.map(part).collect(), ..Bar::default() }
    };
    let rows = rows.into_iter().filter(|(_, spans)| !spans.is_empty());
    let title = format!("The first {:.0} ms on {}", shown as f64 / 1e6, profile.report.device);
    let drawn = bars(&title, "milliseconds since the run began", &rows.map(bar).collect::<Vec<Bar>>());
    let kernels = profile.report.kernels.iter().map(|kernel| kernel.kernel.as_str());
    drawn.file("What each did when. What is shorter than a pixel is drawn as one.", &legend(kernels, colors))
}

/// Returns a legend line for each of these kernels.
fn legend<'a>(kernels: impl Iterator<Item = &'a str>, colors: &Colors) -> Vec<(String, &'static str)> {
    let mut lines: Vec<(String, &str)> =
        kernels.map(|kernel| (kernel.to_owned(), color(colors, kernel))).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Draws the mean time of a step by kernel, one bar per schedule.
fn kernels(reports: &[&Report], colors: &Colors) -> String {
    let bar = |report: &&Report| {
        let (steps, sums) = (report.steps as f64, &report.sums);
        let others = sums.gaps_us + sums.recording_us + sums.loading_us + sums.waiting_us;
        let own = report.kernels.iter().map(|kernel| (kernel.total_us, color(colors, &kernel.kernel)));
        let mut end = 0.0;
        let part = |(time, color): (f64, &'static str)| {
            let from = end;
            end += time / steps;
            ([from, end], color)
        };
        let parts: Vec<([f64; 2], &str)> = own.chain([(others, GREY)]).map(part).collect();
        let stages = report.kernels.iter().map(|kernel| kernel.calls).sum::<usize>() as f64 / steps;
        Bar {
            name: report.schedule.clone().unwrap_or_else(|| report.engine.clone()),
            parts,
            interval: None,
            label: format!("{} us, {} stages", short(end), short(stages)),
        }
    };
    let device = reports.first().map_or("", |report| report.device.as_str());
    let rows: Vec<Bar> = reports.iter().map(bar).collect();
    let drawn = bars(&format!("A training step on {device}"), "microseconds per step", &rows);
    let all = reports.iter().flat_map(|report| &report.kernels).map(|kernel| kernel.kernel.as_str());
    let mut legend = legend(all, colors);
    legend.push(("gaps, host, loading, waiting".to_owned(), GREY));
    drawn.file("Its time by kernel, mean of all steps.", &legend)
}
