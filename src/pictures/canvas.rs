//! What all pictures share: their size, text, colors, legends, and the two kinds of file.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontFamily, register_font};

use crate::error::{Error, Result};
use crate::printable::printable;

/// Width and height in pixels.
pub const SIZE: (u32, u32) = (1200, 700);

/// Height of a line of text.
pub const LINE: i32 = 19;

/// Text is as high as this.
const TEXT: f64 = 14.0;

/// DejaVu Sans, the characters that are needed: pictures look alike on every machine, with fonts or without.
const FONT: &[u8] = include_bytes!("DejaVuSans.ttf");

/// What is not a kernel's time.
pub const GREY: RGBColor = RGBColor(190, 190, 190);

/// Lines that are only to lead the eye.
pub const LINES: RGBColor = RGBColor(225, 225, 225);

/// Tableau's twenty, the strong ones first.
pub const PALETTE: [RGBColor; 18] = [
    RGBColor(31, 119, 180),
    RGBColor(255, 127, 14),
    RGBColor(44, 160, 44),
    RGBColor(214, 39, 40),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
    RGBColor(227, 119, 194),
    RGBColor(188, 189, 34),
    RGBColor(23, 190, 207),
    RGBColor(174, 199, 232),
    RGBColor(255, 187, 120),
    RGBColor(152, 223, 138),
    RGBColor(255, 152, 150),
    RGBColor(197, 176, 213),
    RGBColor(196, 156, 148),
    RGBColor(247, 182, 210),
    RGBColor(219, 219, 141),
    RGBColor(158, 218, 229),
];

/// What is drawn on.
pub type Area<B> = DrawingArea<B, Shift>;

/// Whether it could be drawn.
pub type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// A picture, whatever it is drawn on.
pub trait Drawing {
    /// Draws it on an area of [`SIZE`], which is white.
    fn draw<B: DrawingBackend>(&self, area: &Area<B>) -> Drawn<B>;
}

/// A picture as files.
#[derive(Debug, Clone)]
pub struct Picture {
    /// As SVG.
    pub svg: String,
    /// As PNG.
    pub png: Vec<u8>,
}

/// Draws a picture as both kinds of file.
pub fn picture(drawing: &impl Drawing) -> Result<Picture> {
    let svg = svg(drawing)?;
    let (width, height) = SIZE;
    let mut pixels = vec![0; 3 * width as usize * height as usize];
    draw(drawing, BitMapBackend::with_buffer(&mut pixels, SIZE))?;
    Ok(Picture { svg, png: png_of(&pixels).map_err(fault)? })
}

/// Draws a picture as SVG alone.
pub fn svg(drawing: &impl Drawing) -> Result<String> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let registered = REGISTERED.get_or_init(|| register_font("sans-serif", FontStyle::Normal, FONT).is_ok());
    if !registered {
        return Err(Error::Gpu("the font of the pictures is damaged".to_owned()));
    }
    let mut svg = String::new();
    draw(drawing, SVGBackend::with_string(&mut svg, SIZE))?;
    Ok(svg)
}

fn draw<B: DrawingBackend>(drawing: &impl Drawing, backend: B) -> Result<()> {
    let area = backend.into_drawing_area();
    area.fill(&WHITE).and_then(|()| drawing.draw(&area)).and_then(|()| area.present()).map_err(fault)
}

fn fault(error: impl std::fmt::Display) -> Error {
    Error::Gpu(format!("drawing: {error}"))
}

fn png_of(pixels: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, SIZE.0, SIZE.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file)
}

/// The style of all text.
fn text_style<'a>() -> TextStyle<'a> {
    (FontFamily::SansSerif, TEXT).into_font().color(&BLACK)
}

/// Writes a line whose left edge and middle are at `place`.
pub fn write<B: DrawingBackend>(area: &Area<B>, text: &str, place: (i32, i32)) -> Drawn<B> {
    area.draw_text(&printable(text), &text_style().pos(Pos::new(HPos::Left, VPos::Center)), place)
}

/// Writes a line whose right edge and middle are at `place`.
pub fn write_before<B: DrawingBackend>(area: &Area<B>, text: &str, place: (i32, i32)) -> Drawn<B> {
    area.draw_text(&printable(text), &text_style().pos(Pos::new(HPos::Right, VPos::Center)), place)
}

/// A text cut to a width, with an ellipsis for the rest.
pub fn fitting<B: DrawingBackend>(
    area: &Area<B>,
    text: &str,
    width: u32,
) -> Result<String, DrawingAreaErrorKind<B::ErrorType>> {
    let fits = |text: &str| Ok(area.estimate_text_size(text, &text_style())?.0 <= width);
    if fits(text)? {
        return Ok(text.to_owned());
    }
    // No character is narrower than two pixels.
    let mut characters: Vec<char> = text.chars().take(width as usize / 2).collect();
    loop {
        let short = characters.iter().chain(['…'].iter()).collect::<String>();
        if characters.pop().is_none() || fits(&short)? {
            return Ok(short);
        }
    }
}

/// Writes a line whose middle is at `place`.
pub fn write_centered<B: DrawingBackend>(area: &Area<B>, text: &str, place: (i32, i32)) -> Drawn<B> {
    area.draw_text(&printable(text), &text_style().pos(Pos::new(HPos::Center, VPos::Center)), place)
}

/// Writes the picture's title and, below it, what it shows.
pub fn title<B: DrawingBackend>(area: &Area<B>, title: &str, below: &str) -> Drawn<B> {
    let large = (FontFamily::SansSerif, 20.0).into_font().color(&BLACK);
    area.draw_text(&printable(title), &large.pos(Pos::new(HPos::Left, VPos::Center)), (20, 24))?;
    write(area, below, (20, 50))
}

/// A filled rectangle between two corners.
pub fn fill<B: DrawingBackend>(area: &Area<B>, corners: [(i32, i32); 2], color: RGBColor) -> Drawn<B> {
    area.draw(&Rectangle::new(corners, color.filled()))
}

/// A straight line.
pub fn line<B: DrawingBackend>(area: &Area<B>, ends: [(i32, i32); 2], color: RGBColor) -> Drawn<B> {
    area.draw(&PathElement::new(ends, color.stroke_width(1)))
}

/// Characters of a line of a legend at most, unless one word is longer.
const LONG: usize = 28;

/// Which color means what.
#[derive(Debug, Default)]
pub struct Legend(Vec<(String, RGBColor)>);

impl Legend {
    /// Adds a meaning, unless it is there.
    pub fn add(&mut self, meaning: &str, color: RGBColor) {
        if !self.0.iter().any(|(known, _)| known == meaning) {
            self.0.push((meaning.to_owned(), color));
        }
    }

    /// Draws it from this corner downwards, a line a meaning, and another before each ` + ` of a long one.
    pub fn draw<B: DrawingBackend>(&self, area: &Area<B>, (x, y): (i32, i32)) -> Drawn<B> {
        let mut middle = y + LINE / 2;
        for (number, (meaning, color)) in self.0.iter().enumerate() {
            if middle > SIZE.1 as i32 - 3 * LINE {
                return write(area, &format!("and {} more", self.0.len() - number), (x + 20, middle));
            }
            fill(area, [(x, middle - 6), (x + 12, middle + 6)], *color)?;
            let lines = if meaning.len() > LONG { meaning.replace(" + ", "\n+ ") } else { meaning.clone() };
            for text in lines.lines() {
                write(area, text, (x + 20, middle))?;
                middle += LINE;
            }
        }
        Ok(())
    }
}

/// The color of each of some things with names, the same in all pictures.
pub(crate) struct Colors(BTreeMap<String, RGBColor>);

impl Colors {
    /// A color for each name, in their order.
    pub fn for_names<'a>(names: impl Iterator<Item = &'a String>) -> Self {
        let mut colors = BTreeMap::new();
        for name in names {
            let next = PALETTE[colors.len() % PALETTE.len()];
            colors.entry(name.clone()).or_insert(next);
        }
        Self(colors)
    }

    /// The color of one; grey, if it has none.
    pub fn get(&self, name: &str) -> RGBColor {
        self.0.get(name).copied().unwrap_or(GREY)
    }

    /// A legend of these.
    pub fn legend<'a>(&self, names: impl Iterator<Item = &'a str>) -> Legend {
        let mut legend = Legend::default();
        names.for_each(|name| legend.add(name, self.get(name)));
        legend
    }
}

/// A linear axis from 0: numbers become pixels.
#[derive(Debug, Clone, Copy)]
pub struct Axis {
    /// Where 0 is.
    pub from: i32,
    /// Where the greatest number is.
    pub to: i32,
    /// The greatest number.
    pub most: f64,
}

impl Axis {
    /// The pixel of a number.
    pub fn at(self, number: f64) -> i32 {
        self.from + (f64::from(self.to - self.from) * number / self.most).round() as i32
    }

    /// Round numbers along it, five to ten.
    pub fn ticks(self) -> Vec<f64> {
        let rough = self.most / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [5.0, 2.0, 1.0].into_iter().find(|step| step * power <= rough).unwrap_or(1.0) * power;
        (0..).map(|number| f64::from(number) * step).take_while(|tick| *tick <= self.most).collect()
    }

    /// Draws it along the bottom at `y`, with lines up to `top`.
    pub fn draw<B: DrawingBackend>(self, area: &Area<B>, (top, y): (i32, i32), name: &str) -> Drawn<B> {
        for tick in self.ticks() {
            line(area, [(self.at(tick), top), (self.at(tick), y)], LINES)?;
            write_centered(area, &short(tick), (self.at(tick), y + 14))?;
        }
        line(area, [(self.from, y), (self.to, y)], BLACK)?;
        write_before(area, name, (self.to, y + 36))
    }
}

/// A number in few characters.
pub fn short(number: f64) -> String {
    let (scaled, unit) = [(1e9, "G"), (1e6, "M"), (1e3, "k")]
        .into_iter()
        .find(|(size, _)| number >= *size)
        .map_or((number, ""), |(size, unit)| (number / size, unit));
    let digits = if scaled >= 100.0 { 0 } else { 3 };
    let text = format!("{scaled:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// Places as near to `wanted` (ascending) as can be that stand at least `apart` from one another and within the limits,
/// in the same order.
pub fn spread(wanted: &[i32], apart: i32, (least, most): (i32, i32)) -> Vec<i32> {
    let mut places: Vec<i32> = Vec::new();
    for place in wanted {
        let free = places.last().map_or(least, |last| last + apart);
        places.push((*place).max(free));
    }
    let mut limit = most;
    for place in places.iter_mut().rev() {
        *place = (*place).min(limit);
        limit = *place - apart;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_distance_and_their_order() {
        assert_eq!(spread(&[10, 12, 50, 51, 99], 10, (0, 100)), [10, 20, 50, 60, 99]);
        assert_eq!(spread(&[95, 96, 97], 10, (0, 100)), [80, 90, 100]);
        assert!(spread(&[], 10, (0, 100)).is_empty());
    }

    #[test]
    fn ticks_are_round_and_few() {
        for most in [0.3, 1.0, 7.0, 19.9, 100.0, 12_345.0] {
            let ticks = Axis { from: 0, to: 100, most }.ticks();
            assert!((5..=11).contains(&ticks.len()), "{most}: {ticks:?}");
            assert!(ticks[0] == 0.0 && ticks.iter().all(|tick| *tick <= most));
        }
        assert_eq!(Axis { from: 50, to: 150, most: 10.0 }.at(2.5), 75);
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.25, 12.0, 250.0, 12_500.0, 3e9].map(short);
        assert_eq!(texts, ["0", "0.25", "12", "250", "12.5k", "3G"]);
    }
}
