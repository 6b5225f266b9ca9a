//! Gradients by the parameters of dense layers, and the updates that they are for.
//!
//! Plain gradient descent adds its updates to the weights. Other optimizers take the gradient a tile at a time: while it stands in
//! registers or the nearest cache the weights that belong to it are updated. It is kept as a whole only where its norm is clipped, and
//! by an input layer.

use std::marker::PhantomData;
use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::PartitionedNetwork;
use crate::engine::cpu::aligned::Aligned;
use crate::engine::cpu::dense_layer::Columns;
use crate::engine::cpu::first_layer::Panel;
use crate::engine::cpu::groups::QUAD;
use crate::engine::cpu::inputs::{Inputs, ShareInputs};
use crate::engine::cpu::partition::{by_length, runs};
use crate::engine::cpu::partitioned_network::step::Step;
use crate::engine::cpu::parts::Parts;
use crate::engine::cpu::product;
use crate::engine::cpu::sparse_products::{RUNS, add_list, delta_by_runs, most_vectors};
use crate::engine::cpu::sparse_rows::{Quad, SparseRows};
use crate::engine::cpu::tensors::{Owned, Tensors};
use crate::engine::cpu::view::View;
use crate::step::formula::{Coefficients, Formula, Lanes, WithFormula, update_vectors};
use crate::step::{StepRecord, UpdateRule};
use crate::vectors::vectorized;

/// Numbers of a tile, or a few more: unless rows are long it stays in the nearest cache with the weights and their state.
const TILE: usize = 1 << 11;

/// Rows of a tile are a multiple of this: products take 6 or 8 of them at once.
const ROWS_OF_TILES: usize = 24;

/// Rows of a tile whose product copies the deltas first: with fewer, copying would take most of the time.
const ROWS_OF_COPIES: usize = 256;

/// An update of the weights of a piece.
struct Update<'a> {
    owned: &'a mut Owned,
    rule: &'a UpdateRule,
    record: &'a StepRecord,
    factor: f32,
}

impl PartitionedNetwork {
    /// Adds the gradient by a piece that part `part` owns of a dense layer to `to`, scaled as the step says.
    pub fn add_gradient(&self, layer: usize, piece: usize, part: usize, step: Step<'_>, to: &mut Tensors) {
        match layer.checked_sub(1) {
            None => {
                let delta = self.panel_delta(piece, part, step);
                self.panels[piece].add_gradient(to, step.inputs.read_all(), delta);
            }
            Some(above) => {
                for (x, delta) in self.factors(layer, piece, part) {
                    self.above[above].add_gradient(to, x, delta);
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
        let tile = self.tiles.write(part);
        match layer.checked_sub(1) {
            None => {
                let (panel, delta) = (&self.panels[piece], self.panel_delta(piece, part, step));
                let update = Update { owned, rule, record, factor: factors[0] };
                update_panel(panel, step.inputs, delta, tile, update);
                let gradients = zeros(tile, panel.width);
                delta.add_column_sums(gradients);
                owned.update_bias(rule, record, factors[1], 0..gradients.len(), gradients);
            }
            Some(above) => {
                let (above, width) = (&self.above[above], self.above[above].width);
                for rows in tiles(above.pieces[piece].len(), width, step.rows()) {
                    let gradients = zeros(tile, rows.len() * width);
                    for (x, (columns, delta)) in self.factors(layer, piece, part) {
                        let x = x.columns(rows.clone());
                        product::add(gradients, width, columns.start, x.transposed(), delta);
                    }
                    let weights = rows.start * width..rows.end * width;
                    owned.update_weights(rule, record, factors[0], weights, gradients);
                }
                if piece == 0 {
                    let gradients = zeros(tile, width);
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
    ) -> impl Iterator<Item = (View<'_>, Columns<'_>)> {
        let (by_columns, paired) = if self.plan.is_by_columns() {
            let x = self.columns_of_piece(layer - 1, piece);
            (Some(self.delta_tiles(layer, part).map(move |delta| (x, delta))), None)
        } else {
            let parts = if layer == 1 { part..part + 1 } else { 0..self.plan.parts() };
            (None, Some(parts.map(move |number| self.factor_paired(layer, piece, number))))
        };
        by_columns.into_iter().flatten().chain(paired.into_iter().flatten())
    }
}

/// Updates the weights from X'D, for inputs X in shares; D has a row for each row of them.
fn update_panel(
    panel: &Panel,
    inputs: &Parts<Inputs>,
    delta: View<'_>,
    tile: &mut Aligned,
    update: Update<'_>,
) {
    let Update { owned, rule, record, factor } = update;
    let (width, mut has_rows) = (panel.width, false);
    // The lists of a group are in one share; each share has all inputs of its own rows.
    for share in inputs.read_all() {
        match share.held() {
            ShareInputs::SparseRows(lists) => {
                let coefficients = Coefficients::new(record, factor * record.rate, record.decay);
                let lists = SparseUpdate { lists, width, delta, owned, coefficients };
                rule.optimizer.kind.with_formula(lists);
            }
            ShareInputs::Rows(..) => has_rows = true,
        }
    }
    if !has_rows {
        return;
    }
    for places in tiles(panel.inputs, width, delta.row_count()) {
        let gradients = zeros(tile, places.len() * width);
        for share in inputs.read_all() {
            let ShareInputs::Rows(rows, x) = share.held() else { continue };
            let x = View::new(x, panel.inputs).columns(places.clone());
            let delta = delta.rows(rows).columns(0..panel.columns.len());
            product::add(gradients, width, 0, x.transposed(), delta);
        }
        let weights = places.start * width..places.end * width;
        owned.update_weights(rule, record, factor, weights, gradients);
    }
}

/// Divides rows of a piece's weights, whose gradients are sums over the rows of a batch, into tiles.
fn tiles(rows: usize, width: usize, batch: usize) -> impl Iterator<Item = Range<usize>> {
    let most = if product::is_large(batch * width) {
        ROWS_OF_COPIES
    } else {
        (TILE / width).next_multiple_of(ROWS_OF_TILES)
    };
    (0..rows).step_by(most).map(move |start| start..rows.min(start + most))
}

/// So many zeros.
fn zeros(tile: &mut Aligned, numbers: usize) -> &mut [f32] {
    tile.resize(numbers);
    tile.fill(0.0);
    tile
}

/// Updates weights of the first layer from the lists of their inputs, while their gradients stand in registers.
struct SparseUpdate<'a> {
    lists: &'a SparseRows,
    width: usize,
    delta: View<'a>,
    owned: &'a mut Owned,
    coefficients: Coefficients<f32>,
}

impl WithFormula for SparseUpdate<'_> {
    fn with_formula<F: Formula>(self) {
        vectorized(SparseUpdateBy::<F>(self, PhantomData));
    }
}

struct SparseUpdateBy<'a, F>(SparseUpdate<'a>, PhantomData<F>);

impl<F: Formula> WithSimd for SparseUpdateBy<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let SparseUpdate { lists, width, delta, owned, coefficients } = self.0;
        let c = coefficients.lanes(simd);
        let Owned { values, states: [first, second], .. } = owned;
        let tensors = [&mut *values.weights, &mut *first.weights, &mut *second.weights];
        let mut tensors = tensors.map(|tensor| S::as_mut_simd_f32s(tensor).0);
        let (vectors, (_, most)) = (width / S::F32_LANES, most_vectors(S::F32_LANES));
        let mut copy = RUNS.take();
        let (delta, rows) = delta_by_runs::<S>(delta, vectors, &mut copy);
        for (group, list) in lists.each().chain(lists.empty().map(|group| (group, &[][..]))) {
            let inputs = group * QUAD * vectors..(group + 1) * QUAD * vectors;
            let mut tensors =
                tensors.each_mut().map(|tensor| tensor.get_mut(inputs.clone()).unwrap_or_default());
            for run in runs(vectors, most) {
                let at = (vectors, run.start);
                by_length!(run.len(), most, N => {
                    let delta = delta[rows * run.start..rows * run.end].as_chunks::<N>().0;
                    update_run::<S, F, N>(simd, &c, &mut tensors, list, delta, at);
                });
            }
        }
        RUNS.set(copy);
    }
}

/// Updates the vectors `at..at + N` of a group's rows, of `width` vectors each, with what belongs to them.
#[inline(always)]
fn update_run<S: Simd, F: Formula, const N: usize>(
    simd: S,
    c: &Coefficients<Lanes<S>>,
    [weights, first, second]: &mut [&mut [S::f32s]; 3],
    list: &[Quad],
    delta: &[[S::f32s; N]],
    (width, at): (usize, usize),
) {
    let mut sums = [[simd.splat_f32s(0.0); N]; QUAD];
    add_list(simd, &mut sums, list, delta);
    for (sums, start) in sums.iter().zip((at..).step_by(width)) {
        let states = [&mut **first, &mut **second];
        let states = states.map(|state| state.get_mut(start..start + N).unwrap_or_default());
        update_vectors::<S, F>(simd, c, &mut weights[start..start + N], sums, states);
    }
}
