//! Layers above the first, divided by columns: a part has a tile of all rows and some columns of each layer's
//! outputs, which are the inputs of the part's weights in the layer above. No two parts pack the same
//! weights.

use std::ops::Range;

use super::PartitionedNetwork;
use crate::engine::cpu::matrix::Matrix;
use crate::engine::cpu::outputs::Tile;
use crate::engine::cpu::partitioned_network::step::Step;
use crate::engine::cpu::tiles::Start;

impl PartitionedNetwork {
    /// Returns the tile of part `part` in a layer's outputs.
    fn tile(&self, layer: usize, part: usize, step: Step<'_>) -> Tile {
        Tile { rows: 0..step.rows(), columns: self.columns(layer, part) }
    }

    /// Computes the part's tile of the first layer's outputs from its panels.
    pub fn join_first(&self, part: usize, step: Step<'_>) {
        let (tile, mut to) = (self.tile(0, part, step), self.outputs[0].write(part));
        to.y.resize(tile.rows.len(), tile.columns.len());
        for number in self.owned(0, part) {
            let column = self.first_pieces[number].start - tile.columns.start;
            let from = &self.hidden.read(number).y;
            match self.input.get(number) {
                Some(panel) => {
                    let parameters = &self.parameters[0].read(number).values;
                    panel.scale_into(parameters, from, &mut to.y, column);
                }
                None => to.y.copy_block(0, column, from, tile.rows.clone()),
            }
        }
        to.activate(self.epilogue(0, step), &tile);
    }

    /// Computes the part's tile of the outputs of a layer above the first.
    pub fn forward_columns(&self, layer: usize, part: usize, step: Step<'_>) {
        let (tile, mut to) = (self.tile(layer, part, step), self.outputs[layer].write(part));
        to.y.resize(tile.rows.len(), tile.columns.len());
        let (above, below) = (&self.above[layer - 1], self.outputs[layer - 1].read_all());
        let below: Vec<_> = below.collect();
        let x = |piece: usize| {
            let (part, first) = self.owner(layer, piece);
            let columns = &above.pieces[piece];
            below[part].y.view().columns(columns.start - first..columns.end - first)
        };
        above.forward(&self.parameters[layer], x, tile.columns.clone(), &mut to.y);
        to.activate(self.epilogue(layer, step), &tile);
    }

    /// Copies the outputs of a share of rows, from which its loss is computed.
    pub fn take_columns(&self, part: usize, step: Step<'_>, to: &mut Matrix) {
        let last = self.outputs.len() - 1;
        for number in 0..self.plan.parts() {
            let columns = self.columns(last, number);
            if !columns.is_empty() {
                let from = &self.outputs[last].read(number).y;
                to.copy_block(0, columns.start, from, self.share(part, step));
            }
        }
    }

    /// Copies the gradients of the loss for all rows and columns.
    fn take_loss_gradient(&self, part: usize, step: Step<'_>) {
        let mut to = self.outputs[self.outputs.len() - 1].write(part);
        to.delta.resize(step.rows(), self.network.outputs());
        for number in 0..self.plan.parts() {
            let (from, share) = (self.losses.read(number), self.share(number, step));
            to.delta.copy_block(share.start, 0, &from.delta, 0..share.len());
        }
    }

    /// Computes the gradients with respect to the pre-activations of the part's tile of the layer below
    /// `layer`.
    pub fn backward_columns(&self, layer: usize, part: usize, step: Step<'_>) {
        if layer + 1 == self.outputs.len() {
            self.take_loss_gradient(part, step);
        }
        let (tile, mut to) = (self.tile(layer - 1, part, step), self.outputs[layer - 1].write(part));
        to.delta.resize(tile.rows.len(), tile.columns.len());
        to.delta.values_mut().fill(0.0);
        let (above, width) = (&self.above[layer - 1], to.delta.width());
        for piece in self.owned(layer, part) {
            let first = above.pieces[piece].start - tile.columns.start;
            for number in self.delta_parts(layer, part) {
                let delta = self.outputs[layer].read(number);
                let delta = (self.delta_columns(layer, number), delta.delta.view());
                let dx = (to.delta.values_mut(), width, first);
                above.backward(piece, &self.parameters[layer], Start::Sums, delta, dx);
            }
        }
        to.activate_backward(self.epilogue(layer - 1, step), &tile);
    }

    /// Returns the columns of a layer above the first for which part `part` has the gradients with respect to
    /// the pre-activations: its tile, or all columns of the last layer.
    pub fn delta_columns(&self, layer: usize, part: usize) -> Range<usize> {
        let is_last = layer + 1 == self.outputs.len();
        if is_last { 0..self.network.outputs() } else { self.columns(layer, part) }
    }
}
