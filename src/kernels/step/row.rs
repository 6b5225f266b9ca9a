//! Host half of `shaders/row.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, Kernel, Seal, Shader, StepRecord, StepShape, ThreadLayout, Tuning, blocks, live_rows,
    metrics_bytes, order_bytes, vec4s, words,
};

use super::step_shape::LayerPlace;

static SHADER: Shader = Shader::of_step("row", &[Read, Read, Read, Write, Write]);

/// Partial sums of the first layer that a thread loads at a time (`first_sums.wgsl`).
const PARTS_AT_ONCE: usize = 16;

/// Most blocks of outputs for which each thread computes the row's loss statistics itself (`few` in the
/// shader).
const FEW: usize = 8;

/// The part of a step that works along the rows of a batch: from the first layer's sums to the loss, and back
/// to its delta. Buffers: parameters followed by the partial sums, targets, order, activations followed by
/// their deltas, metrics [slots, groups] with the groups of [`Tuning::batch_groups`].
#[derive(Debug, Clone)]
pub struct Row {
    shape: StepShape,
    samples: usize,
}

impl Row {
    /// Creates the kernel for steps of this shape, over a data set of `samples` rows.
    pub fn new(shape: &StepShape, samples: usize) -> Self {
        Self { shape: shape.clone(), samples }
    }
}

impl Kernel for Row {
    fn describe(&self, _: Seal) -> Description {
        let (shape, words) = (&self.shape, self.shape.params([1, 1], self.samples.max(1)));
        Description {
            flags: vec![("WEIGHTED", shape.targets.weighted), ("DROPOUT", shape.has_dropout())],
            choices: shape.known(),
            pieces: [shape.targets.pieces(), vec![shape.activation_piece()]].concat(),
            fuses: Some(shape.fused_into_rows()),
            ..Description::new(&SHADER, &words, ThreadLayout::BatchRows(shape.rows), shape.describe())
        }
    }

    fn extents(&self, tuning: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let shape = &self.shape;
        live_rows(record, &SHADER, shape.rows)?;
        Ok(vec![
            vec4s(&[&[shape.layout.state_distance()]]),
            words(&[&[self.samples.max(1), shape.targets.words(shape.outputs())]]),
            order_bytes(record, false),
            vec4s(&[&[2, shape.activations()]]),
            metrics_bytes(record, tuning.batch_groups(shape.rows)),
        ])
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let StepShape { rows, layers, parts, targets, .. } = &self.shape;
        let (rows, groups, team) = (*rows, tuning.batch_groups(*rows), Team::for_rows(tuning, *rows));
        let (most, together, threads) = (team.most(), team.rows, team.threads);
        let copies = |layer: usize| {
            if layer + 1 < layers.len() && layers[layer].nonlinearity.keeps_z() { 2 } else { 1 }
        };
        // Outputs or deltas of a layer kept in workgroup memory, and the barrier if they do not fit.
        let held = |width: usize| if width <= most { 4 * together * width } else { 0 };
        let published = |width: usize| usize::from(width > most);

        // The first layer's outputs: sixteen parts at a time, and the bias.
        let width = blocks(layers[0].outputs);
        let stores = copies(0) * rows * 4 * width;
        let slices = team.slices_of_parts(width, *parts);
        let whole = PARTS_AT_ONCE * parts.div_ceil(PARTS_AT_ONCE * slices);
        // A single thread of a known network skips the missing parts.
        let loads = if slices == 1 && self.shape.is_known() { *parts } else { whole };
        let mut cost =
            Cost::dispatch(rows * 4 * width * slices * (1 + loads), stores, (parts + 1) * rows * 4 * width);
        if slices > 1 {
            let sums = 4 * together * width * slices.next_multiple_of(4);
            cost = cost.sharing(groups * sums, groups * 4 * threads, groups);
        }
        cost = cost.sharing(0, groups * held(width), groups * (1 + published(width)));
        for (number, layer) in layers.iter().enumerate().skip(1) {
            let (inputs, outputs) = (blocks(layer.inputs), blocks(layer.outputs));
            let flop = 2 * rows * layer.inputs * layer.outputs;
            for pass in Through::both(team, layer) {
                cost += Cost { dispatches: 0, ..pass.cost(rows, groups) };
                let (stored, waits) = (groups * held(pass.outer), groups * published(pass.outer));
                cost = cost.with(0, 0, flop).sharing(0, stored, waits);
            }
            // Kept outputs of the layer below, and its deltas.
            cost = cost.with(0, copies(number) * rows * 4 * outputs, 0);
            cost = cost.with(rows * 4 * inputs, rows * 4 * inputs, 0);
        }

        // One pass over the outputs; for losses of classes one more for the prediction and two for the
        // softmax, by each thread if there are few outputs; a row's number, targets and weight.
        let width = blocks(layers[layers.len() - 1].outputs);
        let classes = targets.loss.of_classes();
        let few = width <= FEW && together * width <= threads;
        let softmax = if few { 2 * width } else { 2 };
        let (passes, targets_read) = if classes { (2 + softmax, 1) } else { (1, 4 * width) };
        let of_row = 1 + targets_read + if targets.weighted { width } else { 0 };
        let z = rows * passes * 4 * width;
        let [from_storage, from_held] = if width <= most { [0, z] } else { [z, 0] };
        let deltas = if width <= most { rows * 4 * width } else { 0 };
        let cost = cost.with(
            from_storage + rows * of_row,
            rows * 4 * width + 2 * groups,
            rows * (targets.loss.flop() * 4 * width + 3),
        );
        // A sample takes two numbers, the statistics three (unless each thread computes them itself), and the
        // prediction one: samples and statistics are read for each block, one number of a sample and the
        // prediction at the end.
        let losses = threads.min(together * width);
        let of_block = if few { 2 } else { 5 };
        let at_end = if classes { 2 * together * groups } else { 0 };
        let statistics = match classes {
            true => rows * if few { 1 } else { 4 },
            false => 0,
        };
        let zeros = 4 * together;
        let cost = cost.sharing(
            from_held + of_block * rows * width + groups * losses + at_end,
            deltas + statistics + 2 * rows + groups * (threads + zeros),
            groups * (1 + usize::from(classes) + published(width)),
        );
        Cost { dispatches: 1, ..cost }
    }
}

/// A workgroup.
#[derive(Clone, Copy)]
struct Team {
    threads: usize,
    /// Rows processed together.
    rows: usize,
}

impl Team {
    fn for_rows(tuning: &Tuning, rows: usize) -> Self {
        Self { threads: tuning.row, rows: tuning.rows_together(rows) }
    }

    /// Returns the most blocks of a chunk.
    fn most(self) -> usize {
        self.threads / self.rows
    }

    /// Divides blocks into chunks.
    fn chunks(self, outer: usize) -> Vec<usize> {
        (0..outer).step_by(self.most()).map(|start| self.most().min(outer - start)).collect()
    }

    /// Returns the threads that share the `parts` parts of a block of the first layer.
    fn slices_of_parts(self, width: usize, parts: usize) -> usize {
        (self.threads / (self.rows * width.min(self.most()))).min(parts.div_ceil(PARTS_AT_ONCE))
    }
}

/// A product of the rows with a layer's weights. Counts are in blocks.
#[derive(Clone, Copy)]
struct Through {
    inner: usize,
    outer: usize,
    /// Blocks of the inner dimension per thread at a time.
    at_once: usize,
    /// Whether this is the forward product, which has a bias.
    forward: bool,
    team: Team,
}

impl Through {
    /// Returns the forward and backward products of a layer.
    fn both(team: Team, layer: &LayerPlace) -> [Self; 2] {
        let (inputs, outputs) = (blocks(layer.inputs), blocks(layer.outputs));
        [
            Self { inner: inputs, outer: outputs, at_once: 4, forward: true, team },
            Self { inner: outputs, outer: inputs, at_once: 3, forward: false, team },
        ]
    }

    /// Returns the blocks of the units, and slices of the inner dimension, of each chunk.
    fn chunks(self) -> Vec<[usize; 2]> {
        let slices = |chunk: usize| (self.team.threads / chunk).min(self.inner.div_ceil(self.at_once));
        self.team.chunks(self.outer).into_iter().map(|chunk| [chunk, slices(chunk)]).collect()
    }

    /// Returns the cost of the weights, the operand and the sums.
    fn cost(self, rows: usize, groups: usize) -> Cost {
        let together = self.team.rows;
        let most = self.team.most();
        let pieces = self.inner.div_ceil(most);
        let mut cost = Cost::default();
        for [chunk, slices] in self.chunks() {
            if self.forward {
                cost = cost.with(groups * pieces * chunk * slices * 4, 0, 0);
            }
            for piece in 0..pieces {
                let count = most.min(self.inner - piece * most);
                // After the last block the last is repeated, times 0.
                let taken = count.next_multiple_of(self.at_once * slices);
                let weights = groups * chunk * taken * 4;
                cost += Cost::dispatch(4 * weights, 0, 0).sharing(weights * together, 0, 0);
                if pieces > 1 {
                    let operand = 4 * count;
                    cost =
                        cost.with(rows * operand, 0, 0).sharing(0, groups * together * operand, groups * 2);
                }
            }
            let sums = groups * 4 * together * chunk;
            cost = cost.sharing(sums * slices.next_multiple_of(4), sums * slices, groups * 2);
        }
        cost
    }
}
