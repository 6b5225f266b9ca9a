//! The layers above the first. Their weights are divided by rows, in pieces.

use std::ops::Range;

use super::aligned::Aligned;
use super::matrix::Matrix;
use super::parts::Parts;
use super::product;
use super::tensors::{Owned, Tensors};
use super::view::View;
use crate::model::Layer;

/// The shape of a layer and of its pieces. Piece k has rows of the weights, [rows, width]; piece 0 the bias, too. Behind
/// both stand zeros until they are whole vectors.
pub struct DenseLayer {
    /// Numbers of a row that comes out.
    pub outputs: usize,
    /// The width with padding.
    pub width: usize,
    /// The rows of each piece: as many columns of X go with it.
    pub pieces: Vec<Range<usize>>,
}

/// Some columns of a matrix, and which they are.
pub type Columns<'a> = (Range<usize>, View<'a>);

impl DenseLayer {
    /// A layer in these pieces.
    pub fn new(outputs: usize, pieces: Vec<Range<usize>>) -> Self {
        Self { outputs, width: Matrix::width_of(outputs), pieces }
    }

    /// Piece `number` of a whole layer.
    pub fn cut(&self, layer: &Layer, number: usize) -> Tensors {
        let rows = self.pieces[number].clone();
        let mut weights = Aligned::zeros(rows.len() * self.width);
        let from = layer.weights[rows.start * self.outputs..].chunks_exact(self.outputs);
        for (to, from) in weights.chunks_exact_mut(self.width).zip(from) {
            to[..self.outputs].copy_from_slice(from);
        }
        let mut bias = Vec::new();
        if number == 0 {
            bias.extend_from_slice(&layer.bias);
            bias.resize(self.width, 0.0);
        }
        Tensors { weights, bias }
    }

    /// The whole layer.
    pub fn join<'a>(&self, pieces: impl Iterator<Item = &'a Tensors>) -> Layer {
        let (mut weights, mut bias) = (Vec::new(), Vec::new());
        for piece in pieces {
            let rows = piece.weights.chunks_exact(self.width);
            rows.for_each(|row| weights.extend_from_slice(&row[..self.outputs]));
            bias.extend_from_slice(&piece.bias);
        }
        bias.truncate(self.outputs);
        Layer { inputs: weights.len() / self.outputs, outputs: self.outputs, weights, bias }
    }

    /// Some columns of Z = X W + b; `x(k)` are the columns of X that go with piece k. Padding of Z is 0.
    pub fn forward<'a>(
        &self,
        parameters: &Parts<Owned>,
        x: impl Fn(usize) -> View<'a>,
        columns: Range<usize>,
        z: &mut Matrix,
    ) {
        if columns.is_empty() {
            return;
        }
        let (bias, width) = (&parameters.read(0).values.bias, z.width());
        let bias = &bias[columns.start..columns.start + width];
        z.values_mut().chunks_exact_mut(width).for_each(|row| row.copy_from_slice(bias));
        for (number, piece) in parameters.read_all().enumerate() {
            let weights = View::new(&piece.values.weights, self.width).columns(columns.clone());
            product::add(z.values_mut(), width, 0, x(number), weights);
        }
    }

    /// Z += X W for the columns of X that go with piece `number`.
    pub fn add_forward(&self, number: usize, parameters: &Parts<Owned>, x: View<'_>, z: &mut Matrix) {
        let weights = View::new(&parameters.read(number).values.weights, self.width).columns(0..self.outputs);
        let width = z.width();
        product::add(z.values_mut(), width, 0, x, weights);
    }

    /// dX += D W' for some rows and the columns of dX that go with piece `number`, `first` and those behind it: by the transpose of the
    /// piece.
    pub fn add_backward(
        &self,
        transposed: &Matrix,
        delta: View<'_>,
        dx: &mut Matrix,
        rows: Range<usize>,
        first: usize,
    ) {
        let width = dx.width();
        product::add(dx.rows_mut(rows.clone()), width, first, delta.rows(rows), transposed.view());
    }

    /// As [`DenseLayer::add_backward`], for all rows, with the piece itself instead of its transpose, for some columns of D.
    pub fn add_backward_packed(
        &self,
        number: usize,
        parameters: &Parts<Owned>,
        (columns, delta): Columns<'_>,
        dx: &mut Matrix,
        first: usize,
    ) {
        let weights = View::new(&parameters.read(number).values.weights, self.width).columns(columns);
        let width = dx.width();
        product::add(dx.values_mut(), width, first, delta, weights.transposed());
    }

    /// Adds X'D to the weights of a piece, for some columns of D, from a multiple of the longest vectors on; X has the
    /// columns that go with the piece. Piece 0, which has the bias, has the column sums of D added to that.
    pub fn add_gradient(&self, to: &mut Tensors, x: View<'_>, (columns, delta): Columns<'_>) {
        product::add(&mut to.weights, self.width, columns.start, x.transposed(), delta);
        if !to.bias.is_empty() {
            delta.add_column_sums(&mut to.bias[columns]);
        }
    }
}
