//! Gradients with respect to the parameters of dense layers. Plain gradient descent adds its updates directly
//! to the weights.

use std::ops::Range;
use std::sync::RwLockReadGuard;

use super::PartitionedNetwork;
use crate::engine::cpu::dense_layer::Columns;
use crate::engine::cpu::outputs::Outputs;
use crate::engine::cpu::partitioned_network::step::Step;
use crate::engine::cpu::tensors::Tensors;
use crate::engine::cpu::view::View;

/// Some columns of X and all of D: X'D is a term of the gradient with respect to a piece.
struct Factors<'a> {
    x: RwLockReadGuard<'a, Outputs>,
    of_piece: Range<usize>,
    delta: RwLockReadGuard<'a, Outputs>,
    columns: Range<usize>,
}

impl Factors<'_> {
    fn x(&self) -> View<'_> {
        self.x.y.view().columns(self.of_piece.clone())
    }

    fn delta(&self) -> Columns<'_> {
        (self.columns.clone(), self.delta.delta.view())
    }
}

impl PartitionedNetwork {
    /// Adds the gradient with respect to a piece of a dense layer that part `part` owns to `to`, scaled by
    /// the step's scale.
    pub fn add_gradient(&self, layer: usize, piece: usize, part: usize, step: Step<'_>, to: &mut Tensors) {
        match layer.checked_sub(1) {
            None => {
                let (outputs, columns) = self.panel_delta(piece, part, step);
                let delta = outputs.delta.padded().columns(columns);
                self.panels[piece].add_gradient(to, &step.inputs_for(part), delta);
            }
            Some(above) => {
                for factors in self.factors(layer, piece, part) {
                    self.above[above].add_gradient(piece, to, factors.x(), factors.delta());
                }
            }
        }
    }

    /// Returns the outputs, with their columns, that have the gradients for all rows with respect to the
    /// pre-activations of a first-layer panel that part `part` owns.
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

    /// Returns the factors of the gradient with respect to a piece that part `part` owns of a layer above the
    /// first, in the order of rows or columns.
    fn factors(&self, layer: usize, piece: usize, part: usize) -> impl Iterator<Item = Factors<'_>> {
        let of_piece = self.above[layer - 1].pieces[piece].clone();
        self.delta_parts(layer, part).map(move |number| {
            if self.plan.is_by_columns() {
                let first = self.columns(layer - 1, part).start;
                let of_piece = of_piece.start - first..of_piece.end - first;
                let (x, delta) = (self.outputs[layer - 1].read(part), self.outputs[layer].read(number));
                return Factors { x, of_piece, delta, columns: self.delta_columns(layer, number) };
            }
            let columns = 0..self.above[layer - 1].outputs;
            if layer == 1 {
                let (x, delta) = (self.hidden.read(piece), self.second_deltas(number));
                return Factors { x, of_piece: 0..of_piece.len(), delta, columns };
            }
            let (x, delta) = (self.outputs[layer - 1].read(number), self.outputs[layer].read(number));
            Factors { x, of_piece: of_piece.clone(), delta, columns }
        })
    }

    /// Returns the parts whose gradients with respect to the pre-activations of a layer above the first part
    /// `part` reads: only itself if each part has all gradients (in the last layer when divided by columns,
    /// otherwise in the second), else all parts.
    pub fn delta_parts(&self, layer: usize, part: usize) -> impl Iterator<Item = usize> + Clone {
        let by_columns = self.plan.is_by_columns();
        let has_all = if by_columns { layer + 1 == self.outputs.len() } else { layer == 1 };
        let parts = if has_all { part..part + 1 } else { 0..self.plan.parts() };
        parts.filter(move |number| has_all || !by_columns || !self.columns(layer, *number).is_empty())
    }
}
