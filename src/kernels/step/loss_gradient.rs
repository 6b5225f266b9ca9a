//! Host half of `shaders/loss_gradient.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Cost, Kernel, LossTargets, Piece, Shader, StepRecord, ThreadLayout, Tuning, blocks, matrix, uniform,
    word, words,
};

static SHADER: Shader = Shader {
    name: "loss_gradient",
    source: include_str!("../../../shaders/loss_gradient.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Write, Access::Write],
    records: 1,
};

/// The same with the targets of the data set.
static BY_ORDER: Shader =
    Shader { bindings: &[Access::Read, Access::Read, Access::Read, Access::Write, Access::Write], ..SHADER };

/// D = the gradient by the outputs of the mean of weight * loss over the rows, with the loss.
/// Buffers: Z [rows, outputs], targets of the batch, D [rows, outputs], metrics [slots, groups] as
/// [`Tuning::row_groups`](crate::kernels::Tuning::row_groups) counts them; by way of the order: Z, targets of the data set,
/// order, D, metrics.
#[derive(Debug, Clone, Copy)]
pub struct LossGradient {
    /// Most rows of a batch.
    pub rows: usize,
    /// Outputs of the network.
    pub outputs: usize,
    /// The loss, and how targets stand.
    pub targets: LossTargets,
    /// Rows of the data set, if the targets are its, by way of the order.
    pub samples: Option<usize>,
}

impl Kernel for LossGradient {
    fn shader(&self) -> &'static Shader {
        if self.samples.is_some() { &BY_ORDER } else { &SHADER }
    }

    fn params(&self) -> Vec<u8> {
        let [own, other] = self.numbers();
        uniform(&[word(self.outputs), word(self.samples.unwrap_or(1).max(1)), own, other])
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Rows(self.rows)
    }

    fn numbers(&self) -> [u32; 2] {
        self.targets.probabilities(self.outputs).map(f32::to_bits)
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        vec![("WEIGHTED", self.targets.weighted)]
    }

    fn pieces(&self) -> Vec<(&'static str, Piece)> {
        let samples = if self.samples.is_some() { "samples_order" } else { "samples_batch" };
        [self.targets.pieces(), vec![("samples", Piece::Named(samples))]].concat()
    }

    fn fused(&self) -> Vec<String> {
        let weights = self.targets.weighted.then(|| "weights".to_owned());
        [self.targets.loss.to_string()].into_iter().chain(weights).collect()
    }

    fn extents(&self, tuning: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let (z, metrics) =
            (matrix(record.live(), self.outputs), record.metrics_bytes(tuning.row_groups(self.rows)));
        let targets = |rows: usize| words(&[&[rows, self.targets.words(self.outputs)]]);
        Ok(match self.samples {
            Some(samples) => vec![z, targets(samples.max(1)), record.order_bytes(false), z, metrics],
            None => vec![z, targets(record.live()), z, metrics],
        })
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.rows, self.outputs)
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let (elements, stored) = (self.rows * self.outputs, self.rows * 4 * blocks(self.outputs));
        let writes = stored + 2 * tuning.row_groups(self.rows);
        let (order, weights) = (usize::from(self.samples.is_some()), usize::from(self.targets.weighted));
        let flop = elements * self.targets.loss.flop() + 3 * self.rows;
        // Every lane reads the row's number, its class and its weight.
        let lanes = tuning.lanes * self.rows;
        let (reads, trees) = match self.targets.loss.of_classes() {
            // The maximum, the sum, the prediction and the gradient each read the outputs.
            true => (4 * elements + lanes * (order + 1 + weights), 3),
            false => (2 * elements + lanes * (order + weights), 0),
        };
        let cost = Cost::dispatch(reads, writes, flop);
        tuning.metrics_trees(tuning.row_trees(cost, self.rows, trees), self.rows)
    }
}
