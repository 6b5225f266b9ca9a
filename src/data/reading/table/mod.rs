//! Parsed rows: bytes as long as every value is a byte, floats from then on.

mod spellings;

pub(crate) use spellings::{best_spellings, folded};

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::data::columns::categories::Dictionary;
use crate::data::columns::class_names::ClassNames;
use crate::data::columns::classes::Classes;
use crate::data::columns::labels::Label;
use crate::data::dataset::{BLOCK_ROWS, Features, floats, reserve, rows};
use crate::data::images::ImageForm;
use crate::error::{Place, Result};

/// Minimum number of inputs of an image.
const LEAST_PIXELS: usize = 64;

/// An image has at least one pixel brighter than this.
const BRIGHT: u8 = 127;

/// Whether rows with this number of values, at least 64, may be images: of a known form, or of n * n or 3 * n * n values.
pub(crate) fn has_pixels(width: usize, form: Option<ImageForm>) -> bool {
    let is_square = |pixels: usize| pixels.isqrt().pow(2) == pixels;
    let is_form = form.is_some_and(|form| form.values() == width);
    width >= LEAST_PIXELS && (is_form || is_square(width) || width.is_multiple_of(3) && is_square(width / 3))
}

/// A missing value where a value is required.
#[derive(Debug, Clone, Default)]
pub(crate) struct Missing {
    pub(crate) place: Place,
    /// The content of the cell in messages.
    pub(crate) found: String,
}

/// All rows so far, as read from the file; or some rows in transit from a reader thread, before classification, with
/// the labels and categories that appear first in them. Labels are empty if they were known before, or if there are
/// none.
#[derive(Clone, Default)]
pub(crate) struct Table {
    pub(crate) features: Features,
    /// The class of each row.
    pub(crate) labels: Vec<u32>,
    /// The values to predict, in row-major order.
    pub(crate) values: Vec<f32>,
    /// The weight of each row in the loss.
    pub(crate) weights: Vec<f32>,
    /// The group of each row, if rows have groups.
    pub(crate) groups: Vec<u32>,
    /// The time of each row, if rows have times.
    pub(crate) times: Vec<f64>,
    pub(crate) ids: Vec<String>,
    pub(crate) classes: Classes,
    /// Names of classes other than their labels.
    pub(crate) class_names: Option<Arc<ClassNames>>,
    /// The number of each row's label; labels are numbered in the order of appearance in the file.
    pub(crate) numbers: Vec<u32>,
    /// The labels by number; `class_of` holds the class of each.
    pub(crate) names: Vec<Label>,
    /// The file in which each label appeared first.
    pub(crate) files: Vec<Option<Arc<Path>>>,
    pub(crate) class_of: Vec<u32>,
    /// One dictionary per column of categories, in the order of the inputs.
    pub(crate) dictionaries: Vec<Dictionary>,
    /// The first missing number, and its file.
    pub(crate) missing: Option<(Option<Arc<Path>>, Missing)>,
    /// The files of a table, and the index of the first feature of each.
    pub(crate) begins: Vec<(Arc<Path>, usize)>,
}

impl Table {
    /// Makes a table whose labels are known before its features.
    pub(crate) fn labelled(labels: &[i32], class_names: Option<Arc<ClassNames>>) -> Self {
        let mut place = HashMap::new();
        let mut table = Self { class_names, ..Self::default() };
        for (label, row) in labels.iter().zip(1..) {
            let number = *place.entry(label).or_insert_with(|| {
                table.names.push(Label { text: label.to_string(), row });
                table.names.len() as u32 - 1
            });
            table.numbers.push(number);
        }
        table.classify();
        // Rows that arrive later have no numbers of labels.
        table.numbers = Vec::new();
        table
    }

    /// Reserves memory for exactly this many more values.
    pub(crate) fn reserve(&mut self, values: usize, name: &Path) -> Result<()> {
        match &mut self.features {
            Features::Bytes(bytes) => reserve(bytes, values, name),
            Features::Floats(floats) => reserve(floats, values, name),
        }
    }

    /// Whether rows of `width` values, which may be pixels, are images: more than half of the rows of the first block
    /// consist of whole numbers from 0 to 255, and at least one pixel is bright. A single row cannot decide this.
    pub(crate) fn holds_images(&self, width: usize) -> bool {
        if !self.dictionaries.is_empty() {
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

    /// Keeps only the rows with these ascending numbers; rows have `width` inputs and `values` values to predict.
    pub(crate) fn keep_rows(&mut self, width: usize, values: usize, numbers: &[u32]) {
        self.features.keep_rows(width, numbers);
        self.labels = rows(&self.labels, 1, numbers);
        self.values = rows(&self.values, values, numbers);
        self.weights = rows(&self.weights, 1, numbers);
        self.groups = rows(&self.groups, 1, numbers);
        self.times = rows(&self.times, 1, numbers);
        self.ids = rows(&self.ids, 1, numbers);
        self.numbers = rows(&self.numbers, 1, numbers);
    }

    /// Appends rows that are not classified yet.
    pub(crate) fn append(&mut self, new: Self, room: &Room<'_>) -> Result<()> {
        room.extend(&mut self.numbers, &new.numbers)?;
        let unclassified = self.numbers.len().saturating_sub(self.labels.len());
        room.make(&mut self.labels, unclassified)?;
        room.extend(&mut self.values, &new.values)?;
        room.extend(&mut self.weights, &new.weights)?;
        room.extend(&mut self.groups, &new.groups)?;
        room.extend(&mut self.times, &new.times)?;
        self.ids.extend(new.ids);
        self.names.extend(new.names);
        let file = new.begins.first().map(|(file, _)| file);
        self.files.resize(self.names.len(), file.cloned());
        if let Some(file) = file.filter(|file| self.begins.last().is_none_or(|(last, _)| last != *file)) {
            self.begins.push((Arc::clone(file), self.features.len()));
        }
        // Pieces arrive in order, and so do parsers that have met no missing number before.
        self.missing = self.missing.take().or(new.missing);
        self.dictionaries.resize_with(new.dictionaries.len(), Dictionary::default);
        for (dictionary, new) in self.dictionaries.iter_mut().zip(new.dictionaries) {
            dictionary.labels.extend(new.labels);
        }
        if let (Features::Bytes(bytes), Features::Floats(new)) = (&self.features, &new.features) {
            self.features = Features::Floats(floats(bytes, new.len(), room.name)?);
        }
        match (&mut self.features, &new.features) {
            (Features::Bytes(all), Features::Bytes(new)) => room.extend(all, new),
            (Features::Floats(all), Features::Bytes(new)) => room.extend(all, new),
            (Features::Floats(all), Features::Floats(new)) => room.extend(all, new),
            (Features::Bytes(_), Features::Floats(_)) => unreachable!("became floats above"),
        }
    }

    /// The file, for a table, and the row in which the label with this number appeared first.
    pub(crate) fn origin(&self, number: usize) -> (Option<&Path>, Option<u64>) {
        let file = self.files.get(number).and_then(|file| file.as_deref());
        (file, self.names.get(number).map(|label| label.row))
    }

    /// The first label of each class.
    pub(crate) fn first_labels(&self) -> Vec<Option<usize>> {
        let mut firsts = vec![None; self.classes.len()];
        for (label, class) in self.class_of.iter().enumerate() {
            firsts[*class as usize].get_or_insert(label);
        }
        firsts
    }

    /// Finds the classes of the labels, or of these labels in their place, in natural order: a new class may change the
    /// index of every other class.
    fn find_classes(&mut self, joined: Option<&[Label]>) {
        let (classes, class_of) = Classes::from_labels(joined.unwrap_or(&self.names));
        self.classes = match &self.class_names {
            Some(names) => classes.named_by(names),
            None => classes,
        };
        self.class_of = class_of;
        self.labels.clear();
    }

    /// Classifies the rows appended last.
    pub(crate) fn classify(&mut self) {
        if self.names.len() > self.class_of.len() {
            self.find_classes(None);
        }
        // If all labels were known before, there are no label numbers.
        let new = &self.numbers[self.labels.len().min(self.numbers.len())..];
        self.labels.extend(new.iter().map(|number| self.class_of[*number as usize]));
    }
}

/// The number of rows for which an append reserves memory.
pub(crate) struct Room<'a> {
    /// The name of the file in messages.
    pub(crate) name: &'a Path,
    /// The number of appended rows.
    pub(crate) rows: usize,
    /// Estimated rows of the whole table; 0 if unknown, or if not all of them are kept.
    pub(crate) expected: usize,
}

impl Room<'_> {
    /// Appends values, and reserves memory for all expected rows.
    fn extend<T, New: Copy + Into<T>>(&self, values: &mut Vec<T>, new: &[New]) -> Result<()> {
        self.make(values, new.len())?;
        values.extend(new.iter().map(|value| (*value).into()));
        Ok(())
    }

    /// Reserves memory for `extra` more values: for all expected values, or else by doubling, so that growth stays
    /// cheap.
    fn make<T>(&self, values: &mut Vec<T>, extra: usize) -> Result<()> {
        if values.capacity() - values.len() >= extra {
            return Ok(());
        }
        let expected = (extra / self.rows.max(1)).saturating_mul(self.expected);
        // If memory cannot hold all expected values, it may hold the appended ones.
        let whole = expected.saturating_sub(values.len()).max(extra);
        [whole, values.len().max(extra), extra]
            .into_iter()
            .find_map(|more| reserve(values, more, self.name).ok())
            // An error names the size of the whole table.
            .map_or_else(|| reserve(values, whole, self.name), Ok)
    }
}
