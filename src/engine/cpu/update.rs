//! Updates of weights by optimizers other than plain gradient descent.
//!
//! The gradient is computed a tile at a time: while it stands in registers or the nearest cache the weights that belong to it are updated, so
//! these and their state pass through the caches once. What all tiles read, the deltas, is copied once where it is large.

use std::marker::PhantomData;
use std::ops::Deref;

use pulp::{Simd, WithSimd};

use super::aligned::Aligned;
use super::dense_layer::Columns;
use super::first_layer::Panel;
use super::groups::QUAD;
use super::inputs::{Inputs, ShareInputs};
use super::packed::PackedFactor;
use super::partition::{LANES, by_length, row_tiles, runs, tile_height};
use super::product;
use super::sparse_products::{RUNS, add_list, delta_by_runs, most_vectors};
use super::sparse_rows::{Quad, SparseRows};
use super::tensors::Owned;
use super::tiles::Start;
use super::view::View;
use crate::step::formula::{Coefficients, Formula, Lanes, WithFormula, update_vectors};
use crate::step::{StepRecord, UpdateRule};
use crate::vectors::vectorized;

/// Memory of updates, which a part keeps.
#[derive(Default)]
pub struct UpdateMemory {
    /// The gradient by a tile of weights, or by biases.
    pub tile: Aligned,
    /// Deltas that are copied once for all tiles.
    copies: Vec<PackedFactor>,
}

/// An update of the weights of a piece.
pub struct Update<'a> {
    /// The piece.
    pub owned: &'a mut Owned,
    /// How a gradient changes a parameter.
    pub rule: &'a UpdateRule,
    /// The step.
    pub record: &'a StepRecord,
    /// What the learning rate is multiplied by.
    pub factor: f32,
}

/// Updates the weights from X'D, for inputs X in shares; D has a row for each row of them.
pub fn update_panel<'a>(
    panel: &Panel,
    inputs: &'a [impl Deref<Target = Inputs>],
    delta: View<'a>,
    memory: &mut UpdateMemory,
    mut update: Update<'_>,
) {
    let width = panel.width;
    // The lists of a group are in one share; each share has all inputs of its own rows.
    for share in inputs {
        if let ShareInputs::SparseRows(lists) = share.held() {
            let Update { owned, rule, record, factor } = &mut update;
            let coefficients = Coefficients::new(record, *factor * record.rate, record.decay);
            rule.optimizer.kind.with_formula(SparseUpdate { lists, width, delta, owned, coefficients });
        }
    }
    let factors = inputs.iter().filter_map(|share| match share.held() {
        ShareInputs::SparseRows(_) => None,
        ShareInputs::Rows(rows, x) => {
            let columns = 0..panel.columns.len();
            Some((View::new(x, panel.inputs), (columns.clone(), delta.rows(rows).columns(columns))))
        }
    });
    update_weights([panel.inputs, width], factors, memory, update);
}

/// Updates weights, [rows, width], from the sum of X'D over some X and D; from nothing where there are none.
pub fn update_weights<'a>(
    [rows, width]: [usize; 2],
    factors: impl Iterator<Item = (View<'a>, Columns<'a>)> + Clone,
    memory: &mut UpdateMemory,
    update: Update<'_>,
) {
    let Update { owned, rule, record, factor } = update;
    let UpdateMemory { tile, copies } = memory;
    let count = factors.clone().count();
    if count == 0 {
        return;
    }
    copies.resize_with(count.max(copies.len()), PackedFactor::default);
    for ((_, (_, delta)), copy) in factors.clone().zip(&mut *copies) {
        if product::pays_to_copy(rows, delta) {
            copy.pack(delta);
        }
    }
    for places in row_tiles(rows, tile_height(width)) {
        let gradients = tile.room(places.len() * width);
        for (number, ((x, (columns, delta)), copy)) in factors.clone().zip(&*copies).enumerate() {
            let x = x.columns(places.clone()).transposed();
            let is_copied = product::pays_to_copy(rows, delta);
            // The first product may begin with zeros in registers.
            let begins = number == 0 && !is_copied && columns.len().next_multiple_of(LANES) == width;
            if number == 0 && !begins {
                gradients.fill(0.0);
            }
            let start = if begins { Start::Zeros } else { Start::Sums };
            if is_copied {
                copy.add(&mut gradients[columns.start..], width, x);
            } else {
                product::begin(gradients, width, columns.start, start, x, delta);
            }
        }
        let weights = places.start * width..places.end * width;
        owned.update_weights(rule, record, factor, weights, gradients);
    }
}

/// So many zeros.
pub fn zeros(tile: &mut Aligned, numbers: usize) -> &mut [f32] {
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
        let vectors = width / S::F32_LANES;
        let mut copy = RUNS.take();
        let (delta, rows) = delta_by_runs::<S>(delta, vectors, &mut copy);
        for (group, list) in lists.each().chain(lists.empty().map(|group| (group, &[][..]))) {
            let inputs = group * QUAD * vectors..(group + 1) * QUAD * vectors;
            let mut tensors =
                tensors.each_mut().map(|tensor| tensor.get_mut(inputs.clone()).unwrap_or_default());
            for run in runs(vectors, most_vectors(S::F32_LANES).1) {
                let at = (vectors, run.start);
                by_length!(run.len(), most_vectors(S::F32_LANES).1, N => {
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
