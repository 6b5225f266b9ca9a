//! Rows as they are parsed and gathered: bytes as long as every value is one, floats from then on.

mod spellings;

pub(crate) use spellings::folded;

use std::path::Path;
use std::sync::Arc;

use crate::data::columns::categories::Dictionary;
use crate::data::columns::classes::{Classes, Label};
use crate::data::dataset::{BLOCK_ROWS, Dataset, Features, floats, reserve};
use crate::data::encoding::targets::Targets;
use crate::error::{Place, Result};

/// Inputs that an image has at least.
const LEAST_PIXELS: usize = 64;

/// An image has a pixel that is brighter than this.
const BRIGHT: u8 = 127;

/// A cell that holds no value where there should be one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Missing {
    pub(crate) place: Place,
    /// The content of the cell, for messages.
    pub(crate) found: String,
}

/// Some rows on their way from the reader thread; labels are empty where they were known before, or where there are
/// none.
#[derive(Default)]
pub(crate) struct Chunk {
    pub(crate) features: Features,
    /// The number of each row's label, in the order in which labels come in the file.
    pub(crate) labels: Vec<u32>,
    /// The values to predict, row after row.
    pub(crate) values: Vec<f32>,
    /// How much each row counts in the loss.
    pub(crate) weights: Vec<f32>,
    /// The group of each row, numbered in the order in which they come, if rows have groups.
    pub(crate) groups: Vec<u32>,
    /// When each row is of, if rows have times.
    pub(crate) times: Vec<f64>,
    /// The labels that came first in these rows.
    pub(crate) new_labels: Vec<Label>,
    /// The file of these rows, if they are of a table.
    pub(crate) name: Option<Arc<Path>>,
    /// The categories that came first in these rows, of each column of categories.
    pub(crate) new_categories: Vec<Vec<Label>>,
    /// The cell of each row that is handed on.
    pub(crate) ids: Vec<String>,
    /// A number that is missing: the first that its parser has met, in the piece in which that was.
    pub(crate) missing: Option<Missing>,
}

/// All rows so far, as they stand in the file.
#[derive(Clone, Default)]
pub(crate) struct Table {
    pub(crate) features: Features,
    /// The class of each row.
    pub(crate) labels: Vec<u32>,
    /// The values to predict, row after row.
    pub(crate) values: Vec<f32>,
    /// How much each row counts in the loss.
    pub(crate) weights: Vec<f32>,
    /// The group of each row, if rows have groups.
    pub(crate) groups: Vec<u32>,
    /// When each row is of, if rows have times.
    pub(crate) times: Vec<f64>,
    pub(crate) ids: Vec<String>,
    pub(crate) classes: Classes,
    /// The number of each row's label.
    pub(crate) numbers: Vec<u32>,
    /// The labels by their numbers, and the class of each.
    pub(crate) names: Vec<Label>,
    /// The file in which each came first.
    pub(crate) files: Vec<Option<Arc<Path>>>,
    pub(crate) class_of: Vec<u32>,
    /// One for each categorical column, in the order of the inputs.
    pub(crate) dictionaries: Vec<Dictionary>,
    /// The first number that is missing, and its file.
    pub(crate) missing: Option<(Option<Arc<Path>>, Missing)>,
    /// The files of a table, and where the features of each begin.
    pub(crate) begins: Vec<(Arc<Path>, usize)>,
}

impl Table {
    /// A table whose labels are known before its features.
    pub(crate) fn labelled(labels: &[u8]) -> Self {
        let mut place = [None; 256];
        let mut table = Self::default();
        for (label, row) in labels.iter().zip(1..) {
            place[usize::from(*label)].get_or_insert_with(|| {
                table.names.push(Label { text: label.to_string(), row });
                table.names.len() - 1
            });
        }
        (table.classes, table.class_of) = Classes::from_labels(&table.names);
        let class = |label: &u8| place[usize::from(*label)].map(|number| table.class_of[number]);
        table.labels = labels.iter().filter_map(class).collect();
        table
    }

    /// Makes room for exactly this many more values.
    pub(crate) fn reserve(&mut self, values: usize, name: &Path) -> Result<()> {
        match &mut self.features {
            Features::Bytes(bytes) => reserve(bytes, values, name),
            Features::Floats(floats) => reserve(floats, values, name),
        }
    }

    /// Whether rows of `width` values are images: as many as the pixels of a square, or three times as many; and more
    /// than half of the rows of the first block hold nothing but whole numbers from 0 to 255, and one of them a bright
    /// pixel. No single row can decide that.
    pub(crate) fn holds_images(&self, width: usize) -> bool {
        let is_square = |pixels: usize| pixels.isqrt().pow(2) == pixels;
        if width < LEAST_PIXELS
            || !self.dictionaries.is_empty()
            || !(is_square(width) || width.is_multiple_of(3) && is_square(width / 3))
        {
            return false;
        }
        let values = self.features.len().min(BLOCK_ROWS * width);
        let (images, is_bright) = match &self.features {
            Features::Bytes(bytes) => (values / width, bytes[..values].iter().any(|value| *value > BRIGHT)),
            Features::Floats(floats) => {
                let is_byte = |value: &f32| value.fract() == 0.0 && (0.0..=255.0).contains(value);
                let images = || floats[..values].chunks_exact(width).filter(|row| row.iter().all(is_byte));
                (images().count(), images().flatten().any(|value| *value > f32::from(BRIGHT)))
            }
        };
        is_bright && images > values / width / 2
    }

    /// The targets of these rows: `columns` values each, or classes where that is 0.
    fn targets_of(&self, rows: &[u32], columns: usize) -> Targets {
        if columns == 0 {
            return rows.iter().map(|row| self.labels[*row as usize]).collect::<Vec<u32>>().into();
        }
        let values = rows.iter().flat_map(|row| &self.values[*row as usize * columns..][..columns]);
        Targets::Values { columns, values: values.copied().collect() }
    }

    /// Takes these rows out, whose targets are `values` values or else classes, in ascending order, and leaves those to
    /// `keep`.
    pub(crate) fn divide(
        &mut self,
        width: usize,
        values: usize,
        out: [&[u32]; 2],
        keep: &[u32],
    ) -> [Dataset; 2] {
        let rows = |numbers: &[u32]| Dataset {
            inputs: width,
            features: self.features.rows(width, numbers),
            targets: self.targets_of(numbers, values),
            weights: numbers.iter().filter_map(|row| self.weights.get(*row as usize).copied()).collect(),
        };
        let out = out.map(rows);
        self.features.keep_rows(width, keep);
        self.weights = keep.iter().filter_map(|row| self.weights.get(*row as usize).copied()).collect();
        match self.targets_of(keep, values) {
            Targets::Classes(labels) => self.labels = labels,
            Targets::Values { values, .. } => self.values = values,
        }
        // No rows come any more whose labels would need them.
        (self.numbers, self.groups, self.times) = (Vec::new(), Vec::new(), Vec::new());
        out
    }

    /// Adds rows at the end, whose classes are still to be found.
    pub(crate) fn append(&mut self, chunk: Chunk, room: &Room<'_>) -> Result<()> {
        self.append_labels(&chunk, room)?;
        let last = self.begins.last().map(|(file, _)| file);
        if let Some(file) = chunk.name.as_ref().filter(|file| last != Some(*file)) {
            self.begins.push((Arc::clone(file), self.features.len()));
        }
        // Pieces come in order, and so do the parsers that have met none before.
        self.missing = self.missing.take().or_else(|| Some((chunk.name.clone(), chunk.missing?)));
        room.make(&mut self.values, chunk.values.len())?;
        room.make(&mut self.weights, chunk.weights.len())?;
        self.values.extend_from_slice(&chunk.values);
        self.weights.extend_from_slice(&chunk.weights);
        room.make(&mut self.groups, chunk.groups.len())?;
        room.make(&mut self.times, chunk.times.len())?;
        self.groups.extend_from_slice(&chunk.groups);
        self.times.extend_from_slice(&chunk.times);
        self.ids.extend(chunk.ids);
        self.dictionaries.resize_with(chunk.new_categories.len(), Dictionary::default);
        for (dictionary, new) in self.dictionaries.iter_mut().zip(chunk.new_categories) {
            dictionary.labels.extend(new);
        }
        if let (Features::Bytes(bytes), Features::Floats(_)) = (&self.features, &chunk.features) {
            self.features = Features::Floats(floats(bytes, chunk.features.len(), room.name)?);
        }
        match (&mut self.features, &chunk.features) {
            (Features::Bytes(all), Features::Bytes(new)) => {
                room.make(all, new.len())?;
                all.extend_from_slice(new);
            }
            (Features::Floats(all), Features::Bytes(new)) => {
                room.make(all, new.len())?;
                all.extend(new.iter().copied().map(f32::from));
            }
            (Features::Floats(all), Features::Floats(new)) => {
                room.make(all, new.len())?;
                all.extend_from_slice(new);
            }
            (Features::Bytes(_), Features::Floats(_)) => unreachable!("became floats above"),
        }
        Ok(())
    }

    fn append_labels(&mut self, chunk: &Chunk, room: &Room<'_>) -> Result<()> {
        room.make(&mut self.numbers, chunk.labels.len())?;
        self.numbers.extend_from_slice(&chunk.labels);
        let unclassified = self.numbers.len().saturating_sub(self.labels.len());
        room.make(&mut self.labels, unclassified)?;
        self.names.extend_from_slice(&chunk.new_labels);
        self.files.resize(self.names.len(), chunk.name.clone());
        Ok(())
    }

    /// The file, if it is a table, and the row in which the label with this number came first.
    pub(crate) fn origin(&self, number: usize) -> (Option<&Path>, Option<u64>) {
        let file = self.files.get(number).and_then(|file| file.as_deref());
        (file, self.names.get(number).map(|label| label.row))
    }

    /// The first label of a class.
    pub(crate) fn label_of(&self, class: usize) -> Option<usize> {
        self.class_of.iter().position(|of| *of as usize == class)
    }

    /// The label of each class that came first.
    pub(crate) fn first_labels(&self) -> Vec<Option<usize>> {
        let mut firsts = vec![None; self.classes.len()];
        for (label, class) in self.class_of.iter().enumerate() {
            firsts[*class as usize].get_or_insert(label);
        }
        firsts
    }

    /// Finds the classes of the rows that were appended last.
    pub(crate) fn classify(&mut self) {
        if self.names.len() > self.class_of.len() {
            // Classes stand in natural order: one that is new may change the place of every other.
            (self.classes, self.class_of) = Classes::from_labels(&self.names);
            self.labels.clear();
        }
        // Where all labels were known before, none has a number.
        let new = &self.numbers[self.labels.len().min(self.numbers.len())..];
        self.labels.extend(new.iter().map(|number| self.class_of[*number as usize]));
    }
}

/// For how many rows memory is reserved when some are appended.
pub(crate) struct Room<'a> {
    /// The file, in messages.
    pub(crate) name: &'a Path,
    /// The rows that are appended.
    pub(crate) rows: usize,
    /// Rows that the whole table may have; 0 where that is not known, or not all of them are kept.
    pub(crate) expected: usize,
}

impl Room<'_> {
    /// Makes room for `extra` more values: for all that are expected, or else for as many again as there are, so that growing stays
    /// cheap.
    fn make<T>(&self, values: &mut Vec<T>, extra: usize) -> Result<()> {
        if values.capacity() - values.len() >= extra {
            return Ok(());
        }
        let expected = (extra / self.rows.max(1)).saturating_mul(self.expected);
        // Where there is no room for so many, there may be for those that come.
        let whole = expected.saturating_sub(values.len()).max(extra);
        [whole, values.len().max(extra), extra]
            .into_iter()
            .find_map(|more| reserve(values, more, self.name).ok())
            // An error names what the whole table needs.
            .map_or_else(|| reserve(values, whole, self.name), Ok)
    }
}
