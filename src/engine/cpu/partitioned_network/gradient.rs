//! Gradients by the parameters of dense layers, and the updates that they are for.
//!
//! Plain gradient descent adds its updates to the weights. Other optimizers take the gradient a tile at a time (`update.rs`). It is kept as a
//! whole only where its norm is clipped, and by an input layer.

use super::PartitionedNetwork;
use crate::engine::cpu::dense_layer::Columns;
use crate::engine::cpu::partitioned_network::step::Step;
use crate::engine::cpu::tensors::{Owned, Tensors};
use crate::engine::cpu::update::{Update, update_panel, update_weights, zeros};
use crate::engine::cpu::view::View;
use crate::step::UpdateRule;

impl PartitionedNetwork {
    /// Adds the gradient by a piece that part `part` owns of a dense layer to `to`, scaled as the step says.
    pub fn add_gradient(&self, layer: usize, piece: usize, part: usize, step: Step<'_>, to: &mut Tensors) {
        match layer.checked_sub(1) {
            None => {
                let delta = self.panel_delta(piece, part, step);
                self.panels[piece].add_gradient(to, step.inputs_for(part), delta);
            }
            Some(above) => {
                for (x, delta) in self.factors(layer, piece, part) {
                    self.above[above].add_gradient(piece, to, x, delta);
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
        let memory = self.updates.write(part);
        match layer.checked_sub(1) {
            None => {
                let (panel, delta) = (&self.panels[piece], self.panel_delta(piece, part, step));
                let update = Update { owned, rule, record, factor: factors[0] };
                update_panel(panel, step.inputs_for(part), delta, memory, update);
                let gradients = zeros(&mut memory.tile, panel.width);
                delta.add_column_sums(gradients);
                owned.update_bias(rule, record, factors[1], 0..gradients.len(), gradients);
            }
            Some(above) => {
                let above = &self.above[above];
                let pairs =
                    self.factors(layer, piece, part).map(|(x, delta)| above.gradient_factors(x, delta));
                let update = Update { owned, rule, record, factor: factors[0] };
                update_weights(above.shape(piece), pairs, memory, update);
                if piece == 0 {
                    let gradients = zeros(&mut memory.tile, owned.values.bias.len());
                    for (_, (columns, delta)) in self.factors(layer, piece, part) {
                        delta.add_column_sums(&mut gradients[columns]);
                    }
                    owned.update_bias(rule, record, factors[1], 0..gradients.len(), gradients);
                }
            }
        }
    }

    /// Gradients by the pre-activations of a panel that part `part` owns of the first layer, for all rows.
    fn panel_delta(&self, piece: usize, part: usize, step: Step<'_>) -> View<'_> {
        if self.plan.is_by_columns() {
            self.panel_delta_by_columns(piece, part)
        } else {
            self.panel_delta_paired(piece, step)
        }
    }

    /// What the gradient by a piece that part `part` owns of a layer above the first is the sum of: X'D for these X and D, in
    /// the order of the rows or columns, whoever has them.
    fn factors(
        &self,
        layer: usize,
        piece: usize,
        part: usize,
    ) -> impl Iterator<Item = (View<'_>, Columns<'_>)> + Clone {
        let columns = self.plan.is_by_columns().then(|| self.columns_of_piece(layer - 1, piece));
        self.delta_parts(layer, part).map(move |number| match columns {
            Some(x) => (x, self.delta_tile(layer, number)),
            None => self.factor_paired(layer, piece, number),
        })
    }

    /// Which parts have the gradients by the pre-activations of a layer above the first, as part `part` reads them: that part alone
    /// where each has all, as of the last layer where columns are divided, and else of the second.
    pub fn delta_parts(&self, layer: usize, part: usize) -> impl Iterator<Item = usize> + Clone {
        let by_columns = self.plan.is_by_columns();
        let has_all = if by_columns { layer + 1 == self.outputs.len() } else { layer == 1 };
        let parts = if has_all { part..part + 1 } else { 0..self.plan.parts() };
        parts.filter(move |number| has_all || !by_columns || !self.columns(layer, *number).is_empty())
    }
}
