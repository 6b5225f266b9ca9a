//! Host half of `shaders/resident.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{
    Cost, EPILOGUE, Kernel, Latency, MOST_RECORDS, Piece, Samples, Shader, StepRecord, StepShape,
    ThreadLayout, Tuning, blocks, vec4s, words,
};

static SHADER: Shader = Shader {
    name: "resident",
    source: include_str!("../../../shaders/resident.wgsl"),
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Write, Access::Write],
    records: MOST_RECORDS,
};

/// Whole steps of training by one workgroup, many in one dispatch. Buffers: features, targets, order, parameters with the
/// activations and the optimizer's state behind them, metrics [slots].
#[derive(Debug, Clone)]
pub struct Resident {
    shape: StepShape,
    samples: Samples,
}

impl Resident {
    /// For steps of this shape, over this data set.
    pub fn new(shape: &StepShape, samples: Samples) -> Self {
        Self { shape: shape.clone(), samples }
    }

    fn products(&self) -> impl Iterator<Item = Product> {
        let rows = blocks(self.shape.rows);
        self.shape.layers.iter().zip(0..).flat_map(move |(layer, number)| {
            let (inputs, outputs) = (blocks(layer.inputs), blocks(layer.outputs));
            let product =
                |kind, [down, inner, across]: [usize; 3]| Product { kind, number, down, inner, across };
            let deltas = (number > 0).then(|| product(Kind::Deltas, [rows, outputs, inputs]));
            [
                Some(product(Kind::Outputs, [rows, inputs, outputs])),
                deltas,
                Some(product(Kind::Update, [blocks(layer.inputs + 1), rows, outputs])),
            ]
            .into_iter()
            .flatten()
        })
    }
}

impl Kernel for Resident {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        self.shape.params([1, 1], self.samples.rows())
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Networks(self.shape.rows)
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        vec![("WEIGHTED", self.shape.targets.weighted), ("DROPOUT", self.shape.has_dropout())]
    }

    fn pieces(&self) -> Vec<(&'static str, Piece)> {
        let pieces = vec![
            ("features", self.samples.stored.piece()),
            self.shape.activation_piece(),
            self.shape.layers[0].update.piece(),
        ];
        [self.shape.targets.pieces(), pieces].concat()
    }

    fn fused(&self) -> Vec<String> {
        let optimizer = self.shape.layers.first().map(|layer| layer.update.optimizer.to_string());
        self.shape.fused_into_rows().into_iter().chain(optimizer).collect()
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let shape = &self.shape;
        let words_of_row = shape.targets.words(shape.layers[shape.layers.len() - 1].outputs);
        Ok(vec![
            self.samples.bytes(shape.layers[0].inputs),
            words(&[&[self.samples.rows(), words_of_row]]),
            record.order_bytes(false),
            vec4s(&[&[shape.layout.model()]]),
            record.metrics_bytes(1),
        ])
    }

    fn shape(&self) -> String {
        self.shape.describe()
    }

    fn latency(&self, tuning: &Tuning) -> Latency {
        let (threads, layers) = (tuning.row, &self.shape.layers);
        let outputs = layers[layers.len() - 1].outputs;
        let losses = Latency::default().with(
            3,
            3,
            self.shape.targets.operations(outputs) * self.shape.rows.div_ceil(threads),
        );
        let products = self.products().fold(losses, |all, product| all + product.latency(threads));
        // The inputs of the batch: four vec4s at a time, each after its row's number.
        let turns = (4 * blocks(self.shape.rows) * blocks(layers[0].inputs)).div_ceil(4 * threads);
        products.with(2 * turns, 2 * layers.len() + 1, 60 * turns)
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let StepShape { rows, layers, targets, .. } = &self.shape;
        let (rows, threads) = (*rows, tuning.row);
        let outputs = layers[layers.len() - 1].outputs;
        // The losses: the outputs, three times for losses of classes; a row's number, targets and weight.
        let width = blocks(outputs);
        let (passes, targets_read) = if targets.loss.of_classes() { (3, 1) } else { (1, 4 * width) };
        let of_row = 1 + targets_read + if targets.weighted { width } else { 0 };
        let z = rows * 4 * blocks(outputs);
        let losses = Cost::dispatch(
            passes * z + rows * of_row,
            z + 2,
            rows * (targets.loss.flop() * 4 * blocks(outputs) + 3),
        );
        let products = self.products().map(|product| self.cost_of(product, threads));
        let cost = products.fold(losses, |all, product| all + Cost { dispatches: 0, ..product });
        // The inputs of the batch, four vec4s of a thread at a time; rows of 0 that fill the blocks.
        let (width, room) = (blocks(layers[0].inputs), 4 * blocks(rows));
        let turns: usize =
            (0..threads).map(|thread| (room * width).saturating_sub(thread).div_ceil(4 * threads)).sum();
        let filled = 2 * (room - rows) * layers.iter().map(|layer| 4 * blocks(layer.outputs)).sum::<usize>();
        let cost = cost.with(4 * turns * (1 + self.samples.stored.words()), 4 * room * width + filled, 0);
        // Behind the inputs and every product but the updates a barrier, of the losses three, one at the end.
        cost.sharing(4 * rows.min(threads).next_multiple_of(4), 4 * threads, 2 * layers.len() + 4)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Outputs,
    Deltas,
    Update,
}

/// A product of a layer. Sizes are in blocks.
#[derive(Debug, Clone, Copy)]
struct Product {
    kind: Kind,
    /// Of the layer, from 0.
    number: usize,
    down: usize,
    inner: usize,
    across: usize,
}

impl Product {
    /// Threads that share a block.
    fn slices(&self, threads: usize) -> usize {
        (threads / self.units().min(threads)).min(self.inner.div_ceil(2))
    }

    fn units(&self) -> usize {
        self.down * self.across
    }

    /// What a thread does one after the other.
    fn latency(&self, threads: usize) -> Latency {
        let slices = self.slices(threads);
        let turns = self.units().div_ceil(threads) * self.inner.div_ceil(slices);
        // A block takes 64 multiply-adds and half as many others.
        let operations = 100 * turns + 8 * slices + 2 * EPILOGUE;
        // Two blocks at a time.
        Latency::default().with(1 + turns.div_ceil(2), if slices > 1 { 2 } else { 0 }, operations)
    }

    /// Times that all threads together take two blocks of the inner dimension.
    fn turns(&self, threads: usize) -> usize {
        let slices = self.slices(threads);
        let of_unit = (0..slices).map(|slice| (self.inner - slice).div_ceil(2 * slices));
        self.units() * of_unit.sum::<usize>()
    }
}

impl Resident {
    fn cost_of(&self, product: Product, threads: usize) -> Cost {
        let StepShape { rows, layers, .. } = &self.shape;
        let (rows, layer) = (*rows, layers[product.number]);
        let (units, turns, slices) = (product.units(), product.turns(threads), product.slices(threads));
        let [reads, writes, update] = layer.update.cost();
        let flop = 2 * rows * layer.inputs * layer.outputs;
        let (width, stored) = (4 * blocks(layer.outputs), layer.inputs + 1);
        let copies = if product.number + 1 < layers.len() && layer.nonlinearity.keeps_z() { 2 } else { 1 };
        // Two blocks of each operand.
        let operands = 64 * turns;
        let cost = match product.kind {
            Kind::Outputs => {
                Cost::dispatch(operands + 16 * units, copies * rows * width, flop + rows * width)
            }
            Kind::Deltas => {
                let below = rows * 4 * blocks(layer.inputs);
                Cost::dispatch(operands + below, below, flop)
            }
            Kind::Update => Cost::dispatch(
                operands + reads * stored * width,
                writes * stored * width,
                flop + (rows + update) * stored * width,
            ),
        };
        if slices == 1 {
            return cost;
        }
        cost.sharing(16 * units * slices.next_multiple_of(4), 16 * units * slices, 2)
    }
}
