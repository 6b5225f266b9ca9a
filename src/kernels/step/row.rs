//! Host half of `shaders/row.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Cost, EPILOGUE, Kernel, Latency, Piece, ROWS_TOGETHER, Shader, StepRecord, StepShape, ThreadLayout,
    Tuning, blocks, vec4s, words,
};

static SHADER: Shader = Shader {
    name: "row",
    source: include_str!("../../../shaders/row.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Write, Access::Write],
    records: 1,
};

/// All of a step that goes along the rows of a batch: from the first layer's sums to the loss, and back to its delta.
/// Buffers: parameters with the partial sums behind them, targets, order, activations with their deltas behind them,
/// metrics [slots, groups] as [`Tuning::batch_groups`] counts them.
#[derive(Debug, Clone)]
pub struct Row {
    shape: StepShape,
    samples: usize,
}

impl Row {
    /// For steps of this shape, over a data set of so many rows.
    pub fn new(shape: &StepShape, samples: usize) -> Self {
        Self { shape: shape.clone(), samples }
    }
}

impl Kernel for Row {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        self.shape.params([1, 1], self.samples.max(1))
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
        self.shape.fused_into_rows()
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let shape = &self.shape;
        let words_of_row = shape.targets.words(shape.layers[shape.layers.len() - 1].outputs);
        Ok(vec![
            vec4s(&[&[shape.layout.state_distance()]]),
            words(&[&[self.samples.max(1), words_of_row]]),
            record.order_bytes(false),
            vec4s(&[&[2, shape.activations()]]),
            record.metrics_bytes(shape.rows.div_ceil(ROWS_TOGETHER)),
        ])
    }

    fn shape(&self) -> String {
        self.shape.describe()
    }

    fn latency(&self, tuning: &Tuning) -> Latency {
        let StepShape { layers, parts, targets, .. } = &self.shape;
        let (threads, most) = (tuning.row, tuning.row / 2);
        // The first layer: eight parts at a time.
        let chunks = blocks(layers[0].outputs).div_ceil(most);
        let first = Latency::default().with(
            chunks * (1 + parts.div_ceil(8)),
            1,
            chunks * (20 * parts.div_ceil(8) + EPILOGUE),
        );
        let latency = layers.iter().skip(1).fold(first, |all, layer| {
            let (inputs, outputs) = (blocks(layer.inputs), blocks(layer.outputs));
            let forward = Through { inner: inputs, outer: outputs, threads };
            let back = Through { inner: outputs, outer: inputs, threads };
            [forward, back].into_iter().fold(all, |all, pass| all + pass.latency())
        });
        let outputs = layers[layers.len() - 1].outputs;
        latency.with(2, 2, targets.operations(outputs))
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let StepShape { rows, layers, parts, targets, .. } = &self.shape;
        let (rows, groups, threads) = (*rows, tuning.batch_groups(*rows), tuning.row);
        let most = threads / 2;
        let copies = |layer: usize| {
            if layer + 1 < layers.len() && layers[layer].nonlinearity.keeps_z() { 2 } else { 1 }
        };
        // What is kept of a layer's outputs or deltas in workgroup memory, and the barrier where that has no room.
        let held = |width: usize| if width <= most { 4 * ROWS_TOGETHER * width } else { 0 };
        let published = |width: usize| usize::from(width > most);

        // The first layer's outputs: eight parts at a time, and the bias.
        let width = blocks(layers[0].outputs);
        let loads = width.div_ceil(most) * threads * 8 * parts.div_ceil(8) + ROWS_TOGETHER * width;
        let stores = copies(0) * rows * 4 * width;
        let mut cost = Cost::dispatch(groups * 4 * loads, stores, (parts + 1) * rows * 4 * width).sharing(
            0,
            groups * held(width),
            groups * (1 + published(width)),
        );
        for (number, layer) in layers.iter().enumerate().skip(1) {
            let (inputs, outputs) = (blocks(layer.inputs), blocks(layer.outputs));
            let flop = 2 * rows * layer.inputs * layer.outputs;
            let forward = Through { inner: inputs, outer: outputs, threads };
            let back = Through { inner: outputs, outer: inputs, threads };
            for pass in [forward, back] {
                cost += Cost { dispatches: 0, ..pass.cost(rows, groups) };
                cost = cost.with(0, 0, flop).sharing(
                    0,
                    groups * held(pass.outer),
                    groups * published(pass.outer),
                );
            }
            // The bias; what was kept of the layer below, and its deltas.
            let bias = groups * ROWS_TOGETHER * outputs * 4;
            cost = cost.with(bias, copies(number) * rows * 4 * outputs, 0);
            cost = cost.with(rows * 4 * inputs, rows * 4 * inputs, 0);
        }

        // Three passes over the outputs for losses of classes, else one; a row's number, targets and weight.
        let outputs = layers[layers.len() - 1].outputs;
        let width = blocks(outputs);
        let (passes, of_row) = if targets.loss.of_classes() { (3, 1) } else { (1, outputs) };
        let of_row = 1 + of_row + usize::from(targets.weighted);
        let z = rows * passes * 4 * width;
        let [from_storage, from_held] = if width <= most { [0, z] } else { [z, 0] };
        let deltas = if width <= most { rows * 4 * width } else { 0 };
        let cost = cost.with(
            from_storage + rows * of_row,
            rows * 4 * width + 2 * groups,
            rows * (targets.loss.flop() * 4 * width + 3),
        );
        let cost = cost.sharing(
            from_held + groups * 4 * ROWS_TOGETHER,
            deltas + groups * 4 * ROWS_TOGETHER,
            groups * (2 + published(width)),
        );
        Cost { dispatches: 1, ..cost }
    }
}

/// A product of the rows with a layer's weights. Counts are in blocks.
#[derive(Clone, Copy)]
struct Through {
    inner: usize,
    outer: usize,
    threads: usize,
}

impl Through {
    /// Blocks of the units, and slices of the inner dimension, of each chunk.
    fn chunks(self) -> Vec<[usize; 2]> {
        let most = self.threads / 2;
        let chunks = (0..self.outer).step_by(most).map(|start| most.min(self.outer - start));
        chunks.map(|chunk| [chunk, (self.threads / chunk).min(self.inner.div_ceil(4))]).collect()
    }

    /// What a thread does one after the other.
    fn latency(self) -> Latency {
        let most = self.threads / 2;
        let pieces = self.inner.div_ceil(most);
        self.chunks().into_iter().fold(Latency::default(), |all, [_, slices]| {
            // Four blocks of weights at a time; a block takes 32 multiply-adds and nearly as many others.
            let blocks = self.inner.div_ceil(slices).next_multiple_of(4);
            let bring = if pieces > 1 { [pieces, 2 * pieces] } else { [0, 0] };
            let operations = 57 * blocks + 8 * slices + 3 * EPILOGUE;
            all.with(blocks / 4 + bring[0], 2 + bring[1], operations)
        })
    }

    /// What the weights, the operand and the sums cost.
    fn cost(self, rows: usize, groups: usize) -> Cost {
        let most = self.threads / 2;
        let pieces = self.inner.div_ceil(most);
        let mut cost = Cost::default();
        for [chunk, slices] in self.chunks() {
            for piece in 0..pieces {
                let count = most.min(self.inner - piece * most);
                // A thread takes four blocks of weights and of the operand at a time; behind the last comes the last again.
                let times: usize =
                    (0..slices).map(|slice| count.saturating_sub(slice).div_ceil(4 * slices)).sum();
                cost += Cost::dispatch(groups * chunk * times * 4 * 16, 0, 0).sharing(
                    groups * chunk * times * 4 * 4 * ROWS_TOGETHER,
                    0,
                    0,
                );
                if pieces > 1 {
                    let operand = 4 * count;
                    cost = cost.with(rows * operand, 0, 0).sharing(
                        0,
                        groups * ROWS_TOGETHER * operand,
                        groups * 2,
                    );
                }
            }
            let sums = groups * 4 * ROWS_TOGETHER * chunk;
            cost = cost.sharing(sums * slices.next_multiple_of(4), sums * slices, groups * 2);
        }
        cost
    }
}
