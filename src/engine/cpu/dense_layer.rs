//! Layers above the first. Their weights are divided by rows into pieces.

use std::ops::Range;

use super::aligned::Aligned;
use super::dots;
use super::matrix::Matrix;
use super::parts::Parts;
use super::product;
use super::tensors::{Owned, Tensors};
use super::tiles::Start;
use super::view::View;
use crate::model::Layer;

/// Shape of a layer and of its pieces. Piece k holds rows of the weights, [rows, width]; for a narrow layer
/// it holds their transpose, [outputs, padded rows], since vectors of few outputs would be mostly empty.
/// Piece 0 also has the bias. Rows and bias are padded with zeros to whole vectors.
pub struct DenseLayer {
    /// Number of outputs.
    pub outputs: usize,
    /// Number of outputs with padding.
    width: usize,
    /// Rows of each piece, which are also the columns of X that it is multiplied by.
    pub pieces: Vec<Range<usize>>,
    /// Whether the layer has few outputs, so that its pieces are transposed.
    pub is_narrow: bool,
}

/// A view of some columns of a matrix, with their range.
pub type Columns<'a> = (Range<usize>, View<'a>);

impl DenseLayer {
    /// Creates a layer with these pieces. No layer after an input layer is narrow: the input layer's columns
    /// are not divided at whole vectors, so the lanes of sums would depend on the pieces.
    pub fn new(outputs: usize, pieces: Vec<Range<usize>>, is_behind_input: bool) -> Self {
        let inputs = pieces.last().map_or(0, |rows| rows.end);
        let is_narrow = !is_behind_input && dots::pays(inputs, outputs);
        Self { outputs, width: Matrix::width_of(outputs), pieces, is_narrow }
    }

    /// Returns the stored rows and padded columns of piece `number`.
    pub fn shape(&self, number: usize) -> [usize; 2] {
        let rows = self.pieces[number].len();
        if self.is_narrow { [self.outputs, Matrix::width_of(rows)] } else { [rows, self.width] }
    }

    /// Returns piece `number` of the weights, [rows, outputs].
    pub fn weights<'a>(&self, number: usize, tensors: &'a Tensors) -> View<'a> {
        let stored = View::new(&tensors.weights, self.shape(number)[1]);
        if self.is_narrow {
            stored.columns(0..self.pieces[number].len()).transposed()
        } else {
            stored.columns(0..self.outputs)
        }
    }

    /// Cuts piece `number` out of a whole layer.
    pub fn cut(&self, layer: &Layer, number: usize) -> Tensors {
        let (rows, [height, width]) = (self.pieces[number].clone(), self.shape(number));
        let mut weights = Aligned::zeros(height * width);
        let from = View::new(&layer.weights, self.outputs).rows(rows);
        if self.is_narrow {
            from.transpose_into(&mut weights, width);
        } else {
            let each = weights.chunks_exact_mut(width).zip(from.each_row());
            each.for_each(|(to, from)| to[..self.outputs].copy_from_slice(from));
        }
        let mut bias = Vec::new();
        if number == 0 {
            bias.extend_from_slice(&layer.bias);
            bias.resize(self.width, 0.0);
        }
        Tensors { weights, bias }
    }

    /// Joins all pieces into the whole layer.
    pub fn join<'a>(&self, pieces: impl Iterator<Item = &'a Tensors>) -> Layer {
        let inputs = self.pieces.last().map_or(0, |rows| rows.end);
        let mut weights = Vec::with_capacity(inputs * self.outputs);
        let mut bias = Vec::with_capacity(self.outputs);
        for (number, piece) in pieces.enumerate() {
            let stored = self.weights(number, piece);
            for row in 0..stored.row_count() {
                let values = stored.rows(row..row + 1).values();
                weights.extend(values.iter().step_by(stored.column_stride()).take(self.outputs));
            }
            bias.extend(piece.bias.iter().take(self.outputs));
        }
        Layer { inputs, outputs: self.outputs, weights, bias }
    }

    /// Computes some columns of Z = X W + b; `x(k)` returns the columns of X for piece k. Padding of Z is 0.
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
        let (pieces, width): (Vec<_>, _) = (parameters.read_all().collect(), z.width());
        let bias = Start::Row(&pieces[0].values.bias[columns.start..columns.start + width]);
        let weights = pieces.iter().enumerate();
        let weights = weights
            .map(|(number, piece)| (number, self.weights(number, &piece.values).columns(columns.clone())));
        if self.is_narrow {
            let factors: Vec<_> =
                weights.map(|(number, weights)| (x(number), weights.transposed())).collect();
            return dots::begin(z.values_mut(), width, columns.len(), bias, &factors);
        }
        for (number, weights) in weights {
            let start = if number == 0 { bias } else { Start::Sums };
            product::begin(z.values_mut(), width, 0, start, x(number), weights);
        }
    }

    /// Computes Z = X W with piece `number` and its columns of X.
    pub fn forward_piece(&self, number: usize, parameters: &Parts<Owned>, x: View<'_>, z: &mut Matrix) {
        let (owned, width) = (parameters.read(number), z.width());
        let weights = self.weights(number, &owned.values);
        if self.is_narrow {
            let factors = [(x, weights.transposed())];
            dots::begin(z.values_mut(), width, self.outputs, Start::Zeros, &factors);
        } else {
            product::begin(z.values_mut(), width, 0, Start::Zeros, x, weights);
        }
    }

    /// Computes dX = start + D W' for some columns of D and the columns of dX that belong to piece `number`:
    /// from the given column on, in rows of the given width.
    pub fn backward(
        &self,
        number: usize,
        parameters: &Parts<Owned>,
        start: Start<'_>,
        (columns, delta): Columns<'_>,
        (dx, width, first): (&mut [f32], usize, usize),
    ) {
        let owned = parameters.read(number);
        let weights = self.weights(number, &owned.values).columns(columns);
        product::begin(dx, width, first, start, delta, weights.transposed());
    }

    /// Adds X'D, or its transpose if that is stored, to the weights of piece `number`; X has the piece's
    /// columns, and D some columns that start at a multiple of the longest vectors. For piece 0, also adds
    /// the column sums of D to the bias.
    pub fn add_gradient(&self, number: usize, to: &mut Tensors, x: View<'_>, (columns, delta): Columns<'_>) {
        let (a, first, b) = if self.is_narrow { (delta, 0, x) } else { (x, columns.start, delta) };
        product::add(&mut to.weights, self.shape(number)[1], first, a.transposed(), b);
        if !to.bias.is_empty() {
            delta.add_column_sums(&mut to.bias[columns]);
        }
    }
}
