//! Distorted copies of rows, made by the processor.

use crate::data::{Features, Rows};
use crate::step::{Distortion, Pixel, Work};
use crate::threads::each;

/// Rows that a thread distorts at a time.
const PIECE_ROWS: usize = 256;

/// Maker of distorted copies of rows.
pub(crate) struct Distorter<'a> {
    /// The distortions.
    pub distortion: &'a Distortion,
    /// Number of the epoch, or of the copy.
    pub epoch: usize,
    /// Number of the first row for the random numbers.
    pub first: usize,
    /// Most threads.
    pub threads: usize,
}

impl Distorter<'_> {
    /// Returns distorted copies of the rows with these numbers, in their order.
    pub fn copies(&self, rows: &Rows<'_>, numbers: &[u32]) -> Features {
        let mut features = Features::default();
        self.extend(&mut features, rows, numbers);
        features
    }

    /// Appends distorted copies of the rows with these numbers.
    fn extend(&self, to: &mut Features, rows: &Rows<'_>, numbers: &[u32]) {
        if to.is_empty() {
            *to = Features::with_room(0, matches!(rows.features, Features::Floats(_)));
        }
        match (rows.features, to) {
            (Features::Bytes(from), Features::Bytes(to)) => self.append(from, to, numbers),
            (Features::Floats(from), Features::Floats(to)) => self.append(from, to, numbers),
            _ => unreachable!("images stay bytes or floats while a network trains on them"),
        }
    }

    fn append<T: Pixel + Default + Send + Sync>(&self, from: &[T], to: &mut Vec<T>, numbers: &[u32]) {
        let (width, before) = (self.distortion.size.values(), to.len());
        to.resize(before + numbers.len() * width, T::default());
        let pieces = to[before..].chunks_mut(PIECE_ROWS * width).zip(numbers.chunks(PIECE_ROWS));
        each(self.threads, pieces, |(to, numbers)| {
            let mut work = Work::default();
            for (to, row) in to.chunks_exact_mut(width).zip(numbers) {
                let image = &from[*row as usize * width..][..width];
                let place = [self.epoch as u32, (self.first as u32).wrapping_add(*row)];
                self.distortion.distort(place, image, to, &mut work);
            }
        });
    }
}

/// The distorted training rows of the epoch in training, as far as they have been read.
pub(crate) struct AugmentedRows {
    distortion: Distortion,
    epoch: usize,
    features: Features,
}

impl AugmentedRows {
    /// Begins without rows.
    pub fn new(distortion: Distortion) -> Self {
        Self { distortion, epoch: 0, features: Features::default() }
    }

    /// Distorts rows that have been read since the last call, or all rows of another epoch, on at most `threads` threads.
    /// Returns whether earlier rows were replaced.
    pub fn update(&mut self, rows: &Rows<'_>, epoch: usize, threads: usize) -> bool {
        let is_new = self.epoch != epoch;
        if is_new {
            self.epoch = epoch;
            match &mut self.features {
                Features::Bytes(values) => values.clear(),
                Features::Floats(values) => values.clear(),
            }
        }
        let missing = self.features.len() / rows.inputs..rows.len();
        let numbers: Vec<u32> = missing.map(|row| row as u32).collect();
        let distorter = Distorter { distortion: &self.distortion, epoch, first: 0, threads };
        distorter.extend(&mut self.features, rows, &numbers);
        is_new
    }

    /// Returns these rows with distorted features.
    pub fn view<'a>(&'a self, rows: &Rows<'a>) -> Rows<'a> {
        Rows { features: &self.features, ..*rows }
    }
}
