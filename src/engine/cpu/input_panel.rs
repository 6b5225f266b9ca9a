//! Some columns of a table that an input layer turns into inputs: the work of one part, as a panel of the first layer is
//! where there is no input layer.

use std::ops::Range;

use super::inputs::{Inputs, ShareInputs};
use super::matrix::Matrix;
use super::tensors::Tensors;
use super::view::View;
use crate::model::{
    FREQUENCIES, InputColumn, InputLayer, InputParameters, MIXED, PERIODIC_BLOCKS, PlacedColumn, blocks,
};
use crate::step::sine_and_cosine;
use crate::vectors::vectorized;

/// Why no lists of what is not zero come here: see [`PartitionedNetwork::has_dense_inputs`](super::partitioned_network::PartitionedNetwork).
const DENSE: &str = "zeros are only skipped by a dense first layer";

/// Pieces into which an input layer is divided at most, whatever the number of threads.
const MOST_PIECES: usize = 16;

/// Inputs of a piece at least: fewer make products that are hardly worth their packing.
const LEAST_INPUTS: usize = 16;

/// Neighbouring columns of a row. As [`Tensors`], their parameters are the columns' weights, and as bias the factors of
/// their inputs.
#[derive(Debug, Clone)]
pub struct InputPanel {
    columns: Vec<PlacedColumn>,
    /// Numbers of a row that goes in.
    row: usize,
    /// Which of its numbers the weights are.
    weights: Range<usize>,
    inputs: Range<usize>,
    scaled: bool,
}

impl InputPanel {
    /// A layer in pieces of about as many inputs each.
    pub fn all(layer: &InputLayer) -> Vec<Self> {
        let columns: Vec<PlacedColumn> = layer.placed().collect();
        let share = layer.inputs().div_ceil(MOST_PIECES).max(LEAST_INPUTS);
        let pieces = columns.chunk_by(|a, b| a.input / share == b.input / share);
        let panel = |columns: &[PlacedColumn]| {
            let (first, last) = (columns[0], columns[columns.len() - 1]);
            let end = last.weights + last.column.weights();
            Self {
                columns: columns.to_vec(),
                row: layer.columns().len(),
                weights: 4 * first.weights..4 * end,
                inputs: first.input..last.inputs().end,
                scaled: layer.is_scaled(),
            }
        };
        pieces.map(panel).collect()
    }

    /// Which inputs of the first dense layer it makes.
    pub fn inputs(&self) -> Range<usize> {
        self.inputs.clone()
    }

    /// Its part of all parameters.
    pub fn cut(&self, parameters: &InputParameters) -> Tensors {
        let bias = if self.scaled { parameters.scale[self.inputs()].to_vec() } else { Vec::new() };
        Tensors { weights: parameters.weights[self.weights.clone()].into(), bias }
    }

    /// All parameters from what [`InputPanel::cut`] makes of them.
    pub fn join<'a>(pieces: impl Iterator<Item = &'a Tensors>) -> InputParameters {
        let mut all = InputParameters { weights: Vec::new(), scale: Vec::new() };
        for piece in pieces {
            all.weights.extend_from_slice(&piece.weights);
            all.scale.extend_from_slice(&piece.bias);
        }
        all
    }

    /// The weights of a column among those of the panel.
    fn place(&self, column: &PlacedColumn) -> Range<usize> {
        let start = 4 * column.weights - self.weights.start;
        start..start + 4 * column.column.weights()
    }

    /// E [rows, inputs], from all shares of the rows.
    pub fn forward<'a>(
        &self,
        parameters: &Tensors,
        inputs: impl Iterator<Item = &'a Inputs>,
        e: &mut Matrix,
    ) {
        for share in inputs {
            let ShareInputs::Rows(rows, values) = share.held() else { unreachable!("{DENSE}") };
            let width = e.width();
            let to = e.rows_mut(rows).chunks_exact_mut(width);
            for (row, e) in values.chunks_exact(self.row).zip(to) {
                e.fill(0.0);
                for column in &self.columns {
                    let (x, first) = (row[column.number], column.input - self.inputs.start);
                    let weights = &parameters.weights[self.place(column)];
                    match column.column {
                        InputColumn::Number => e[first] = x,
                        InputColumn::Periodic => {
                            e[first] = x;
                            mix(x, weights, &mut e[first + 1..][..MIXED]);
                        }
                        InputColumn::OneHot { categories } => {
                            if let Some(category) = category(x, categories) {
                                e[first + category] = 1.0;
                            }
                        }
                        InputColumn::Embedding { categories, size } => {
                            if let Some(category) = category(x, categories) {
                                let from = &weights[4 * blocks(size) * category..][..size];
                                e[first..][..size].copy_from_slice(from);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Copies E, times the factors, into the columns from `column` on of X.
    pub fn scale_into(&self, parameters: &Tensors, e: &Matrix, x: &mut Matrix, column: usize) {
        for (x, e) in x.each_row_mut().zip(e.each_row()) {
            let x = &mut x[column..][..e.len()];
            x.copy_from_slice(e);
            x.iter_mut().zip(&parameters.bias).for_each(|(x, scale)| *x *= scale);
        }
    }

    /// Adds the gradients by its parameters, from E and those by X, to `to`, over all shares of the rows.
    pub fn add_gradient<'a>(
        &self,
        parameters: &Tensors,
        inputs: impl Iterator<Item = &'a Inputs>,
        e: &Matrix,
        dx: View<'_>,
        to: &mut Tensors,
    ) {
        for (dx, e) in dx.each_row().zip(e.each_row()) {
            for ((to, dx), e) in to.bias.iter_mut().zip(dx).zip(e) {
                *to += dx * e;
            }
        }
        let scale = |input: usize| parameters.bias.get(input).copied().unwrap_or(1.0);
        for share in inputs {
            let ShareInputs::Rows(rows, values) = share.held() else { unreachable!("{DENSE}") };
            for (row, dx) in values.chunks_exact(self.row).zip(dx.rows(rows).each_row()) {
                for column in &self.columns {
                    let (x, first) = (row[column.number], column.input - self.inputs.start);
                    let place = self.place(column);
                    match column.column {
                        InputColumn::Number | InputColumn::OneHot { .. } => {}
                        InputColumn::Periodic => {
                            let de: [f32; MIXED] =
                                std::array::from_fn(|o| dx[first + 1 + o] * scale(first + 1 + o));
                            add_mixed(x, &parameters.weights[place.clone()], de, &mut to.weights[place]);
                        }
                        InputColumn::Embedding { categories, size } => {
                            if let Some(category) = category(x, categories) {
                                let to = &mut to.weights[place][4 * blocks(size) * category..][..size];
                                for (k, to) in to.iter_mut().enumerate() {
                                    *to += dx[first + k] * scale(first + k);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The category of a number, of `categories`; `None` for an unknown one.
fn category(value: f32, categories: usize) -> Option<usize> {
    (value >= 0.0 && value < categories as f32).then_some(value as usize)
}

/// The weights of a periodic column.
type Waves<'a> = ([&'a [f32; FREQUENCIES]; 2 + MIXED], &'a [f32]);

/// Frequencies, phases, what mixes them into each input, and its bias.
fn waves(weights: &[f32]) -> Waves<'_> {
    let (rows, bias) = weights[..4 * PERIODIC_BLOCKS].split_at((2 + MIXED) * FREQUENCIES);
    let (rows, _) = rows.as_chunks::<FREQUENCIES>();
    (std::array::from_fn(|row| &rows[row]), bias)
}

/// The three inputs that the frequencies of a column make of a number.
fn mix(x: f32, weights: &[f32], e: &mut [f32]) {
    let ([frequencies, phases, mixing @ ..], bias) = waves(weights);
    vectorized(
        #[inline(always)]
        || {
            let mut cosines = [0.0; FREQUENCIES];
            for ((cosine, frequency), phase) in cosines.iter_mut().zip(frequencies).zip(phases) {
                *cosine = sine_and_cosine(x * frequency + phase).1;
            }
            for ((e, mixing), bias) in e.iter_mut().zip(mixing).zip(bias) {
                let mut products = cosines;
                products.iter_mut().zip(mixing).for_each(|(product, mixing)| *product *= mixing);
                *e = bias + sum(products);
            }
        },
    );
}

/// The sum of all, as a tree: neighbouring halves side by side.
#[inline(always)]
fn sum(mut values: [f32; FREQUENCIES]) -> f32 {
    let mut half = FREQUENCIES / 2;
    while half > 0 {
        for i in 0..half {
            values[i] += values[i + half];
        }
        half /= 2;
    }
    values[0]
}

/// Adds the gradients by the weights of a column, whose number is `x`, from those by its three inputs.
fn add_mixed(x: f32, weights: &[f32], de: [f32; MIXED], to: &mut [f32]) {
    let ([frequencies, phases, mixing @ ..], _) = waves(weights);
    let (rows, bias) = to.split_at_mut((2 + MIXED) * FREQUENCIES);
    bias.iter_mut().zip(de).for_each(|(to, de)| *to += de);
    let (rows, _) = rows.as_chunks_mut::<FREQUENCIES>();
    let [of_frequencies, of_phases, of_mixing @ ..] = rows else { return };
    vectorized(
        #[inline(always)]
        || {
            for k in 0..FREQUENCIES {
                let (sine, cosine) = sine_and_cosine(x * frequencies[k] + phases[k]);
                let mut by_cosine = 0.0;
                for ((of_mixing, mixing), de) in of_mixing.iter_mut().zip(mixing).zip(de) {
                    of_mixing[k] += cosine * de;
                    by_cosine += mixing[k] * de;
                }
                let slope = -std::f32::consts::TAU * sine * by_cosine;
                of_phases[k] += slope;
                of_frequencies[k] += slope * x;
            }
        },
    );
}
