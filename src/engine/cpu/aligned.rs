//! Float buffers aligned to cache lines.

use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut};

/// Number of floats in a cache line, which is as long as the longest vector.
const LINE: usize = 16;

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// Floats that start at a cache line, so no aligned vector spans two lines.
#[derive(Debug, Clone, Default)]
pub struct Aligned {
    lines: Vec<Line>,
    length: usize,
}

impl Aligned {
    /// Returns `length` zeros.
    pub fn zeros(length: usize) -> Self {
        Self { lines: vec![Line::zeroed(); length.div_ceil(LINE)], length }
    }

    /// Keeps the first `length` numbers; added numbers have their last value, or 0. Allocates only if
    /// `length` exceeds every earlier length.
    pub fn resize(&mut self, length: usize) {
        if self.lines.len() * LINE < length {
            self.lines.resize(length.div_ceil(LINE), Line::zeroed());
        }
        self.length = length;
    }

    /// Returns `length` numbers of unspecified value. Allocates only if `length` exceeds every earlier
    /// length.
    pub fn room(&mut self, length: usize) -> &mut [f32] {
        if self.length < length {
            self.resize(length);
        }
        &mut self[..length]
    }
}

impl Deref for Aligned {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &cast_slice(&self.lines)[..self.length]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut cast_slice_mut(&mut self.lines)[..self.length]
    }
}

impl From<&[f32]> for Aligned {
    fn from(values: &[f32]) -> Self {
        let mut aligned = Self::zeros(values.len());
        aligned.copy_from_slice(values);
        aligned
    }
}

impl PartialEq for Aligned {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_begin_at_a_cache_line_and_keep_what_they_were() {
        let mut numbers = Aligned::from(&[1.0, 2.0, 3.0][..]);
        let mut want = vec![0.0; 100];
        want[..3].copy_from_slice(&numbers);
        for length in [0, 1, 2, 40, 17, 16, 33, 3, 100] {
            numbers.resize(length);
            assert_eq!((numbers.len(), numbers.as_ptr().addr() % 64), (length, 0));
            assert_eq!(*numbers, want[..length]);
            numbers.fill(length as f32);
            want[..length].fill(length as f32);
        }
        assert!(numbers == numbers.clone() && numbers != Aligned::zeros(100) && numbers != Aligned::zeros(3));
    }
}
