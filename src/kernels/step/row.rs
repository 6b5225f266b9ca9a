//! Host half of `shaders/row.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Cost, Kernel, MatmulTile, Piece, Shader, StepRecord, StepShape, ThreadLayout, Tuning, blocks, vec4s,
    words,
};

static SHADER: Shader = Shader {
    name: "row",
    source: include_str!("../../../shaders/row.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Write, Access::Write],
    reads_record: true,
};

/// All of a step that goes along the rows of a batch: from the first layer's sums to the loss, and back to its delta.
/// Buffers: parameters with the partial sums behind them, targets, order, activations with their deltas behind them,
/// metrics [slots, groups] as [`Tuning::batch_groups`] counts them.
#[derive(Debug, Clone)]
pub struct Row {
    shape: StepShape,
    samples: usize,
    product: MatmulTile,
}

impl Row {
    /// For steps of this shape, over a data set of so many rows.
    pub fn new(shape: &StepShape, samples: usize, tuning: &Tuning) -> Self {
        Self { shape: shape.clone(), samples, product: tuning.row }
    }
}

impl Kernel for Row {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        self.shape.params(self.product, self.samples.max(1))
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::BatchRows(self.shape.rows)
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        vec![("WEIGHTED", self.shape.targets.weighted), ("DROPOUT", self.shape.has_dropout())]
    }

    fn pieces(&self) -> Vec<(&'static str, Piece)> {
        [self.shape.targets.pieces(), vec![self.shape.activation_piece()]].concat()
    }

    fn fused(&self) -> Vec<String> {
        let used = if self.shape.layers.len() > 1 { self.shape.activations_used() } else { Vec::new() };
        let dropout = self.shape.has_dropout().then(|| "dropout".to_owned());
        let loss = self.shape.targets.loss.to_string();
        used.iter().map(|activation| activation.to_string()).chain(dropout).chain([loss]).collect()
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let shape = &self.shape;
        let words_of_row = shape.targets.words(shape.layers[shape.layers.len() - 1].outputs);
        let owned = 4 * self.product.tile()[0];
        Ok(vec![
            vec4s(&[&[shape.layout.state_distance()]]),
            words(&[&[self.samples.max(1), words_of_row]]),
            record.order_bytes(false),
            vec4s(&[&[2, shape.activations()]]),
            record.metrics_bytes(shape.rows.div_ceil(owned)),
        ])
    }

    fn shape(&self) -> String {
        self.shape.describe()
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let StepShape { rows, layers, parts, targets, .. } = &self.shape;
        let (groups, threads) = (tuning.batch_groups(*rows), self.product.threads());
        let width = |units: usize| 4 * blocks(units);
        // The first layer's outputs: their parts and the bias.
        let first = rows * width(layers[0].outputs);
        let copies = |layer: usize| {
            if layer + 1 < layers.len() && layers[layer].nonlinearity.keeps_z() { 2 } else { 1 }
        };
        let mut cost = Cost::dispatch((parts + 1) * first, copies(0) * first, (parts + 1) * first);
        for (number, layer) in layers.iter().enumerate().skip(1) {
            let (inputs, outputs) = (width(layer.inputs), width(layer.outputs));
            // Forward, with the bias; back, with the slope.
            let forward = [*rows, layer.outputs, layer.inputs];
            let weights = layer.inputs * outputs;
            let stores = copies(number) * rows * outputs;
            cost += self.product.cost(forward, rows * inputs, weights).with(rows * outputs, stores, 0);
            let back = [*rows, layer.inputs, layer.outputs];
            cost += self.product.cost(back, rows * outputs, weights).with(rows * inputs, rows * inputs, 0);
        }
        // Three passes over the outputs for losses of classes, else one; a row's number, targets and weight.
        let outputs = layers[layers.len() - 1].outputs;
        let (passes, of_row) = if targets.loss.of_classes() { (3, 1) } else { (1, outputs) };
        let of_row = 1 + of_row + usize::from(targets.weighted);
        let owned = 4 * self.product.tile()[0];
        let cost = cost.with(
            rows * (passes * width(outputs) + of_row),
            rows * width(outputs) + 2 * groups,
            rows * (targets.loss.flop() * width(outputs) + 3),
        );
        let barriers = 3 + 2 * (layers.len() - 1);
        let cost = cost.sharing(2 * groups * owned.min(threads), 2 * groups * threads, groups * barriers);
        Cost { dispatches: 1, ..cost }
    }
}
