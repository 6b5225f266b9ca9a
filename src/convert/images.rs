//! Images of bytes with their labels.

use std::io::{self, Write};

use super::Array;
use crate::data::{Features, RawTable, ReadOptions, Reader, Scaling, Source};
use crate::error::{Error, Result};

/// Pixels that an image has at least, and a pixel is brighter than this.
const LEAST_PIXELS: usize = 64;
const BRIGHT: u8 = 127;

/// Images and their labels, as they stand in IDX files.
pub struct Images {
    /// The pixels, image after image.
    pub(super) pixels: Vec<u8>,
    /// The dimensions of an image.
    pub(super) sides: Vec<usize>,
    /// The label of each image.
    pub(super) labels: Vec<u8>,
}

impl Images {
    /// Reads IDX files, or folders of images whose names are numbers.
    pub(super) fn read(source: &Source) -> Result<Self> {
        let mut reader = Reader::open(source, &ReadOptions::default())?;
        reader.read_to_end()?;
        let number = |name: &String| {
            name.parse::<u8>().map_err(|_| {
                let data = reader.name().display();
                Error::Config(format!(
                    "cannot convert {data}: labels of images must be numbers from 0 to 255, but the class {name:?} is not such a number; rename the folders of the classes"
                ))
            })
        };
        let labels = reader.classes().names().iter().map(number).collect::<Result<Vec<u8>>>()?;
        let sides = reader.image().map_or(vec![reader.inputs()], |form| {
            let colours = form.colour.then_some(form.channels());
            [form.height, form.width].into_iter().chain(colours).collect()
        });
        let rows = reader.view(Scaling::Bytes);
        match rows.features {
            Features::Bytes(pixels) => {
                let labels = rows.labels().iter().map(|class| labels[*class as usize]).collect();
                Ok(Self { pixels: pixels.clone(), sides, labels })
            }
            // IDX holds bytes alone.
            _ => Err(Error::Config(format!("{}: expected images of bytes", reader.name().display()))),
        }
    }

    /// The images of a table, if it is one of images.
    pub(super) fn from_table(table: &RawTable) -> Option<Self> {
        let target = table.likely_target()?;
        let width = table.columns() - 1;
        let side = [width, width / 3]
            .into_iter()
            .map(usize::isqrt)
            .find(|side| side * side == width || 3 * side * side == width)?;
        if width < LEAST_PIXELS {
            return None;
        }
        let byte = |row, column| {
            let number = table.number(row, column)?;
            (number.fract() == 0.0 && (0.0..=255.0).contains(&number)).then_some(number as u8)
        };
        let labels = (0..table.rows()).map(|row| byte(row, target)).collect::<Option<Vec<u8>>>()?;
        let columns = || (0..table.columns()).filter(|column| *column != target);
        let cells = (0..table.rows()).flat_map(|row| columns().map(move |column| byte(row, column)));
        let pixels = cells.collect::<Option<Vec<u8>>>()?;
        let sides = if side * side == width { vec![side, side] } else { vec![width] };
        pixels.iter().any(|pixel| *pixel > BRIGHT).then_some(Self { pixels, sides, labels })
    }

    /// Rows and the dimensions of an image.
    pub(super) fn shape(&self) -> Vec<usize> {
        [&[self.labels.len()][..], &self.sides].concat()
    }

    /// Writes a table whose first column is the label.
    pub(super) fn write_csv(&self, to: &mut impl Write) -> io::Result<()> {
        let width = self.sides.iter().product();
        let names: Vec<String> = (0..width).map(|pixel| format!("pixel{pixel}")).collect();
        writeln!(to, "label,{}", names.join(","))?;
        for (label, pixels) in self.labels.iter().zip(self.pixels.chunks_exact(width)) {
            write!(to, "{label}")?;
            pixels.iter().try_for_each(|pixel| write!(to, ",{pixel}"))?;
            writeln!(to)?;
        }
        Ok(())
    }

    /// `images`, [rows, height, width], and `labels`, [rows].
    pub(super) fn arrays(&self) -> Vec<(String, Array)> {
        vec![
            ("images".to_owned(), Array::Bytes(self.shape(), self.pixels.clone())),
            ("labels".to_owned(), Array::Bytes(vec![self.labels.len()], self.labels.clone())),
        ]
    }
}
