//! The roofline: what each kernel computes a second over its arithmetic intensity, below what the device can do
//! (Williams, Waterman, Patterson 2009, doi:10.1145/1498765.1498785).

use plotters::prelude::*;

use crate::pictures::canvas::{
    Area, Colors, Drawing, Drawn, LINE, LINES, SIZE, line, short, spread, title, write, write_before,
    write_centered,
};
use crate::profile::Report;
use crate::profile::report::KernelReport;
use crate::timing::Ceilings;

/// Where the chart begins and ends, and labels stand.
const FIELD: (i32, i32) = (90, 650);
const TOP: i32 = 100;
const BOTTOM: i32 = SIZE.1 as i32 - 60;
const LABELS: i32 = 700;

/// Characters of a label at most: what fits behind [`LABELS`].
const LONG: usize = 60;

/// The largest number of labelled kernels: there is room for this many lines.
const MOST_LABELS: usize = 28;

/// See the module.
pub struct Roofline<'a> {
    pub report: &'a Report,
    pub colors: &'a Colors,
}

/// FLOP a second that the ceilings allow at this intensity.
fn roof(ceilings: &Ceilings, intensity: f64) -> f64 {
    (ceilings.bytes_per_second * intensity).min(ceilings.flop_per_second)
}

impl Drawing for Roofline<'_> {
    fn draw<B: DrawingBackend>(&self, area: &Area<B>) -> Drawn<B> {
        let Report { ceilings, kernels, device, wall_us, .. } = self.report;
        title(
            area,
            &format!("Roofline of {device}"),
            "Each kernel's arithmetic a second; the area of a point is its share of the time. Both axes are logarithmic.",
        )?;
        let (points, left_out): (Vec<&KernelReport>, Vec<&KernelReport>) =
            kernels.iter().partition(|kernel| kernel.flop_per_second > 0.0 && kernel.intensity > 0.0);
        let ridge = ceilings.ridge();
        let (least_x, most_x) = limits(points.iter().map(|kernel| kernel.intensity).chain([ridge]));
        let rates = points.iter().map(|kernel| kernel.flop_per_second);
        let (least_y, most_y) = limits(rates.chain([ceilings.flop_per_second, roof(ceilings, least_x)]));
        let x = LogAxis { from: FIELD.0, to: FIELD.1, least: least_x, most: most_x };
        let y = LogAxis { from: BOTTOM, to: TOP, least: least_y, most: most_y };
        for tick in x.ticks() {
            line(area, [(x.at(tick), TOP), (x.at(tick), BOTTOM)], LINES)?;
            write_centered(area, &short(tick), (x.at(tick), BOTTOM + 14))?;
        }
        for tick in y.ticks() {
            line(area, [(FIELD.0, y.at(tick)), (FIELD.1, y.at(tick))], LINES)?;
            write_before(area, &short(tick), (FIELD.0 - 8, y.at(tick)))?;
        }
        write_before(area, "FLOP per byte", (FIELD.1, BOTTOM + 36))?;
        write(area, "FLOP per second", (20, TOP - 10))?;
        let corners = [least_x, ridge, most_x].map(|at| (x.at(at), y.at(roof(ceilings, at))));
        area.draw(&PathElement::new(corners, BLACK.stroke_width(2)))?;
        let mut labels = Vec::new();
        for kernel in points {
            let share = kernel.total_us / wall_us;
            let radius = (3.0 + 22.0 * share.sqrt()) as i32;
            let color = self.colors.get(&kernel.kernel);
            let place = (x.at(kernel.intensity), y.at(kernel.flop_per_second));
            area.draw(&Circle::new(place, radius, color.mix(0.8).filled()))?;
            labels.push((place, label(kernel, share)));
        }
        // The longest come first; what they leave no room for is not labelled.
        let unlabelled = labels.split_off(labels.len().min(MOST_LABELS)).len();
        labels.sort_by_key(|((_, y), _)| *y);
        let wanted: Vec<i32> = labels.iter().map(|((_, y), _)| *y).collect();
        let places = spread(&wanted, LINE, (90, SIZE.1 as i32 - 50));
        for (((x, y), text), place) in labels.iter().zip(places) {
            line(area, [(*x, *y), (LABELS - 8, place)], RGBColor(170, 170, 170))?;
            write(area, text, (LABELS, place))?;
        }
        if unlabelled > 0 {
            let text = format!("{unlabelled} that take less time have no label.");
            write(area, &text, (LABELS, SIZE.1 as i32 - 30))?;
        }
        let left_out: Vec<&str> = left_out.iter().map(|kernel| kernel.kernel.as_str()).collect();
        if !left_out.is_empty() {
            let text = format!("Without arithmetic, so not shown: {}", left_out.join(", "));
            write(area, &text, (20, SIZE.1 as i32 - 14))?;
        }
        Ok(())
    }
}

/// A logarithmic axis: numbers become pixels.
#[derive(Debug, Clone, Copy)]
struct LogAxis {
    from: i32,
    to: i32,
    least: f64,
    most: f64,
}

impl LogAxis {
    fn at(self, number: f64) -> i32 {
        let share = (number / self.least).ln() / (self.most / self.least).ln();
        self.from + (f64::from(self.to - self.from) * share).round() as i32
    }

    /// Powers of ten along it; where they are few, twice and five times those too.
    fn ticks(self) -> Vec<f64> {
        let exponents = self.least.log10().floor() as i32..=self.most.log10().ceil() as i32;
        let steps: &[f64] = if self.most / self.least > 1000.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        exponents
            .flat_map(|exponent| steps.iter().map(move |step| step * 10f64.powi(exponent)))
            .filter(|tick| (self.least..=self.most).contains(tick))
            .collect()
    }
}

/// The label of a kernel with this share of the time: its shape is left out where it is too long.
fn label(kernel: &KernelReport, share: f64) -> String {
    let name = &kernel.kernel;
    let shares = format!("{:.1} % of time, {:.0} % of roof", 100.0 * share, 100.0 * kernel.roofline_share);
    let whole = format!("{name} {}: {shares}", kernel.shape);
    if whole.len() <= LONG {
        return whole;
    }
    let room = LONG - shares.len() - 2;
    if name.len() <= room {
        return format!("{name}: {shares}");
    }
    format!("{}…: {shares}", name.chars().take(room - 1).collect::<String>())
}

/// Powers of two round some numbers.
fn limits(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) = numbers
        .fold((f64::MAX, f64::MIN_POSITIVE), |(least, most), number| (least.min(number), most.max(number)));
    ((least.log2() - 0.5).floor().exp2(), (most.log2() + 0.5).ceil().exp2())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_power_is_a_tick_once() {
        let axis = LogAxis { from: 100, to: 0, least: 0.25, most: 4096.0 };
        assert_eq!(axis.ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!([axis.at(0.25), axis.at(32.0), axis.at(4096.0)], [100, 50, 0]);
        let narrow = LogAxis { least: 4.0, most: 128.0, ..axis };
        assert_eq!(narrow.ticks(), [5.0, 10.0, 20.0, 50.0, 100.0]);
    }
}
