//! Pages of one file, without network and scripts: their frame, their style, escaped text, tables, and plots as SVG, whose colours
//! come from the style of the page.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::text::{Align, Table, printable};
use crate::error::{Error, Result};

/// What every page begins with.
const BEGIN: &str = "<!doctype html>";

/// What all pages look like: light or dark as the reader wants it, wide tables scroll by themselves.
const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1c2128; --paper: #ffffff; --faint: #d0d7de; --mark: #0b63c4; }
@media (prefers-color-scheme: dark) { :root { --ink: #d7dde4; --paper: #12161b; --faint: #3a434d; --mark: #6db3ff; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto; max-width: 1140px; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
svg { width: 100%; height: auto; } svg text { font-size: 13px; fill: var(--ink); stroke: var(--paper); stroke-width: 4px; paint-order: stroke; }
.axis { stroke: var(--ink); stroke-width: 1; } .grid { stroke: var(--faint); stroke-width: 1; }
.wide { overflow-x: auto; } table { border-collapse: collapse; white-space: nowrap; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--faint); text-align: right; } th { border-bottom: 2px solid var(--ink); }
td.text, th.text { text-align: left; } code { font-size: 13px; user-select: all; }
";

/// A page with this title, which is text, a style added to the common one, and a body of HTML.
pub fn page(title: &str, style: &str, body: &str) -> String {
    format!(
        "{BEGIN}\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <style>{STYLE}{style}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escaped(title)
    )
}

/// Refuses to write a page over a file that is none: data, or what belongs to a run or a sweep.
///
/// # Errors
/// [`Error::Config`] with its name; [`Error::Read`].
pub fn spare_other_files(out: &Path) -> Result<()> {
    if !out.is_file() {
        return Ok(());
    }
    let mut start = Vec::new();
    File::open(out)
        .and_then(|file| file.take(BEGIN.len() as u64).read_to_end(&mut start))
        .map_err(|source| Error::Read { path: out.to_owned(), source })?;
    if start.is_empty() || start.eq_ignore_ascii_case(BEGIN.as_bytes()) {
        return Ok(());
    }
    let expected = "is there and is not a page; choose another name";
    Err(Error::Config(format!("--out: cannot write to {}, which {expected}", out.display())))
}

/// Text that HTML takes for nothing else; what is not printable stands as in all other output.
pub fn escaped(text: &str) -> String {
    printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A table under a caption; the first cell of each row says what the others are of. It scrolls by itself where it is wider than the
/// page, by the keyboard too.
pub fn table(caption: &str, table: &Table) -> String {
    let mut html = format!("{}<table>\n<caption>{}</caption>\n", wide(caption), escaped(caption));
    for (number, row) in [&table.names].into_iter().chain(&table.rows).enumerate() {
        html += "<tr>";
        for (place, (cell, align)) in row.iter().zip(&table.align).enumerate() {
            let class = if *align == Align::Left { " class=\"text\"" } else { "" };
            let (open, close) = match (number, place) {
                (0, _) => ("th scope=\"col\"", "th"),
                (_, 0) => ("th scope=\"row\"", "th"),
                _ => ("td", "td"),
            };
            html += &format!("<{open}{class}>{}</{close}>", escaped(cell));
        }
        html += "</tr>\n";
    }
    html + "</table></div>\n"
}

/// The beginning of what may be wider than the page: a `div` that scrolls, which is closed by its user.
pub fn wide(label: &str) -> String {
    format!("<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">", escaped(label))
}

/// Width and height of a plot in a page: text of 13 pixels is readable on a phone.
pub const SIZE: [f64; 2] = [480.0, 300.0];
/// Room round a plot: left, right, top, bottom.
const MARGIN: [f64; 4] = [58.0, 14.0, 30.0, 46.0];
/// Room between two numbers of an axis, about.
const TICK_ROOM: f64 = 70.0;

/// From where to where an axis goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
    /// The least distance of two numbers on it.
    least: f64,
}

impl Axis {
    /// Numbers at distances in proportion to their differences. One number alone stands in the middle.
    pub fn linear(low: f64, high: f64) -> Self {
        let room = if high > low { 0.0 } else { 0.5 * low.abs().max(1e-3) };
        Self { low: low - room, high: high + room, is_log: false, least: 0.0 }
    }

    /// Numbers above 0 at distances in proportion to those of their logarithms.
    pub fn log(low: f64, high: f64) -> Self {
        Self { low, high: if high > low { high } else { 2.0 * low }, is_log: true, least: 0.0 }
    }

    /// The numbers of epochs.
    pub fn epochs(last: f64) -> Self {
        Self { low: 1.0, high: last.max(2.0), is_log: false, least: 1.0 }
    }

    /// Where a number is: from 0 to 1, and at the end where it is beyond.
    fn place(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.is_log { value.ln() } else { value };
        ((scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))).clamp(0.0, 1.0)
    }

    /// About `count` round numbers with their texts.
    fn ticks(&self, count: f64) -> Vec<(f64, String)> {
        if self.is_log {
            let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
            let wide = (self.high / self.low).log10() > count / 2.0;
            let every = ((self.high / self.low).log10() / count).ceil().max(1.0) as i32;
            let steps: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let all = decades.filter(|decade| !wide || decade % every == 0).flat_map(|decade| {
                // Parsed, so that 0.2 is no product that only comes near it.
                steps.iter().filter_map(move |step| format!("{step}e{decade}").parse::<f64>().ok())
            });
            return all
                .filter(|tick| (self.low..=self.high).contains(tick))
                .map(|tick| (tick, short(tick)))
                .collect();
        }
        let rough = ((self.high - self.low) / count).max(self.least);
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|factor| factor * power)
            .into_iter()
            .find(|step| *step >= rough * 0.999);
        let step = step.unwrap_or(10.0 * power);
        let digits = (-step.log10().floor()).max(0.0) as usize;
        let text = |tick: f64| {
            if digits > 5 || tick.abs() >= 1e5 { short(tick) } else { format!("{:.digits$}", tick + 0.0) }
        };
        let numbers = (self.low / step - 1e-9).ceil() as i64..=(self.high / step + 1e-9).floor() as i64;
        numbers.map(|number| number as f64 * step).map(|tick| (tick, text(tick))).collect()
    }
}

/// A plot that is being drawn.
pub struct Plot {
    svg: String,
    x: Axis,
    y: Axis,
    size: [f64; 2],
}

impl Plot {
    /// The axes with their names, under a title that screen readers read.
    pub fn new(size: [f64; 2], title: &str, x: (Axis, &str), y: (Axis, &str)) -> Self {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\">\n<title>{}</title>\n",
            size[0],
            size[1],
            escaped(title)
        );
        let mut plot = Self { svg, x: x.0, y: y.0, size };
        let [left, right, top, bottom] = plot.field();
        for (tick, text) in y.0.ticks(((bottom - top) / TICK_ROOM * 1.6).max(2.0)) {
            let at = plot.at(0.0, tick)[1];
            plot.line("grid", [left, at], [right, at]);
            plot.text([left - 6.0, at + 4.0], "end", &text);
        }
        for (tick, text) in x.0.ticks(((right - left) / TICK_ROOM).max(2.0)) {
            let at = plot.at(tick, 0.0)[0];
            plot.line("grid", [at, bottom], [at, bottom + 5.0]);
            plot.text([at, bottom + 19.0], "middle", &text);
        }
        plot.line("axis", [left, bottom], [right, bottom]);
        plot.text([right, size[1] - 8.0], "end", x.1);
        plot.text([4.0, 16.0], "start", y.1);
        plot
    }

    /// Left, right, top and bottom of what is between the axes.
    fn field(&self) -> [f64; 4] {
        let [left, right, top, bottom] = MARGIN;
        [left, self.size[0] - right, top, self.size[1] - bottom]
    }

    /// Where a point is.
    pub fn at(&self, x: f64, y: f64) -> [f64; 2] {
        let [left, right, top, bottom] = self.field();
        [left + (right - left) * self.x.place(x), bottom - (bottom - top) * self.y.place(y)]
    }

    /// Points as a polyline has them.
    pub fn points(&self, points: &[(f64, f64)]) -> String {
        let point = |(x, y): &(f64, f64)| {
            let [x, y] = self.at(*x, *y);
            format!("{x:.1},{y:.1}")
        };
        points.iter().map(point).collect::<Vec<String>>().join(" ")
    }

    /// A line between two places.
    pub fn line(&mut self, class: &str, from: [f64; 2], to: [f64; 2]) {
        self.add(&format!(
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from[0], from[1], to[0], to[1]
        ));
    }

    /// A text that is anchored to its start, its middle or its end.
    pub fn text(&mut self, at: [f64; 2], anchor: &str, text: &str) {
        let [x, y] = at;
        self.add(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escaped(text)
        ));
    }

    /// A rectangle between two points, which tells of itself when it is pointed at.
    pub fn rectangle(&mut self, class: &str, from: (f64, f64), to: (f64, f64), title: &str) {
        let ([left, bottom], [right, top]) = (self.at(from.0, from.1), self.at(to.0, to.1));
        self.add(&format!(
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            right - left,
            bottom - top,
            escaped(title)
        ));
    }

    /// Any element.
    pub fn add(&mut self, element: &str) {
        self.svg.extend([element, "\n"]);
    }

    /// The picture.
    pub fn finish(self) -> String {
        self.svg + "</svg>\n"
    }
}

/// Every n-th point of a long curve and the last, so that about `most` are left.
pub fn thinned(curve: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let every = curve.len().div_ceil(most).max(1);
    let is_kept = |place: &usize| place.is_multiple_of(every) || place + 1 == curve.len();
    (0..curve.len()).filter(is_kept).map(|place| curve[place]).collect()
}

/// A number with three digits that count.
pub fn short(number: f64) -> String {
    let text = format!("{number:.2e}");
    let rounded: f64 = text.parse().unwrap_or(number);
    if rounded != 0.0 && !(1e-3..1e5).contains(&rounded.abs()) {
        format!("{rounded:e}")
    } else {
        rounded.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escaped("a<b> & \"c\"\u{202e}\n"), "a&lt;b&gt; &amp; &quot;c&quot;\\u{202e}\\n");
        let html = table("x & y", &Table::new(&["", "><n>"], [vec!["a".into(), "1".into()]]));
        let expected = "<tr><th scope=\"col\" class=\"text\"></th><th scope=\"col\">&lt;n&gt;</th></tr>\n\
                        <tr><th scope=\"row\" class=\"text\">a</th><td>1</td></tr>\n";
        assert!(html.contains("<caption>x &amp; y</caption>") && html.contains(expected), "{html}");
    }

    fn texts(axis: Axis, count: f64) -> Vec<String> {
        axis.ticks(count).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn numbers_of_axes_are_round() {
        assert_eq!(texts(Axis::linear(0.0, 1.0), 5.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(Axis::linear(0.9981, 0.9986), 3.0), ["0.9982", "0.9984", "0.9986"]);
        assert_eq!(texts(Axis::linear(-7.0, 12.0), 4.0), ["-5", "0", "5", "10"]);
        assert_eq!(texts(Axis::epochs(3.0), 5.0), ["1", "2", "3"]);
        assert_eq!(texts(Axis::epochs(289.0), 5.0), ["100", "200"]);
        assert_eq!(texts(Axis::log(0.03, 2.5), 5.0), ["0.05", "0.1", "0.2", "0.5", "1", "2"]);
        assert_eq!(texts(Axis::log(1e-6, 10.0), 5.0), ["1e-6", "1e-4", "0.01", "1"]);
        assert_eq!(texts(Axis::linear(3.0, 3.0), 4.0), ["2", "3", "4"]);
    }

    #[test]
    fn points_stand_between_the_axes() {
        let plot =
            Plot::new([472.0, 276.0], "a<b", (Axis::epochs(5.0), "epoch"), (Axis::linear(0.0, 1.0), "y"));
        assert_eq!(plot.points(&[(1.0, 0.0), (3.0, 0.5), (5.0, 7.0)]), "58.0,230.0 258.0,130.0 458.0,30.0");
        assert!(plot.finish().contains("<title>a&lt;b</title>"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 0.012_345, 1234.5, 2e-5, 3e7].map(short), ["0", "0.0123", "1230", "2e-5", "3e7"]);
    }

    #[test]
    fn the_last_point_is_kept() {
        let curve: Vec<(f64, f64)> = (1..=8).map(|epoch| (f64::from(epoch), 0.0)).collect();
        let kept: Vec<f64> = thinned(&curve, 4).into_iter().map(|point| point.0).collect();
        assert_eq!(kept, [1.0, 3.0, 5.0, 7.0, 8.0]);
    }
}
