//! Panels of an input layer: some columns of a table, which one part turns into inputs, as it computes a
//! panel of a dense first layer.

use std::ops::{Deref, Range};

use super::inputs::{Inputs, ShareInputs};
use super::matrix::Matrix;
use super::periodic::{self, RowGradient};
use super::tensors::Tensors;
use super::view::View;
use crate::model::{InputColumn, InputLayer, InputParameters, MIXED, PlacedColumn, blocks};
use crate::vectors::vectorized_loops;

/// Reason why inputs are never lists: see
/// [`PartitionedNetwork::has_dense_inputs`](super::partitioned_network::PartitionedNetwork).
const DENSE: &str = "zeros are only skipped by a dense first layer";

/// Least inputs per piece: smaller products are hardly worth their packing.
const LEAST_INPUTS: usize = 16;

/// Adjacent columns of a row. Their [`Tensors`] hold the columns' weights, and as bias the factors of their
/// inputs.
#[derive(Debug, Clone)]
pub struct InputPanel {
    columns: Vec<PlacedColumn>,
    /// Length of an input row.
    row: usize,
    /// Range of the columns' weights in the layer's weights.
    weights: Range<usize>,
    inputs: Range<usize>,
    scaled: bool,
}

impl InputPanel {
    /// Divides a layer into at most `most` pieces with about the same number of inputs.
    pub fn all(layer: &InputLayer, most: usize) -> Vec<Self> {
        let columns: Vec<PlacedColumn> = layer.placed().collect();
        let share = layer.inputs().div_ceil(most).max(LEAST_INPUTS);
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

    /// Returns the range of the first dense layer's inputs that the panel computes.
    pub fn inputs(&self) -> Range<usize> {
        self.inputs.clone()
    }

    /// Cuts the panel's parameters out of all parameters.
    pub fn cut(&self, parameters: &InputParameters) -> Tensors {
        let bias = if self.scaled { parameters.scale[self.inputs()].to_vec() } else { Vec::new() };
        Tensors { weights: parameters.weights[self.weights.clone()].into(), bias }
    }

    /// Joins the results of [`InputPanel::cut`] into all parameters.
    pub fn join<'a>(pieces: impl Iterator<Item = &'a Tensors>) -> InputParameters {
        let mut all = InputParameters { weights: Vec::new(), scale: Vec::new() };
        for piece in pieces {
            all.weights.extend_from_slice(&piece.weights);
            all.scale.extend_from_slice(&piece.bias);
        }
        all
    }

    /// Returns the range of a column's weights in the panel.
    fn place(&self, column: &PlacedColumn) -> Range<usize> {
        let start = 4 * column.weights - self.weights.start;
        start..start + 4 * column.column.weights()
    }

    /// Computes E [rows, inputs] from all shares of the rows.
    pub fn forward(&self, parameters: &Tensors, inputs: &[impl Deref<Target = Inputs>], e: &mut Matrix) {
        for share in inputs {
            let ShareInputs::Rows(rows, values) = share.held() else { unreachable!("{DENSE}") };
            let (width, e) = (e.width(), e.rows_mut(rows));
            e.fill(0.0);
            for column in &self.columns {
                let first = column.input - self.inputs.start;
                let numbers = values.chunks_exact(self.row).map(|row| row[column.number]);
                let weights = &parameters.weights[self.place(column)];
                let e = e.chunks_exact_mut(width).map(|e| &mut e[first..]);
                match column.column {
                    InputColumn::Number => numbers.zip(e).for_each(|(x, e)| e[0] = x),
                    InputColumn::Periodic => periodic::mix(weights, numbers, e.map(|e| &mut e[..1 + MIXED])),
                    InputColumn::OneHot { categories } => {
                        for (x, e) in numbers.zip(e) {
                            if let Some(category) = category(x, categories) {
                                e[category] = 1.0;
                            }
                        }
                    }
                    InputColumn::Embedding { categories, size } => {
                        for (x, e) in numbers.zip(e) {
                            if let Some(category) = category(x, categories) {
                                let from = &weights[4 * blocks(size) * category..][..size];
                                e[..size].copy_from_slice(from);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Multiplies E by the factors into the columns from `column` on of X.
    pub fn scale_into(&self, parameters: &Tensors, e: &Matrix, x: &mut Matrix, column: usize) {
        vectorized_loops!({
            for (x, e) in x.each_row_mut().zip(e.each_row()) {
                let x = &mut x[column..][..e.len()];
                x.copy_from_slice(e);
                x.iter_mut().zip(&parameters.bias).for_each(|(x, scale)| *x *= scale);
            }
        });
    }

    /// Adds the gradients with respect to the panel's parameters, from E and the gradients with respect to X,
    /// to `to`, over all shares of the rows.
    pub fn add_gradient(
        &self,
        parameters: &Tensors,
        inputs: &[impl Deref<Target = Inputs>],
        e: &Matrix,
        dx: View<'_>,
        to: &mut Tensors,
    ) {
        vectorized_loops!({
            for (dx, e) in dx.each_row().zip(e.each_row()) {
                to.bias.iter_mut().zip(dx).zip(e).for_each(|((to, dx), e)| *to += dx * e);
            }
        });
        let scale = |input: usize| parameters.bias.get(input).copied().unwrap_or(1.0);
        let mut given: Vec<RowGradient> = Vec::new();
        for share in inputs {
            let ShareInputs::Rows(rows, values) = share.held() else { unreachable!("{DENSE}") };
            let dx = dx.rows(rows);
            for column in &self.columns {
                let (first, place) = (column.input - self.inputs.start, self.place(column));
                let numbers = values.chunks_exact(self.row).map(|row| row[column.number]);
                let each = numbers.zip(dx.each_row().map(|dx| &dx[first..]));
                match column.column {
                    InputColumn::Number | InputColumn::OneHot { .. } => {}
                    InputColumn::Periodic => {
                        let scales: [f32; MIXED] = std::array::from_fn(|o| scale(first + 1 + o));
                        given.clear();
                        given.extend(each.map(|(x, dx)| {
                            let mut row = [x; 1 + MIXED];
                            let de = row[1..].iter_mut().zip(&dx[1..]).zip(scales);
                            de.for_each(|((de, dx), scale)| *de = dx * scale);
                            row
                        }));
                        let weights = &parameters.weights[place.clone()];
                        periodic::add_gradient(weights, &given, &mut to.weights[place]);
                    }
                    InputColumn::Embedding { categories, size } => {
                        let to = &mut to.weights[place];
                        for (x, dx) in each {
                            if let Some(category) = category(x, categories) {
                                let to = &mut to[4 * blocks(size) * category..][..size];
                                for (k, to) in to.iter_mut().enumerate() {
                                    *to += dx[k] * scale(first + k);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Converts a number to a category below `categories`; `None` for an unknown category.
fn category(value: f32, categories: usize) -> Option<usize> {
    (value >= 0.0 && value < categories as f32).then_some(value as usize)
}
