//! Distorted copies of training rows, made by the processor.

use crate::data::{Features, Rows};
use crate::step::{Distortion, Pixel, Work};
use crate::threads::each;

/// Rows that a thread distorts at a time.
const PIECE_ROWS: usize = 256;

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
            clear(&mut self.features);
        }
        let numbers: Vec<u32> =
            (self.features.len() / rows.inputs..rows.len()).map(|row| row as u32).collect();
        distort_into(&mut self.features, &self.distortion, rows, &numbers, epoch, threads);
        is_new
    }

    /// Returns these rows with distorted features.
    pub fn view<'a>(&'a self, rows: &Rows<'a>) -> Rows<'a> {
        Rows { features: &self.features, ..*rows }
    }
}

/// Returns distorted copies of the rows with these numbers, in their order, made on at most `threads` threads.
pub(crate) fn distorted(
    distortion: &Distortion,
    rows: &Rows<'_>,
    numbers: &[u32],
    epoch: usize,
    threads: usize,
) -> Features {
    let mut features = Features::default();
    distort_into(&mut features, distortion, rows, numbers, epoch, threads);
    features
}

fn clear(features: &mut Features) {
    match features {
        Features::Bytes(values) => values.clear(),
        Features::Floats(values) => values.clear(),
    }
}

/// Appends distorted copies of the rows with these numbers.
fn distort_into(
    to: &mut Features,
    distortion: &Distortion,
    rows: &Rows<'_>,
    numbers: &[u32],
    epoch: usize,
    threads: usize,
) {
    if to.is_empty() {
        *to = Features::with_room(0, matches!(rows.features, Features::Floats(_)));
    }
    match (rows.features, to) {
        (Features::Bytes(from), Features::Bytes(to)) => append(to, distortion, from, numbers, epoch, threads),
        (Features::Floats(from), Features::Floats(to)) => {
            append(to, distortion, from, numbers, epoch, threads)
        }
        _ => unreachable!("images stay bytes or floats while a network trains on them"),
    }
}

fn append<T: Pixel + Default + Send + Sync>(
    to: &mut Vec<T>,
    distortion: &Distortion,
    from: &[T],
    numbers: &[u32],
    epoch: usize,
    threads: usize,
) {
    let (width, before) = (distortion.size.values(), to.len());
    to.resize(before + numbers.len() * width, T::default());
    let pieces = to[before..].chunks_mut(PIECE_ROWS * width).zip(numbers.chunks(PIECE_ROWS));
    each(threads, pieces, |(to, numbers)| {
        let mut work = Work::default();
        for (to, row) in to.chunks_exact_mut(width).zip(numbers) {
            let image = &from[*row as usize * width..][..width];
            distortion.distort([epoch as u32, *row], image, to, &mut work);
        }
    });
}
