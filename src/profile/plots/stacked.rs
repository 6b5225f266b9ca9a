//! The time of a step by kernel, one bar a schedule.

use plotters::prelude::*;

use crate::pictures::canvas::{
    Area, Axis, Colors, Drawing, Drawn, GREY, SIZE, fill, short, title, write, write_before,
};
use crate::profile::Report;

/// Where bars begin and the longest ends, and the legend begins.
const FIELD: (i32, i32) = (150, 820);
const LEGEND: i32 = 970;
const TOP: i32 = 80;
const BOTTOM: i32 = SIZE.1 as i32 - 60;

/// See the module.
pub struct Stacked<'a> {
    pub reports: &'a [&'a Report],
    pub colors: &'a Colors,
}

/// Microseconds of a step outside the kernels: gaps, host, loading.
fn others(report: &Report) -> f64 {
    let sums = &report.sums;
    (sums.gaps_us + sums.recording_us + sums.loading_us + sums.waiting_us) / report.steps as f64
}

/// Microseconds of a step.
fn whole(report: &Report) -> f64 {
    report.sums.compute_us / report.steps as f64 + others(report)
}

impl Drawing for Stacked<'_> {
    fn draw<B: DrawingBackend>(&self, area: &Area<B>) -> Drawn<B> {
        let device = self.reports.first().map_or("", |report| report.device.as_str());
        title(area, &format!("A training step on {device}"), "Its time by kernel, mean of all steps.")?;
        let most = self.reports.iter().map(|report| whole(report)).fold(f64::MIN_POSITIVE, f64::max);
        let (unit, name) = if most < 10_000.0 { (1.0, "us") } else { (1e3, "ms") };
        let axis = Axis { from: FIELD.0, to: FIELD.1, most: most / unit };
        axis.draw(area, (TOP, BOTTOM), &format!("{name} per step"))?;
        let names = self.reports.iter().flat_map(|report| &report.kernels);
        let mut legend = self.colors.legend(names.map(|kernel| kernel.kernel.as_str()));
        legend.add("gaps, host, loading, waiting", GREY);
        let height = (BOTTOM - TOP) / self.reports.len().max(1) as i32;
        for (number, report) in (0..).zip(self.reports) {
            let middle = TOP + number * height + height / 2;
            let half = (height / 2 - 20).clamp(8, 60);
            write_before(area, report.schedule.as_deref().unwrap_or(&report.engine), (FIELD.0 - 12, middle))?;
            // Kernels of one name, whatever their shapes, are one part.
            let mut parts: Vec<(&str, f64)> = Vec::new();
            for kernel in &report.kernels {
                let time = kernel.total_us / report.steps as f64 / unit;
                match parts.iter_mut().find(|(name, _)| *name == kernel.kernel) {
                    Some((_, sum)) => *sum += time,
                    None => parts.push((&kernel.kernel, time)),
                }
            }
            let parts = parts.into_iter().map(|(name, time)| (self.colors.get(name), time));
            let mut sum = 0.0;
            for (color, time) in parts.chain([(GREY, others(report) / unit)]) {
                let corners = [(axis.at(sum), middle - half), (axis.at(sum + time), middle + half)];
                fill(area, corners, color)?;
                sum += time;
            }
            let dispatches: usize = report.kernels.iter().map(|kernel| kernel.calls).sum();
            let per_step = dispatches as f64 / report.steps as f64;
            let text = format!("{sum:.1} {name}");
            write(area, &text, (axis.at(sum) + 8, middle - 10))?;
            write(
                area,
                &format!("{} stages per step", short((10.0 * per_step).round() / 10.0)),
                (axis.at(sum) + 8, middle + 10),
            )?;
        }
        legend.draw(area, (LEGEND, TOP))
    }
}
