//! Feature values: bytes as long as every value is a byte, floats from then on.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use crate::error::{Error, Result};
use crate::memory::{check_memory, prefer_large_pages};

/// Maximum number of values for which the reader thread reserves memory in advance if the number of values is unknown.
const RESERVED_VALUES: usize = 1 << 22;

/// Feature values, row-major [rows, inputs].
#[derive(Debug, Clone, PartialEq)]
pub enum Features {
    /// Whole numbers from 0 to 255; a quarter of the memory of floats.
    Bytes(Vec<u8>),
    /// Any finite numbers.
    Floats(Vec<f32>),
}

/// Borrowed feature values, row-major [rows, inputs].
#[derive(Debug, Clone, PartialEq)]
pub enum FeaturesRef<'a> {
    /// Whole numbers from 0 to 255, to be scaled by 1/255 when read.
    Bytes(&'a [u8]),
    /// Unchanged network inputs; owned if they had to be computed.
    Floats(Cow<'a, [f32]>),
}

/// The scaling of values to network inputs when they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scaling {
    /// value / 255
    Bytes,
    /// The value itself.
    AsIs,
}

impl Default for Features {
    fn default() -> Self {
        Features::Bytes(Vec::new())
    }
}

impl Features {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Features::Bytes(values) => values.len(),
            Features::Floats(values) => values.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Raw values as network inputs under `scaling`; `range` counts values, not rows.
    ///
    /// Bytes remain bytes if `scaling` is `Bytes`; everything else becomes floats.
    pub(crate) fn scaled(&self, range: Range<usize>, scaling: Scaling) -> FeaturesRef<'_> {
        match (self, scaling) {
            (Features::Bytes(values), Scaling::Bytes) => FeaturesRef::Bytes(&values[range]),
            (Features::Bytes(values), Scaling::AsIs) => {
                FeaturesRef::Floats(values[range].iter().copied().map(f32::from).collect())
            }
            (Features::Floats(values), Scaling::AsIs) => FeaturesRef::Floats(values[range].into()),
            (Features::Floats(values), Scaling::Bytes) => {
                FeaturesRef::Floats(values[range].iter().map(|value| value / 255.0).collect())
            }
        }
    }

    /// Makes an empty collection with memory for the values of a block, or for the beginning of a large one.
    pub(crate) fn with_room(values: usize, floats: bool) -> Self {
        let room = values.min(RESERVED_VALUES);
        if floats {
            Features::Floats(Vec::with_capacity(room))
        } else {
            Features::Bytes(Vec::with_capacity(room))
        }
    }

    /// Appends values, stored as bytes while all values are whole numbers from 0 to 255.
    #[inline]
    pub(crate) fn extend(&mut self, values: &[f32]) {
        if let Features::Bytes(bytes) = self {
            if values.iter().all(is_byte) {
                return bytes.extend(values.iter().map(|value| *value as u8));
            }
            let mut floats = Vec::with_capacity(bytes.capacity().max(values.len()));
            floats.extend(bytes.iter().copied().map(f32::from));
            *self = Features::Floats(floats);
        }
        if let Features::Floats(floats) = self {
            floats.extend_from_slice(values);
        }
    }

    /// Converts the values to floats in place, and returns them.
    pub(crate) fn make_floats(&mut self) -> Result<&mut Vec<f32>> {
        if let Features::Bytes(bytes) = self {
            *self = Features::Floats(floats(bytes, 0, Path::new("standardised"))?);
        }
        match self {
            Features::Floats(floats) => Ok(floats),
            Features::Bytes(_) => unreachable!("became floats above"),
        }
    }

    /// Copies the rows with these indices; each row has `width` values.
    pub(crate) fn rows(&self, width: usize, numbers: &[u32]) -> Self {
        match self {
            Features::Bytes(values) => Features::Bytes(rows(values, width, numbers)),
            Features::Floats(values) => Features::Floats(rows(values, width, numbers)),
        }
    }

    /// Keeps only the rows with these ascending indices.
    pub(crate) fn keep_rows(&mut self, width: usize, numbers: &[u32]) {
        fn keep<T: Copy>(values: &mut Vec<T>, width: usize, numbers: &[u32]) {
            for (to, from) in numbers.iter().enumerate() {
                values.copy_within(*from as usize * width..(*from as usize + 1) * width, to * width);
            }
            values.truncate(numbers.len() * width);
            values.shrink_to_fit();
        }
        match self {
            Features::Bytes(values) => keep(values, width, numbers),
            Features::Floats(values) => keep(values, width, numbers),
        }
    }
}

/// Copies the rows with these indices; each row has `width` values. Returns an empty list for no values.
pub(crate) fn rows<T: Clone>(values: &[T], width: usize, numbers: &[u32]) -> Vec<T> {
    let numbers = if values.is_empty() { &[] } else { numbers };
    let mut rows = Vec::with_capacity(numbers.len() * width);
    numbers.iter().for_each(|row| rows.extend_from_slice(&values[*row as usize * width..][..width]));
    rows
}

/// Whether a value is a whole number from 0 to 255, tested by a cast in both directions.
pub(crate) fn is_byte(value: &f32) -> bool {
    f32::from(*value as u8) == *value
}

/// Converts bytes to floats, exactly, with memory for `extra` more.
pub(crate) fn floats(bytes: &[u8], extra: usize, name: &Path) -> Result<Vec<f32>> {
    let mut floats = Vec::new();
    reserve(&mut floats, bytes.len() + extra, name)?;
    floats.extend(bytes.iter().copied().map(f32::from));
    Ok(floats)
}

/// Reserves memory for exactly `extra` more values, or returns an error if the machine has too little.
pub(crate) fn reserve<T>(values: &mut Vec<T>, extra: usize, name: &Path) -> Result<()> {
    let bytes = (values.len() as u128 + extra as u128) * size_of::<T>() as u128;
    // Encoded columns, held-out rows and the engine's copies follow: one error states the total need.
    check_memory(bytes, &format!("{}: the table", name.display())).map_err(|error| {
        Error::Config(format!(
            "{error}; allow three times as much in all to prepare its columns and to train"
        ))
    })?;
    values
        .try_reserve_exact(extra)
        .map_err(|error| Error::Config(format!("{}: no memory for the table: {error}", name.display())))?;
    prefer_large_pages(values);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_all_that_follows_is_named_at_once() {
        let error = reserve(&mut Vec::<f32>::new(), 1 << 60, Path::new("t.csv")).unwrap_err().to_string();
        assert!(error.starts_with("t.csv: the table needs 4.6 EB of memory, but only "), "{error}");
        assert!(
            error.ends_with("; allow three times as much in all to prepare its columns and to train"),
            "{error}"
        );
    }
}
