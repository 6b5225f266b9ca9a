//! Host half of `shaders/loss_gradient.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, Kernel, LossTargets, Piece, Seal, Shader, StepRecord, ThreadLayout, Tuning, blocks,
    live_rows, matrix, metrics_bytes, order_bytes, word, words,
};

static SHADER: Shader = Shader::of_step("loss_gradient", &[Read, Read, Write, Write]);

/// Shader for targets in the data set.
static BY_ORDER: Shader = Shader::of_step("loss_gradient", &[Read, Read, Read, Write, Write]);

/// D = the gradient with respect to the outputs of the mean of weight * loss over the rows, with the loss.
/// Buffers: Z [rows, outputs], targets of the batch, D [rows, outputs], metrics [slots, groups] with the
/// groups of [`Tuning::row_groups`](crate::kernels::Tuning::row_groups); with targets in the data set: Z,
/// targets of the data set, order, D, metrics.
#[derive(Debug, Clone, Copy)]
pub struct LossGradient {
    /// Most rows of a batch.
    pub rows: usize,
    /// Outputs of the network.
    pub outputs: usize,
    /// The loss, and the format of targets.
    pub targets: LossTargets,
    /// Rows of the data set, if targets are read from it by the order.
    pub samples: Option<usize>,
}

impl Kernel for LossGradient {
    fn describe(&self, _: Seal) -> Description {
        let Self { rows, outputs, targets, samples } = *self;
        let (shader, piece) = match samples {
            Some(_) => (&BY_ORDER, "samples_order"),
            None => (&SHADER, "samples_batch"),
        };
        let numbers = targets.probabilities(outputs).map(f32::to_bits);
        let words = [word(outputs), word(samples.unwrap_or(1).max(1)), numbers[0], numbers[1]];
        let weights = targets.weighted.then(|| "weights".to_owned());
        Description {
            flags: vec![("WEIGHTED", targets.weighted)],
            pieces: [targets.pieces(), vec![("samples", Piece::Named(piece))]].concat(),
            fuses: Some([targets.loss.to_string()].into_iter().chain(weights).collect()),
            numbers,
            ..Description::new(shader, &words, ThreadLayout::Rows(rows), format!("{rows} x {outputs}"))
        }
    }

    fn extents(&self, tuning: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let rows = live_rows(record, &SHADER, self.rows)?;
        let (z, metrics) = (matrix(rows, self.outputs), metrics_bytes(record, tuning.row_groups(self.rows)));
        let targets = |rows: usize| words(&[&[rows, self.targets.words(self.outputs)]]);
        Ok(match self.samples {
            Some(samples) => vec![z, targets(samples.max(1)), order_bytes(record, false), z, metrics],
            None => vec![z, targets(rows), z, metrics],
        })
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
