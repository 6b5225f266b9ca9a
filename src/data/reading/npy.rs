//! Arrays of numpy, in its format NPY, as columns of text cells.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::data::images::ImageForm;
use crate::memory::check_memory;

/// Names of arrays that hold targets, in small letters.
const TARGETS: [&str; 5] = ["y", "label", "labels", "target", "targets"];

/// Whether an array of this name holds targets.
pub(crate) fn names_targets(name: &str) -> bool {
    TARGETS.contains(&name.to_lowercase().as_str())
}

/// The first bytes of an array.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The type of an array's values.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Float,
    Signed,
    Unsigned,
    Bool,
    Text,
}

/// An array of the shape [rows] or [rows, ...].
pub(crate) struct Array {
    /// The name in the archive, or of the file.
    pub name: String,
    /// The name of its columns, which lacks the part of the data set.
    pub base: String,
    pub kind: Kind,
    /// Bytes per value.
    size: usize,
    pub rows: usize,
    /// Values per row.
    pub width: usize,
    /// The form of a row, if it may be an image.
    pub image: Option<ImageForm>,
    /// Whether the values are in column-major order.
    by_column: bool,
    bytes: Vec<u8>,
}

/// An error about the contents of an array or an archive.
pub(crate) fn bad(found: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, found.into())
}

/// The whole number at the bytes `place..` of a header.
pub(crate) fn whole<const N: usize>(bytes: &[u8], place: usize) -> io::Result<u64> {
    let part = bytes.get(place..place + N).ok_or_else(|| bad("an early end"))?;
    Ok(part.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

impl Array {
    /// Reads the array in a file, which gives it its name.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        check_memory(file.metadata()?.len().into(), "an array").map_err(|error| bad(error.to_string()))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Self::from_npy(&path.file_stem().unwrap_or_default().to_string_lossy(), bytes)
    }

    /// Parses an array in numpy's format.
    pub(crate) fn from_npy(name: &str, mut bytes: Vec<u8>) -> io::Result<Self> {
        let error = |found: &str| bad(format!("{found} in array {name}"));
        if !bytes.starts_with(MAGIC) {
            return Err(error("no header"));
        }
        let (length, begin) = if bytes.get(6) == Some(&1) {
            (whole::<2>(&bytes, 8)?, 10)
        } else {
            (whole::<4>(&bytes, 8)?, 12)
        };
        let begin_of_values = begin + length as usize;
        let header = bytes.get(begin..begin_of_values).map(String::from_utf8_lossy);
        let header = header.ok_or_else(|| error("an early end"))?.replace('"', "'");
        let field = |key: &str| Some(header.split_once(&format!("'{key}':"))?.1.trim_start());
        let (descr, order, shape) = (field("descr"), field("fortran_order"), field("shape"));
        let (Some(descr), Some(order), Some(shape)) = (descr, order, shape) else {
            return Err(error("no header"));
        };
        let descr = descr.split('\'').nth(1).unwrap_or_default();
        if descr.ends_with('O') {
            return Err(error("objects of Python (save text as y.astype(str), numbers as y.astype(float))"));
        }
        let (kind, size) = kind(descr).ok_or_else(|| error(&format!("values of the type {descr:?}")))?;
        let shape = shape.strip_prefix('(').and_then(|shape| shape.split_once(')')).map_or("", |it| it.0);
        let sides = shape.split(',').map(str::trim).filter(|side| !side.is_empty()).map(str::parse::<usize>);
        let sides = sides.collect::<Result<Vec<usize>, _>>().map_err(|_| error("no shape"))?;
        let [rows, others @ ..] = &sides[..] else {
            return Err(error("a single value, not one for each row,"));
        };
        let width = others.iter().try_fold(1usize, |width, side| width.checked_mul(*side));
        let total = width.and_then(|width| width.checked_mul(*rows)?.checked_mul(size));
        let (Some(width), true) = (width, total == Some(bytes.len() - begin_of_values)) else {
            return Err(error("another number of values than its header says"));
        };
        if *rows == 0 || width == 0 {
            return Err(error("no value"));
        }
        let by_column = order.starts_with("True");
        if by_column && sides.len() > 2 {
            return Err(error("more than two dimensions in the order of Fortran"));
        }
        bytes.drain(..begin_of_values);
        Ok(Self {
            name: name.to_owned(),
            base: name.to_owned(),
            kind,
            size,
            rows: *rows,
            width,
            image: ImageForm::of_sizes(others),
            by_column,
            bytes,
        })
    }

    /// Whether the array holds targets, by its name.
    pub(crate) fn holds_targets(&self) -> bool {
        names_targets(&self.base)
    }

    /// The classes of one-hot targets, if each row holds a single 1 among zeros.
    pub(crate) fn classes(&self) -> io::Result<Option<Self>> {
        if self.width < 2 || !self.holds_targets() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        for row in 0..self.rows {
            let mut class = None;
            for column in 0..self.width {
                match self.cell(row, column)?.as_str() {
                    "0" => {}
                    "1" if class.is_none() => class = Some(column as u64),
                    _ => return Ok(None),
                }
            }
            let Some(class) = class else { return Ok(None) };
            bytes.extend(class.to_le_bytes());
        }
        let Self { name, base, .. } = self;
        let (name, base) = (name.clone(), base.clone());
        Ok(Some(Self {
            name,
            base,
            kind: Kind::Unsigned,
            size: 8,
            width: 1,
            by_column: false,
            bytes,
            ..*self
        }))
    }

    /// The names of the array's columns.
    pub(crate) fn columns(&self) -> Vec<String> {
        match self.width {
            1 => vec![self.base.clone()],
            width => (0..width).map(|column| format!("{}{column}", self.base)).collect(),
        }
    }

    /// A value as text; empty if it is missing.
    pub(crate) fn cell(&self, row: usize, column: usize) -> io::Result<String> {
        let index = if self.by_column { column * self.rows + row } else { row * self.width + column };
        let bytes = &self.bytes[index * self.size..][..self.size];
        let word = bytes.iter().rev().take(8).fold(0u64, |word, byte| word << 8 | u64::from(*byte));
        let float = |value: f64, text: String| match value {
            value if value.is_nan() => Ok(String::new()),
            value if value.is_infinite() => {
                Err(bad(format!("an infinite value in row {} of array {}", row + 1, self.name)))
            }
            _ => Ok(text.strip_suffix(".0").map_or(text.clone(), str::to_owned)),
        };
        match (self.kind, self.size) {
            (Kind::Float, 4) => {
                let value = f32::from_bits(word as u32);
                float(value.into(), format!("{value:?}"))
            }
            (Kind::Float, _) => float(f64::from_bits(word), format!("{:?}", f64::from_bits(word))),
            (Kind::Signed, size) => {
                Ok(((word << (64 - 8 * size)).cast_signed() >> (64 - 8 * size)).to_string())
            }
            (Kind::Unsigned, _) => Ok(word.to_string()),
            (Kind::Bool, _) => Ok(u8::from(word != 0).to_string()),
            (Kind::Text, _) => {
                let letters = bytes
                    .chunks_exact(4)
                    .map(|letter| u32::from_le_bytes([letter[0], letter[1], letter[2], letter[3]]));
                let letters: Option<String> =
                    letters.take_while(|letter| *letter != 0).map(char::from_u32).collect();
                letters
                    .map(|text| quoted(&text))
                    .ok_or_else(|| bad(format!("no text in array {}", self.name)))
            }
        }
    }
}

/// Quotes a text as a cell.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// The type of values and their size in bytes: little-endian numbers, and text.
fn kind(descr: &str) -> Option<(Kind, usize)> {
    let (order, rest) = (descr.get(..1)?, descr.get(1..)?);
    let (letter, size) = (rest.get(..1)?, rest.get(1..)?.parse::<usize>().ok()?);
    let is_known = ["<", "|", "="].contains(&order);
    match (letter, size) {
        _ if !is_known => None,
        ("f", 4 | 8) => Some((Kind::Float, size)),
        ("i", 1 | 2 | 4 | 8) => Some((Kind::Signed, size)),
        ("u", 1 | 2 | 4 | 8) => Some((Kind::Unsigned, size)),
        ("b", 1) => Some((Kind::Bool, size)),
        ("U", letters) if letters > 0 => Some((Kind::Text, letters.checked_mul(4)?)),
        _ => None,
    }
}
