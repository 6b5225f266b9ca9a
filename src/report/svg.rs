//! SVG output: elements with escaped text, axes with round numbers, scatter plots, and charts of horizontal
//! bars. Pictures in a page use the page's style; picture files contain a style.

use super::text::{printable, shortened};

/// Width of a picture file.
const WIDTH: f64 = 1100.0;
/// Height of a line of text, and of a bar with the space below it.
const LINE: f64 = 20.0;
const ROW: f64 = 30.0;
/// Width of a character in a picture file, whose font is monospaced.
const LETTER: f64 = 7.9;
/// Maximum number of columns for a bar's name.
const NAME: usize = 40;
/// Style of picture files.
const STYLE: &str = "text { font: 13px monospace; white-space: pre; } .heading { font-size: 17px; } .axis { stroke: black; } \
                     .grid { stroke: #dddddd; }";

/// Distinguishable colours, strong ones first.
pub const PALETTE: [&str; 16] = [
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#17becf",
    "#aec7e8", "#ffbb78", "#98df8a", "#ff9896", "#c5b0d5", "#c49c94", "#9edae5",
];

/// Escapes text for HTML and SVG; unprintable characters are escaped as in all other output.
pub fn escaped(text: &str) -> String {
    printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Formats a number with three significant digits.
pub fn short(number: f64) -> String {
    let text = format!("{number:.2e}");
    let rounded: f64 = text.parse().unwrap_or(number);
    if rounded != 0.0 && !(1e-3..1e5).contains(&rounded.abs()) {
        format!("{rounded:e}")
    } else {
        rounded.to_string()
    }
}

/// A picture being drawn. Attributes determine the look of an element: a CSS class, or colours.
pub struct Svg {
    elements: String,
    title: String,
    size: [f64; 2],
}

impl Svg {
    /// Creates an empty picture of this width and height, with a title for screen readers.
    pub fn new(size: [f64; 2], title: &str) -> Self {
        Self { elements: String::new(), title: escaped(title), size }
    }

    /// Draws a straight line.
    pub fn line(&mut self, look: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
        self.add(&format!("<line {look} x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"));
    }

    /// Draws text whose start, middle or end is at this point.
    pub fn text(&mut self, [x, y]: [f64; 2], anchor: &str, text: &str) {
        let text = escaped(text);
        self.add(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"));
    }

    /// Draws a rectangle from its upper left corner.
    pub fn rectangle(&mut self, look: &str, [x, y]: [f64; 2], [width, height]: [f64; 2]) {
        self.add(&format!(
            "<rect {look} x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        ));
    }

    /// Draws a circle with a tooltip.
    pub fn circle(&mut self, look: &str, [x, y]: [f64; 2], radius: f64, title: &str) {
        let title = escaped(title);
        self.add(&format!(
            "<circle {look} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"><title>{title}</title></circle>"
        ));
    }

    /// Draws a line through points, with a tooltip.
    pub fn polyline(&mut self, look: &str, points: &[[f64; 2]], title: &str) {
        let points: Vec<String> = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
        let (points, title) = (points.join(" "), escaped(title));
        self.add(&format!("<polyline {look} points=\"{points}\"><title>{title}</title></polyline>"));
    }

    fn add(&mut self, element: &str) {
        self.elements.extend([element, "\n"]);
    }

    /// Returns the picture as an element of a page.
    pub fn element(&self) -> String {
        let Self { elements, title, size: [width, height] } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{title}</title>\n{elements}</svg>\n"
        )
    }

    /// Returns the picture as a file, with a heading, a line of text `below` it, and a legend of colours.
    pub fn file(&self, below: &str, legend: &[(String, &str)]) -> String {
        let top = 64.0;
        let height = top + self.size[1] + LINE * legend.len() as f64 + 12.0;
        let mut frame = Svg { elements: String::new(), title: self.title.clone(), size: [WIDTH, height] };
        frame.add(&format!("<style>{STYLE}</style>"));
        frame.rectangle("fill=\"white\"", [0.0, 0.0], [WIDTH, height]);
        frame.add(&format!("<text class=\"heading\" x=\"20\" y=\"28\">{}</text>", self.title));
        frame.text([20.0, 50.0], "start", below);
        frame.add(&format!("<g transform=\"translate(0 {top})\">\n{}</g>", self.elements));
        for (number, (meaning, color)) in legend.iter().enumerate() {
            let y = top + self.size[1] + LINE * number as f64;
            frame.rectangle(&format!("fill=\"{color}\""), [20.0, y], [12.0, 12.0]);
            frame.text([40.0, y + 11.0], "start", meaning);
        }
        frame.element().replacen("<svg ", &format!("<svg width=\"{WIDTH}\" height=\"{height}\" "), 1)
    }
}

/// Range of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
    /// Minimum distance between two ticks.
    least: f64,
}

impl Axis {
    /// Creates a linear axis. A single number is placed in the middle.
    pub fn linear(low: f64, high: f64) -> Self {
        let room = if high > low { 0.0 } else { 0.5 * low.abs().max(1e-3) };
        Self { low: low - room, high: high + room, is_log: false, least: 0.0 }
    }

    /// Creates a logarithmic axis for positive numbers.
    pub fn log(low: f64, high: f64) -> Self {
        Self { low, high: if high > low { high } else { 2.0 * low }, is_log: true, least: 0.0 }
    }

    /// Creates an axis of epoch numbers.
    pub fn epochs(last: f64) -> Self {
        Self { low: 1.0, high: last.max(2.0), is_log: false, least: 1.0 }
    }

    /// Returns the position of a number between 0 and 1; numbers out of range are at the ends.
    fn place(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.is_log { value.ln() } else { value };
        ((scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))).clamp(0.0, 1.0)
    }

    /// Returns about `count` round numbers with their texts.
    fn ticks(&self, count: f64) -> Vec<(f64, String)> {
        if self.is_log {
            let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
            let wide = (self.high / self.low).log10() > count / 2.0;
            let every = ((self.high / self.low).log10() / count).ceil().max(1.0) as i32;
            let steps: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let all = decades.filter(|decade| !wide || decade % every == 0).flat_map(|decade| {
                // Parsed, so that 0.2 is exact, unlike a product.
                steps.iter().filter_map(move |step| format!("{step}e{decade}").parse::<f64>().ok())
            });
            return all
                .filter(|tick| (self.low..=self.high).contains(tick))
                .map(|tick| (tick, short(tick)))
                .collect();
        }
        let rough = ((self.high - self.low) / count).max(self.least);
        let power = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let step = steps.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(10.0 * power);
        let digits = (-step.log10().floor()).max(0.0) as usize;
        let text = |tick: f64| {
            if digits > 5 || tick.abs() >= 1e5 { short(tick) } else { format!("{:.digits$}", tick + 0.0) }
        };
        let numbers = (self.low / step - 1e-9).ceil() as i64..=(self.high / step + 1e-9).floor() as i64;
        numbers.map(|number| number as f64 * step).map(|tick| (tick, text(tick))).collect()
    }
}

/// Space around a plot: left, right, top, bottom.
const MARGIN: [f64; 4] = [58.0, 14.0, 30.0, 46.0];
/// Approximate space between two ticks of an axis.
const TICK_ROOM: f64 = 70.0;

/// A picture with two axes.
pub struct Plot {
    /// The picture.
    pub svg: Svg,
    x: Axis,
    y: Axis,
}

impl Plot {
    /// Width and height of a plot in a page: text of 13 pixels is readable on a phone.
    pub const SIZE: [f64; 2] = [480.0, 300.0];

    /// Creates a plot with named axes.
    pub fn new(size: [f64; 2], title: &str, x: (Axis, &str), y: (Axis, &str)) -> Self {
        let mut plot = Self { svg: Svg::new(size, title), x: x.0, y: y.0 };
        let [left, right, top, bottom] = plot.field();
        for (tick, text) in y.0.ticks(((bottom - top) / TICK_ROOM * 1.6).max(2.0)) {
            let at = plot.at(0.0, tick)[1];
            plot.svg.line("class=\"grid\"", [left, at], [right, at]);
            plot.svg.text([left - 6.0, at + 4.0], "end", &text);
        }
        for (tick, text) in x.0.ticks(((right - left) / TICK_ROOM).max(2.0)) {
            let at = plot.at(tick, 0.0)[0];
            plot.svg.line("class=\"grid\"", [at, bottom], [at, bottom + 5.0]);
            plot.svg.text([at, bottom + 19.0], "middle", &text);
        }
        plot.svg.line("class=\"axis\"", [left, bottom], [right, bottom]);
        plot.svg.text([right, size[1] - 8.0], "end", x.1);
        plot.svg.text([4.0, 16.0], "start", y.1);
        plot
    }

    /// Returns left, right, top and bottom of the area between the axes.
    fn field(&self) -> [f64; 4] {
        let [left, right, top, bottom] = MARGIN;
        [left, self.svg.size[0] - right, top, self.svg.size[1] - bottom]
    }

    /// Returns the position of a point.
    pub fn at(&self, x: f64, y: f64) -> [f64; 2] {
        let [left, right, top, bottom] = self.field();
        [left + (right - left) * self.x.place(x), bottom - (bottom - top) * self.y.place(y)]
    }
}

/// A bar of a chart.
#[derive(Debug, Default)]
pub struct Bar {
    /// Name of the bar.
    pub name: String,
    /// Start and end of the coloured parts, in order.
    pub parts: Vec<([f64; 2], &'static str)>,
    /// Confidence interval of the bar's value.
    pub interval: Option<[f64; 2]>,
    /// Text after the bar.
    pub label: String,
}

/// Draws bars from top to bottom over a named axis.
pub fn bars(title: &str, axis_name: &str, bars: &[Bar]) -> Svg {
    let longest = |text: fn(&Bar) -> &str| {
        bars.iter().map(|bar| text(bar).chars().count().min(NAME)).max().unwrap_or(0) as f64 * LETTER
    };
    let (left, right) = (32.0 + longest(|bar| &bar.name), WIDTH - 32.0 - longest(|bar| &bar.label));
    let (top, bottom) = (6.0, 6.0 + ROW * bars.len() as f64);
    let mut svg = Svg::new([WIDTH, bottom + 56.0], title);
    let ends =
        || bars.iter().flat_map(|bar| bar.parts.iter().map(|part| &part.0).chain(&bar.interval)).flatten();
    let axis = Axis::linear(ends().copied().fold(0.0, f64::min), ends().copied().fold(0.0, f64::max));
    let at = |number: f64| left + (right - left) * axis.place(number);
    for (tick, text) in axis.ticks((right - left) / (1.5 * TICK_ROOM)) {
        svg.line("class=\"grid\"", [at(tick), top], [at(tick), bottom]);
        svg.text([at(tick), bottom + 16.0], "middle", &text);
    }
    svg.text([right, bottom + 36.0], "end", axis_name);
    for (number, bar) in bars.iter().enumerate() {
        let middle = top + ROW * (number as f64 + 0.5);
        svg.text([left - 10.0, middle + 4.0], "end", &shortened(&printable(&bar.name), NAME));
        let (mut drawn, mut end) = (f64::MIN, left);
        for ([from, to], color) in &bar.parts {
            let [from, to] = [at(from.min(*to)), at(from.max(*to))];
            // Parts shorter than a pixel are drawn as one pixel, but without overlaps: otherwise a file would
            // have megabytes.
            let (from, to) = (from.max(drawn), to.max(from + 1.0));
            if to > drawn {
                svg.rectangle(&format!("fill=\"{color}\""), [from, middle - 9.0], [to - from, 18.0]);
                drawn = to;
                end = end.max(to);
            }
        }
        if let Some([low, high]) = bar.interval.map(|interval| interval.map(at)) {
            svg.line("class=\"axis\"", [low, middle], [high, middle]);
            for end in [low, high] {
                svg.line("class=\"axis\"", [end, middle - 5.0], [end, middle + 5.0]);
            }
            end = end.max(high);
        }
        svg.text([end + 8.0, middle + 4.0], "start", &shortened(&bar.label, NAME));
    }
    svg.line("class=\"axis\"", [at(0.0), top], [at(0.0), bottom]);
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let axes = ((Axis::epochs(5.0), "epoch"), (Axis::linear(0.0, 1.0), "y"));
        let plot = Plot::new([472.0, 276.0], "a<b", axes.0, axes.1);
        let places = [(1.0, 0.0), (3.0, 0.5), (5.0, 7.0)].map(|(x, y)| plot.at(x, y));
        assert_eq!(places, [[58.0, 230.0], [258.0, 130.0], [458.0, 30.0]]);
        assert!(plot.svg.element().contains("<title>a&lt;b</title>"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 0.012_345, 1234.5, 2e-5, 3e7].map(short), ["0", "0.0123", "1230", "2e-5", "3e7"]);
    }

    #[test]
    fn bars_are_as_long_as_their_numbers_are_great() {
        let bar = |name: &str, value: f64| Bar {
            name: name.to_owned(),
            parts: vec![([0.0, value], PALETTE[0])],
            interval: Some([value; 2]),
            label: short(value),
        };
        let all = [bar("first", 0.4), bar("second <b>", 0.2), bar("third", -0.2)];
        let drawn = bars("Heading", "axis", &all);
        let width = |element: &str| element.split("width=\"").nth(1)?.split('"').next()?.parse::<f64>().ok();
        let widths: Vec<f64> = drawn.elements.lines().filter_map(width).collect();
        assert!(widths.len() == 3 && widths[0] > 500.0, "{widths:?}");
        assert!(
            (widths[0] - 2.0 * widths[1]).abs() < 0.3 && (widths[1] - widths[2]).abs() < 0.2,
            "{widths:?}"
        );
        let file = drawn.file("Below", &[("meaning & more".to_owned(), "red")]);
        for text in
            ["Heading", "Below", "axis", "first", "second &lt;b&gt;", "0.4", "-0.2", "meaning &amp; more"]
        {
            assert!(file.contains(text), "{text}: {file}");
        }
        let long = bars("a", "b", &[bar(&"i".repeat(63), 1.0)]);
        assert!(long.elements.contains(&("i".repeat(37) + "...")), "{}", long.elements);
        // The height fits the contents; bars of zero width are also drawn.
        assert_eq!(drawn.size[1] - long.size[1], 2.0 * ROW);
        assert!(bars("a", "b", &[bar("zero", 0.0)]).elements.contains("zero"));
        assert!(!bars("a", "b", &[]).element().contains("NaN"));
    }
}
