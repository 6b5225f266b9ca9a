//! Rows as they are parsed and gathered: bytes as long as every value is one, floats from then on.

use std::path::Path;

use super::dataset::{Features, Scaling};
use super::number::Value;
use crate::memory::check_memory;
use crate::{Error, Result};

/// A table of whole numbers from 0 to 255 holds pixels where one of them is greater than this.
const GREATEST_SMALL_NUMBER: u8 = 16;

/// Values that the reader thread makes ready at once without knowing how many will come.
const RESERVED_VALUES: usize = 1 << 22;

impl Features {
    /// Room for a block's values, or for the start of it.
    pub(super) fn with_room(values: usize, floats: bool) -> Self {
        let room = values.min(RESERVED_VALUES);
        if floats {
            Features::Floats(Vec::with_capacity(room))
        } else {
            Features::Bytes(Vec::with_capacity(room))
        }
    }

    #[inline]
    pub(super) fn push(&mut self, value: Value) {
        match (&mut *self, value) {
            (Features::Bytes(values), Value::Byte(byte)) => values.push(byte),
            (Features::Floats(values), Value::Byte(byte)) => values.push(f32::from(byte)),
            (Features::Floats(values), Value::Float(float)) => values.push(float),
            (Features::Bytes(bytes), Value::Float(float)) => {
                let mut floats = Vec::with_capacity(bytes.capacity());
                floats.extend(bytes.iter().copied().map(f32::from));
                floats.push(float);
                *self = Features::Floats(floats);
            }
        }
    }
}

/// Some rows on their way from the reader thread; labels are empty where they were known before.
pub(super) struct Chunk {
    pub(super) features: Features,
    pub(super) labels: Vec<u32>,
}

/// All rows so far, as they stand in the file.
pub(super) struct Table {
    pub(super) features: Features,
    pub(super) labels: Vec<u32>,
    greatest_byte: u8,
    greatest_label: Option<u32>,
}

impl Table {
    /// An empty table, or one whose labels are known before its features.
    pub(super) fn new(labels: Vec<u32>) -> Self {
        let greatest_label = labels.iter().copied().max();
        Self { features: Features::Bytes(Vec::new()), labels, greatest_byte: 0, greatest_label }
    }

    /// Makes room for exactly this many more values.
    pub(super) fn reserve(&mut self, values: usize, name: &Path) -> Result<()> {
        match &mut self.features {
            Features::Bytes(bytes) => reserve(bytes, values, name),
            Features::Floats(floats) => reserve(floats, values, name),
        }
    }

    /// The greatest label so far + 1.
    pub(super) fn classes(&self) -> usize {
        self.greatest_label.map_or(0, |label| label as usize + 1)
    }

    /// Whether all values so far are bytes and at least one is too great for a small count or a flag.
    pub(super) fn looks_like_pixels(&self) -> bool {
        matches!(self.features, Features::Bytes(_)) && self.greatest_byte > GREATEST_SMALL_NUMBER
    }

    /// All features as network inputs, converted in place where they already are floats.
    pub(super) fn into_scaled(self, scaling: Scaling, name: &Path) -> Result<Features> {
        Ok(match (self.features, scaling) {
            (Features::Bytes(bytes), Scaling::AsIs) => Features::Floats(floats(&bytes, 0, name)?),
            (Features::Floats(mut floats), Scaling::Bytes) => {
                floats.iter_mut().for_each(|value| *value /= 255.0);
                Features::Floats(floats)
            }
            (features, _) => features,
        })
    }

    /// Adds rows at the end.
    pub(super) fn append(&mut self, chunk: Chunk, name: &Path) -> Result<()> {
        self.greatest_label = self.greatest_label.max(chunk.labels.iter().copied().max());
        grow(&mut self.labels, chunk.labels.len(), name)?;
        self.labels.extend_from_slice(&chunk.labels);
        if let (Features::Bytes(bytes), Features::Floats(_)) = (&self.features, &chunk.features) {
            self.features = Features::Floats(floats(bytes, chunk.features.len(), name)?);
        }
        match (&mut self.features, &chunk.features) {
            (Features::Bytes(all), Features::Bytes(new)) => {
                self.greatest_byte = self.greatest_byte.max(new.iter().copied().max().unwrap_or(0));
                grow(all, new.len(), name)?;
                all.extend_from_slice(new);
            }
            (Features::Floats(all), Features::Bytes(new)) => {
                grow(all, new.len(), name)?;
                all.extend(new.iter().copied().map(f32::from));
            }
            (Features::Floats(all), Features::Floats(new)) => {
                grow(all, new.len(), name)?;
                all.extend_from_slice(new);
            }
            (Features::Bytes(_), Features::Floats(_)) => unreachable!("became floats above"),
        }
        Ok(())
    }
}

/// Bytes as floats, which is exact, with room for `extra` more.
fn floats(bytes: &[u8], extra: usize, name: &Path) -> Result<Vec<f32>> {
    let mut floats = Vec::new();
    reserve(&mut floats, bytes.len() + extra, name)?;
    floats.extend(bytes.iter().copied().map(f32::from));
    Ok(floats)
}

/// Makes room for `extra` more values, and for as many again as there are, so that growing stays cheap.
fn grow<T>(values: &mut Vec<T>, extra: usize, name: &Path) -> Result<()> {
    if values.capacity() - values.len() >= extra {
        Ok(())
    } else {
        // Where there is no room for twice as many, there may be for those that come.
        reserve(values, extra.max(values.len()), name).or_else(|_| reserve(values, extra, name))
    }
}

/// Makes room for exactly `extra` more values, or says that the machine has none.
fn reserve<T>(values: &mut Vec<T>, extra: usize, name: &Path) -> Result<()> {
    let bytes = (values.len() as u128 + extra as u128) * size_of::<T>() as u128;
    check_memory(bytes, &format!("{}: the table", name.display()))?;
    values
        .try_reserve_exact(extra)
        .map_err(|error| Error::Config(format!("{}: no memory for the table: {error}", name.display())))
}
