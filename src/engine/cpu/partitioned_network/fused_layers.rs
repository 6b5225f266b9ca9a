//! The layers above the first where the second is paired with it. A part has panels of the first layer and the rows of the
//! second layer's weights that go with them: between parts go only sums of the second layer, and its deltas. Above it, each
//! part takes its rows of the batch through all layers.

use super::PartitionedNetwork;
use super::step::Step;
use crate::engine::cpu::dense_layer::Columns;
use crate::engine::cpu::matrix::Matrix;
use crate::engine::cpu::outputs::Tile;
use crate::engine::cpu::product;
use crate::engine::cpu::view::View;
use crate::vectors::vectorized_loops;

impl PartitionedNetwork {
    /// What the panels of part `part` add to the second layer's pre-activations.
    pub fn add_sums(&self, part: usize) {
        for number in self.owned(0, part) {
            let (x, to) = (&self.hidden.read(number).y, self.sums.write(number));
            to.resize(x.row_count(), self.above[0].outputs);
            self.above[0].forward_piece(number, &self.parameters[1], x.view(), to);
        }
    }

    /// Share `part` of the rows, from those sums to the loss and back to the second layer's deltas.
    pub fn walk_rows(&self, part: usize, step: Step<'_>) {
        let layers = self.outputs.len();
        let tile = |layer: usize| {
            let columns = 0..self.network.dense()[layer].units;
            Tile { rows: self.share(part, step), columns }
        };
        for layer in 1..layers {
            let (tile, to) = (tile(layer), self.outputs[layer].write(part));
            to.y.resize(tile.rows.len(), tile.columns.len());
            if layer == 1 {
                self.join_sums(&tile, &mut to.y);
            } else {
                let x = |piece| self.x(layer - 1, part, piece);
                self.above[layer - 1].forward(&self.parameters[layer], x, tile.columns.clone(), &mut to.y);
            }
            to.activate(self.epilogue(layer, step), &tile, 0..tile.rows.len());
        }
        self.loss(part, step);
        for layer in (2..layers).rev() {
            let (delta, tile) = (self.outputs[layer].read(part).delta.view(), tile(layer - 1));
            let to = self.outputs[layer - 1].write(part);
            to.delta.resize(tile.rows.len(), tile.columns.len());
            let (above, rows) = (&self.above[layer - 1], 0..tile.rows.len());
            let weights = (&self.parameters[layer], &self.transposed[layer - 1]);
            for (number, columns) in above.pieces.iter().enumerate() {
                above.backward(number, weights, delta, (&mut to.delta, rows.clone()), columns.start);
            }
            to.activate_backward(self.epilogue(layer - 1, step), &tile, rows);
        }
    }

    /// The second layer's pre-activations: the bias and what the panels have added to it, in their order.
    fn join_sums(&self, tile: &Tile, z: &mut Matrix) {
        let mut sums = self.sums.read_all().map(|sums| sums.rows(tile.rows.clone()));
        if let Some(first) = sums.next() {
            z.set_to_sums(&self.parameters[1].read(0).values.bias, first);
        }
        let z = z.values_mut();
        for sums in sums {
            vectorized_loops!(z.iter_mut().zip(sums).for_each(|(z, sum)| *z += sum));
        }
    }

    /// The outputs of the only layer for a share of rows, from its panels.
    pub fn take_panels(&self, part: usize, step: Step<'_>, to: &mut Matrix) {
        for (panel, hidden) in self.panels.iter().zip(self.hidden.read_all()) {
            to.copy_block(0, panel.columns.start, &hidden.y, self.share(part, step));
        }
    }

    /// The columns of a layer's outputs, for the rows of part `part`, that go with piece `piece` of the layer above.
    fn x(&self, layer: usize, part: usize, piece: usize) -> View<'_> {
        let columns = self.above[layer].pieces[piece].clone();
        self.outputs[layer].read(part).y.view().columns(columns)
    }

    /// Deltas of the panels of part `part`, for all rows.
    pub fn backward_pair(&self, part: usize, step: Step<'_>) {
        if self.plan.parts() > 1 {
            let deltas = self.deltas.write(part);
            deltas.resize(step.rows(), self.above[0].outputs);
            for number in 0..self.plan.parts() {
                let (share, from) = (self.share(number, step), &self.outputs[1].read(number).delta);
                deltas.copy_block(share.start, 0, from, 0..share.len());
            }
        }
        let deltas = self.second_deltas(part);
        for number in self.owned(0, part) {
            let (panel, to) = (&self.panels[number], self.hidden.write(number));
            to.delta.resize(step.rows(), panel.columns.len());
            let weights = (&self.parameters[1], &self.transposed[0]);
            let factor = self.above[0].shape(number).iter().product();
            for rows in product::row_tiles(step.rows(), to.delta.width(), factor) {
                self.above[0].backward(number, weights, deltas, (&mut to.delta, rows.clone()), 0);
                let tile = Tile { rows: rows.clone(), columns: panel.columns.clone() };
                to.activate_backward(self.epilogue(0, step), &tile, rows);
            }
        }
    }

    /// Gradients by the second layer's pre-activations for all rows, as part `part` has them: copies, unless it is the only part.
    fn second_deltas(&self, part: usize) -> View<'_> {
        match self.plan.parts() {
            1 => self.outputs[1].read(part).delta.view(),
            _ => self.deltas.read(part).view(),
        }
    }

    /// Gradients by the pre-activations of a panel for all rows.
    pub fn panel_delta_paired(&self, piece: usize, step: Step<'_>) -> View<'_> {
        if self.above.is_empty() {
            self.take_panel_deltas(piece, step);
        }
        self.hidden.read(piece).delta.padded()
    }

    /// What part `number` has for the gradient by a piece of a layer above the first: of the second layer all rows of X and
    /// D, of others its own.
    pub fn factor_paired(&self, layer: usize, piece: usize, number: usize) -> (View<'_>, Columns<'_>) {
        let (x, delta) = if layer == 1 {
            (self.hidden.read(piece).y.view(), self.second_deltas(number))
        } else {
            (self.x(layer - 1, number, piece), self.outputs[layer].read(number).delta.view())
        };
        (x, (0..self.above[layer - 1].outputs, delta))
    }

    /// Deltas of a panel of the only layer, for all rows: its columns of the gradients of the loss.
    fn take_panel_deltas(&self, piece: usize, step: Step<'_>) {
        let (columns, to) = (&self.panels[piece].columns, self.hidden.write(piece));
        to.delta.resize(step.rows(), columns.len());
        let width = to.delta.width();
        let rows =
            self.losses.read_all().flat_map(|share| share.delta.values().chunks_exact(share.delta.width()));
        for (to, from) in to.delta.values_mut().chunks_exact_mut(width).zip(rows) {
            to.copy_from_slice(&from[columns.start..columns.start + width]);
        }
    }
}
