//! Outputs, losses and predictions of networks without training.

use std::sync::Arc;

use super::groups::Groups;
use super::inputs::{Inputs, ShareInputs};
use super::loss::RowLosses;
use super::matrix::Matrix;
use super::outputs::{Epilogue, Outputs, Tile};
use super::packed_rows::PackedRows;
use super::partitioned_network::PartitionedNetwork;
use super::tensors::Tensors;
use crate::data::Rows;
use crate::memory::prefer_large_pages;
use crate::step::Activation;
use crate::threads::each;

/// Rows per batch on each thread.
const ROWS: usize = 64;

/// Multiplications per thread: a fifth of a millisecond; starting a thread takes a twentieth.
const WORK_A_THREAD: usize = 1 << 22;

/// Parts per thread, so that a late thread delays the others by one part at most.
const PARTS_A_THREAD: usize = 4;

/// Requested result of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvaluationOutput {
    /// Losses and predictions.
    Evaluation,
    /// The outputs themselves.
    Outputs,
}

/// Result of an evaluation; fields that were not requested are empty.
#[derive(Default)]
pub struct Evaluated {
    /// The loss of each row.
    pub losses: Vec<f64>,
    /// The predicted class of each row.
    pub predictions: Vec<u32>,
    /// [rows, outputs].
    pub outputs: Vec<f32>,
}

/// Destination of the results of some rows.
struct EvaluatedPart<'a> {
    losses: &'a mut [f64],
    predictions: &'a mut [u32],
    outputs: &'a mut [f32],
}

impl Evaluated {
    fn new(rows: usize, outputs: usize, wanted: EvaluationOutput) -> Self {
        let [losses, outputs] = match wanted {
            EvaluationOutput::Evaluation => [rows, 0],
            EvaluationOutput::Outputs => [0, rows * outputs],
        };
        let mut outputs = vec![0.0; outputs];
        prefer_large_pages(&mut outputs);
        Self { losses: vec![0.0; losses], predictions: vec![0; losses], outputs }
    }

    fn all(&mut self) -> EvaluatedPart<'_> {
        let Self { losses, predictions, outputs } = self;
        EvaluatedPart { losses, predictions, outputs }
    }
}

impl EvaluatedPart<'_> {
    /// Splits off the first `rows` rows, or all if fewer are left.
    fn take(&mut self, rows: usize, outputs: usize) -> Self {
        fn first<'a, T>(values: &mut &'a mut [T], count: usize) -> &'a mut [T] {
            values.split_off_mut(..count.min(values.len())).unwrap_or_default()
        }
        Self {
            losses: first(&mut self.losses, rows),
            predictions: first(&mut self.predictions, rows),
            outputs: first(&mut self.outputs, rows * outputs),
        }
    }
}

/// Evaluates all rows on at most `threads` threads and returns the results of each network. Parts are whole
/// batches for any number of threads, so each row is always computed with the same other rows. Inputs are
/// gathered once for all networks. No network may have a step in flight.
pub fn evaluate(
    networks: &mut [&mut PartitionedNetwork],
    rows: &Rows<'_>,
    threads: usize,
    sparse: bool,
    wanted: EvaluationOutput,
) -> Vec<Evaluated> {
    let networks: Vec<(&PartitionedNetwork, Vec<Tensors>)> =
        networks.iter().map(|network| (&**network, first_layer(network))).collect();
    let order: Vec<u32> = (0..rows.len() as u32).collect();
    let parameters: usize = networks.iter().map(|(network, _)| network.network.parameter_count()).sum();
    let work = rows.len().saturating_mul(parameters);
    let threads = (work / WORK_A_THREAD).clamp(1, threads.max(1));
    let part = rows.len().div_ceil(if threads == 1 { 1 } else { PARTS_A_THREAD * threads });
    let part = part.next_multiple_of(ROWS).max(ROWS);
    let outputs = |(network, _): &(&PartitionedNetwork, _)| network.network.outputs();
    let mut evaluated: Vec<Evaluated> =
        networks.iter().map(|network| Evaluated::new(rows.len(), outputs(network), wanted)).collect();
    let mut left: Vec<EvaluatedPart<'_>> = evaluated.iter_mut().map(Evaluated::all).collect();
    let parts: Vec<_> = order
        .chunks(part)
        .map(|order| {
            let each = left
                .iter_mut()
                .zip(&networks)
                .map(|(left, network)| left.take(order.len(), outputs(network)));
            (order, each.collect())
        })
        .collect();
    each(threads, parts.into_iter(), |(order, parts)| {
        Evaluator::new(&networks).evaluate(rows, order, sparse, wanted, parts);
    });
    evaluated
}

/// Returns the first layer's parameters with the inputs in original order, so that outputs have the same bits
/// whatever rows were used in training.
fn first_layer(network: &PartitionedNetwork) -> Vec<Tensors> {
    let pieces = network.panels.iter().zip(network.parameters[0].read_all());
    pieces.map(|(panel, owned)| panel.ungrouped(&owned.values, &network.groups)).collect()
}

/// State of one evaluation thread.
struct Evaluator<'a> {
    inputs: Inputs,
    packed: Option<PackedRows>,
    walks: Vec<NetworkPass<'a>>,
}

/// A network and its results for some rows.
struct NetworkPass<'a> {
    network: &'a PartitionedNetwork,
    first: &'a [Tensors],
    panel: Matrix,
    /// Outputs of each layer.
    outputs: Vec<Outputs>,
    losses: RowLosses,
}

impl<'a> Evaluator<'a> {
    fn new(networks: &'a [(&'a PartitionedNetwork, Vec<Tensors>)]) -> Self {
        let walk = |(network, first): &'a (&'a PartitionedNetwork, Vec<Tensors>)| NetworkPass {
            network,
            first,
            panel: Matrix::default(),
            outputs: network.outputs.iter().map(|_| Outputs::default()).collect(),
            losses: RowLosses::default(),
        };
        Self { inputs: Inputs::default(), packed: None, walks: networks.iter().map(walk).collect() }
    }

    fn evaluate(
        mut self,
        rows: &Rows<'_>,
        order: &[u32],
        sparse: bool,
        wanted: EvaluationOutput,
        mut parts: Vec<EvaluatedPart<'_>>,
    ) {
        for order in order.chunks(ROWS) {
            self.gather(rows, order, sparse);
            if wanted == EvaluationOutput::Evaluation {
                self.inputs.gather_targets(rows, order, 0..order.len());
            }
            for (walk, part) in self.walks.iter_mut().zip(&mut parts) {
                walk.forward(&self.inputs, order.len());
                walk.take(&self.inputs, wanted, part.take(order.len(), walk.network.network.outputs()));
            }
        }
    }

    /// Gathers the inputs of some adjacent rows.
    fn gather(&mut self, rows: &Rows<'_>, order: &[u32], sparse: bool) {
        if !sparse {
            return self.inputs.gather_rows(rows, order, 0..order.len());
        }
        let first = order.first().map_or(0, |row| *row as usize);
        let packed =
            self.packed.get_or_insert_with(|| PackedRows::new(Arc::new(Groups::neighbours(rows.inputs))));
        packed.begin(first);
        packed.extend(rows, first + order.len());
        // Each group is a section, so the bits of a row's outputs do not depend on the other rows.
        let sections = (0..packed.groups().len()).map(|group| group..group + 1);
        self.inputs.gather_lists(rows, order, packed, sections);
    }
}

impl NetworkPass<'_> {
    /// Computes the outputs of all layers from the inputs of `rows` rows.
    fn forward(&mut self, inputs: &Inputs, rows: usize) {
        let PartitionedNetwork { network, panels, input, above, parameters, .. } = self.network;
        let is_dense = matches!(inputs.held(), ShareInputs::Rows(..));
        for layer in 0..self.outputs.len() {
            let dense = self.network.dense_number(layer).map(|number| network.dense()[number]);
            let (units, activation) = dense
                .map_or((network.inputs(), Activation::Identity), |dense| (dense.units, dense.activation));
            let (below, here) = self.outputs.split_at_mut(layer);
            let (below, here) = (below.last(), &mut here[0]);
            here.y.resize(rows, units);
            match (layer.checked_sub(1).map(|index| &above[index]), below) {
                (Some(layer_above), Some(below)) => {
                    let x = |piece: usize| below.y.view().columns(layer_above.pieces[piece].clone());
                    layer_above.forward(&parameters[layer], x, 0..units, &mut here.y);
                }
                _ => {
                    for (panel, parameters) in panels.iter().zip(self.first) {
                        let (columns, inputs) = (&panel.columns, &[inputs]);
                        if is_dense {
                            panel.forward(parameters, inputs, &mut here.y, columns.start);
                            continue;
                        }
                        self.panel.resize(rows, columns.len());
                        panel.forward(parameters, inputs, &mut self.panel, 0);
                        here.y.copy_block(0, columns.start, &self.panel, 0..rows);
                    }
                    for (panel, owned) in input.iter().zip(parameters[0].read_all()) {
                        let parameters = &owned.values;
                        self.panel.resize(rows, panel.inputs().len());
                        panel.forward(parameters, &[inputs], &mut self.panel);
                        panel.scale_into(parameters, &self.panel, &mut here.y, panel.inputs().start);
                    }
                }
            }
            let tile = Tile { rows: 0..rows, columns: 0..units };
            here.activate(Epilogue { activation, dropout: None }, &tile);
        }
    }

    /// Writes the requested results of the rows to `part`.
    fn take(&mut self, inputs: &Inputs, wanted: EvaluationOutput, part: EvaluatedPart<'_>) {
        let Some(Outputs { y, .. }) = self.outputs.last() else { return };
        if wanted == EvaluationOutput::Outputs {
            let to = part.outputs.chunks_exact_mut(y.column_count());
            return to.zip(y.each_row()).for_each(|(to, z)| to.copy_from_slice(z));
        }
        self.losses.evaluate(self.network.network.loss(), y, inputs);
        part.losses.copy_from_slice(&self.losses.losses);
        part.predictions.copy_from_slice(&self.losses.predictions);
    }
}
