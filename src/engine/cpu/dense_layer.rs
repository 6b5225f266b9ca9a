//! The layers above the first: products of the `gemm` crate. Their weights are divided by rows between the parts.

use std::ops::Range;

use super::divide::Divide;
use super::matrix::Matrix;
use super::parts::Parts;
use super::product::{View, multiply_columns};
use super::tensors::{Owned, Tensors};
use crate::model::Layer;

/// The shape of a layer and of its pieces. Piece k has rows of the weights, [rows, outputs]; piece 0 the bias, too, and zeros
/// behind it until they are whole vectors.
pub struct DenseLayer {
    /// Numbers of a row that goes in.
    pub inputs: usize,
    /// Numbers of a row that comes out.
    pub outputs: usize,
    pieces: usize,
    divide: Divide,
}

/// Some columns of a matrix, and which they are.
pub type Columns<'a> = (Range<usize>, View<'a>);

impl DenseLayer {
    /// A layer in so many pieces, cut in this way.
    pub fn new(inputs: usize, outputs: usize, pieces: usize, divide: Divide) -> Self {
        Self { inputs, outputs, pieces, divide }
    }

    /// Which rows of the weights piece `number` has: so many columns of X go with it.
    pub fn rows(&self, number: usize) -> Range<usize> {
        (self.divide)(self.inputs, number, self.pieces)
    }

    /// Piece `number` of a whole layer.
    pub fn cut(&self, layer: &Layer, number: usize) -> Tensors {
        let rows = self.rows(number);
        let weights = layer.weights[rows.start * self.outputs..rows.end * self.outputs].into();
        let mut bias = Vec::new();
        if number == 0 {
            bias.extend_from_slice(&layer.bias);
            bias.resize(Matrix::width_of(self.outputs), 0.0);
        }
        Tensors { weights, bias }
    }

    /// The whole layer.
    pub fn join<'a>(&self, pieces: impl Iterator<Item = &'a Tensors>) -> Layer {
        let (mut weights, mut bias) = (Vec::new(), Vec::new());
        for piece in pieces {
            weights.extend_from_slice(&piece.weights);
            bias.extend_from_slice(&piece.bias);
        }
        bias.truncate(self.outputs);
        Layer { inputs: self.inputs, outputs: self.outputs, weights, bias }
    }

    /// Some columns of Z = X W + b; `x(k)` are the columns of X that go with piece k. Padding of Z is 0.
    pub fn forward<'a>(
        &self,
        parameters: &Parts<Owned>,
        x: impl Fn(usize) -> View<'a>,
        columns: Range<usize>,
        z: &mut Matrix,
    ) {
        let (bias, width) = (&parameters.read(0).values.bias, z.width());
        if !columns.is_empty() {
            let bias = &bias[columns.start..columns.start + width];
            z.values_mut().chunks_exact_mut(width).for_each(|row| row.copy_from_slice(bias));
        }
        for (number, piece) in parameters.read_all().enumerate() {
            let weights = View::new(&piece.values.weights, self.outputs).columns(columns.clone());
            multiply_columns(z.values_mut(), width, 0, x(number), weights, true);
        }
    }

    /// The columns of dX = D W' that go with the pieces `pieces`, for D in parts by columns.
    pub fn backward<'a>(
        &self,
        parameters: &Parts<Owned>,
        pieces: Range<usize>,
        delta: impl Iterator<Item = Columns<'a>> + Clone,
        dx: &mut Matrix,
    ) {
        let (first, width) = (self.rows(pieces.start).start, dx.width());
        for number in pieces {
            let weights = View::new(&parameters.read(number).values.weights, self.outputs);
            let place = self.rows(number).start - first;
            for (columns, delta) in delta.clone() {
                let add = columns.start > 0;
                multiply_columns(dx.values_mut(), width, place, delta, weights.columns(columns).t(), add);
            }
        }
    }

    /// Adds X'D to the weights of piece `number`, over the parts (X, columns of D) of the batch or of D in their order; X
    /// has the columns that go with the piece. Piece 0 has the column sums of D added to its bias.
    pub fn add_gradient<'a>(
        &self,
        number: usize,
        to: &mut Tensors,
        parts: impl Iterator<Item = (View<'a>, Columns<'a>)>,
    ) {
        for (x, (columns, delta)) in parts {
            multiply_columns(&mut to.weights, self.outputs, columns.start, x.t(), delta, true);
            if number == 0 {
                delta.add_column_sums(&mut to.bias[columns]);
            }
        }
    }
}
