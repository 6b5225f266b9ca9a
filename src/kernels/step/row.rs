//! Host half of `shaders/row.wgsl`.

use crate::gpu::Access;
use crate::kernels::{Cost, Kernel, MatmulTile, Shader, StepShape, ThreadLayout, Tuning, blocks};

static SHADER: Shader = Shader {
    name: "row",
    source: include_str!("../../../shaders/row.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Write, Access::Write],
    reads_record: true,
};

/// All of a step that goes along the rows of a batch: from the first layer's sums to the loss, and back to its delta.
/// Buffers: parameters with the partial sums behind them, labels, order, activations with their deltas behind them,
/// metrics [slots, groups] as [`Tuning::batch_groups`] counts them.
#[derive(Debug, Clone)]
pub struct Row {
    shape: StepShape,
    product: MatmulTile,
}

impl Row {
    /// For steps of this shape.
    pub fn new(shape: &StepShape, tuning: &Tuning) -> Self {
        Self { shape: shape.clone(), product: tuning.row }
    }
}

impl Kernel for Row {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        self.shape.params(self.product, 0.0)
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::BatchRows(self.shape.rows)
    }

    fn shape(&self) -> String {
        self.shape.describe()
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let StepShape { rows, layers, parts, .. } = &self.shape;
        let (groups, threads) = (tuning.batch_groups(*rows), self.product.threads());
        let width = |units: usize| 4 * blocks(units);
        // The first layer's outputs: their parts and the bias.
        let first = rows * width(layers[0].outputs);
        let mut cost = Cost::dispatch((parts + 1) * first, first, (parts + 1) * first);
        for layer in &layers[1..] {
            let (inputs, outputs) = (width(layer.inputs), width(layer.outputs));
            // Forward, with the bias; back, with the mask.
            let forward = [*rows, layer.outputs, layer.inputs];
            let weights = layer.inputs * outputs;
            cost +=
                self.product.cost(forward, rows * inputs, weights).with(rows * outputs, rows * outputs, 0);
            let back = [*rows, layer.inputs, layer.outputs];
            cost += self.product.cost(back, rows * outputs, weights).with(rows * inputs, rows * inputs, 0);
        }
        // Three passes over the logits; a row's number and label.
        let classes = width(layers[layers.len() - 1].outputs);
        let owned = 4 * self.product.tile()[0];
        let cost =
            cost.with(rows * (3 * classes + 2), rows * classes + 2 * groups, rows * (10 * classes + 3));
        let barriers = 3 + 2 * (layers.len() - 1);
        let cost = cost.sharing(2 * groups * owned.min(threads), 2 * groups * threads, groups * barriers);
        Cost { dispatches: 1, ..cost }
    }
}
