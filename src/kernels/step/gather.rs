//! Host half of `shaders/gather.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Cost, FeatureFormat, Kernel, Latency, Piece, Samples, Shader, StepRecord, ThreadLayout, Tuning, blocks,
    matrix, uniform, word, words,
};

static SHADER: Shader = Shader {
    name: "gather",
    source: include_str!("../../../shaders/gather.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Write, Access::Write],
    records: 1,
};

/// `X[r] = features[order[first + r]]`, `Y[r] = targets[order[first + r]]`.
/// Buffers: features, targets [samples, words], order, X [rows, inputs], Y [rows, words].
#[derive(Debug, Clone, Copy)]
pub struct Gather {
    /// Most rows of a batch.
    pub rows: usize,
    /// Inputs of the network.
    pub inputs: usize,
    /// Words of the targets of a row.
    pub words: usize,
    /// The data set.
    pub samples: Samples,
}

impl Kernel for Gather {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        uniform(&[word(self.inputs), word(self.samples.rows()), word(self.words), 0])
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Elements(self.rows * blocks(self.inputs))
    }

    fn pieces(&self) -> Vec<(&'static str, Piece)> {
        vec![("features", self.samples.stored.piece())]
    }

    fn most_rows(&self) -> Option<usize> {
        Some(self.rows)
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let targets = |rows: usize| words(&[&[rows, self.words]]);
        let samples = self.samples.rows();
        let (features, x) = (self.samples.bytes(self.inputs), matrix(record.live(), self.inputs));
        Ok(vec![features, targets(samples), record.order_bytes(false), x, targets(record.live())])
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.inputs)
    }

    fn latency(&self, tuning: &Tuning) -> Latency {
        let groups = tuning.grid(self.layout()).into_iter().product();
        // Which row it is comes first.
        Latency::even(&self.cost(tuning), groups, tuning.threads(self.layout())).with(1, 0, 0)
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let width = blocks(self.inputs);
        let words = self.samples.stored.words();
        let flop = if self.samples.stored == FeatureFormat::Bytes { 4 } else { 0 };
        // Of each vec4 its row number and its values; of each row its targets.
        let reads = self.rows * (width * (1 + words) + self.words);
        Cost::dispatch(reads, self.rows * (4 * width + self.words), self.rows * width * flop)
    }
}
