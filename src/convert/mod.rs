//! Data sets in other formats.

mod arrays;
mod idx;
mod images;
pub(crate) mod npz;
mod table;

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use arrays::Array;
pub use images::Images;

use crate::data::excerpt::printable_name;
use crate::data::{Format, RawTable, Source};
use crate::error::{Error, Result};
use crate::named::named;

/// A format to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// A table with commas and decimal points.
    Csv,
    /// Bytes (images, and labels in a file of their own) or 64-bit floats (tables).
    Idx,
    /// Arrays of numpy.
    Npz,
    /// Tensors, with names in the metadata.
    Safetensors,
}

named!(OutputFormat { Csv = "csv", Idx = "idx", Npz = "npz", Safetensors = "safetensors" });

impl OutputFormat {
    /// The format that a file's name ends with; IDX files also end with `-ubyte`.
    pub fn from_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_lowercase();
        let ends = |to: &Self| name.ends_with(&format!(".{}", to.name()));
        Self::ALL.into_iter().find(ends).or(name.ends_with("-ubyte").then_some(Self::Idx))
    }
}

/// A data set as it is, nothing scaled and nothing left out.
pub enum RawDataset {
    /// Images of bytes.
    Images(Images),
    /// Anything else.
    Table(RawTable),
}

/// A file to write.
pub struct OutputFile<'a> {
    /// What it holds, for a companion of the requested file; `None` for that file itself.
    pub beside: Option<Companion>,
    contents: FileContents<'a>,
}

/// What a file holds: what can be made of the data set row by row is not made before it is written.
enum FileContents<'a> {
    Bytes(Vec<u8>),
    Csv(&'a RawDataset),
    /// An IDX file of 64-bit floats, with its dimensions.
    Doubles(Vec<usize>, Vec<f64>),
}

impl OutputFile<'_> {
    /// Writes the contents.
    ///
    /// # Errors
    /// Those of what is written to.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        match &self.contents {
            FileContents::Bytes(bytes) => to.write_all(bytes),
            FileContents::Csv(RawDataset::Images(images)) => images.write_csv(to),
            FileContents::Csv(RawDataset::Table(table)) => table::write_csv(table, to),
            FileContents::Doubles(shape, values) => idx::write_doubles(shape, values, to),
        }
    }
}

/// A file that is written beside the requested one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Companion {
    /// The labels of images.
    Labels,
    /// The names of columns and categories, as JSON.
    Names,
}

impl Companion {
    /// Where it goes, beside `path`: `labels` in the place of `images`, or `.json` behind the name.
    ///
    /// # Errors
    /// [`Error::Config`] where labels have no place, since the name of the images does not say that it is theirs.
    pub fn path(self, path: &Path) -> Result<PathBuf> {
        match self {
            Self::Labels => crate::data::labels_beside(path).ok_or_else(|| {
                Error::Config(format!(
                    "{}: expected a name with `images`, such as digits-images-idx3-ubyte: the labels go into a second file next to it",
                    path.display()
                ))
            }),
            Self::Names => {
                let mut name = path.file_name().unwrap_or_default().to_owned();
                name.push(".json");
                Ok(path.with_file_name(name))
            }
        }
    }
}

impl RawDataset {
    /// Reads a data set. A table is one of images if a column is known as that of the labels (by its name, or as the first of
    /// MNIST's), all others hold whole numbers from 0 to 255, one of them above 127, and they are as many as the pixels of a
    /// square, or three times as many, 64 at least. It stays a table if that is what it becomes.
    ///
    /// # Errors
    /// Those of the data.
    pub fn read(source: &Source, format: &Format, to: OutputFormat) -> Result<Self> {
        match source {
            Source::Idx { .. } | Source::Folders { .. } => Images::read(source).map(RawDataset::Images),
            Source::Csv { path } => Ok(Self::from_table(RawTable::read(path, &[], format)?, to)),
            Source::Parts { paths } => match &paths[..] {
                [first, others @ ..] => Ok(Self::from_table(RawTable::read(first, others, format)?, to)),
                [] => Err(Error::Config("a table of no files".to_owned())),
            },
        }
    }

    fn from_table(table: RawTable, to: OutputFormat) -> Self {
        let images = if to == OutputFormat::Csv { None } else { Images::from_table(&table) };
        images.map_or(RawDataset::Table(table), RawDataset::Images)
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        match self {
            RawDataset::Images(images) => images.labels.len(),
            RawDataset::Table(table) => table.rows(),
        }
    }

    /// The files that it becomes.
    ///
    /// # Errors
    /// [`Error::Config`] for what the format cannot hold.
    pub fn files(&self, to: OutputFormat) -> Result<Vec<OutputFile<'_>>> {
        let file = |beside, contents| OutputFile { beside, contents };
        let whole = |bytes| vec![file(None, FileContents::Bytes(bytes))];
        Ok(match (to, self) {
            (OutputFormat::Csv, set) => vec![file(None, FileContents::Csv(set))],
            (OutputFormat::Idx, RawDataset::Images(images)) => {
                let (pixels, labels) = (&images.pixels, &images.labels);
                vec![
                    file(None, FileContents::Bytes(idx::bytes(&images.shape(), pixels))),
                    file(Some(Companion::Labels), FileContents::Bytes(idx::bytes(&[labels.len()], labels))),
                ]
            }
            (OutputFormat::Idx, RawDataset::Table(table)) => {
                let (numbers, names) = table::numbers(table);
                vec![
                    file(None, FileContents::Doubles(vec![table.rows(), table.columns()], numbers)),
                    file(Some(Companion::Names), FileContents::Bytes(names.into_bytes())),
                ]
            }
            (OutputFormat::Npz, set) => whole(npz::file(&set.arrays()?)?),
            (OutputFormat::Safetensors, set) => whole(arrays::safetensors(&set.arrays()?)?),
        })
    }

    /// Its arrays by their names, which are all different, and none is that of metadata.
    fn arrays(&self) -> Result<Vec<(String, Array)>> {
        let arrays = match self {
            RawDataset::Images(images) => images.arrays(),
            RawDataset::Table(table) => table::arrays(table),
        };
        let mut taken = HashSet::from(["__metadata__"]);
        if let Some((name, _)) = arrays.iter().find(|(name, _)| !taken.insert(name)) {
            let text =
                format!("two arrays would be called {}; rename a column", printable_name(name.as_bytes()));
            return Err(Error::Config(text));
        }
        Ok(arrays)
    }
}
