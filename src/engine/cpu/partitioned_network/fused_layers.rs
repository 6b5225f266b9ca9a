//! Layers above the first, when the first two are paired. A part has panels of the first layer and the
//! corresponding rows of the second layer's weights: parts exchange only sums of the second layer and its
//! deltas. Above it, each part takes its rows of the batch through all layers.

use std::sync::RwLockReadGuard;

use super::PartitionedNetwork;
use super::step::Step;
use crate::engine::cpu::matrix::Matrix;
use crate::engine::cpu::outputs::{Outputs, Tile};
use crate::engine::cpu::tiles::Start;
use crate::vectors::vectorized_loops;

impl PartitionedNetwork {
    /// Computes the sums that the panels of part `part` add to the second layer's pre-activations.
    pub fn add_sums(&self, part: usize) {
        for number in self.owned(0, part) {
            let (hidden, mut to) = (self.hidden.read(number), self.sums.write(number));
            to.resize(hidden.y.row_count(), self.above[0].outputs);
            self.above[0].forward_piece(number, &self.parameters[1], hidden.y.view(), &mut to);
        }
    }

    /// Takes share `part` of the rows from these sums to the loss and back to the second layer's deltas.
    pub fn walk_rows(&self, part: usize, step: Step<'_>) {
        let layers = self.outputs.len();
        let tile = |layer: usize| {
            let columns = 0..self.network.dense()[layer].units;
            Tile { rows: self.share(part, step), columns }
        };
        for layer in 1..layers {
            let (tile, mut to) = (tile(layer), self.outputs[layer].write(part));
            to.y.resize(tile.rows.len(), tile.columns.len());
            if layer == 1 {
                self.join_sums(&tile, &mut to.y);
            } else {
                let (above, below) = (&self.above[layer - 1], self.outputs[layer - 1].read(part));
                let x = |piece: usize| below.y.view().columns(above.pieces[piece].clone());
                above.forward(&self.parameters[layer], x, tile.columns.clone(), &mut to.y);
            }
            to.activate(self.epilogue(layer, step), &tile);
        }
        self.loss(part, step);
        for layer in (2..layers).rev() {
            let (here, tile) = (self.outputs[layer].read(part), tile(layer - 1));
            let mut to = self.outputs[layer - 1].write(part);
            to.delta.resize(tile.rows.len(), tile.columns.len());
            let (above, width) = (&self.above[layer - 1], to.delta.width());
            for (number, columns) in above.pieces.iter().enumerate() {
                let delta = (0..above.outputs, here.delta.view());
                let dx = (to.delta.values_mut(), width, columns.start);
                above.backward(number, &self.parameters[layer], Start::Zeros, delta, dx);
            }
            to.activate_backward(self.epilogue(layer - 1, step), &tile);
        }
    }

    /// Computes the second layer's pre-activations: the bias plus the sums of the panels, in order.
    fn join_sums(&self, tile: &Tile, z: &mut Matrix) {
        let (width, z) = (z.width(), z.values_mut());
        Start::Row(&self.parameters[1].read(0).values.bias).write(z, width, tile.rows.len(), width);
        for sums in self.sums.read_all() {
            let sums = sums.rows(tile.rows.clone());
            vectorized_loops!(z.iter_mut().zip(sums).for_each(|(z, sum)| *z += sum));
        }
    }

    /// Copies the outputs of the only layer for a share of rows from its panels.
    pub fn take_panels(&self, part: usize, step: Step<'_>, to: &mut Matrix) {
        for (panel, hidden) in self.panels.iter().zip(self.hidden.read_all()) {
            to.copy_block(0, panel.columns.start, &hidden.y, self.share(part, step));
        }
    }

    /// Computes the deltas of the panels of part `part`, for all rows.
    pub fn backward_pair(&self, part: usize, step: Step<'_>) {
        if self.plan.parts() > 1 {
            let to = &mut self.deltas.write(part).delta;
            to.resize(step.rows(), self.above[0].outputs);
            for number in 0..self.plan.parts() {
                let (share, from) = (self.share(number, step), self.outputs[1].read(number));
                to.copy_block(share.start, 0, &from.delta, 0..share.len());
            }
        }
        let from = self.second_deltas(part);
        for number in self.owned(0, part) {
            let (panel, mut to) = (&self.panels[number], self.hidden.write(number));
            to.delta.resize(step.rows(), panel.columns.len());
            let (above, width) = (&self.above[0], to.delta.width());
            let delta = (0..above.outputs, from.delta.view());
            above.backward(
                number,
                &self.parameters[1],
                Start::Zeros,
                delta,
                (to.delta.values_mut(), width, 0),
            );
            let tile = Tile { rows: 0..step.rows(), columns: panel.columns.clone() };
            to.activate_backward(self.epilogue(0, step), &tile);
        }
    }

    /// Returns outputs with the gradients with respect to the second layer's pre-activations for all rows:
    /// copies, unless there is only one part.
    pub fn second_deltas(&self, part: usize) -> RwLockReadGuard<'_, Outputs> {
        if self.plan.parts() == 1 { self.outputs[1].read(part) } else { self.deltas.read(part) }
    }

    /// Copies the deltas of a panel of the only layer, for all rows, from the gradients of the loss.
    pub fn take_panel_deltas(&self, piece: usize, step: Step<'_>) {
        let (columns, mut to) = (&self.panels[piece].columns, self.hidden.write(piece));
        to.delta.resize(step.rows(), columns.len());
        let width = to.delta.width();
        let mut rows = to.delta.values_mut().chunks_exact_mut(width);
        for share in self.losses.read_all() {
            for (from, to) in share.delta.values().chunks_exact(share.delta.width()).zip(&mut rows) {
                to.copy_from_slice(&from[columns.start..columns.start + width]);
            }
        }
    }
}
