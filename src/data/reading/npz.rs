//! Arrays of numpy, in archives (NPZ) or files (NPY), as tables: the rows become text, which is read like any other table.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::npy::{Array, Kind, MAGIC, bad, quoted, whole};
use super::subsets::Subset;
use super::zstd::fill;
use crate::data::columns::{Selection, Target};
use crate::data::dialect::Format;
use crate::data::images::ImageForm;
use crate::memory::check_memory;

/// Maximum number of bytes per compressed byte: deflate's longest match takes two bits.
const MOST_UNPACKED: u64 = 1032;
/// Size of the text made at a time.
const PIECE: usize = 1 << 16;
/// The rows of arrays as text with commas, decimal points and a header.
pub(crate) struct Npz {
    arrays: Vec<Array>,
    /// Categories by the name of the array that holds their numbers.
    categories: HashMap<String, Array>,
    has_header: bool,
    row: usize,
    text: Vec<u8>,
    given: usize,
}

/// Hints from the types of arrays.
pub(crate) struct Hints {
    /// The array of the targets, and whether it holds floats.
    target: Option<(String, bool)>,
    has_header: bool,
    /// The form of the inputs, if they are an array of images.
    pub image: Option<ImageForm>,
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
        Format { header: Some(self.has_header), delimiter: Some(b','), decimal: Some(b'.'), ..said.clone() }
    }
}

/// Whether a file begins like an archive of arrays, and whether like a single array.
fn begins(mut file: &File) -> io::Result<[bool; 2]> {
    let mut start = [0; 300];
    let found = fill(&mut file, &mut start)?;
    file.rewind()?;
    let start = &start[..found];
    let name = whole::<2>(start, 26).ok().and_then(|length| start.get(30..30 + length as usize));
    let is_archive = start.starts_with(b"PK\x03\x04") && name.is_some_and(|name| name.ends_with(b".npy"));
    Ok([is_archive, start.starts_with(MAGIC)])
}

fn archive(file: &File) -> io::Result<ZipArchive<BufReader<&File>>> {
    ZipArchive::new(BufReader::new(file)).map_err(|error| bad(error.to_string()))
}

/// The name of an array by its name in an archive.
fn array_name(entry: &str) -> &str {
    entry.strip_suffix(".npy").unwrap_or(entry)
}

/// The parts of a data set in a file: those with arrays of the same names as for training, if that is not the only one.
/// `None` if the file is not an archive of arrays.
pub(crate) fn subsets(path: &Path) -> io::Result<Option<Vec<Subset>>> {
    let file = File::open(path)?;
    let [is_archive, _] = begins(&file)?;
    if !is_archive {
        return Ok(None);
    }
    let archive = archive(&file)?;
    let names = archive.file_names().filter_map(Result::ok);
    let names: Vec<(Option<Subset>, String)> =
        names.map(|name| Subset::of_array(array_name(&name))).collect();
    let bases = |subset: Subset| -> BTreeSet<&str> {
        names.iter().filter(|name| name.0 == Some(subset)).map(|name| name.1.as_str()).collect()
    };
    // A table may have a column `train_time`.
    let training = bases(Subset::Train);
    let is_there = |subset: &Subset| training.len() > 1 && bases(*subset) == training;
    let found: Vec<Subset> = Subset::ALL.into_iter().filter(is_there).collect();
    Ok(Some(if found.len() > 1 { found } else { Vec::new() }))
}

impl Npz {
    /// Opens an archive of arrays, or a single array, which is a table without names. Reads only the arrays of a part of
    /// the data set, if one is named. `None` if the file is something else.
    pub(crate) fn open(path: &Path, subset: Option<Subset>) -> io::Result<Option<Self>> {
        let file = File::open(path)?;
        match begins(&file)? {
            [true, _] => Self::read_arrays(&file, subset).map(Some),
            [_, true] => {
                let npz = Self::new(vec![Array::open(path)?])?;
                Ok(Some(Self { has_header: false, text: Vec::new(), ..npz }))
            }
            _ => Ok(None),
        }
    }

    /// Opens arrays in a file each.
    pub(crate) fn of_files(paths: &[PathBuf]) -> io::Result<Self> {
        Self::new(paths.iter().map(|path| Array::open(path)).collect::<io::Result<Vec<Array>>>()?)
    }

    fn read_arrays(file: &File, subset: Option<Subset>) -> io::Result<Self> {
        let (mut archive, mut left) = (archive(file)?, file.metadata()?.len());
        let mut arrays = Vec::new();
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index).map_err(|error| bad(error.to_string()))?;
            let name = entry.name().map_err(|error| bad(error.to_string()))?.into_owned();
            if subset.is_some() && Subset::of_array(array_name(&name)).0 != subset {
                continue;
            }
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
            arrays.push(Array::from_npy(array_name(&name), bytes)?);
        }
        Self::new(arrays)
    }

    fn new(mut arrays: Vec<Array>) -> io::Result<Self> {
        let subset = |array: &Array| Subset::of_array(&array.name).0;
        let of_first = arrays.first().and_then(subset);
        if of_first.is_some() && arrays.iter().all(|array| subset(array) == of_first) {
            arrays.iter_mut().for_each(|array| array.base = Subset::of_array(&array.name).1);
        }
        for array in &mut arrays {
            if let Some(classes) = array.classes()? {
                *array = classes;
            }
        }
        // Text in an array named after an array of whole numbers.
        let of = |array: &Array| array.base.strip_suffix(".categories").map(str::to_owned);
        let are_codes =
            |array: &Array| matches!(array.kind, Kind::Signed | Kind::Unsigned) && array.width == 1;
        let codes: HashSet<String> =
            arrays.iter().filter(|array| are_codes(array)).map(|array| array.base.clone()).collect();
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
            let of_part = |part| arrays.iter().filter(move |array| subset(array) == Some(part));
            let last = arrays.iter().rev().find_map(subset).filter(|last| *last != Subset::Train);
            if let Some(last) = last.filter(|_| of_part(Subset::Train).next().is_some()) {
                let names: Vec<&str> = arrays.iter().map(|array| array.name.as_str()).collect();
                let assign = |array: &Array| format!("{}={}", Subset::of_array(&array.name).1, array.name);
                let assigned: Vec<String> = of_part(last).map(assign).collect();
                return Err(bad(format!(
                    "several parts of a data set ({}); save one of them by itself, as in numpy.savez(\"{last}.npz\", {})",
                    names.join(", "),
                    assigned.join(", ")
                )));
            }
            return Err(bad(format!("{} rows in {}, {} in {}", a.rows, a.name, b.rows, b.name)));
        }
        let mut npz = Self { arrays, categories, has_header: true, row: 0, text: Vec::new(), given: 0 };
        let names = npz.arrays.iter().flat_map(Array::columns).map(|name| quoted(&name));
        npz.text = (names.collect::<Vec<String>>().join(",") + "\n").into_bytes();
        Ok(npz)
    }

    /// Hints on reading the text, from the types of the arrays.
    pub(crate) fn hints(&self) -> Hints {
        let is_target = |array: &&Array| self.has_header && array.width == 1 && array.holds_targets();
        let target = self.arrays.iter().find(is_target);
        let target = target.map(|array| (array.base.clone(), array.kind == Kind::Float));
        let mut inputs = self.arrays.iter().filter(|array| !array.holds_targets());
        let image = inputs.next().and_then(|array| array.image).filter(|_| inputs.next().is_none());
        Hints { target, has_header: self.has_header, image }
    }

    /// Appends the next row to the text.
    fn push_row(&mut self) -> io::Result<()> {
        let start = self.text.len();
        for (number, array) in self.arrays.iter().enumerate() {
            for column in 0..array.width {
                if number + column > 0 {
                    self.text.push(b',');
                }
                match self.categories.get(&array.base) {
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
