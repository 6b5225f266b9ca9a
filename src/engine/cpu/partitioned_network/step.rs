//! Phases of a step, for one part of the work at a time. The tables in `parts.rs` list the data that each
//! part reads and writes.
//!
//! `fused_layers.rs` and `by_columns.rs` contain the code that depends on the division of layers above the
//! first.

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

/// Most numbers of a dense batch that each part gathers completely for itself: reading them from another
/// core's cache takes as long, and they fit a core's caches.
const OWN_INPUTS: usize = 1 << 14;

/// A step.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// Number of rows, and the optimizer's numbers.
    pub record: &'a StepRecord,
    /// Inputs of the rows.
    pub inputs: &'a Parts<Inputs>,
    /// Factor of the gradients of the summed loss.
    pub scale: f32,
}

impl<'a> Step<'a> {
    /// Returns the number of rows of the batch.
    pub fn rows(&self) -> usize {
        self.record.rows as usize
    }

    /// Returns the shares of the inputs that part `part` reads: only its own if it has all rows, else all.
    pub fn inputs_for(&self, part: usize) -> Vec<RwLockReadGuard<'a, Inputs>> {
        let own = self.inputs.read(part);
        let is_whole = matches!(own.held(), ShareInputs::Rows(rows, _) if rows.len() == self.rows());
        if is_whole { vec![own] } else { self.inputs.read_all().collect() }
    }
}

impl PartitionedNetwork {
    /// Returns the inputs of a step.
    pub fn inputs_of(&self, step: usize) -> &Parts<Inputs> {
        &self.inputs[step % self.inputs.len()]
    }

    /// Returns a training step. Plain gradient descent adds its updates to the parameters instead of
    /// gradients.
    pub fn training_step<'a>(&self, inputs: &'a Parts<Inputs>, record: &'a StepRecord) -> Step<'a> {
        let rate = if self.rule.is_plain_sgd() { -record.rate } else { 1.0 };
        Step { record, inputs, scale: rate / record.rows as f32 }
    }

    /// Gathers share `part` of a batch, before its step.
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
                // A part of an input layer reads only its columns of the table.
                let is_small = order.len() * rows.inputs <= OWN_INPUTS;
                let whole = is_small && self.has_dense_inputs();
                to.gather_rows(rows, order, if whole { 0..order.len() } else { share.clone() });
            }
            Some(packed) => {
                // One section per panel, so that the lists do not depend on the number of threads.
                let sections =
                    self.owned(0, part).map(|section| packed.groups().section(section, self.panels.len()));
                to.gather_lists(rows, order, packed, sections);
            }
        }
        to.gather_targets(rows, order, share);
    }

    /// Computes part `part` of a phase other than [`Phase::Gather`].
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

    /// Returns the rows of a batch in share `part`.
    pub fn share(&self, part: usize, step: Step<'_>) -> Range<usize> {
        self.share_of(part, step.rows())
    }

    /// Returns the share of part `part` of `rows` rows.
    fn share_of(&self, part: usize, rows: usize) -> Range<usize> {
        range(rows, part, self.plan.parts())
    }

    /// Returns the epilogue of a layer.
    pub fn epilogue<'a>(&self, layer: usize, step: Step<'a>) -> Epilogue<'a> {
        let Some(layer) = self.dense_number(layer) else {
            return Epilogue { activation: Activation::Identity, dropout: None };
        };
        let dropout = self.network.dropout(layer).map(|dropout| (dropout, step.record));
        Epilogue { activation: self.network.dense()[layer].activation, dropout }
    }

    /// Computes the panels that part `part` owns.
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

    /// Computes share `part` of the loss, and of its gradient with respect to the last layer's outputs.
    pub fn loss(&self, part: usize, step: Step<'_>) {
        let (mut to, inputs) = (self.losses.write(part), step.inputs.read(part));
        let (loss, smoothing) = (self.network.loss(), self.rule.label_smoothing);
        if !self.plan.is_by_columns() && !self.above.is_empty() {
            // The part has complete rows of the last layer.
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

    /// Adds the gradient with respect to a piece of a layer that part `part` owns, with these parameters, to
    /// `to`, scaled by the step's scale.
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

    /// Adds the gradient with respect to a piece of an input layer that part `part` owns, with these
    /// parameters.
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

    /// Returns the layer and number of each piece that part `part` owns.
    fn all_owned(&self, part: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..self.parameters.len())
            .flat_map(move |layer| self.owned(layer, part).map(move |piece| (layer, piece)))
    }

    /// Computes the gradients of all pieces that part `part` owns, and their sums of squares.
    fn gradient(&self, part: usize, step: Step<'_>) {
        for (layer, piece) in self.all_owned(part) {
            let Owned { values, gradients, .. } = &mut *self.parameters[layer].write(piece);
            self.add_piece_gradient((layer, piece, part), step, values, gradients);
            *self.squares[layer].write(piece) = gradients.sum_of_squares();
        }
    }

    /// Updates all pieces that part `part` owns: from stored gradients if their norm is clipped, else as the
    /// gradients are computed.
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
            // The gradient of an input layer depends on the parameters that are updated.
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

    /// Returns the metrics of the step.
    pub fn metrics(&self, step: Step<'_>) -> BatchMetrics {
        let mut metrics = BatchMetrics { rows: step.rows(), loss: 0.0, correct: 0 };
        for share in self.losses.read_all() {
            // Sums row by row, independently of the division into shares.
            share.losses.iter().for_each(|loss| metrics.loss += loss);
            metrics.correct += share.correct;
        }
        metrics
    }
}
