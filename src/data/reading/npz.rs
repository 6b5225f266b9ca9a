//! NPZ files, numpy's archives of arrays, as tables: the rows become text, which is read like any other table.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek};

use zip::ZipArchive;

use super::zstd::fill;
use crate::data::columns::{Selection, Target};
use crate::data::dialect::Format;
use crate::memory::check_memory;

/// Maximum number of bytes per compressed byte: deflate's longest match takes two bits.
const MOST_UNPACKED: u64 = 1032;
/// Size of the text made at a time.
const PIECE: usize = 1 << 16;
/// Names of arrays that hold targets, as used by numpy's users and `tinytrain convert`.
const TARGETS: [&str; 2] = ["y", "labels"];

/// The type of an array's values.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Float,
    Signed,
    Unsigned,
    Bool,
    Text,
}

/// An array of the shape [rows] or [rows, ...].
struct Array {
    name: String,
    kind: Kind,
    /// Bytes per value.
    size: usize,
    rows: usize,
    /// Values per row.
    width: usize,
    /// Whether the values are in column-major order.
    by_column: bool,
    bytes: Vec<u8>,
}

/// The rows of an archive as text with commas, decimal points and a header.
pub(crate) struct Npz {
    arrays: Vec<Array>,
    /// Categories by the name of the array that holds their numbers.
    categories: HashMap<String, Array>,
    row: usize,
    text: Vec<u8>,
    given: usize,
}

/// Hints from the types of arrays.
pub(crate) struct Hints {
    /// The array of the targets, and whether it holds floats.
    target: Option<(String, bool)>,
}

impl Hints {
    /// The columns to read: by default, whole numbers and text are labels, and floats are values.
    pub(crate) fn selection(&self, wanted: &Selection) -> Selection {
        let is_open = wanted.target == Target::Auto && wanted.schema.is_none();
        let Some((name, is_float)) = self.target.clone().filter(|_| is_open) else { return wanted.clone() };
        let is_value = is_float && wanted.infer_values;
        let target = if is_value { Target::Values(vec![name]) } else { Target::Column(name) };
        Selection { target, infer_values: false, ..wanted.clone() }
    }

    /// The format of the text.
    pub(crate) fn format(&self, said: &Format) -> Format {
        Format { header: Some(true), delimiter: Some(b','), decimal: Some(b'.'), ..said.clone() }
    }
}

fn bad(found: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, found.into())
}

/// The whole number at the bytes `place..` of a header.
fn whole<const N: usize>(bytes: &[u8], place: usize) -> io::Result<u64> {
    let part = bytes.get(place..place + N).ok_or_else(|| bad("an early end"))?;
    Ok(part.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

impl Npz {
    /// Opens an archive of `length` bytes; `None` if the file is something else.
    pub(crate) fn open(mut file: &File, length: u64) -> io::Result<Option<Self>> {
        let mut start = [0; 300];
        let found = fill(&mut file, &mut start)?;
        file.rewind()?;
        let start = &start[..found];
        let name = whole::<2>(start, 26).ok().and_then(|length| start.get(30..30 + length as usize));
        if !start.starts_with(b"PK\x03\x04") || !name.is_some_and(|name| name.ends_with(b".npy")) {
            return Ok(None);
        }
        Self::read_arrays(file, length).map(Some)
    }

    fn read_arrays(file: &File, length: u64) -> io::Result<Self> {
        let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| bad(error.to_string()))?;
        let (mut arrays, mut left) = (Vec::<Array>::new(), length);
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index).map_err(|error| bad(error.to_string()))?;
            // All entries together are at most as long as the file.
            let (packed, size) = (entry.compressed_size(), entry.size());
            if packed > left || size > packed.saturating_mul(MOST_UNPACKED) {
                return Err(bad("arrays that are longer than the file"));
            }
            left -= packed;
            check_memory(size.into(), "an array").map_err(|error| bad(error.to_string()))?;
            let mut bytes = Vec::new();
            entry.by_ref().take(size + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 != size {
                return Err(bad("an array that is not whole"));
            }
            let name = entry.name().map_err(|error| bad(error.to_string()))?;
            arrays.push(Array::from_npy(name.strip_suffix(".npy").unwrap_or(&name), bytes)?);
        }
        // Text in an array named after an array of whole numbers.
        let of = |array: &Array| array.name.strip_suffix(".categories").map(str::to_owned);
        let are_codes =
            |array: &Array| matches!(array.kind, Kind::Signed | Kind::Unsigned) && array.width == 1;
        let codes: HashSet<String> =
            arrays.iter().filter(|array| are_codes(array)).map(|array| array.name.clone()).collect();
        let are_categories = |array: &mut Array| {
            array.kind == Kind::Text
                && array.width == 1
                && of(array).is_some_and(|name| codes.contains(&name))
        };
        let categories =
            arrays.extract_if(.., are_categories).filter_map(|array| Some((of(&array)?, array))).collect();
        let first = arrays.first().ok_or_else(|| bad("no array"))?;
        if let Some(other) = arrays.iter().find(|array| array.rows != first.rows) {
            let (a, b) = (first, other);
            let holds = |part: &str| arrays.iter().any(|array| array.name.to_lowercase().contains(part));
            if holds("train") && (holds("test") || holds("val")) {
                let names: Vec<&str> = arrays.iter().map(|array| array.name.as_str()).collect();
                return Err(bad(format!(
                    "rows to train and to test on in one file ({}); save each part by itself, as in numpy.savez(\"train.npz\", X=X, y=y), and name the others with --validation and --test",
                    names.join(", ")
                )));
            }
            return Err(bad(format!("{} rows in {}, {} in {}", a.rows, a.name, b.rows, b.name)));
        }
        let mut npz = Self { arrays, categories, row: 0, text: Vec::new(), given: 0 };
        let names = npz.arrays.iter().flat_map(Array::columns).map(|name| quoted(&name));
        npz.text = (names.collect::<Vec<String>>().join(",") + "\n").into_bytes();
        Ok(npz)
    }

    /// Hints on reading the text, from the types of the arrays.
    pub(crate) fn hints(&self) -> Hints {
        let is_target = |array: &&Array| array.width == 1 && TARGETS.contains(&array.name.as_str());
        let target = self.arrays.iter().find(is_target);
        Hints { target: target.map(|array| (array.name.clone(), array.kind == Kind::Float)) }
    }

    /// Appends the next row to the text.
    fn push_row(&mut self) -> io::Result<()> {
        let start = self.text.len();
        for (number, array) in self.arrays.iter().enumerate() {
            for column in 0..array.width {
                if number + column > 0 {
                    self.text.push(b',');
                }
                match self.categories.get(&array.name) {
                    Some(categories) => {
                        let code = array.cell(self.row, column)?;
                        match code.parse() {
                            Ok(row) if row < categories.rows => {
                                self.text.extend(categories.cell(row, 0)?.bytes());
                            }
                            _ if code == "-1" => {}
                            _ => {
                                let (row, count) = (self.row + 1, categories.rows);
                                return Err(bad(format!(
                                    "{code} in row {row} of array {}, which has {count} categories",
                                    array.name
                                )));
                            }
                        }
                    }
                    None => self.text.extend(array.cell(self.row, column)?.bytes()),
                }
            }
        }
        if self.text.len() == start {
            // A quoted empty cell, so that the line is not blank.
            self.text.extend(b"\"\"");
        }
        self.text.push(b'\n');
        self.row += 1;
        Ok(())
    }
}

impl Read for Npz {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.text.len() {
            (self.given, self.text) = (0, Vec::with_capacity(PIECE));
            while self.text.len() < PIECE && self.arrays.first().is_some_and(|array| self.row < array.rows) {
                self.push_row()?;
            }
        }
        let given = (&self.text[self.given..]).read(buffer)?;
        self.given += given;
        Ok(given)
    }
}

impl Array {
    /// Parses an array in numpy's format.
    fn from_npy(name: &str, mut bytes: Vec<u8>) -> io::Result<Self> {
        let error = |found: &str| bad(format!("{found} in array {name}"));
        if !bytes.starts_with(b"\x93NUMPY") {
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
        Ok(Self { name: name.to_owned(), kind, size, rows: *rows, width, by_column, bytes })
    }

    /// The names of the array's columns.
    fn columns(&self) -> Vec<String> {
        match self.width {
            1 => vec![self.name.clone()],
            width => (0..width).map(|column| format!("{}{column}", self.name)).collect(),
        }
    }

    /// A value as text; empty if it is missing.
    fn cell(&self, row: usize, column: usize) -> io::Result<String> {
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
fn quoted(text: &str) -> String {
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
