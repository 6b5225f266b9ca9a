//! Host half of `shaders/gather.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, FeatureFormat, Kernel, Samples, Seal, Shader, StepRecord, ThreadLayout, Tuning,
    blocks, live_rows, matrix, order_bytes, word, words,
};

static SHADER: Shader = Shader::of_step("gather", &[Read, Read, Read, Write, Write]);

/// `X[r] = features[order[first + r]]`, `Y[r] = targets[order[first + r]]`.
/// Buffers: features, targets [samples, words], order, X [rows, inputs], Y [rows, words].
#[derive(Debug, Clone, Copy)]
pub struct Gather {
    /// Most rows of a batch.
    pub rows: usize,
    /// Inputs of the network.
    pub inputs: usize,
    /// Words of a row's targets.
    pub words: usize,
    /// The data set.
    pub samples: Samples,
}

impl Kernel for Gather {
    fn describe(&self, _: Seal) -> Description {
        let Self { rows, inputs, words, samples } = *self;
        let words = [inputs, samples.rows(), words, 0].map(word);
        let alone = Description::new(&SHADER, &words, self.layout(), format!("{rows} x {inputs}"));
        Description { pieces: vec![("features", samples.stored.piece())], ..alone }
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let (rows, samples) = (live_rows(record, &SHADER, self.rows)?, self.samples.rows());
        let targets = |rows: usize| words(&[&[rows, self.words]]);
        let (features, x) = (self.samples.bytes(self.inputs), matrix(rows, self.inputs));
        Ok(vec![features, targets(samples), order_bytes(record, false), x, targets(rows)])
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let width = blocks(self.inputs);
        let words = self.samples.stored.words();
        let flop = if self.samples.stored == FeatureFormat::Bytes { 4 } else { 0 };
        // For each vec4 its row number and its values; for each row its targets.
        let reads = self.rows * (width * (1 + words) + self.words);
        Cost::dispatch(reads, self.rows * (4 * width + self.words), self.rows * width * flop)
    }
}

impl Gather {
    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Elements(self.rows.saturating_mul(blocks(self.inputs)))
    }
}
