//! The phases of a step, a part of the work at a time. Which part reads and writes what: see the table in `parts.rs`.
//!
//! The first layer is always divided by columns. The layers above are divided by rows of the batch or by columns of the
//! layer, as the plan says, and both are one body: a part has a tile of the outputs of each layer, and what it needs of the
//! layer below or above comes from its own tile, which has all columns, or from the tiles of all parts.

use std::ops::Range;

use super::dense_layer::Columns;
use super::divide::{columns, range};
use super::divided::DividedNetwork;
use super::outputs::{Behind, Tile};
use super::parts::Parts;
use super::plan::Phase;
use super::product::View;
use super::sparse::Inputs;
use super::tensors::{Tensors, clip_scale};
use crate::data::Rows;
use crate::engine::BatchMetrics;
use crate::step::StepRecord;

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

impl DividedNetwork {
    /// The inputs of a step.
    pub fn inputs_of(&self, step: usize) -> &Parts<Inputs> {
        &self.inputs[step % 2]
    }

    /// A step that trains. Plain gradient descent adds its updates to the parameters instead of gradients.
    pub fn training_step<'a>(&'a self, step: usize, record: &'a StepRecord) -> Step<'a> {
        let rate = if self.rule.is_plain_sgd() { -record.rate } else { 1.0 };
        Step { record, inputs: self.inputs_of(step), scale: rate / record.rows as f32 }
    }

    /// Before a step: the rows of share `part` of its batch.
    pub fn gather(&self, part: usize, to: &Parts<Inputs>, rows: &Rows<'_>, order: &[u32], sparse: bool) {
        let order = &order[range(order.len(), part, self.plan.parts())];
        let to = to.write(part);
        to.gather(rows, order, sparse);
        to.gather_targets(rows, order);
    }

    /// Part `part` of a phase.
    pub fn compute(&self, phase: Phase, part: usize, step: Step<'_>) {
        match phase {
            Phase::FirstLayer => self.first_layer(part, step),
            Phase::Rows => {
                self.first_outputs(part, step);
                (1..self.outputs.len()).for_each(|layer| self.forward(layer, part, step));
                self.loss(part, step);
                self.take_loss_gradient(part, step);
                (1..self.outputs.len()).rev().for_each(|layer| self.backward(layer, part, step));
            }
            Phase::Forward(index) => self.forward(index + 1, part, step),
            Phase::Loss => self.loss(part, step),
            Phase::Backward(index) => {
                if index + 1 == self.above.len() {
                    self.take_loss_gradient(part, step);
                }
                self.backward(index + 1, part, step);
            }
            Phase::Gradient => self.gradient(part, step),
            Phase::Update => self.update(part, step),
        }
    }

    /// The rows of a batch in share `part`.
    fn share(&self, part: usize, step: Step<'_>) -> Range<usize> {
        range(step.record.rows as usize, part, self.plan.parts())
    }

    /// What part `part` has of a layer's outputs.
    fn tile(&self, layer: usize, part: usize, step: Step<'_>) -> Tile {
        let columns = self.columns(layer, part);
        let rows =
            if self.plan.is_by_columns() { 0..step.record.rows as usize } else { self.share(part, step) };
        Tile { rows, columns }
    }

    /// Its columns.
    fn columns(&self, layer: usize, part: usize) -> Range<usize> {
        let outputs = self.network.dense()[layer].units;
        if self.plan.is_by_columns() { columns(outputs, part, self.plan.parts()) } else { 0..outputs }
    }

    /// The parts whose tiles together have all columns of the rows of part `part`.
    fn beside(&self, part: usize) -> Range<usize> {
        if self.plan.is_by_columns() { 0..self.plan.parts() } else { part..part + 1 }
    }

    /// The parts whose panel, or piece of the weights above, goes with columns of the tile of part `part`; just as well
    /// those whose tile has the columns that go with its panel or piece.
    fn across(&self, part: usize) -> Range<usize> {
        if self.plan.is_by_columns() { part..part + 1 } else { 0..self.plan.parts() }
    }

    fn behind<'a>(&self, layer: usize, step: Step<'a>) -> Behind<'a> {
        let dropout = self.network.dropout(layer).map(|dropout| (dropout, step.record));
        Behind { activation: self.network.dense()[layer].activation, dropout }
    }

    fn first_layer(&self, part: usize, step: Step<'_>) {
        let (panel, z) = (&self.panels[part], self.first.write(part));
        z.resize(step.record.rows as usize, panel.columns.len());
        let parameters = &self.parameters[0].read(part).values;
        for (share, inputs) in step.inputs.read_all().enumerate() {
            panel.forward(parameters, inputs, z.rows_mut(self.share(share, step)));
        }
        if self.plan.is_by_columns() {
            self.first_outputs(part, step);
        }
    }

    /// The part's tile of the first layer's outputs, from the panels.
    fn first_outputs(&self, part: usize, step: Step<'_>) {
        let (tile, to) = (self.tile(0, part, step), self.outputs[0].write(part));
        to.y.resize(tile.rows.len(), tile.columns.len());
        for number in self.across(part) {
            let columns = &self.panels[number].columns;
            if !columns.is_empty() {
                let column = columns.start - tile.columns.start;
                to.y.copy_block(0, column, self.first.read(number), tile.rows.clone());
            }
        }
        to.activate(self.behind(0, step), &tile);
    }

    /// The columns that go with piece `piece` of the weights above, of the outputs of layer `layer` that part `part` needs.
    fn x(&self, layer: usize, part: usize, piece: usize) -> View<'_> {
        if self.plan.is_by_columns() {
            return self.outputs[layer].read(piece).y.view();
        }
        self.outputs[layer].read(part).y.view().columns(self.above[layer].rows(piece))
    }

    /// The part's tile of the outputs of a layer above the first.
    fn forward(&self, layer: usize, part: usize, step: Step<'_>) {
        let (tile, to) = (self.tile(layer, part, step), self.outputs[layer].write(part));
        to.y.resize(tile.rows.len(), tile.columns.len());
        let x = |piece| self.x(layer - 1, part, piece);
        self.above[layer - 1].forward(&self.parameters[layer], x, tile.columns.clone(), &mut to.y);
        to.activate(self.behind(layer, step), &tile);
    }

    /// Share `part` of the loss and of its gradient by the last layer's outputs.
    fn loss(&self, part: usize, step: Step<'_>) {
        let (last, to) = (self.outputs.len() - 1, self.losses.write(part));
        let rows = self.share(part, step);
        to.outputs.resize(rows.len(), self.network.outputs());
        for number in self.beside(part) {
            let Tile { rows: have, columns } = self.tile(last, number, step);
            if !columns.is_empty() {
                let rows = rows.start - have.start..rows.end - have.start;
                to.outputs.copy_block(0, columns.start, &self.outputs[last].read(number).y, rows);
            }
        }
        let smoothing = self.rule.label_smoothing;
        to.compute(self.network.loss(), step.inputs.read(part), smoothing, step.scale);
    }

    /// Takes the gradients of the loss for the rows of the part, all columns.
    fn take_loss_gradient(&self, part: usize, step: Step<'_>) {
        let last = self.outputs.len() - 1;
        let rows = self.tile(last, part, step).rows;
        let delta = &mut self.outputs[last].write(part).delta;
        delta.resize(rows.len(), self.network.outputs());
        for number in self.beside(part) {
            let (from, share) = (&self.losses.read(number).delta, self.share(number, step));
            delta.copy_block(share.start - rows.start, 0, from, 0..share.len());
        }
    }

    /// Gradients by the pre-activations of a layer above the first, for all columns of the rows of the part.
    fn deltas(&self, layer: usize, part: usize) -> impl Iterator<Item = Columns<'_>> + Clone {
        // Those of the last layer every part has for itself.
        let is_last = layer + 1 == self.outputs.len();
        let parts = if is_last { part..part + 1 } else { self.beside(part) };
        parts.map(move |number| {
            let columns = if is_last { 0..self.network.outputs() } else { self.columns(layer, number) };
            (columns, self.outputs[layer].read(number).delta.view())
        })
    }

    /// Gradients by the pre-activations of the part's tile of the layer below `layer`.
    fn backward(&self, layer: usize, part: usize, step: Step<'_>) {
        let deltas = self.deltas(layer, part);
        let (tile, to) = (self.tile(layer - 1, part, step), self.outputs[layer - 1].write(part));
        to.delta.resize(tile.rows.len(), tile.columns.len());
        let pieces = self.across(part);
        self.above[layer - 1].backward(&self.parameters[layer], pieces, deltas, &mut to.delta);
        to.activate_backward(self.behind(layer - 1, step), &tile);
    }

    /// Gradients by the pre-activations of panel `part` for the rows of share `share`.
    fn panel_deltas(&self, part: usize, share: usize, step: Step<'_>) -> View<'_> {
        if self.plan.is_by_columns() {
            let delta = self.outputs[0].read(part).delta.padded();
            return delta.rows(self.share(share, step));
        }
        let Range { start, .. } = self.panels[part].columns;
        self.outputs[0].read(share).delta.padded().columns(start..start + self.panels[part].width)
    }

    /// Adds the gradient by what part `part` owns of a layer to `to`, scaled as the step says.
    pub fn add_gradient(&self, layer: usize, part: usize, step: Step<'_>, to: &mut Tensors) {
        let Some(above) = layer.checked_sub(1) else {
            if !self.panels[part].columns.is_empty() {
                let inputs = step.inputs.read_all().enumerate();
                let shares = inputs.map(|(share, inputs)| (inputs, self.panel_deltas(part, share, step)));
                self.panels[part].add_gradient(to, shares);
            }
            return;
        };
        let parts = self.across(part).flat_map(|tile| {
            let x = self.x(above, tile, part);
            self.deltas(layer, tile).map(move |delta| (x, delta))
        });
        self.above[above].add_gradient(part, to, parts);
    }

    /// Gradients by all that part `part` owns, and their sum of squares.
    fn gradient(&self, part: usize, step: Step<'_>) {
        let mut squares = 0.0;
        for (layer, parameters) in self.parameters.iter().enumerate() {
            let to = &mut parameters.write(part).gradients;
            self.add_gradient(layer, part, step, to);
            squares += to.sum_of_squares();
        }
        *self.squares.write(part) = squares;
    }

    /// Updates all that part `part` owns; unless they are there, from gradients that are computed first.
    fn update(&self, part: usize, step: Step<'_>) {
        let clips = self.rule.clip_norm.is_some();
        let scale = if clips { clip_scale(self.squares.read_all().sum(), step.record.clip) } else { 1.0 };
        for (layer, parameters) in self.parameters.iter().enumerate() {
            let owned = parameters.write(part);
            if self.rule.is_plain_sgd() {
                self.add_gradient(layer, part, step, &mut owned.values);
                continue;
            }
            if !clips {
                self.add_gradient(layer, part, step, &mut owned.gradients);
            }
            owned.apply(&self.rule, step.record, layer, scale);
        }
    }

    /// What the step has given.
    pub fn metrics(&self, step: Step<'_>) -> BatchMetrics {
        BatchMetrics {
            rows: step.record.rows as usize,
            loss: self.losses.read_all().map(|share| share.loss).sum(),
            correct: self.losses.read_all().map(|share| share.correct).sum(),
        }
    }
}
