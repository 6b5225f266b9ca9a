//! The roofline: what each kernel computes a second over its arithmetic intensity, below what the device can do
//! (Williams, Waterman, Patterson 2009, doi:10.1145/1498765.1498785).

use plotters::prelude::*;

use super::Colors;
use super::canvas::{Area, Drawing, Drawn, LINE, SIZE, line, short, spread, text_style, title, write};
use crate::profile::report::Kernel;
use crate::profile::{CeilingsReport, Report};

/// Where labels stand; the chart ends before.
const LABELS: i32 = 700;

/// Characters of a label at most: what fits behind [`LABELS`].
const LONG: usize = 60;

/// Kernels that have a label at most: so many lines are there.
const MOST_LABELS: usize = 28;

/// See the module.
pub struct Roofline<'a> {
    pub report: &'a Report,
    pub colors: &'a Colors,
}

/// FLOP a second that the ceilings allow at this intensity.
fn roof(ceilings: &CeilingsReport, intensity: f64) -> f64 {
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
        let (points, left_out): (Vec<&Kernel>, Vec<&Kernel>) =
            kernels.iter().partition(|kernel| kernel.flop_per_second > 0.0 && kernel.intensity > 0.0);
        let ridge = ceilings.flop_per_second / ceilings.bytes_per_second;
        let (least_x, most_x) = limits(points.iter().map(|kernel| kernel.intensity).chain([ridge]));
        let rates = points.iter().map(|kernel| kernel.flop_per_second);
        let (least_y, most_y) = limits(rates.chain([ceilings.flop_per_second, roof(ceilings, least_x)]));
        let (width, height) = (LABELS - 40, SIZE.1 as i32 - 70);
        let field = area.clone().shrink((0, 70), (width, height));
        let mut chart = ChartBuilder::on(&field)
            .margin(10)
            .x_label_area_size(50)
            .y_label_area_size(80)
            .build_cartesian_2d((least_x..most_x).log_scale(), (least_y..most_y).log_scale())?;
        chart
            .configure_mesh()
            .x_desc("FLOP a byte")
            .y_desc("FLOP a second")
            .x_label_formatter(&|number| short(*number))
            .y_label_formatter(&|number| short(*number))
            .label_style(text_style())
            .axis_desc_style(text_style())
            .light_line_style(TRANSPARENT)
            .draw()?;
        let corners = [least_x, ridge, most_x].map(|intensity| (intensity, roof(ceilings, intensity)));
        chart.plotting_area().draw(&PathElement::new(corners, BLACK.stroke_width(2)))?;
        let mut labels = Vec::new();
        for kernel in points {
            let share = kernel.total_us / wall_us;
            let radius = 3.0 + 22.0 * share.sqrt();
            let color = self.colors.get(&kernel.kernel);
            let place = (kernel.intensity, kernel.flop_per_second);
            let circle = Circle::new(place, radius, color.mix(0.8).filled());
            chart.plotting_area().draw(&circle)?;
            labels.push((chart.backend_coord(&place), label(kernel, share)));
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

/// The label of a kernel with this share of the time: its shape is left out where it is too long.
fn label(kernel: &Kernel, share: f64) -> String {
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
