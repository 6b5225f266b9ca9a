//! Host half of `shaders/resident.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, EPILOGUE, Kernel, Latency, LayerUpdate, MOST_RECORDS, Piece, Samples, Seal, Shader,
    StepRecord, StepShape, ThreadLayout, Tuning, blocks, live_rows, metrics_bytes, order_bytes, vec4s, word,
    words,
};

use super::step_shape::{LAYER_WORDS, MOST_LAYERS, NETWORK_WORDS};

static SHADER: Shader =
    Shader { records: MOST_RECORDS, ..Shader::new("resident", &[Read, Read, Read, Read, Write, Write]) };

/// Words of a step's record, and those of them that belong to the optimizer and to dropout.
const RECORD_WORDS: usize = size_of::<StepRecord>() / 4;
const RULE_WORDS: usize = RECORD_WORDS - 4;

/// Whole steps of training, many in one dispatch, each network by one workgroup. Buffers: features, targets, order, the
/// optimizer's numbers [slots, networks] as [`StepRecord`]s, network after network its parameters with the activations and
/// the optimizer's state behind them, metrics [slots, networks].
///
/// Workgroup w trains the network that the `slot` of record w of the dispatch's first step names. So those that have stopped
/// can be left out. Of the other records the kernel reads what belongs to the optimizer, and `step` and `seed` for dropout.
#[derive(Debug, Clone)]
pub struct Resident {
    networks: Vec<StepShape>,
    samples: Samples,
}

impl Resident {
    /// For steps of this shape, over this data set.
    pub fn new(shape: &StepShape, samples: Samples) -> Self {
        Self { networks: vec![shape.clone()], samples }
    }

    /// For networks that share rows and order. Nothing where there are none, or one does not
    /// [share its code](StepShape::shares_code) with the first.
    pub fn pack(networks: Vec<StepShape>, samples: Samples) -> Option<Self> {
        let first = networks.first()?;
        networks.iter().all(|other| other.shares_code(first)).then_some(Self { networks, samples })
    }

    /// Bytes of the uniform for `networks` networks with `layers` layers in all.
    pub fn table_bytes(networks: usize, layers: usize) -> usize {
        let (networks, layers) = room(networks, layers);
        4 * (4 + NETWORK_WORDS * networks + LAYER_WORDS * layers)
    }

    /// Networks and layers that the uniform has room for.
    fn room(&self) -> (usize, usize) {
        room(self.networks.len(), self.networks.iter().map(|network| network.layers.len()).sum())
    }

    fn first(&self) -> &StepShape {
        &self.networks[0]
    }
}

/// Rounded up, so that few programs are compiled.
fn room(networks: usize, layers: usize) -> (usize, usize) {
    let networks = if networks == 1 { 1 } else { networks.next_multiple_of(16) };
    (networks, layers.next_multiple_of(MOST_LAYERS))
}

/// The products of a step.
fn products(shape: &StepShape) -> impl Iterator<Item = Product> {
    let rows = blocks(shape.rows);
    shape.layers.iter().zip(0..).flat_map(move |(layer, number)| {
        let (inputs, outputs) = (blocks(layer.inputs), blocks(layer.outputs));
        let product = |kind, [down, inner, across]: [usize; 3]| Product { kind, number, down, inner, across };
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

impl Kernel for Resident {
    fn describe(&self, _: Seal) -> Description {
        let (all, first, (networks, layers)) = (&self.networks, self.first(), self.room());
        let mut words = vec![word(all.len()), 0, 0, 0];
        let mut start = 0;
        for network in all {
            words.extend(network.network_words([1, 1], self.samples.rows(), start));
            start += network.layers.len();
        }
        words.resize(4 + NETWORK_WORDS * networks, 0);
        words.extend(all.iter().flat_map(StepShape::layer_words));
        words.resize(4 + NETWORK_WORDS * networks + LAYER_WORDS * layers, 0);
        let sizes = format!("const MOST_NETWORKS = {networks}u;\nconst MOST_LAYERS = {layers}u;\n");
        let update = first.layers[0].update;
        let pieces = vec![
            ("network_sizes", Piece::Text(sizes)),
            ("features", self.samples.stored.piece()),
            first.activation_piece(),
            LayerUpdate::piece(Some(update)),
        ];
        let shape = match &all[..] {
            [network] => network.describe(),
            networks => format!("{} networks of up to {}", networks.len(), self.largest().describe()),
        };
        let layout = ThreadLayout::Networks { rows: first.rows, count: all.len() };
        Description {
            flags: vec![("WEIGHTED", first.targets.weighted), ("DROPOUT", first.has_dropout())],
            pieces: [first.targets.pieces(), pieces].concat(),
            fuses: Some([first.fused_into_rows(), vec![update.optimizer.to_string()]].concat()),
            ..Description::new(&SHADER, &words, layout, shape)
        }
    }

    fn extents(&self, _: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        live_rows(record, &SHADER, self.first().rows)?;
        let most = |of: &dyn Fn(&StepShape) -> u64| self.networks.iter().map(of).max().unwrap_or(0);
        let slots = record.slot as usize + 1;
        Ok(vec![
            most(&|shape| self.samples.bytes(shape.layers[0].inputs)),
            most(&|shape| words(&[&[self.samples.rows(), shape.targets.words(shape.outputs())]])),
            order_bytes(record, false),
            words(&[&[slots, self.networks.len(), RECORD_WORDS]]),
            most(&|shape| vec4s(&[&[shape.end()]])),
            metrics_bytes(record, self.networks.len()),
        ])
    }

    fn latency(&self, tuning: &Tuning) -> Latency {
        latency(self.largest(), tuning.row)
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let costs = self.networks.iter().map(|network| self.cost_of_network(network, tuning.row));
        Cost { dispatches: 1, ..costs.sum() }
    }
}

/// What a workgroup that trains this network waits for.
fn latency(shape: &StepShape, threads: usize) -> Latency {
    let layers = &shape.layers;
    let operations = shape.targets.operations(shape.outputs()) * shape.rows.div_ceil(threads);
    let losses = Latency { round_trips: 3, barriers: 3, operations };
    let products = products(shape).fold(losses, |all, product| all + product.latency(threads));
    // The inputs of the batch: four vec4s at a time, each after its row's number.
    let turns = (4 * blocks(shape.rows) * blocks(layers[0].inputs)).div_ceil(4 * threads);
    products.with(2 * turns, 2 * layers.len() + 1, 60 * turns)
}

impl Resident {
    /// The network that takes longest: the one with the most multiply-adds.
    fn largest(&self) -> &StepShape {
        let work = |shape: &&StepShape| -> usize {
            shape.layers.iter().map(|layer| (layer.inputs + 1) * layer.outputs).sum()
        };
        self.networks.iter().max_by_key(work).unwrap_or(self.first())
    }

    fn cost_of_network(&self, shape: &StepShape, threads: usize) -> Cost {
        let StepShape { rows, layers, targets, .. } = shape;
        let rows = *rows;
        let outputs = shape.outputs();
        // The losses: the outputs, three times for losses of classes; a row's number, targets and weight.
        let width = blocks(outputs);
        let (passes, targets_read) = if targets.loss.of_classes() { (3, 1) } else { (1, 4 * width) };
        let of_row = 1 + targets_read + if targets.weighted { width } else { 0 };
        let z = rows * 4 * blocks(outputs);
        let flop = z * targets.loss.flop() + 3 * rows;
        let losses = Cost::dispatch(passes * z + rows * of_row, z + 2, flop);
        let products = products(shape).map(|product| cost_of(shape, product, threads));
        let cost = products.fold(losses, |all, product| all + Cost { dispatches: 0, ..product });
        // The inputs of the batch, four vec4s of a thread at a time; rows of 0 that fill the blocks.
        let (width, room) = (blocks(layers[0].inputs), 4 * blocks(rows));
        let turns: usize =
            (0..threads).map(|thread| (room * width).saturating_sub(thread).div_ceil(4 * threads)).sum();
        let filled = 2 * (room - rows) * layers.iter().map(|layer| 4 * blocks(layer.outputs)).sum::<usize>();
        let cost = cost.with(4 * turns * (1 + self.samples.stored.words()), 4 * room * width + filled, 0);
        // Behind the inputs and every product but the updates a barrier, of the losses three, one at the end.
        // The rules, by every thread, and in a pack which network it is.
        let cost = cost.with(threads * (RULE_WORDS + usize::from(self.networks.len() > 1)), 0, 0);
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
    /// The number of the layer, from 0.
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

fn cost_of(shape: &StepShape, product: Product, threads: usize) -> Cost {
    let StepShape { rows, layers, .. } = shape;
    let (rows, layer) = (*rows, layers[product.number]);
    let (units, turns, slices) = (product.units(), product.turns(threads), product.slices(threads));
    let [reads, writes, update] = LayerUpdate::cost(Some(layer.update));
    let flop = 2 * rows * layer.inputs * layer.outputs;
    let (width, stored) = (4 * blocks(layer.outputs), layer.inputs + 1);
    let copies = if product.number + 1 < layers.len() && layer.nonlinearity.keeps_z() { 2 } else { 1 };
    // Two blocks of each operand.
    let operands = 64 * turns;
    let cost = match product.kind {
        Kind::Outputs => Cost::dispatch(operands + 16 * units, copies * rows * width, flop + rows * width),
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
