//! Gradients by the parameters of dense layers, and the updates that they are for.
//!
//! Plain gradient descent adds its updates to the weights. Other optimizers take the gradient a tile at a time (`update.rs`). It is kept as a
//! whole only where its norm is clipped, and by an input layer.

use std::ops::Range;
use std::sync::RwLockReadGuard;

use super::PartitionedNetwork;
use crate::engine::cpu::dense_layer::Columns;
use crate::engine::cpu::outputs::Outputs;
use crate::engine::cpu::partitioned_network::step::Step;
use crate::engine::cpu::tensors::{Owned, Tensors};
use crate::engine::cpu::update::{Update, update_panel, update_weights, zeros};
use crate::engine::cpu::view::View;
use crate::step::UpdateRule;

/// Some rows and columns of X and all of D: X'D is a part of the sum that the gradient by a piece is.
struct Factors<'a> {
    x: RwLockReadGuard<'a, Outputs>,
    rows: Range<usize>,
    of_piece: Range<usize>,
    delta: RwLockReadGuard<'a, Outputs>,
    columns: Range<usize>,
}

impl Factors<'_> {
    fn x(&self) -> View<'_> {
        self.x.y.view().rows(self.rows.clone()).columns(self.of_piece.clone())
    }

    fn delta(&self) -> Columns<'_> {
        (self.columns.clone(), self.delta.delta.view())
    }
}

impl PartitionedNetwork {
    /// Adds the gradient by a piece that part `part` owns of a dense layer to `to`, scaled as the step says.
    pub fn add_gradient(&self, layer: usize, piece: usize, part: usize, step: Step<'_>, to: &mut Tensors) {
        match layer.checked_sub(1) {
            None => {
                let (outputs, columns) = self.panel_delta(piece, part, step);
                let delta = outputs.delta.padded().columns(columns);
                self.panels[piece].add_gradient(to, &step.inputs_for(part), delta);
            }
            Some(above) => {
                for factors in self.factors(layer, piece, part, step) {
                    self.above[above].add_gradient(piece, to, factors.x(), factors.delta());
                }
            }
        }
    }

    /// Updates a piece that part `part` owns of a dense layer as an optimizer does that is not plain gradient descent.
    pub fn update_by_tiles(
        &self,
        (layer, piece, part): (usize, usize, usize),
        step: Step<'_>,
        owned: &mut Owned,
        factors: [f32; 2],
    ) {
        let (rule, record): (&UpdateRule, _) = (&self.rule, step.record);
        let memory = &mut *self.updates.write(part);
        match layer.checked_sub(1) {
            None => {
                let (panel, (outputs, columns)) = (&self.panels[piece], self.panel_delta(piece, part, step));
                let delta = outputs.delta.padded().columns(columns);
                let update = Update { owned, rule, record, factor: factors[0] };
                update_panel(panel, &step.inputs_for(part), delta, memory, update);
                let gradients = zeros(&mut memory.tile, panel.width);
                delta.add_column_sums(gradients);
                owned.update_bias(rule, record, factors[1], 0..gradients.len(), gradients);
            }
            Some(above) => {
                let above = &self.above[above];
                let all: Vec<_> = self.factors(layer, piece, part, step).collect();
                let pairs = all.iter().map(|factors| above.gradient_factors(factors.x(), factors.delta()));
                let update = Update { owned, rule, record, factor: factors[0] };
                update_weights(above.shape(piece), pairs, memory, update);
                if piece == 0 {
                    let gradients = zeros(&mut memory.tile, owned.values.bias.len());
                    for (columns, delta) in all.iter().map(Factors::delta) {
                        delta.add_column_sums(&mut gradients[columns]);
                    }
                    owned.update_bias(rule, record, factors[1], 0..gradients.len(), gradients);
                }
            }
        }
    }

    /// Outputs that have the gradients by the pre-activations of a panel that part `part` owns of the first layer, for all rows, and in
    /// which columns.
    fn panel_delta(
        &self,
        piece: usize,
        part: usize,
        step: Step<'_>,
    ) -> (RwLockReadGuard<'_, Outputs>, Range<usize>) {
        let panel = &self.panels[piece];
        if self.plan.is_by_columns() {
            let first = panel.columns.start - self.columns(0, part).start;
            return (self.outputs[0].read(part), first..first + panel.width);
        }
        if self.above.is_empty() {
            self.take_panel_deltas(piece, step);
        }
        (self.hidden.read(piece), 0..panel.width)
    }

    /// The factors of the gradient by a piece that part `part` owns of a layer above the first, in the order of the rows or columns.
    fn factors(
        &self,
        layer: usize,
        piece: usize,
        part: usize,
        step: Step<'_>,
    ) -> impl Iterator<Item = Factors<'_>> {
        let of_piece = self.above[layer - 1].pieces[piece].clone();
        self.delta_parts(layer, part).map(move |number| {
            let delta = self.outputs[layer].read(number);
            if self.plan.is_by_columns() {
                let first = self.columns(layer - 1, part).start;
                let of_piece = of_piece.start - first..of_piece.end - first;
                let (x, columns) = (self.outputs[layer - 1].read(part), self.delta_columns(layer, number));
                return Factors { x, rows: 0..step.rows(), of_piece, delta, columns };
            }
            let columns = 0..self.above[layer - 1].outputs;
            let rows = self.share(number, step);
            if layer == 1 {
                let x = self.hidden.read(piece);
                return Factors { x, rows, of_piece: 0..of_piece.len(), delta, columns };
            }
            let x = self.outputs[layer - 1].read(number);
            Factors { x, rows: 0..rows.len(), of_piece: of_piece.clone(), delta, columns }
        })
    }

    /// Which parts have the gradients by the pre-activations of a layer above the first, as part `part` reads them: that part alone
    /// where each has all, as of the last layer where columns are divided.
    pub fn delta_parts(&self, layer: usize, part: usize) -> impl Iterator<Item = usize> + Clone {
        let by_columns = self.plan.is_by_columns();
        let has_all = by_columns && layer + 1 == self.outputs.len();
        let parts = if has_all { part..part + 1 } else { 0..self.plan.parts() };
        parts.filter(move |number| has_all || !by_columns || !self.columns(layer, *number).is_empty())
    }
}
