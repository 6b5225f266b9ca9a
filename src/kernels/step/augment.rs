//! Host half of `shaders/augment.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, FeatureFormat, Kernel, Piece, Samples, Seal, Shader, StepRecord, ThreadLayout, Tuning,
    blocks, live_rows, shape_error, word, words,
};
use crate::step::{Distortion, ImageSize};

static SHADER: Shader = Shader::of_step("augment", &[Read, Write]);

/// Images of a data set, distorted at random: see [`Distortion`]. The record has the first row, the number of rows, the
/// epoch as its step, and the seed. Buffers: images, distorted images [samples, values].
#[derive(Debug, Clone, Copy)]
pub struct Augment {
    /// Ranges of the distortions, and the size of the images.
    pub distortion: Distortion,
    /// Most rows of a dispatch.
    pub rows: usize,
    /// The data set.
    pub samples: Samples,
}

impl Augment {
    /// Returns the record of these rows in an epoch.
    pub fn record(&self, first: usize, rows: usize, epoch: u32) -> StepRecord {
        let Distortion { seed, .. } = self.distortion;
        let seed = [seed as u32, (seed >> 32) as u32];
        StepRecord { first: word(first), rows: word(rows), step: epoch, seed, ..StepRecord::default() }
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Teams { lines: self.rows, length: 1, each: 1 }
    }

    /// Returns the points of the lattice.
    fn points(&self) -> usize {
        let [columns, rows] = self.distortion.lattice;
        columns.saturating_mul(rows)
    }
}

impl Kernel for Augment {
    fn describe(&self, _: Seal) -> Description {
        let Distortion { size, turn, shear, zoom, shift, flip, density, strength, lattice, cutout, .. } =
            self.distortion;
        let ImageSize { height, width, channels } = size;
        let [height, width, channels, columns, rows] =
            [height, width, channels, lattice[0], lattice[1]].map(word);
        let [density, strength, turn, shear, zoom, shift] =
            [density, strength, turn, shear, zoom, shift].map(f32::to_bits);
        let words = [height, width, channels, u32::from(flip), columns, rows, cutout, density];
        let words = [&words[..], &[strength, turn, shear, zoom, shift, 0, 0, 0]].concat();
        let shape = format!("{} x {height} x {width} x {channels}", self.rows);
        let distorted = match self.samples.stored {
            FeatureFormat::Bytes => "distorted_bytes",
            FeatureFormat::Floats => "distorted_floats",
        };
        let pieces = vec![("features", self.samples.stored.piece()), ("distorted", Piece::Named(distorted))];
        Description { pieces, ..Description::new(&SHADER, &words, self.layout(), shape) }
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let Distortion { size, lattice, .. } = self.distortion;
        let rows = live_rows(record, &SHADER, self.rows)?.saturating_add(record.first as usize);
        let sides = [size.height, size.width, size.channels];
        if sides.contains(&0) || sides.iter().any(|side| *side > 1 << 14) || size.values() > 1 << 28 {
            let expected = "images of 1 to 16384 pixels a side, and at most 2^28 values".to_owned();
            return Err(shape_error(&SHADER, expected, format!("{size:?}")));
        }
        let fits = lattice == [0; 2]
            || lattice.iter().all(|side| *side >= 4) && self.points() <= Distortion::MOST_POINTS;
        if !fits {
            let expected = format!("a lattice of 4 x 4 to {} points", Distortion::MOST_POINTS);
            return Err(shape_error(&SHADER, expected, format!("{lattice:?}")));
        }
        let bytes = words(&[&[rows, blocks(size.values()), self.samples.stored.words()]]);
        Ok(vec![bytes; 2])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let values = self.distortion.size.values();
        let words = self.samples.stored.words();
        // Four neighbours of each value, each in a separate vec4.
        let (reads, writes) = (4 * values * words, blocks(values) * words);
        let points = self.points();
        // Of each value: its place, the weights of the lattice and its neighbours.
        let displaced = if points > 0 { 100 } else { 0 };
        let flop = values * (22 + displaced);
        let shared = if points > 0 { 32 * values } else { 0 };
        let teams = tuning.groups(self.layout());
        Cost::dispatch(self.rows * reads, self.rows * writes, self.rows * flop).sharing(
            self.rows * shared,
            teams * 2 * points,
            teams,
        )
    }
}
