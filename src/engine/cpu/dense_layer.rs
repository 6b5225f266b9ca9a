//! The layers above the first: products of the `gemm` crate. Their weights are divided by rows between the threads.

use std::ops::Range;
use std::sync::RwLock;

use super::divide::Divide;
use super::product::{View, multiply_columns};
use super::{read, write};
use crate::model::Layer;

/// A layer whose weights stand in pieces, each of which has one owner.
pub struct DenseLayer {
    /// Numbers of a row that goes in.
    pub inputs: usize,
    /// Numbers of a row that comes out.
    pub outputs: usize,
    /// Rows of the weights, divided: [rows of the piece, outputs].
    pieces: Vec<RwLock<Vec<f32>>>,
    bias: RwLock<Vec<f32>>,
    divide: Divide,
}

/// Some columns of a matrix, and which they are.
pub type Columns<'a> = (Range<usize>, View<'a>);

impl DenseLayer {
    /// A layer in so many pieces, cut in this way.
    pub fn new(layer: &Layer, pieces: usize, divide: Divide) -> Self {
        let cut = |number| {
            let rows = divide(layer.inputs, number, pieces);
            RwLock::new(layer.weights[rows.start * layer.outputs..rows.end * layer.outputs].to_vec())
        };
        Self {
            inputs: layer.inputs,
            outputs: layer.outputs,
            pieces: (0..pieces).map(cut).collect(),
            bias: RwLock::new(layer.bias.clone()),
            divide,
        }
    }

    /// The layer in one piece.
    pub fn layer(&self) -> Layer {
        let weights = self.pieces.iter().flat_map(|piece| read(piece).clone()).collect();
        Layer { inputs: self.inputs, outputs: self.outputs, weights, bias: read(&self.bias).clone() }
    }

    /// How many pieces there are.
    pub fn count(&self) -> usize {
        self.pieces.len()
    }

    /// Which rows of the weights piece `number` has: so many columns of X go with it.
    pub fn rows(&self, number: usize) -> Range<usize> {
        (self.divide)(self.inputs, number, self.count())
    }

    /// The columns of X that go with piece `number`.
    pub fn columns<'a>(&self, x: &'a [f32], number: usize) -> View<'a> {
        View::new(x, self.inputs).columns(self.rows(number))
    }

    /// X cut into columns as the weights are into rows.
    pub fn cut<'a>(&self, x: &'a [f32]) -> impl Iterator<Item = View<'a>> {
        (0..self.count()).map(move |number| self.columns(x, number))
    }

    /// Some columns of Z = X W + b, for X cut as [`DenseLayer::cut`] does; they become the first of the rows in `z`, of
    /// `width` each.
    pub fn forward<'a>(
        &self,
        x: impl Iterator<Item = View<'a>>,
        columns: Range<usize>,
        z: &mut [f32],
        width: usize,
    ) {
        let bias = &read(&self.bias)[columns.clone()];
        for row in z.chunks_exact_mut(width) {
            row[..bias.len()].copy_from_slice(bias);
        }
        for (piece, x) in self.pieces.iter().zip(x) {
            let weights = &read(piece);
            multiply_columns(z, width, 0, x, View::new(weights, self.outputs).columns(columns.clone()), true);
        }
    }

    /// The columns of dX = D W' that belong to piece `number`; they become the columns from `first` on of the rows in
    /// `dx`, of `width` each.
    pub fn backward(&self, number: usize, delta: &[Columns<'_>], dx: &mut [f32], width: usize, first: usize) {
        let weights = read(&self.pieces[number]);
        let weights = View::new(&weights, self.outputs);
        for (index, (columns, delta)) in delta.iter().enumerate() {
            multiply_columns(dx, width, first, *delta, weights.columns(columns.clone()).t(), index > 0);
        }
    }

    /// W += X'D for the rows of piece `number`, over the parts (X, columns of D) of the batch or of D in their order; X
    /// has the columns that belong to the piece. The first piece has the parts' b += (column sums of D) done with it.
    pub fn add_gradient<'a>(&self, number: usize, parts: impl Iterator<Item = (View<'a>, Columns<'a>)>) {
        let mut weights = write(&self.pieces[number]);
        for (x, (columns, delta)) in parts {
            multiply_columns(&mut weights, self.outputs, columns.start, x.t(), delta, true);
            if number == 0 {
                delta.add_column_sums(&mut write(&self.bias)[columns]);
            }
        }
    }
}
