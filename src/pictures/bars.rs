//! Numbers with intervals as bars, one below the other.

use plotters::prelude::*;

use super::canvas::{
    Area, Axis, Drawing, Drawn, LINE, PALETTE, SIZE, fill, line, short, svg, title, write, write_before,
};
use crate::error::Result;

/// Where names end, bars begin, and the longest ends.
const FIELD: (i32, i32) = (330, 1080);
const TOP: i32 = 80;
const BOTTOM: i32 = SIZE.1 as i32 - 60;
/// Height of a bar with the space below it, at most.
const HEIGHT: i32 = 40;
/// The most characters of a name.
const LONGEST: usize = 40;

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
/// [`crate::Error::Gpu`] when drawing fails, which it does on nobody's account.
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
        scale.draw(area, (TOP, BOTTOM), self.axis)?;
        let height = ((BOTTOM - TOP) / shown.len().max(1) as i32).clamp(LINE, HEIGHT);
        for (number, bar) in (0..).zip(shown) {
            let middle = TOP + number * height + height / 2;
            let half = height / 3;
            let name: String = bar.name.chars().take(LONGEST).collect();
            write_before(area, &name, (FIELD.0 - 12, middle))?;
            let ends = [zero, scale.at(bar.value)];
            fill(
                area,
                [(ends[0].min(ends[1]), middle - half), (ends[0].max(ends[1]), middle + half)],
                PALETTE[0],
            )?;
            let [low, high] = bar.interval.map(|end| scale.at(end));
            line(area, [(low, middle), (high, middle)], BLACK)?;
            for end in [low, high] {
                line(area, [(end, middle - half / 2), (end, middle + half / 2)], BLACK)?;
            }
            let sign = if bar.value < 0.0 { "-" } else { "" };
            write(area, &format!("{sign}{}", short(bar.value.abs())), (high.max(ends[1]) + 8, middle))?;
        }
        line(area, [(zero, TOP), (zero, BOTTOM)], BLACK)?;
        match self.bars.len() - shown.len() {
            0 => Ok(()),
            more => write(area, &format!("and {more} more"), (20, BOTTOM + 36)),
        }
    }
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
        let many: Vec<Bar> = (0..63).map(|number| bar("x", f64::from(number))).collect();
        let svg = bars("a", "b", "c", &many).unwrap();
        assert_eq!(of_rectangles(&svg, "width").len(), 29);
        assert!(svg.contains("and 34 more"));
        assert!(bars("a", "b", "c", &[bar("zero", 0.0)]).unwrap().contains("zero"));
        assert!(bars("a", "b", "c", &[bar("below", -1.0)]).unwrap().contains("below"));
        assert!(bars("a", "b", "c", &[]).is_ok());
    }
}
