//! The phases of a step, a part of the work at a time. Which part reads and writes what: see the table in `parts.rs`.
//!
//! What does not depend on how layers above the first are divided stands here; `fused_layers.rs` and `by_columns.rs` have the rest.

use std::ops::Range;
use std::sync::RwLockReadGuard;

use super::PartitionedNetwork;
use crate::data::Rows;
use crate::engine::BatchMetrics;
use crate::engine::cpu::inputs::{Inputs, ShareInputs};
use crate::engine::cpu::outputs::{Epilogue, Outputs, Tile};
use crate::engine::cpu::packed_rows::PackedRows;
use crate::engine::cpu::partition::range;
use crate::engine::cpu::parts::Parts;
use crate::engine::cpu::plan::Phase;
use crate::engine::cpu::tensors::{Owned, Tensors, clip_scale};
use crate::step::{Activation, StepRecord};

/// Numbers of a batch up to which each part gathers all inputs that are not sparse for itself: to read what another core has written takes as
/// long, and as many stay in a core's caches.
const OWN_INPUTS: usize = 1 << 14;

/// A step.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// How many rows, and the optimizer's numbers.
    pub record: &'a StepRecord,
    /// The rows.
    pub inputs: &'a Parts<Inputs>,
    /// What gradients of the summed loss are multiplied by.
    pub scale: f32,
}

impl<'a> Step<'a> {
    /// Rows of the batch.
    pub fn rows(&self) -> usize {
        self.record.rows as usize
    }

    /// The shares of the inputs that part `part` reads: its own where that has all rows, else all.
    pub fn inputs_for(&self, part: usize) -> Vec<RwLockReadGuard<'a, Inputs>> {
        let own = self.inputs.read(part);
        let is_whole = matches!(own.held(), ShareInputs::Rows(rows, _) if rows.len() == self.rows());
        if is_whole { vec![own] } else { self.inputs.read_all().collect() }
    }
}

impl PartitionedNetwork {
    /// The inputs of a step.
    pub fn inputs_of(&self, step: usize) -> &Parts<Inputs> {
        &self.inputs[step % self.inputs.len()]
    }

    /// A step that trains. Plain gradient descent adds its updates to the parameters instead of gradients.
    pub fn training_step<'a>(&self, inputs: &'a Parts<Inputs>, record: &'a StepRecord) -> Step<'a> {
        let rate = if self.rule.is_plain_sgd() { -record.rate } else { 1.0 };
        Step { record, inputs, scale: rate / record.rows as f32 }
    }

    /// Before a step: share `part` of its batch.
    pub fn gather(
        &self,
        part: usize,
        to: &Parts<Inputs>,
        rows: &Rows<'_>,
        order: &[u32],
        packed: Option<&PackedRows>,
    ) {
        let (mut to, share) = (to.write(part), self.share_of(part, order.len()));
        match packed {
            None => {
                // Of an input layer a part has some columns of the table, and does not read the others.
                let is_small = order.len() * rows.inputs <= OWN_INPUTS;
                let whole = is_small && self.has_dense_inputs();
                to.gather_rows(rows, order, if whole { 0..order.len() } else { share.clone() });
            }
            Some(packed) => {
                // As many sections as panels: their lists do not depend on the number of threads.
                let sections =
                    self.owned(0, part).map(|section| packed.groups().section(section, self.panels.len()));
                to.gather_lists(rows, order, packed, sections);
            }
        }
        to.gather_targets(rows, order, share);
    }

    /// Part `part` of a phase, other than [`Phase::Gather`].
    pub fn compute(&self, phase: Phase, part: usize, step: Step<'_>) {
        let is_by_columns = self.plan.is_by_columns();
        match phase {
            Phase::FirstLayer => {
                self.first_layer(part, step);
                if is_by_columns {
                    self.join_first(part, step);
                }
            }
            Phase::Forward(index) if is_by_columns => self.forward_columns(index + 1, part, step),
            Phase::Forward(_) => self.add_sums(part),
            Phase::Rows => self.walk_rows(part, step),
            Phase::Loss => self.loss(part, step),
            Phase::Gather => {}
            Phase::Backward(index) if is_by_columns => self.backward_columns(index + 1, part, step),
            Phase::Backward(_) => self.backward_pair(part, step),
            Phase::Gradient => self.gradient(part, step),
            Phase::Update => self.update(part, step),
        }
    }

    /// The rows of a batch in share `part`.
    pub fn share(&self, part: usize, step: Step<'_>) -> Range<usize> {
        self.share_of(part, step.rows())
    }

    /// The share of part `part` of `rows` rows.
    fn share_of(&self, part: usize, rows: usize) -> Range<usize> {
        range(rows, part, self.plan.parts())
    }

    /// The epilogue of a layer.
    pub fn epilogue<'a>(&self, layer: usize, step: Step<'a>) -> Epilogue<'a> {
        let Some(layer) = self.dense_number(layer) else {
            return Epilogue { activation: Activation::Identity, dropout: None };
        };
        let dropout = self.network.dropout(layer).map(|dropout| (dropout, step.record));
        Epilogue { activation: self.network.dense()[layer].activation, dropout }
    }

    /// The panels that part `part` owns.
    fn first_layer(&self, part: usize, step: Step<'_>) {
        for number in self.owned(0, part) {
            let (owned, mut to) = (self.parameters[0].read(number), self.hidden.write(number));
            let (parameters, inputs) = (&owned.values, step.inputs_for(part));
            to.y.resize(step.rows(), self.first_pieces[number].len());
            if let Some(panel) = self.input.get(number) {
                panel.forward(parameters, &inputs, &mut to.y);
                continue;
            }
            let panel = &self.panels[number];
            panel.forward(parameters, &inputs, &mut to.y, 0);
            if !self.plan.is_by_columns() {
                let tile = Tile { rows: 0..step.rows(), columns: panel.columns.clone() };
                to.activate(self.epilogue(0, step), &tile);
            }
        }
    }

    /// Share `part` of the loss, and of its gradient by the last layer's outputs.
    pub fn loss(&self, part: usize, step: Step<'_>) {
        let (mut to, inputs) = (self.losses.write(part), step.inputs.read(part));
        let (loss, smoothing) = (self.network.loss(), self.rule.label_smoothing);
        if !self.plan.is_by_columns() && !self.above.is_empty() {
            // The part has its rows of the last layer whole.
            let Outputs { y, delta, .. } = &mut *self.outputs[self.above.len()].write(part);
            return to.compute_from(y, delta, loss, &inputs, smoothing, step.scale);
        }
        to.outputs.resize(self.share(part, step).len(), self.network.outputs());
        if self.plan.is_by_columns() {
            self.take_columns(part, step, &mut to.outputs);
        } else {
            self.take_panels(part, step, &mut to.outputs);
        }
        to.compute(loss, &inputs, smoothing, step.scale);
    }

    /// Adds the gradient by a piece that part `part` owns of a layer, with these parameters, to `to`, scaled as the step says.
    pub fn add_piece_gradient(
        &self,
        (layer, piece, part): (usize, usize, usize),
        step: Step<'_>,
        parameters: &Tensors,
        to: &mut Tensors,
    ) {
        match self.dense_number(layer) {
            Some(_) => self.add_gradient(layer, piece, part, step, to),
            None => self.add_input_gradient(piece, part, step, parameters, to),
        }
    }

    /// Adds the gradient by a piece that part `part` owns of an input layer, with these parameters.
    fn add_input_gradient(
        &self,
        piece: usize,
        part: usize,
        step: Step<'_>,
        parameters: &Tensors,
        to: &mut Tensors,
    ) {
        let panel = &self.input[piece];
        let first = panel.inputs().start - self.columns(0, part).start;
        let outputs = self.outputs[0].read(part);
        let dx = outputs.delta.view().columns(first..first + panel.inputs().len());
        panel.add_gradient(parameters, &step.inputs_for(part), &self.hidden.read(piece).y, dx, to);
    }

    /// What part `part` owns: the layers with the numbers of their pieces.
    fn all_owned(&self, part: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..self.parameters.len())
            .flat_map(move |layer| self.owned(layer, part).map(move |piece| (layer, piece)))
    }

    /// Gradients by all that part `part` owns, and their sums of squares.
    fn gradient(&self, part: usize, step: Step<'_>) {
        for (layer, piece) in self.all_owned(part) {
            let Owned { values, gradients, .. } = &mut *self.parameters[layer].write(piece);
            self.add_piece_gradient((layer, piece, part), step, values, gradients);
            *self.squares[layer].write(piece) = gradients.sum_of_squares();
        }
    }

    /// Updates all that part `part` owns: from gradients that are there where their norm is clipped, else as they are computed.
    fn update(&self, part: usize, step: Step<'_>) {
        let clips = self.rule.clip_norm.is_some();
        let squares = || self.squares.iter().flat_map(Parts::read_all).map(|square| *square).sum();
        let scale = if clips { clip_scale(squares(), step.record.clip) } else { 1.0 };
        for (layer, piece) in self.all_owned(part) {
            self.update_piece(layer, piece, part, step, scale);
        }
    }

    fn update_piece(&self, layer: usize, piece: usize, part: usize, step: Step<'_>, scale: f32) {
        let owned = &mut *self.parameters[layer].write(piece);
        let Owned { values, gradients, .. } = owned;
        let dense = self.dense_number(layer);
        if self.rule.is_plain_sgd() {
            if dense.is_some() {
                return self.add_gradient(layer, piece, part, step, values);
            }
            // The gradient of an input layer depends on the parameters that it is added to.
            let mut update = values.zeros();
            self.add_input_gradient(piece, part, step, values, &mut update);
            return values.add(&update);
        }
        if self.rule.clip_norm.is_none() {
            self.add_piece_gradient((layer, piece, part), step, values, gradients);
        }
        let factors = &self.rule.factors;
        let factors = dense.map_or(factors.for_input_layer(), |dense| factors.for_layer(dense));
        owned.update(&self.rule, step.record, factors, scale);
    }

    /// What the step has given.
    pub fn metrics(&self, step: Step<'_>) -> BatchMetrics {
        let mut metrics = BatchMetrics { rows: step.rows(), loss: 0.0, correct: 0 };
        for share in self.losses.read_all() {
            // Row by row, whoever has them.
            share.losses.iter().for_each(|loss| metrics.loss += loss);
            metrics.correct += share.correct;
        }
        metrics
    }
}
