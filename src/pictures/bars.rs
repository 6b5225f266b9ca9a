//! Numbers with intervals as bars, one below the other.

use plotters::prelude::*;

use super::canvas::{
    Area, Axis, Drawing, Drawn, LINE, LINES, PALETTE, SIZE, fill, fitting, line, short, svg, title, write,
    write_before, write_centered,
};
use crate::error::Result;

/// Where names end, bars begin, and the longest ends.
const FIELD: (i32, i32) = (330, 1080);
const TOP: i32 = 80;
const BOTTOM: i32 = SIZE.1 as i32 - 60;
/// Height of a bar with the space below it, at most.
const HEIGHT: i32 = 40;
/// Pixels of a name at most.
const NAME: u32 = (FIELD.0 - 32) as u32;
/// Bars are pale, so that the lines of intervals are seen on them.
const PALE: RGBColor = PALETTE[9];

/// A number with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it is of.
    pub name: String,
    /// The number.
    pub value: f64,
    /// From where to where it may be.
    pub interval: [f64; 2],
}

/// Draws bars from the first downwards as SVG; what there is no room for is counted.
///
/// # Errors
/// [`crate::Error::Gpu`] when drawing fails.
pub fn bars(heading: &str, below: &str, axis: &str, bars: &[Bar]) -> Result<String> {
    svg(&Bars { heading, below, axis, bars })
}

struct Bars<'a> {
    heading: &'a str,
    below: &'a str,
    axis: &'a str,
    bars: &'a [Bar],
}

impl Drawing for Bars<'_> {
    fn draw<B: DrawingBackend>(&self, area: &Area<B>) -> Drawn<B> {
        title(area, self.heading, self.below)?;
        let room = ((BOTTOM - TOP) / LINE) as usize;
        let shown = &self.bars[..self.bars.len().min(room)];
        let least = shown.iter().map(|bar| bar.interval[0].min(bar.value)).fold(0.0, f64::min);
        let most = shown.iter().map(|bar| bar.interval[1].max(bar.value)).fold(0.0, f64::max);
        // Room to the left for what is below 0.
        let span = (most - least).max(f64::MIN_POSITIVE);
        let zero = FIELD.0 + (f64::from(FIELD.1 - FIELD.0) * -least / span).round() as i32;
        let (to, most) = if most > 0.0 { (FIELD.1, most) } else { (FIELD.1.max(zero + 1), span) };
        let scale = Axis { from: zero, to, most };
        let height = ((BOTTOM - TOP) / shown.len().max(1) as i32).clamp(LINE, HEIGHT);
        let bottom = TOP + height * shown.len() as i32;
        scale.draw(area, (TOP, bottom), self.axis)?;
        below_zero(area, scale, bottom, least)?;
        for (number, bar) in (0..).zip(shown) {
            let middle = TOP + number * height + height / 2;
            let half = height / 3;
            write_before(area, &fitting(area, &bar.name, NAME)?, (FIELD.0 - 12, middle))?;
            let ends = [zero, scale.at(bar.value)];
            let (left, right) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            fill(area, [(left, middle - half), (right, middle + half)], PALE)?;
            let [low, high] = bar.interval.map(|end| scale.at(end));
            line(area, [(low, middle), (high, middle)], BLACK)?;
            for end in [low, high] {
                line(area, [(end, middle - half / 2), (end, middle + half / 2)], BLACK)?;
            }
            write(area, &signed(bar.value), (high.max(right) + 8, middle))?;
        }
        line(area, [(zero, TOP), (zero, bottom)], BLACK)?;
        match self.bars.len() - shown.len() {
            0 => Ok(()),
            more => write(area, &format!("and {more} more"), (20, bottom + 36)),
        }
    }
}

/// Draws the part of an axis that is to the left of 0, down to this number.
fn below_zero<B: DrawingBackend>(area: &Area<B>, scale: Axis, bottom: i32, least: f64) -> Drawn<B> {
    line(area, [(scale.at(least), bottom), (scale.from, bottom)], BLACK)?;
    for tick in scale.ticks().into_iter().skip(1).map(|tick| -tick).take_while(|tick| *tick >= least) {
        line(area, [(scale.at(tick), TOP), (scale.at(tick), bottom)], LINES)?;
        write_centered(area, &signed(tick), (scale.at(tick), bottom + 14))?;
    }
    Ok(())
}

fn signed(number: f64) -> String {
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{}", short(number.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of an attribute of all rectangles but the background.
    fn of_rectangles(svg: &str, attribute: &str) -> Vec<i32> {
        let rectangles = svg.lines().filter(|line| line.starts_with("<rect")).skip(1);
        let value =
            |line: &str| line.split(&format!(" {attribute}=\"")).nth(1)?.split('"').next()?.parse().ok();
        rectangles.filter_map(value).collect()
    }

    #[test]
    fn bars_are_as_long_as_their_numbers_are_great() {
        let bar = |name: &str, value: f64| Bar { name: name.to_owned(), value, interval: [value, value] };
        let all = [bar("first", 0.4), bar("second <b>", 0.2), bar("third", -0.1)];
        let svg = bars("Heading", "Below", "axis", &all).unwrap();
        let widths = of_rectangles(&svg, "width");
        // A pixel is a five hundredth.
        assert_eq!(widths, [600, 300, 150], "{svg}");
        for text in ["Heading", "Below", "axis", "first", "second &lt;b&gt;", "0.4", "-0.1"] {
            assert!(svg.contains(text), "{text}");
        }
        // Numbers stand to the right of the line at 0, not on bars to the left of it.
        let place = |svg: &str, text: &str| {
            // A number on the axis is the same text, and comes before.
            let (before, _) = svg.rsplit_once(&format!("\n{text}\n")).unwrap();
            let x = before.rsplit("<text x=\"").next().unwrap().split('"').next().unwrap();
            x.parse::<i32>().unwrap()
        };
        assert_eq!(place(&svg, "-0.1"), 330 + 150 + 8);
        let long = bars("a", "b", "c", &[bar(&"W".repeat(63), 1.0), bar(&"i".repeat(63), 1.0)]).unwrap();
        assert!(long.contains("WW…") && !long.contains(&"W".repeat(30)), "{long}");
        assert!(long.contains(&"i".repeat(63)));
        let many: Vec<Bar> = (0..63).map(|number| bar("x", f64::from(number))).collect();
        let svg = bars("a", "b", "c", &many).unwrap();
        assert_eq!(of_rectangles(&svg, "width").len(), 29);
        assert!(svg.contains("and 34 more"));
        assert!(bars("a", "b", "c", &[bar("zero", 0.0)]).unwrap().contains("zero"));
        assert!(bars("a", "b", "c", &[bar("below", -1.0)]).unwrap().contains("below"));
        assert!(bars("a", "b", "c", &[]).is_ok());
    }
}
